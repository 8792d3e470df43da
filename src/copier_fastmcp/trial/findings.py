"""What the calls of reads found, and the answers that take it over."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from copier_fastmcp_engine.api.responses import ApiResponse, BodyKind

from ..tools_answer import parse_entries
from .calling import Trial, fill_path
from .shapes import FILE, Comparison, compare, parse_returns

PAGE_PARAMETER = re.compile(
    r"(?i)(^|_)(page|cursor|offset|after|start|skip|token|marker)"
)
CURSOR_FIELDS = ("next_cursor", "nextCursor", "next_page_token", "nextPageToken")
CURSOR = {
    "name": "cursor",
    "required": False,
    "description": "Where the next page begins: the `next_cursor` of the page before.",
}


@dataclass
class Finding:
    """What was found about a tool.

    Attributes:
        tool: The name of the tool.
        calls: How often it was called.
        lines: What differs from the answers, a line each; empty if nothing does.
        failure: Why a call of it failed.
        not_called: Why it was not called.
        notes: What is no difference but worth knowing.
        changed: The tool of the answers with its corrections; None without any.
    """

    tool: str
    calls: int = 0
    lines: list[str] = field(default_factory=list)
    failure: str = ""
    not_called: str = ""
    notes: list[str] = field(default_factory=list)
    changed: dict[str, Any] | None = None

    def row(self) -> dict[str, Any]:
        """Return the finding for a program."""
        return {
            "tool": self.tool,
            "calls": self.calls,
            "findings": self.lines,
            "failure": self.failure or None,
            "not_called": self.not_called or None,
            "notes": self.notes,
            "changes_answers": self.changed is not None,
        }


def find_differences(trial: Trial) -> Finding:
    """Compare the responses of a read with its tool.

    Args:
        trial: The calls of the read.
    """
    tool = deepcopy(trial.read.tool)
    finding = Finding(trial.read.name, trial.calls)
    finding.failure, finding.not_called = trial.failure, trial.not_called
    if trial.responses:
        _correct_returns(tool, trial.responses, finding)
        _correct_path_types(tool, trial.values, finding)
        _add_cursor(tool, trial, finding)
    if trial.changes:
        line = f"calling it changed {', '.join(trial.changes[:3])}"
        finding.lines.append(line)
        _make_action(tool, trial.changes)
    if trial.outside_changes:
        changed = ", ".join(trial.outside_changes[:3])
        finding.notes.append(f"while other reads were called, {changed} changed")
    if tool != trial.read.tool:
        finding.changed = tool
    return finding


def _correct_returns(
    tool: dict[str, Any], responses: Sequence[ApiResponse], finding: Finding
) -> None:
    """Correct what a tool documents of its responses."""
    documented = parse_returns(tool.get("returns"))
    kinds = {response.kind for response in responses}
    bodies = []
    for response in responses:
        if response.kind is BodyKind.JSON and not response.cut:
            bodies.append(response.body)
        if response.cut and response.cut not in finding.notes:
            finding.notes.append(response.cut)
    if kinds == {BodyKind.BINARY} and documented.kind != FILE:
        finding.lines.append(f"its response is a file ({responses[0].media_type})")
        tool["returns"] = "file"
    elif kinds <= {BodyKind.TEXT, BodyKind.EMPTY} and documented.kind:
        received = "text" if BodyKind.TEXT in kinds else "empty"
        finding.lines.append(
            f"{documented.kind} is documented, {received} was received"
        )
        if received == "text":
            tool.pop("returns", None)
    elif bodies:
        _take_over(tool, compare(tool.get("returns"), bodies), finding)


def _take_over(tool: dict[str, Any], comparison: Comparison, finding: Finding) -> None:
    finding.lines += comparison.lines
    if comparison.undocumented:
        names = ", ".join(sorted(comparison.undocumented)[:5])
        count = len(comparison.undocumented)
        finding.notes.append(f"{count} more fields arrive than are described: {names}")
    if not comparison.is_changed:
        return
    if comparison.returns is None:
        tool.pop("returns", None)
    else:
        tool["returns"] = comparison.returns


def _correct_path_types(
    tool: dict[str, Any], values: Mapping[str, Any], finding: Finding
) -> None:
    """Correct parameters of the path that the API fills with texts, and the answers call numbers."""
    for param in tool.get("params") or ():
        if not isinstance(param, dict) or param.get("name") not in values:
            continue
        value = values[param["name"]]
        is_number = param.get("type") in ("int", "float")
        if is_number and not str(value).lstrip("-").isdecimal():
            kind = param.pop("type")
            for limit in ("ge", "le", "gt", "lt"):
                param.pop(limit, None)
            finding.lines.append(
                f"{param['name']} is documented as {kind}, str was used"
            )


def _add_cursor(tool: dict[str, Any], trial: Trial, finding: Finding) -> None:
    """Add a parameter for the next page where the API links to one and the tool has none for it."""
    last = trial.responses[-1]
    params = [str(param.get("name")) for param in parse_entries(tool.get("params"))]
    wire = _page_parameter(last, trial)
    if not wire:
        name = _find_cursor_field(last)
        if name and not any(map(PAGE_PARAMETER.search, params)):
            finding.lines.append(f"the API pages with {name}, and no parameter does")
        return
    if wire in params or f"{wire}={{" in tool["http"] or "cursor" in params:
        return
    method, _, request = str(tool["http"]).partition(" ")
    target, _, media_type = request.partition(" ")
    joint = "&" if "?" in target else "?"
    tool["http"] = f"{method} {target}{joint}{wire}={{cursor}} {media_type}".rstrip()
    if params:
        tool["params"] = [*tool["params"], dict(CURSOR)]
    else:
        tool["params"] = [dict(CURSOR)]
    finding.lines.append(
        f"the API links to a next page by {wire}; no parameter goes there"
    )


def _find_cursor_field(response: ApiResponse) -> str:
    """Return the field of a response that holds the cursor of the next page; empty without one."""
    if isinstance(response.body, dict):
        for name in CURSOR_FIELDS:
            if response.body.get(name):
                return name
    return ""


def _page_parameter(response: ApiResponse, trial: Trial) -> str:
    """Return the parameter of the query by which a response links to the next page."""
    link = response.next_link
    body = response.body if isinstance(response.body, dict) else {}
    if not link and isinstance(body.get("next"), str) and "?" in body["next"]:
        link = body["next"]
    for name, _ in parse_qsl(urlsplit(link).query):
        if name not in trial.read.query and PAGE_PARAMETER.search(name):
            return name
    return ""


def _make_action(tool: dict[str, Any], changes: Sequence[str]) -> None:
    """Make a tool an action with the protocol's cautious hints: clients call reads without asking."""
    names = ", ".join(change.partition(" (")[0] for change in changes[:3])
    tool["behavior"] = "action"
    tool["why"] = f"Calling it changed {names} (asked)."[:400]


