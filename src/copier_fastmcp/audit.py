"""`audit`: what is wrong with the hints of a server's tools, judged from outside."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from copier_fastmcp_engine.testing.lock import FILE

from .auditing.servers import fetch_tools
from .auditing.tool_lists import Tools, read_tool_list
from .errors import RefusedError, UnableError, one_line, print_message
from .project.pinned_tools import build_definition, load_pinned_tools

DAY = 24 * 60 * 60
HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
Directory = Literal["anthropic", "openai"]
Level = Literal["error", "warning", "note"]


@dataclass(frozen=True)
class Server:
    """The tools of one server; `label` tells it from others that are audited with it."""

    label: str
    tools: Tools


@dataclass(frozen=True)
class Source:
    """Where the tools come from; without any of the first three, from the project's lock."""

    command: str | None
    url: str | None
    files: Sequence[Path]
    headers: Mapping[str, str]
    seconds: float

    @property
    def is_project(self) -> bool:
        """Whether the tools are those of the project in the current folder."""
        return self.command is None and self.url is None and not self.files

    def load(self) -> list[Server]:
        """Load the tools of each server.

        Raises:
            UnableError: They cannot be read.
        """
        if self.command is not None or self.url is not None:
            tools = fetch_tools(self.command, self.url, self.headers, self.seconds)
            return [Server("", tools)]
        if not self.files:
            return [Server("", _load_pinned())]
        servers: list[Server] = []
        for path in self.files:
            servers.append(Server(self.find_label(path), _load_recorded(path)))
        return servers

    def find_label(self, path: Path) -> str:
        """A file's name, or its path where two have one name; empty for a single file."""
        if len(self.files) < 2:
            return ""
        namesakes = [file for file in self.files if file.stem == path.stem]
        return path.stem if len(namesakes) == 1 else path.as_posix()


@dataclass(frozen=True)
class Report:
    """What is printed of the findings, and how."""

    profile: str
    level: Level
    baseline: Path | None
    snapshot: Path | None
    as_json: bool
    as_sarif: bool


def _load_pinned() -> Tools:
    """The tools of the project in the current folder.

    Raises:
        UnableError: There is no lock, and so nothing to check.
    """
    if not Path(FILE).exists():
        options = "--server COMMAND, --url ADDRESS or --file FILE"
        raise UnableError(
            f"{FILE} is not in {Path.cwd()}; name a server with {options}"
        )
    try:
        pins = load_pinned_tools()
        return [build_definition(name, pinned) for name, pinned in pins.items()]
    except (LookupError, TypeError, AttributeError) as error:
        raise UnableError(
            f"{FILE}: {error} is not as pinning writes it; pin anew"
        ) from error


def _load_recorded(path: Path) -> Tools:
    try:
        return read_tool_list(path)
    except OSError as error:
        raise UnableError(f"could not check {path}: {error.strerror}") from error
    except ValueError as error:
        raise UnableError(f"could not check {path}: {error}") from error


def _parse_headers(lines: Sequence[str], token: str | None) -> dict[str, str]:
    """The headers of each request.

    Raises:
        RefusedError: A line is not a header, or the token's variable is not set.
    """
    headers = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not HEADER_NAME.fullmatch(name.strip()):
            raise RefusedError(
                f"{name!r} is not a header; write --header 'Name: value'"
            )
        headers[name.strip()] = value.strip()
    if token and token.startswith("env:"):
        variable = token.removeprefix("env:")
        token = os.environ.get(variable)
        if not token:
            raise RefusedError(f"{variable} is not set; put the token there")
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return headers


def _refuse_clash(options: Mapping[str, bool], clash: str) -> None:
    """Refuse two options that exclude each other.

    Raises:
        RefusedError: Two of them are set.
    """
    names = [name for name, is_set in options.items() if is_set]
    if len(names) > 1:
        raise RefusedError(f"{' and '.join(names)} {clash}; say one")


