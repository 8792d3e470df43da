"""`tools add`: a new tool by the template's own rules, asked for in the terminal or said in one line.

Managed by the template. It extends the answers, and Copier writes the files at the recorded version. Nothing is
written before the last question is answered; what goes wrong after it is undone.
"""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .behaviors import BEHAVIORS, Behavior
from .lock import FILE as LOCK
from .recorded import answers, copier, rendered
from .registry import StartError
from .rules import VERBS
from .settings import SERVER_NAME

TYPES = ["str", "int", "float", "bool", "date", "datetime", "uuid", "url", "email", "dict", "any"]
TABLE = Path("docs/tools.md")


def _git(*words: str) -> str:
    try:
        done = subprocess.run(["git", *words], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = (getattr(error, "stderr", None) or str(error)).strip().splitlines()[0]
        raise StartError(f"git {words[0]}: {reason}; a tool is added to a git repository") from None
    return done.stdout


def _clean() -> None:
    """Copier updates no project in a repository that has uncommitted changes."""
    if changed := [line[3:] for line in _git("status", "--porcelain", "-unormal").splitlines()]:
        more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
        raise StartError(f"commit {', '.join(changed[:3])}{more} first; Copier needs a clean tree")


def parameter(said: str) -> dict[str, Any]:
    """A parameter from `name:type:description`; `name?` makes it optional, the type is str unsaid.

    Raises:
        StartError: There is no name.
    """
    name, _, rest = said.partition(":")
    kind, _, text = rest.partition(":")
    if not name.rstrip("?"):
        raise StartError(f"--param {said!r} has no name; write it as note_id:int:The ID.")
    found: dict[str, Any] = {"name": name.rstrip("?").strip(), "type": kind.strip() or "str"}
    if text.strip():
        found["description"] = text.strip()
    return found | ({"required": False} if name.endswith("?") else {})


def _asked() -> dict[str, Any]:
    """The tool as a person in a terminal says it.

    Raises:
        KeyboardInterrupt: They left.
    """
    import questionary as q

    def text(question: str, default: str = "", **more: Any) -> str:
        return str(q.text(question, default=default, **more).unsafe_ask()).strip()

    named = re.compile("[a-z][a-z0-9_]{0,63}")
    name = text(
        "Name, its verb first:",
        validate=lambda said: bool(named.fullmatch(said.strip())) or "as in archive_note",
    )
    guess = VERBS.get(name.split("_")[0])
    meanings = [q.Choice(f"{b:7} {of.text}", b) for b, of in BEHAVIORS.items()]
    behavior = q.select("What it does:", meanings, default=guess).unsafe_ask()
    tool: dict[str, Any] = {"name": name} | ({"behavior": behavior} if behavior != guess else {})
    tool["title"] = text("Title:", name.replace("_", " ").title())
    tool["description"] = text("Description, for the model (empty: a sentence from the title):")
    params = []
    wire = re.compile("([A-Za-z][A-Za-z0-9_.-]{0,63})?")
    while one := text(
        "A parameter's name (empty: no more; none at all: those of its behavior):",
        validate=lambda said: bool(wire.fullmatch(said.strip())) or "as in note_id",
    ):
        kind = q.select("Its type:", [*TYPES, "list[str]", "list[int]"]).unsafe_ask()
        about = text("What it is:", validate=lambda said: bool(said.strip()) or "one sentence")
        optional = {} if q.confirm("Is it required?").unsafe_ask() else {"required": False}
        params.append({"name": one, "type": kind, "description": about} | optional)
    tool["params"] = params
    gates = ["as the policy says", "ask, with a question made from the title", "ask in my words"]
    gate = q.select("Before it runs:", gates).unsafe_ask()
    if gate != gates[0]:
        tool["confirm"] = gate == gates[1] or text("The question, as in Archive note {note_id}?")
    if behavior != "read":
        tool["why"] = text("Why its hints are right, in a sentence (empty: one by its behavior):")
    return {key: value for key, value in tool.items() if value not in ("", [])}


def _extended(known: dict[str, Any], tool: dict[str, Any]) -> list[Any]:
    """The answer `tools` in whatever form it was, with one more."""
    before = known.get("tools") or []
    if isinstance(before, str):
        before = [item.strip() for item in re.split("[,\n]", before) if item.strip()]
    listed = [before] if isinstance(before, dict) else list(before)
    return [*listed, tool["name"] if tool.keys() == {"name"} else tool]


def _written(fresh: Path, name: str) -> Path:
    """The file that a render has for a tool.

    Raises:
        StartError: It has none, or several: that was no name.
    """
    found = list(fresh.glob(f"src/*/tools/**/{name}.py"))
    if len(found) != 1:
        raise StartError(f"{name!r} is no name of one tool; write it as archive_note")
    return found[0]


def _apply(known: dict[str, Any], tools: list[Any]) -> None:
    """Let Copier write it, then renew what is derived; all or nothing."""
    _clean()  # asking takes a while; what was edited meanwhile must not be undone below
    try:
        copier({"tools": tools}, "update", "--trust", "--vcs-ref", known["_commit"], ".")
        for words in (["policy", "lock"], ["tools", "table", "--write"]):
            command = [sys.executable, "-m", __name__.partition(".")[0], *words]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise StartError(done.stderr.strip().removeprefix(f"{SERVER_NAME}: "))
    except BaseException:  # also Ctrl-C: the tree was clean, so this takes nothing of yours
        _git("restore", "--source=HEAD", "--staged", "--worktree", ".")
        _git("clean", "-fdq", ".")
        raise


def add(
    name: str | None = None,
    *,
    behavior: Behavior | None = None,
    title: str | None = None,
    description: str | None = None,
    param: Annotated[list[str] | None, Parameter(negative=())] = None,
    module: str | None = None,
    confirm: str | None = None,
    why: str | None = None,
) -> None:
    """Add a tool: asks for it in the terminal, or takes it from the options when a name is there.

    Args:
        name: Its name, the verb first; `archive_note=put` says its behavior as well.
        behavior: What it does, where the verb does not say so.
        title: What people read; else from the name.
        description: What models read; else from the title.
        param: A parameter as `note_id:int:The ID.`; `note_id?` is an optional one. Repeat it for more.
        module: The sub-package of tools/ that it goes in.
        confirm: The question before it runs, as in "Archive note {note_id}?".
        why: One sentence that justifies its hints.
    """
    known = answers()
    _clean()
    asked = name is None
    name, _, verb = (name or "").partition("=")  # archive_note=put, as in the answers
    if asked and not sys.stdin.isatty():
        raise StartError("no terminal to ask in; say it: tools add NAME [--behavior ...]")
    try:
        options = {
            "name": name,
            "behavior": behavior or verb,
            "title": title,
            "description": description,
            "params": [parameter(text) for text in param or []],
            "module": module,
            "confirm": confirm,
            "why": why,
        }
        tool: dict[str, Any] = _asked() if asked else {k: v for k, v in options.items() if v}
        tools = _extended(known, tool)
        with rendered(known | {"tools": tools}) as fresh:
            file = _written(fresh, tool["name"])
            place = file.relative_to(fresh)
            pinned = json.loads((fresh / LOCK).read_text(encoding="utf-8"))[tool["name"]]
            gate = "asks a person first" if pinned["gated"] else "asks nobody"
            hints = " ".join(f"{hint}={str(v).lower()}" for hint, v in pinned["hints"].items())
            print(f"{place}\n\n{file.read_text(encoding='utf-8')}\n{hints}\n{gate}")
        if place.exists():
            raise StartError(f"{place} is there; choose another name")
        if asked:
            import questionary

            if not questionary.confirm("Write it?").unsafe_ask():
                raise KeyboardInterrupt
        _apply(known, tools)
    except KeyboardInterrupt:
        print(f"{SERVER_NAME}: nothing was written", file=sys.stderr)
        sys.exit(130)
    print(_git("diff", "--no-color", "--", str(LOCK), str(TABLE)))
    print(f"{place} is yours now, as is its test in tests/tools; read {LOCK}, then `git add -A`")