def find_address(
    address: str, trials: Sequence[Trial], recorded: str
) -> tuple[str, str]:
    """Return the address that the API answered at, where the answers name another, and a line about it.

    Args:
        address: The address that the calls went to.
        trials: The calls.
        recorded: The address in the answers.
    """
    moved = set()
    for trial in trials:
        path = fill_path(trial.read.path, trial.values) if trial.responses else ""
        for response in trial.responses:
            parts = urlsplit(response.address)
            final = parts._replace(query="", fragment="").geturl()
            if final.endswith(path) and final != f"{address}{path}":
                moved.add(final.removesuffix(path))
    working = address
    if len(moved) == 1:
        working = moved.pop()
    has_response = any(trial.responses for trial in trials)
    if not has_response or working == recorded.rstrip("/"):
        return "", ""
    line = f"the API answered at {working}, the answers name {recorded or 'no address'}"
    return working, line


def merge_findings(
    answers: Mapping[str, Any], findings: Sequence[Finding], address: str
) -> dict[str, Any]:
    """Return the answers that take the findings over; empty if nothing changes.

    Args:
        answers: The answers of the server.
        findings: What was found.
        address: The address that the API answered at; empty to keep the one in the answers.
    """
    changed = {}
    for finding in findings:
        if finding.changed:
            changed[finding.tool] = finding.changed
    merged: dict[str, Any] = {}
    if address:
        merged["api"] = address
    if changed:
        tools = []
        for tool in parse_entries(answers.get("tools")):
            name = str(tool.get("name"))
            tools.append(changed.get(name, tool))
        merged["tools"] = tools
    return merged
