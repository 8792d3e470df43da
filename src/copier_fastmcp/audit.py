"""`audit`: what is wrong with the hints of a server's tools, as anybody can see it from outside."""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from .auditing.recorded import Tools, recorded
from .auditing.running import over_the_wire
from .errors import RefusedError, UnableError, one_line, tell
from .lock import FILE
from .project.locked import as_served, locked

FOREVER = 24 * 60 * 60


def _headers(lines: Sequence[str], token: str | None) -> dict[str, str]:
    """What is sent with each request.

    Raises:
        RefusedError: A line is not a header, or the token's variable is not set.
    """
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name.strip()):
            raise RefusedError(f"{name!r} is not a header; write --header 'Name: value'")
        headers[name.strip()] = value.strip()
    if token and token.startswith("env:"):
        variable = token.removeprefix("env:")
        if not (token := os.environ.get(variable)):
            raise RefusedError(f"{variable} is not set; put the token there")
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _pinned() -> Tools:
    """The tools of the project in the current folder.

    Raises:
        UnableError: There is no lock, and so nothing to check.
    """
    if not Path(FILE).exists():
        ways = "--server COMMAND, --url ADDRESS or --file FILE"
        raise UnableError(f"{FILE} is not in {Path.cwd()}; name a server with {ways}")
    try:
        return [as_served(name, pinned) for name, pinned in locked().items()]
    except (LookupError, TypeError, AttributeError) as error:
        raise UnableError(f"{FILE}: {error} is not as pinning writes it; pin anew") from error


def _servers(
    server: str | None,
    url: str | None,
    files: Sequence[Path],
    sent: Mapping[str, str],
    limit: float,
) -> Iterator[tuple[str, Tools]]:
    """The tools of each server that was named, with the name that tells it from the others."""
    if server is not None or url is not None:
        yield "", over_the_wire(server, url, sent, limit)
    elif not files:
        yield "", _pinned()
    for file in files:
        try:
            yield _name(file, files), recorded(file)
        except OSError as error:
            raise UnableError(f"could not check {file}: {error.strerror}") from error
        except ValueError as error:
            raise UnableError(f"could not check {file}: {error}") from error


def _name(file: Path, files: Sequence[Path]) -> str:
    """What tells a file from the others: its name, or its path where two have one name."""
    if len(files) < 2:
        return ""
    alike = [other for other in files if other.stem == file.stem]
    return file.stem if len(alike) == 1 else file.as_posix()


def audit(
    *,
    server: str | None = None,
    url: str | None = None,
    file: Annotated[list[Path] | None, Parameter(allow_leading_hyphen=True)] = None,
    header: list[str] | None = None,
    token: str | None = None,
    seconds: float = 30,
    directory: Literal["anthropic", "openai"] | None = None,
    level: Literal["error", "warning", "note"] = "note",
    clients: bool = False,
    explain: str | None = None,
    baseline: Path | None = None,
    snapshot: Path | None = None,
    json_output: Annotated[bool, Parameter("--json")] = False,
    sarif_output: Annotated[bool, Parameter("--sarif")] = False,
) -> int:
    """Check the hints, names and texts of a server's tools from outside; no tool is called.

    Without --server, --url and --file it reads annotations.lock.json of the project that you are
    in. What a project's own tests prove by running its tools is more than this can see.

    Args:
        server: The command that starts a server over stdio.
        url: The address of a server.
        file: An answer to tools/list, or a list of tools; - is stdin. Each is another server.
        header: A header for --url, as 'Name: value'.
        token: A bearer token for --url; env:NAME takes it from a variable.
        seconds: How long a server may take.
        directory: The rules of a directory, instead of those for any server.
        level: The least severity that is shown.
        clients: Print what clients will do with each tool, instead of findings.
        explain: A tool: print every signal about it, instead of findings.
        baseline: A file that `audit --json` wrote: show only what is new.
        snapshot: A file to keep the whole definitions in, at first; then name what changed since.
        json_output: Print JSON.
        sarif_output: Print SARIF, for code scanning.

    Returns:
        0 without findings and changes, 1 with.

    Raises:
        RefusedError: Two servers are named, or two forms.
        UnableError: The tools cannot be read.
    """
    ways = {"--server": server, "--url": url, "--file": file}
    _one_of({name: value is not None for name, value in ways.items()}, "name two servers")
    _one_of({"--json": json_output, "--sarif": sarif_output}, "are two forms")
    views = {"--clients": clients, "--explain": explain is not None, "--sarif": sarif_output}
    _one_of(views, "print two things")
    kept = {"--baseline": baseline is not None, "--snapshot": snapshot is not None}
    for view in [name for name in ("--clients", "--explain") if views[name]]:
        _one_of({view: True, **kept}, "print or compare")
    if not 0 < seconds < FOREVER:
        raise RefusedError(f"--seconds {seconds:g} is not a time to wait; say more than 0, as 30")
    if url is None and (header or token):
        raise RefusedError("--header and --token go with --url; no other way takes them")
    sent = _headers(header or [], token)
    read = list(_servers(server, url, file or [], sent, seconds))
    ours = not any(value is not None for value in ways.values())
    tools = [tool for _, listed in read for tool in listed]
    if clients:
        from .auditing import printing

        if json_output:
            print(json.dumps(printing.clients(tools), indent=2, ensure_ascii=False))
        else:
            printing.show_clients(tools)
        return 0
    if explain is not None:
        return _explained(explain, read, json_output)
    written = {} if ours else {name: snapshot or Path("mcp-server") for name, _ in read}
    written |= {_name(each, file or []): each for each in file or []}
    return _judged(
        read, directory or "foreign", written, level, baseline, snapshot, json_output, sarif_output
    )


