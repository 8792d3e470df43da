"""`add`: one tool more, by the template's own rules.

It extends the answers, and Copier writes the files at the recorded version. Nothing is written
before the last question is answered; what goes wrong after it is undone.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from .errors import BackError, RefusedError, tell
from .listing import entries, listed, plain
from .lock import FILE as LOCK
from .project import copying
from .project.answers import recorded
from .project.locked import locked
from .project.pinning import PIN, TABLE
from .project.repository import changed, git
from .project.tools import apply, clean

Behavior = Literal["read", "create", "ensure", "append", "update", "put", "delete", "action"]


REQUEST = re.compile(r'\bapi\(\)\.(\w+)\(\s*f?"([^"]*)"')


def parameter(text: str) -> dict[str, Any]:
    """A parameter from `name:type:description`; `name?` is optional, the type is str when unsaid.

    Raises:
        RefusedError: It has no name.
    """
    name, _, rest = text.partition(":")
    kind, _, about = rest.partition(":")
    if not name.rstrip("?"):
        raise RefusedError(f"--param {text!r} has no name; write it as note_id:int:The ID.")
    made: dict[str, Any] = {"name": name.rstrip("?").strip(), "type": kind.strip() or "str"}
    if about.strip():
        made["description"] = about.strip()
    return made | ({"required": False} if name.endswith("?") else {})


def _written(fresh: Path, name: str) -> Path:
    """The file that a render has for a tool.

    Raises:
        RefusedError: It has none, or several: that was not one name.
    """
    files = list(fresh.glob(f"src/*/tools/**/{name}.py"))
    if len(files) != 1:
        raise RefusedError(f"{name!r} is not the name of one tool; write it as archive_note")
    return files[0].relative_to(fresh)


def _facts(pinned: Mapping[str, Any]) -> str:
    """What clients are told of a tool, in one line."""
    hints = " ".join(f"{hint}={str(value).lower()}" for hint, value in pinned["hints"].items())
    return f"{hints or 'no hints'}; {'asks a person first' if pinned['gated'] else 'asks nobody'}"


def add(
    name: str | None = None,
    *,
    behavior: Behavior | None = None,
    title: str | None = None,
    description: str | None = None,
    param: list[str] | None = None,
    module: str | None = None,
    confirm: str | None = None,
    http: str | None = None,
    why: str | None = None,
    trust: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Add a tool to the server in this folder: files, answers, lock and tool table, all or nothing.

    Without a name it asks for everything in the terminal, and shows the file before it is written.
    The files are those that the template makes at the version that the project records; lock and
    table are pinned by the project's own tests/policy/pin.py.

    Args:
        name: Its name, the verb first; `archive_note=put` says its behavior as well.
        behavior: What it does, where the verb does not say so.
        title: What people read; else from the name.
        description: What models read; else from the title.
        param: A parameter as `note_id:int:The ID.`; `note_id?` is optional. Repeat it for more.
        module: The sub-package of tools/ that it goes in.
        confirm: The question before it runs, as in "Archive note {note_id}?".
        http: The request that it sends, as in "POST /notes/{note_id}/archive"; by default it is guessed.
        why: One sentence that justifies its hints.
        trust: Let the template run its tasks and migrations, with your rights.
        json_output: Print JSON.

    Raises:
        RefusedError: The tool is not possible as described, or the tree is not clean.
        UnableError: Copier, git or the new server fails; everything is as it was.
    """
    known = recorded()
    asked = name is None
    if asked and not sys.stdin.isatty():
        raise RefusedError("there is no terminal to ask in; say it: add NAME [--behavior ...]")
    if asked and json_output:
        raise RefusedError("--json asks no questions; say it: add NAME [--behavior ...]")
    clean()
    name, _, verb = (name or "").partition("=")  # archive_note=put, as in the answers
    options: dict[str, Any] = {
        "name": name,
        "behavior": behavior or verb,
        "title": title,
        "description": description,
        "params": [parameter(text) for text in param or []],
        "module": module,
        "confirm": confirm,
        "http": http,
        "why": why,
    }
    source, version = known["_src_path"], known["_commit"]
    try:
        if asked:  # nobody answers ten questions to hear that they may not
            copying.trusted_code(source, version, version, trust=trust)
        kept = {key: value for key, value in options.items() if value}
        tool = _asked(known) if asked else kept
        if known.get("adopted"):
            return _adopted(known, tool, asked=asked, json_output=json_output)
        tools = [*listed(known.get("tools")), *plain([tool])]
        with copying.rendered(known | {"tools": tools}) as fresh:
            place = _written(fresh, tool["name"])
            text = (fresh / place).read_text(encoding="utf-8")
        if place.exists():
            raise RefusedError(f"{place.as_posix()} is there; choose another name")
        copying.trusted_code(source, version, version, trust=trust)
        if not json_output:
            print(f"{place.as_posix()}\n\n{text}")
        if asked and not _agreed():
            raise KeyboardInterrupt
        apply(known, tools, trust=trust)
    except KeyboardInterrupt:
        tell("nothing was written")
        return 130
    _report(tool["name"], place, json_output=json_output)
    if known.get("backend") == "http" and "http" not in tool and (sent := REQUEST.search(text)):
        path = re.sub(r"quoted\((\w+)\)", r"\1", sent[2])
        request = f"{sent[1].upper()} {path}"
        tell(
            f"the request {request} is a guess, since --http did not say it; see {place.as_posix()}"
        )
    return 0


def _adopted(
    known: Mapping[str, Any], tool: Mapping[str, Any], *, asked: bool, json_output: bool
) -> int:
    """Add a tool where a server keeps its own layout; no code of the template runs."""
    from .adopting.adding import added
    from .project.undoable import write

    place, files, by_hand = added(known, tool, _written)
    if not json_output:
        print(f"{place.as_posix()}\n\n{files[place.resolve()].decode()}")
    if asked and not _agreed():
        raise KeyboardInterrupt
    apply(known, None, trust=False, then=lambda: write(files))
    _report(tool["name"], place, json_output=json_output)
    if by_hand:
        tell(by_hand)
    return 0


def _asked(known: Mapping[str, Any]) -> dict[str, Any]:
    from .terminal.describing import ask

    try:
        return ask([str(one.get("name")) for one in entries(known.get("tools"))])
    except BackError as error:
        raise KeyboardInterrupt from error


def _agreed() -> bool:
    from .terminal.describing import agreed

    try:
        return agreed()
    except BackError:
        return False


def _report(name: str, place: Path, *, json_output: bool) -> None:
    """Say what is new; what no pinning script wrote cannot be shown."""
    pinned = locked().get(name) if PIN.is_file() else None
    if json_output:
        new = {"tool": name, "file": place.as_posix(), "changed": sorted(changed(Path()))}
        print(json.dumps({**new, "pinned": pinned}, indent=2, ensure_ascii=False))
        return
    if pinned is None:
        print(f"{PIN.as_posix()} is not here, so {LOCK} does not hold {name} yet")
    else:
        print(git(Path(), "diff", "--no-color", "--", LOCK, TABLE))
        print(_facts(pinned))
    print(f"{place.as_posix()} is yours now, as is its test in tests/tools; then `git add -A`")
