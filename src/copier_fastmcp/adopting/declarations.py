"""Decorators for the tools of an existing server: the behavior and the reason."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..auditing.evidence import OPEN_WORLD
from ..sources.modules import Function, Module
from ..tables import load_tables
from .annotations import choose_title
from .edits import Edited
from .hints import derive_hints, format_hints
from .proposals import Proposal

WORD = "policy"
LONGEST_CALL = 75  # a decorator on one line, which an indentation makes longer
WHY = {
    "create": "each call adds a new one and loses nothing",
    "ensure": "the same call again finds what is there",
    "append": "each call adds to what is there and loses nothing",
    "update": "it changes what is there, and the same call again may fail",
    "put": "it replaces what is there, and the same call again changes nothing more",
    "delete": "what is gone stays gone",
    "pop": "each call takes away another one",
    "action": "nothing shows that it can be taken back or repeated",
}


def add_declaration(
    proposal: Proposal, edits: dict[Path, Edited], package: str
) -> None:
    """Insert the decorator of a tool right above its function, below the present ones."""
    function, home = proposal.tool.function, proposal.tool.home
    if function is None or home is None or is_declared(function, home, package):
        return
    edited = edits.setdefault(home.path, Edited(home))
    word = add_policy_import(edited, package)
    start = edited.find_line_start(function.lineno)
    for edit in edited.edits:
        if edit.start == start and edit.text.lstrip().startswith("@"):
            return  # one function, registered under several names
    if proposal.asked:
        edited.insert_above(function.lineno, f"# review: {proposal.asked}")
    decorator = f"@{word}.{proposal.behavior}"
    for line in _format_call(decorator, _list_arguments(proposal)):
        edited.insert_above(function.lineno, line)


def _list_arguments(proposal: Proposal) -> list[Any]:
    """The arguments of the decorator; a list is one argument on several lines."""
    arguments: list[Any] = [f"title={_format_literal(choose_title(proposal))}"]
    reason = _explain_behavior(proposal)
    if reason:
        arguments.append(f"why={_format_literal(reason)}")
    arguments += _format_kept_arguments(proposal)
    if proposal.tool.hints.get(OPEN_WORLD) is False:
        arguments.append("open_world=False")  # no body shows it; its author knows
    exceptions = [*proposal.exceptions, *_build_kept_exceptions(proposal)]
    if exceptions:
        arguments.append(["exceptions=[", *map(_format_exception, exceptions), "]"])
    return arguments


def _select_kept_hints(proposal: Proposal) -> dict[str, bool]:
    """The author's hints that the behavior alone would change, by decorator argument."""
    if proposal.behavior == "read":
        return {}  # of a read the other hints mean nothing
    usual = derive_hints(proposal.tool.name, proposal.behavior, proposal.exceptions)
    selected: dict[str, bool] = {}
    for hint, wire_name in load_tables()["hints"].items():
        value = proposal.kept_hints.get(wire_name)
        if value is not None and usual.get(wire_name) is not value:
            selected[hint] = value
    return selected


def _format_kept_arguments(proposal: Proposal) -> list[str]:
    """The author's hints of an action, as arguments of the decorator."""
    if proposal.behavior != "action":
        return []
    return format_hints(_select_kept_hints(proposal))


def _build_kept_exceptions(proposal: Proposal) -> list[dict[str, Any]]:
    if proposal.behavior == "action":
        return []
    exceptions: list[dict[str, Any]] = []
    for hint, value in _select_kept_hints(proposal).items():
        reason = "Its author declared it so."
        exceptions.append({"hint": hint, "value": value, "why": reason})
    return exceptions


def _format_exception(exception: dict[str, Any]) -> list[Any]:
    pairs: list[Any] = []
    for key, value in exception.items():
        pairs.append(f'"{key}": {_format_literal(value)}')
    return ["{", *pairs, "}"]


def _format_literal(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return repr(value)


def _format_call(call: str, arguments: list[Any]) -> list[str]:
    """A call on one line if it is short, else spread over lines as formatters do."""
    line = f"{call}({', '.join(map(str, arguments))})"
    has_lists = any(isinstance(argument, list) for argument in arguments)
    if not has_lists and len(line) <= LONGEST_CALL:
        return [line]
    return [f"{call}(", *_spread(arguments, "    "), ")"]


def _spread(arguments: list[Any], indent: str) -> list[str]:
    """Arguments on lines of their own; of a list, the first and the last item are its brackets."""
    lines: list[str] = []
    for argument in arguments:
        if isinstance(argument, str):
            lines.append(f"{indent}{argument},")
            continue
        opening, *items, closing = argument
        lines.append(f"{indent}{opening}")
        lines += _spread(items, f"{indent}    ")
        lines.append(f"{indent}{closing},")
    return lines


def _explain_behavior(proposal: Proposal) -> str:
    """One sentence that justifies the hints of a writing tool: the effect and its consequence."""
    if proposal.behavior == "read":
        return ""
    evidence_text = _find_effect_text(proposal.evidence)
    effect_text = re.sub(r" \(\d calls down\)", "", evidence_text)
    sentence = WHY["pop" if proposal.exceptions else proposal.behavior]
    if effect_text:
        sentence = f"{effect_text}; {sentence}"
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _find_effect_text(evidence: Iterable[str]) -> str:
    """The first evidence that is an effect of the body."""
    for text in evidence:
        if text.startswith(("it ", "its SQL")):
            return text
    return ""


def is_declared(function: Function, home: Module, package: str) -> bool:
    """Whether a function has a decorator of policy/ already; a namesake does not count."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        first, *attributes = ast.unparse(called).split(".")
        dotted = ".".join([home.imports.get(first, first), *attributes])
        behavior = dotted.removeprefix(f"{package}.")
        if dotted != first and behavior in load_tables()["behaviors"]:
            return True
    return False


def add_policy_import(edited: Edited, package: str) -> str:
    """The name of policy/ in a file, which imports it."""
    module: Module = edited.module
    above, _, name = package.rpartition(".")
    for local, target in module.imports.items():
        if target == package:
            return local
    taken = {*_list_bound_names(module), *module.imports}
    word = name
    while word in taken:
        word = f"tool_{word}"
    line = f"from {above} import {name}" if above else f"import {name}"
    if word != name:
        line = f"{line} as {word}"
    edited.add_import(line)
    return word


def _list_bound_names(module: Module) -> Iterator[str]:
    """Every name that a file binds or uses, at any depth."""
    for node in module.nodes:
        for key in ("id", "arg", "name"):
            name = getattr(node, key, None)
            if isinstance(name, str):
                yield name