def _one_of(said: Mapping[str, bool], clash: str) -> None:
    """Refuse two options that exclude each other.

    Raises:
        RefusedError: Both are there.
    """
    named = [name for name, there in said.items() if there]
    if len(named) > 1:
        raise RefusedError(f"{' and '.join(named)} {clash}; say one")


def _explained(name: str, read: Sequence[tuple[str, Tools]], json_output: bool) -> int:
    """Print the signals about a tool, and what follows from them."""
    from .auditing.deriving import explained

    rows = [row for _, listed in read for row in explained(listed, name)]
    if not rows:
        known = ", ".join(str(tool.get("name")) for _, listed in read for tool in listed)
        raise RefusedError(f"{name!r} is not a tool of this server; its tools are {known}")
    if json_output:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return 0
    for row in rows:
        print(one_line(row["tool"]))
        for line in row["signals"]:
            print(f"  {one_line(line)}")
        for hint, verdict in row["hints"].items():
            declared = verdict["declared"]
            said = "left out" if declared is None else f"declared {json.dumps(declared)}"
            print(f"  {hint}: {said}, derived {verdict['says']}")
    return 0


def _apart(server: str, tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool whose name says which of several servers it is of."""
    return {**tool, "name": f"{server}/{tool.get('name')}" if server else tool.get("name")}


def _judged(
    read: Sequence[tuple[str, Tools]],
    profile: str,
    written: Mapping[str, Path],
    level: str,
    baseline: Path | None,
    snapshot: Path | None,
    json_output: bool,
    sarif_output: bool,
) -> int:
    """Print findings, and what changed since a snapshot."""
    from .auditing import printing
    from .auditing.judging import judge
    from .auditing.snapshot import compared, loud_first, new

    findings, questions, changes = [], [], []
    ours = not written
    declared = [name for name, pinned in locked().items() if pinned.get("behavior")] if ours else []
    for name, listed in read:
        found, asked = judge(listed, profile, name, ours=ours, declared=declared)
        findings += [one for one in found if printing.worth(one, level)]
        questions += asked
    if baseline:
        findings = new(findings, baseline)
    tools = [tool for _, listed in read for tool in listed]
    if snapshot:
        since = compared(snapshot, [_apart(name, tool) for name, each in read for tool in each])
        changes = loud_first(since or [])
        told = f"{len(tools)} definitions are in {snapshot}" if since is None else ""
        for line in changes or [told] * bool(told):
            tell(line)
    if json_output:
        print(json.dumps([asdict(one) for one in findings], indent=2, ensure_ascii=False))
    elif sarif_output:
        from .auditing.sarif import sarif

        print(json.dumps(sarif(findings, written), indent=2))
    else:
        printing.people(findings, questions, len(tools))
    return 1 if findings or changes else 0