def audit(
    *,
    server: str | None = None,
    url: str | None = None,
    file: Annotated[list[Path] | None, Parameter(allow_leading_hyphen=True)] = None,
    header: list[str] | None = None,
    token: str | None = None,
    seconds: float = 30,
    against: Annotated[str | None, Parameter(allow_leading_hyphen=True)] = None,
    directory: Directory | None = None,
    level: Level = "note",
    clients: bool = False,
    explain: str | None = None,
    patch: Annotated[bool, Parameter(negative=())] = False,
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
        against: An older version, as a command, an address or a file (a list, or a lock; - is
            stdin): print RELAXED, BREAKING and RENAMED changes since then, instead of findings.
        directory: The rules of a directory, instead of those for any server.
        level: The least severity that is shown.
        clients: Print what clients will do with each tool, instead of findings.
        explain: A tool: print every signal about it, instead of findings.
        patch: Print the diff that `annotate` would write into the source in the current folder.
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
    servers = {
        "--server": server is not None,
        "--url": url is not None,
        "--file": bool(file),
    }
    _refuse_clash(servers, "name two servers")
    _refuse_clash({"--json": json_output, "--sarif": sarif_output}, "are two forms")
    views = {
        "--against": against is not None,
        "--clients": clients,
        "--explain": explain is not None,
        "--patch": patch,
        "--sarif": sarif_output,
    }
    _refuse_clash(views, "print two things")
    _refuse_clash({"--patch": patch, "--json": json_output}, "print two things")
    rules = {"--against": against is not None, "--directory": directory is not None}
    _refuse_clash(rules, "print two things")
    records = {"--baseline": baseline is not None, "--snapshot": snapshot is not None}
    for view in ("--against", "--clients", "--explain", "--patch"):
        if views[view]:
            _refuse_clash({view: True, **records}, "print or compare")
    if against is not None and len(file or ()) > 1:
        raise RefusedError(
            "--against compares one server with an older version; say one --file"
        )
    if not 0 < seconds < DAY:
        raise RefusedError(
            f"--seconds {seconds:g} is not a time to wait; say more than 0, as 30"
        )
    if url is None and (header or token):
        raise RefusedError(
            "--header and --token go with --url; no other way takes them"
        )

    headers = _parse_headers(header or [], token)
    source = Source(server, url, file or [], headers, seconds)
    if against is not None:
        return _print_comparison(source, against, json_output)
    if patch:
        return _print_patch([] if source.is_project else source.load())
    audited = source.load()
    if clients:
        return _print_clients(audited, json_output)
    if explain is not None:
        return _print_signals(explain, audited, json_output)
    profile = directory or "foreign"
    report = Report(profile, level, baseline, snapshot, json_output, sarif_output)
    return _print_findings(source, audited, report)


def _print_comparison(source: Source, old: str, json_output: bool) -> int:
    """Print what changed since an older version of a server."""
    from .auditing.comparison import (
        Definitions,
        load_definitions,
        load_file,
        print_comparison,
    )

    if old == "-" and Path("-") in source.files:
        raise RefusedError(
            "--file and --against both read stdin; name a file for one of them"
        )
    if source.is_project and Path(FILE).exists():
        new = load_file(Path(FILE))
    else:
        (server,) = source.load()
        new = Definitions(server.tools)
    definitions = load_definitions(old, source.seconds)
    return print_comparison(definitions, new, json_output=json_output)


def _print_patch(audited: Sequence[Server]) -> int:
    """Print the diff of `annotate`, and name served tools that the source does not show.

    Returns:
        1 with a diff, 0 without.
    """
    from .adopting.annotations import annotate_survey
    from .adopting.survey import answer_questions, print_remaining_work, survey_server

    source = survey_server(Path())
    proposals = answer_questions(source, unattended=True)
    annotations = annotate_survey(source, proposals)
    for edited in annotations.files:
        path = edited.module.path.relative_to(source.project.root)
        print(edited.format_diff(path.as_posix()), end="")
    print_remaining_work(source, proposals, annotations.by_hand)
    source_names = {row["tool"] for row in source.build_rows()}
    for server in audited:
        for tool in server.tools:
            if tool.get("name") not in source_names:
                print_message(
                    f"{tool.get('name')}: not found in the source; annotate it by hand"
                )
    return 1 if annotations.files else 0


def _list_tools(audited: Sequence[Server]) -> Tools:
    tools: Tools = []
    for server in audited:
        tools += server.tools
    return tools


def _print_clients(audited: Sequence[Server], json_output: bool) -> int:
    from .auditing import reports

    tools = _list_tools(audited)
    if json_output:
        rows = reports.tabulate_decisions(tools)
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        reports.print_decisions(tools)
    return 0


def _print_signals(name: str, audited: Sequence[Server], json_output: bool) -> int:
    """Print the signals about a tool, and the hints that follow from them."""
    from .auditing.verdicts import explain_tools

    rows: list[dict[str, Any]] = []
    for server in audited:
        rows += explain_tools(server.tools, name)
    if not rows:
        names: list[str] = []
        for tool in _list_tools(audited):
            names.append(str(tool.get("name")))
        listed = ", ".join(names)
        raise RefusedError(
            f"{name!r} is not a tool of this server; its tools are {listed}"
        )
    if json_output:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return 0
    for row in rows:
        print(one_line(row["tool"]))
        for line in row["signals"]:
            print(f"  {one_line(line)}")
        for hint, verdict in row["hints"].items():
            declared = "left out"
            if verdict["declared"] is not None:
                declared = f"declared {json.dumps(verdict['declared'])}"
            print(f"  {hint}: {declared}, derived {verdict['says']}")
    return 0


def _add_label(label: str, tool: Mapping[str, Any]) -> dict[str, Any]:
    """A tool whose name names its server, where several are audited."""
    name = tool.get("name")
    return {**tool, "name": f"{label}/{name}" if label else name}


def _list_declared() -> list[str]:
    """The tools of the project whose behavior is declared, and so proved by its own tests."""
    declared: list[str] = []
    for name, pinned in load_pinned_tools().items():
        if pinned.get("behavior"):
            declared.append(name)
    return declared


def _locate_files(
    source: Source, audited: Sequence[Server], report: Report
) -> dict[str, Path]:
    """The file that a report on each server names; none for a project, which has its sources."""
    if source.is_project:
        return {}
    default = report.snapshot or Path("mcp-server")
    located = {server.label: default for server in audited}
    for path in source.files:
        located[source.find_label(path)] = path
    return located


def _print_findings(source: Source, audited: Sequence[Server], report: Report) -> int:
    """Print findings, and what changed since a snapshot."""
    from .auditing import reports
    from .auditing.findings import audit_tools
    from .auditing.snapshot import exclude_known

    findings = []
    questions = []
    declared = _list_declared() if source.is_project else []
    for server in audited:
        judged, clashes = audit_tools(
            server.tools,
            report.profile,
            server.label,
            is_own=source.is_project,
            declared=declared,
        )
        for finding in judged:
            if reports.is_at_least(finding, report.level):
                findings.append(finding)
        questions += clashes
    if report.baseline:
        findings = exclude_known(findings, report.baseline)
    changes = _print_changes(audited, report.snapshot) if report.snapshot else []
    if report.as_json:
        rows = list(map(asdict, findings))
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    elif report.as_sarif:
        from .auditing.sarif import build_sarif

        located = _locate_files(source, audited, report)
        print(json.dumps(build_sarif(findings, located), indent=2))
    else:
        reports.print_findings(findings, questions, len(_list_tools(audited)))
    return 1 if findings or changes else 0


def _print_changes(audited: Sequence[Server], snapshot: Path) -> list[str]:
    """Report what changed since a snapshot; the first time, write the snapshot."""
    from .auditing.snapshot import compare_with_snapshot, sort_changes

    tools: Tools = []
    for server in audited:
        for tool in server.tools:
            tools.append(_add_label(server.label, tool))
    lines = compare_with_snapshot(snapshot, tools)
    if lines is None:
        print_message(f"{len(tools)} definitions are in {snapshot}")
        return []
    changes = sort_changes(lines)
    for line in changes:
        print_message(line)
    return changes
