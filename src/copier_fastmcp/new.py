"""`new`: a server from names, from an OpenAPI document, or from answers.

Everything is asked, checked and rendered in a folder that goes away before anything is written to the
destination, so leaving at any point leaves nothing.
"""

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from . import copying
from .errors import RefusedError, UnableError, one_line, tell
from .listing import entries, plain
from .openapi.merging import load_answers
from .origin import own
from .pinning import pin
from .placing import Placed, compare, place
from .printing import table
from .reviewing import HEADS, rows, wrong_names

SHOWN = 8


def new(
    dest: Path | None = None,
    *,
    from_: Annotated[Path | None, Parameter("--from")] = None,
    tools: str | None = None,
    domain: str | None = None,
    server_name: str | None = None,
    profile: Literal["explicit", "end-state", "narrow", "confirm-all"] | None = None,
    tag: list[str] | None = None,
    path: list[str] | None = None,
    method: list[str] | None = None,
    operation: list[str] | None = None,
    conflicts: Literal["keep", "replace"] | None = None,
    install: bool = False,
    unattended: bool = False,
    template: str | None = None,
    ref: str | None = None,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Make a server: from names of tools, from an OpenAPI document, or from an answers file.

    In a terminal it asks, explains each behavior, and shows every tool with its hints before anything is
    written; Esc goes back, Ctrl-C leaves nothing. Unattended it takes what the options say.

    Args:
        dest: The folder to make; unsaid, one with the server's name.
        from_: An OpenAPI document, or an answers file as `import` writes it.
        tools: Names with commas between, as in "search_notes, get_note, archive_note=put".
        domain: What it is about, as a plural noun.
        server_name: The command that starts it, as in notes-mcp.
        profile: How careful it is.
        tag: Of a document, only operations with such a tag. Repeat it for more.
        path: Of a document, only such paths.
        method: Of a document, only such methods.
        operation: Of a document, only such operationIds or operations.
        conflicts: What becomes of files that are there and differ: keep yours, or replace them.
        install: Run uv sync and pin the tools afterwards, without asking.
        unattended: Ask nothing.
        template: The template's address, where it is not the one of this command.
        ref: A version of the template.
        json_output: Print JSON, and ask nothing.

    Raises:
        RefusedError: The answers, the document or the destination cannot be used; nothing was written.
        UnableError: Copier or uv fails.
    """
    origin = own(template, ref)
    globs = {
        "tag": tag or [],
        "path": path or [],
        "method": method or [],
        "operation": operation or [],
    }
    asking = not (unattended or json_output)
    if asking and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RefusedError(
            "there is no terminal to ask in; say --unattended with --tools or --from"
        )
    options = {"domain": domain, "server_name": server_name, "profile": profile}
    said: dict[str, Any] = {key: value for key, value in options.items() if value}
    if server_name:
        said["package_name"] = server_name.replace("-", "_")
    if tools:
        if wrong := wrong_names(tools):
            raise RefusedError(f"--tools: {wrong}")
        said["tools"] = plain(entries(tools))
    try:
        known = (source(from_, globs, asking=asking) if from_ else {}) | said
        if not asking and not known.get("tools"):
            raise RefusedError(
                'no tool is named; say --tools "search_notes, get_note", or --from FILE'
            )
        if asking:
            from .starting import Dialog

            known = Dialog(known, lambda file: source(file, globs, asking=True)).ask()
        destination = dest or Path(
            str(known.get("server_name") or f"{known.get('domain', 'notes')}-mcp")
        )
        return _make(
            known, origin.source, origin.ref, destination, conflicts, asking, install, json_output
        )
    except KeyboardInterrupt:
        tell("nothing was written")
        return 130


def source(file: Path, globs: Mapping[str, list[str]], *, asking: bool) -> dict[str, Any]:
    """The answers in a file: an answers file, or an OpenAPI document read as `import` does.

    Raises:
        RefusedError: It is neither.
    """
    from .importing import from_document
    from .openapi.reading import load

    root = load(file)
    if "openapi" in root or "swagger" in root:
        return from_document(file, globs, asking=asking)
    if "tools" not in root:
        raise RefusedError(f"{file} is neither an OpenAPI document nor an answers file with tools")
    return {key: value for key, value in load_answers(file).items() if not str(key).startswith("_")}


def _make(
    known: dict[str, Any],
    address: str,
    version: str,
    destination: Path,
    conflicts: str | None,
    asking: bool,
    install: bool,
    json_output: bool,
) -> int:
    """Render, compare, write, and what follows."""
    with copying.rendered({**known, "_src_path": address, "_commit": version}) as project:
        met = compare(project, destination)
        replace = _settled(met, destination, conflicts, asking)
        written = place(project, destination, met, replace=replace)
    server = str(known.get("server_name") or "")
    if not server:
        found = sorted((destination / "src").glob("*_mcp"))
        server = found[0].name.replace("_", "-") if found else destination.name
    if not json_output:
        print(
            f"{destination} holds {server}: {len(written)} files, {len(entries(known.get('tools')))} tools"
        )
    wanted = install or (asking and _wants_install())
    if wanted:
        _install(destination)
    if json_output:
        made = {
            "destination": str(destination),
            "server": server,
            "files": written,
            "installed": wanted,
        }
        cells = [
            dict(zip(("tool", "behavior", "hints", "asks", "source"), row, strict=True))
            for row in rows(known)
        ]
        print(json.dumps({**made, "tools": cells}, indent=1, ensure_ascii=False))
        return 0
    if not asking:
        table(HEADS, rows(known))
    first = "" if wanted else "uv sync && uv run tests/policy/pin.py && "
    print(f"\n  cd {destination}")
    print(f"  {first}uv run pytest     # every tool runs, and its hints are proven")
    print(f"  uv run {server} run     # serve it over stdio; `run --http` over HTTP")
    print('  git init && git add -A && git commit -m "Start"')
    return 0


def _settled(met: Placed, destination: Path, conflicts: str | None, asking: bool) -> bool:
    """Whether files that differ are replaced; what would meet is shown first."""
    if not met.differ:
        if met.same or (destination.is_dir() and any(destination.iterdir())):
            tell(
                f"{destination} is not empty: {len(met.new)} files are new, {len(met.same)} are there already"
            )
        return False
    names = ", ".join(met.differ[:SHOWN]) + (
        f" and {len(met.differ) - SHOWN} more" if len(met.differ) > SHOWN else ""
    )
    line = f"{destination} is not empty: {len(met.new)} files are new, {len(met.differ)} differ from yours: {names}"
    if conflicts:
        tell(one_line(f"{line}; {'yours stay' if conflicts == 'keep' else 'they are replaced'}"))
        return conflicts == "replace"
    if not asking:
        raise RefusedError(one_line(f"{line}; say --conflicts keep or --conflicts replace"))
    from . import prompts

    print(one_line(line))
    choices = [("keep yours", False), ("replace them", True), ("leave, and write nothing", None)]
    try:
        found = prompts.choose("What becomes of the files that differ?", choices)
    except prompts.BackError as error:
        raise KeyboardInterrupt from error
    if found is None:
        raise KeyboardInterrupt
    return bool(found)


def _wants_install() -> bool:
    from . import prompts

    try:
        return prompts.yes("Install it now, and write its lock and tool table (uv sync, pin)?")
    except (prompts.BackError, KeyboardInterrupt):
        return False


def _install(destination: Path) -> None:
    """Install a server and pin its tools; what fails is said, the files stay."""
    try:
        command = ["uv", "sync", "--quiet"]
        done = subprocess.run(command, cwd=destination, capture_output=True, text=True, check=False)
    except OSError as error:
        raise UnableError(f"uv: {error}; install uv, then run uv sync in {destination}") from error
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines() or [f"exit code {done.returncode}"]
        raise UnableError(f"uv sync in {destination}: {one_line(lines[-1])}; the files are written")
    pin(destination)
