"""Hints and titles written into the tools of an ordinary server, as its framework takes them."""

import ast
import json
from pathlib import Path

from ..meaning import Meaning, policy_of
from ..parsing.saying import SNAKE
from ..tables import tables
from .editing import Edited
from .proposing import Proposal
from .survey import Survey

BY_HAND = {
    "own": "{} registers it; pass annotations= through it by hand",
    "elsewhere": "its annotations= is made elsewhere; change them there",
}
IMPORTS = {
    "SDK 1": "from mcp.types import ToolAnnotations",
    "SDK 2": "from mcp_types import ToolAnnotations",
}


def hints_of(proposal: Proposal) -> dict[str, bool]:
    """What is true of a tool, by the names on the wire; openWorldHint follows from no body."""
    said = {"exceptions": proposal.exceptions}
    truth = Meaning(proposal.tool.name, proposal.behavior, policy_of({}), said).behaves()
    names = tables()["hints"].items()
    return {wire: truth[hint] for hint, wire in names if hint != "open_world"}


def title_of(proposal: Proposal) -> str:
    """What people read: what it has, else from its name."""
    name = proposal.tool.local or proposal.tool.name
    words = name.replace("_", " ").replace("-", " ").replace(".", " ").split()
    return proposal.tool.title or " ".join(word[:1].upper() + word[1:] for word in words)


def _literal(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _form(seen: Survey, proposal: Proposal, edited: Edited) -> str:
    """The annotations of a tool that has none, as its framework takes them."""
    pairs: list[tuple[str, str]] = []
    if proposal.tool.title is None:
        pairs.append(("title", _literal(title_of(proposal))))
    pairs += [(name, str(value)) for name, value in hints_of(proposal).items()]
    sdk = _framework(seen, proposal)
    if sdk == "FastMCP":
        return "{" + ", ".join(f'"{name}": {value}' for name, value in pairs) + "}"
    if "ToolAnnotations" not in edited.module.imports:
        edited.imported(IMPORTS[sdk])
    spelled = {hint: snake for snake, hint in SNAKE.items()} if sdk == "SDK 2" else {}
    words = ", ".join(f"{spelled.get(name, name)}={value}" for name, value in pairs)
    return f"ToolAnnotations({words})"


def _framework(seen: Survey, proposal: Proposal) -> str:
    """What the file of a tool imports, else what the project does."""
    targets = proposal.tool.module.imports.values()
    if any(target.startswith("fastmcp") for target in targets):
        return "FastMCP"
    for sdk, name in (("SDK 2", "mcp.server.mcpserver"), ("SDK 1", "mcp.server.fastmcp")):
        if any(target.startswith(name) for target in targets):
            return sdk
    return next(sdk for sdk in ("FastMCP", "SDK 2", "SDK 1", "FastMCP") if sdk in seen.frameworks)


def _edit(seen: Survey, proposal: Proposal, edited: Edited) -> str:
    """Note the edits of one tool; why it is left to a person, else nothing."""
    found, given = proposal.tool, proposal.tool.annotated
    if found.own:
        return BY_HAND["own"].format(found.own)
    if given is None:
        text = f"annotations={_form(seen, proposal, edited)}"
        if isinstance(found.site, ast.Call):
            edited.argues(found.site, text)
        else:
            _, end = edited.span(found.site)
            edited.edits.append((end, end, f"({text})"))
        return ""
    if isinstance(given, ast.Dict):
        known = {
            key.value: value
            for key, value in zip(given.keys, given.values, strict=True)
            if isinstance(key, ast.Constant)
        }
        form = '"{}": {}'
    elif isinstance(given, ast.Call):
        known = {word.arg: word.value for word in given.keywords if word.arg}
        form = "{}={}"
    else:
        return "" if hints_of(proposal).items() <= found.hints.items() else BY_HAND["elsewhere"]
    snake = {hint: name for name, hint in SNAKE.items()}
    spells_snake = bool(known.keys() & SNAKE.keys()) or (
        isinstance(given, ast.Call) and _framework(seen, proposal) == "SDK 2"
    )
    more: list[str] = []
    if found.title is None:
        more.append(form.format("title", _literal(title_of(proposal))))
    for hint, value in hints_of(proposal).items():
        name = snake[hint] if snake[hint] in known or spells_snake else hint
        if name not in known:
            more.append(form.format(name, value))
        elif found.hints.get(hint) is not value:
            edited.replaces(known[name], str(value))
    if more:
        edited.argues(given, *more)
    return ""


def edits(seen: Survey, chosen: list[Proposal]) -> tuple[list[Edited], dict[str, str]]:
    """What is to be written, and by tool what is left to a person."""
    files: dict[Path, Edited] = {}
    by_hand: dict[str, str] = dict(seen.reasons())
    sites: set[int] = set()
    for proposal in chosen:
        module = proposal.tool.module
        edited = files.setdefault(module.path, Edited(module))
        if id(proposal.tool.site) in sites:
            by_hand[proposal.tool.name] = "one line registers several tools; write it out"
            continue
        sites.add(id(proposal.tool.site))
        if why := _edit(seen, proposal, edited):
            by_hand[proposal.tool.name] = why
    return [edited for edited in files.values() if edited.edits], by_hand
