"""`try`: calls the reads of a server's API with the user's consent, and writes what they found."""

import json
import sys
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

import anyio
from cyclopts import Parameter

from .errors import (
    BackError,
    RefusedError,
    UnableError,
    escape_controls,
    format_count,
    one_line,
    print_message,
)
from .openapi.merging import written
from .project.answers import read_answers
from .trial.calling import MOST_CALLS, Trial, call_reads, load_settings, make_client
from .trial.findings import Finding, find_address, find_differences, merge_findings
from .trial.reads import Read, Skipped, find_reads

STOPPED = 130
FILE = Path("answers.try.yml")


def try_(
    *,
    out: Path = FILE,
    tool: list[str] | None = None,
    value: list[str] | None = None,
    send: bool = False,
    dry_run: bool = False,
    unattended: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Call the reads of this server's API, and compare what it sends with what the tools say.

    It shows each request and asks before the first. Each read is called at most three times, without optional
    parameters; nothing that writes is called. What differs goes into a file of answers for `update`.

    Args:
        out: The file for the answers that change; written only where something does.
        tool: Only tools of such names, as in get_*. Repeat it for more.
        value: A value for a parameter that a read requires, as parcel_id=7. Repeat it for more.
        send: Send the requests without asking.
        dry_run: Show the requests, and send none.
        unattended: Ask nothing; without --send, nothing is sent.
        json_output: Print JSON.

    Returns:
        0 if nothing differs, also where some reads could not be called; 1 where something differs or a read failed.

    Raises:
        RefusedError: The server has no API, no address or no reads, or nobody agreed.
        UnableError: The API cannot be reached, or does not accept the token.
    """
    answers = read_answers()
    if answers.get("backend") != "http":
        raise RefusedError("this server has no API; only `backend: http` can be tried")
    reads, skipped = find_reads(answers.get("tools"))
    if tool:
        reads = _select_reads(reads, tool)
    if not reads:
        raise RefusedError("no tool of this server reads from its API")
    values = _parse_values(value or [])
    settings = load_settings(answers)
    client = make_client(settings)
    _show(reads, skipped, str(settings.api), _describe_token(answers, settings))
    if dry_run:
        return 0
    is_asking = sys.stdin.isatty() and not (unattended or json_output)
    if not send and not is_asking:
        raise RefusedError("nothing was sent; pass --send to send these requests")
    if not send and not _is_agreed():
        print_message("nothing was sent")
        return STOPPED
    trials = anyio.run(call_reads, client, reads, values)
    _check_reachable(trials, str(answers["package_name"]).upper())
    findings = list(map(find_differences, trials))
    recorded = str(answers.get("api") or "")
    address, line = find_address(client.address, trials, recorded)
    merged = merge_findings(answers, findings, address)
    if merged:
        _write(out, merged, line, findings)
    if json_output:
        rows = [finding.row() for finding in findings]
        document = {"address": address or None, "tools": rows}
        document["file"] = str(out) if merged else None
        print(json.dumps(document, indent=1, ensure_ascii=False))
    else:
        _report(findings, line, out if merged else None)
    if line or any(row.lines or row.failure for row in findings):
        return 1
    return 0


def _select_reads(reads: Sequence[Read], globs: Sequence[str]) -> list[Read]:
    """Return the reads whose names match a glob."""
    selected = []
    for read in reads:
        if any(fnmatchcase(read.name, glob) for glob in globs):
            selected.append(read)
    return selected


OPERATOR = "tell its operator"  # in the messages of the engine, which models read


def _parse_values(items: Sequence[str]) -> dict[str, str]:
    """Return the values of `--value`.

    Raises:
        RefusedError: One is not a pair.
    """
    values = {}
    for item in items:
        name, equals, text = item.partition("=")
        if not equals or not name or not text:
            raise RefusedError(f"--value {item!r} is not a pair; write parcel_id=7")
        values[name] = text
    return values


def _describe_token(answers: dict[str, Any], settings: Any) -> str:
    """Return how requests carry the token, without the token."""
    name = f"{answers['package_name']}_API_TOKEN".upper()
    if not settings.api_token.get_secret_value().strip():
        return f"without a token, since {name} is not set"
    return f"with {name} as {settings.api_auth}"


def _show(
    reads: Sequence[Read], skipped: Sequence[Skipped], address: str, token: str
) -> None:
    """Print what would be sent."""
    most = format_count(MOST_CALLS * len(reads), "request")
    print_message(
        f"{format_count(len(reads), 'read')}, at most {most} to {address}, {token}:"
    )
    width = max(len(read.name) for read in reads)
    for read in reads:
        request = f"{read.method} {escape_controls(read.path)}"
        print(f"  {read.name:{width}}  {request}", file=sys.stderr)
    for skip in skipped:
        print(f"  {skip.name} is not called: {skip.reason}", file=sys.stderr)


def _is_agreed() -> bool:
    from .terminal.prompts import ask_yes_no

    try:
        return ask_yes_no("Send these requests?", default=False)
    except BackError:
        return False


def _check_reachable(trials: Sequence[Trial], prefix: str) -> None:
    """Stop where no call succeeded.

    Args:
        trials: What the calls did.
        prefix: The prefix of the server's environment variables.

    Raises:
        UnableError: Every call failed; the message has the first reason.
    """
    called = []
    for trial in trials:
        if trial.responses:
            return
        if trial.calls:
            called.append(trial)
    if called:
        remedy = f"check {prefix}_API_TOKEN and {prefix}_API_AUTH"
        raise UnableError(called[0].failure.replace(OPERATOR, remedy))
    raise RefusedError(trials[0].not_called)


def _write(
    out: Path, merged: dict[str, Any], line: str, findings: Sequence[Finding]
) -> None:
    lines = [f"# {one_line(line)}\n"] if line else []
    for finding in findings:
        for text in finding.lines:
            lines.append(f"# {finding.tool}: {one_line(text)}\n")
    _, _, body = written(merged, "").partition("\n")
    first = "# Findings of `copier-fastmcp try`; yours to edit before you apply them.\n"
    try:
        out.write_text(first + "".join(lines) + body, encoding="utf-8")
    except OSError as error:
        raise UnableError(f"{out} cannot be written: {error.strerror}") from error


def _report(findings: Sequence[Finding], line: str, out: Path | None) -> None:
    """Print what was found, tools with differences first."""
    if line:
        print(one_line(line))
    differences, failures, uncalled, notes = [], [], [], []
    differing = total = 0
    for finding in findings:
        total += finding.calls
        differing += bool(finding.lines)
        for text in finding.lines:
            differences.append(f"{finding.tool}: {text}")
        if finding.failure and not finding.lines:
            failures.append(f"{finding.tool}: {finding.failure}")
        if finding.not_called:
            uncalled.append(f"{finding.tool} was not called: {finding.not_called}")
        for text in finding.notes:
            notes.append(f"{finding.tool}: {text}")
    for text in (*differences, *failures, *uncalled, *notes):
        print(one_line(text))
    right = len(findings) - differing - len(failures) - len(uncalled)
    counts = f"{right} right, {differing} differ, {len(failures)} failed"
    if uncalled:
        counts += f", {len(uncalled)} not called"
    print(f"{format_count(total, 'request')}: {counts}")
    if out:
        print(
            f"wrote {out}; look at it, then: copier-fastmcp update --merge --from {out}"
        )
