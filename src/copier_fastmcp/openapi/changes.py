"""What a later document changes for the callers of a server's tools, the worst first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..tools_answer import parse_entries

LONGEST_LINE = 200
# What narrows the values that a parameter takes when it grows, or when it shrinks.
LOWER_LIMITS = ("ge", "gt", "min_length", "min_items")
UPPER_LIMITS = ("le", "lt", "max_length", "max_items")
TEXTS = ("title", "description", "deprecated")


@dataclass
class Changes:
    """Changes that callers notice, a line each; `breaking` are those that refuse calls that worked."""

    added: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)
    breaking: list[str] = field(default_factory=list)
    behaviors: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        """The report: added, removed, renamed, stricter, other behavior, other texts, other requests."""
        groups = (
            ("added", self.added),
            ("removed", self.removed),
            ("renamed", self.renamed),
            ("BREAKING", self.breaking),
            ("behavior", self.behaviors),
            ("wording", self.texts),
            ("request", self.requests),
        )
        report_lines = []
        for word, listed in groups:
            for line in listed:
                report_lines.append(fit_line(f"{word}: {line}"))
        return report_lines


def fit_line(line: str) -> str:
    """A line of a report, cut to what a terminal and a log show."""
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def _index_tools(answer: object) -> dict[str, dict[str, Any]]:
    """Return the tools of an answer by their names."""
    return {str(tool.get("name")): tool for tool in parse_entries(answer)}


def compare_tools(
    before: object, after: object, renames: Mapping[str, str] | None = None
) -> Changes:
    """Compare the tools of two answers as their callers see them.

    Args:
        before: The answer `tools` of before.
        now: The answer `tools` of now.
        renames: New names of tools by old ones.
    """
    old, new = _index_tools(before), _index_tools(after)
    renames = dict(renames or {})
    for name, tool in new.items():
        for former in tool.get("formerly") or ():
            if former in old and former not in new:
                renames[str(former)] = name
    changes = Changes()
    for name in new:
        if name not in old and name not in renames.values():
            changes.added.append(name)
    for name, tool in old.items():
        later = new.get(renames.get(name, name))
        if later is None:
            changes.removed.append(name)
            continue
        if name in renames:
            changes.renamed.append(f"{name} is now {renames[name]}")
        _compare(tool, later, str(later["name"]), changes)
    return changes


def _compare(
    before: Mapping[str, Any], after: Mapping[str, Any], name: str, changes: Changes
) -> None:
    old = _params(before)
    new = _params(after)
    _compare_params(old, new, name, changes)
    if before.get("behavior") != after.get("behavior"):
        changes.behaviors.append(
            f"{name}: {before.get('behavior')} is now {after.get('behavior')}"
        )
    for key in ("confirm", "destructive", "idempotent", "exceptions"):
        if before.get(key) != after.get(key):
            changes.behaviors.append(f"{name}: {key}")
    for key in TEXTS:
        if before.get(key) != after.get(key):
            changes.texts.append(f"{name}: its {key}")
    if before.get("returns") != after.get("returns"):
        changes.texts.append(f"{name}: what it says of its result")
    if before.get("http") != after.get("http"):
        changes.requests.append(
            f"{name} sends {after.get('http')} (before: {before.get('http')})"
        )


def _compare_params(
    old: Mapping[str, Mapping[str, Any]],
    new: Mapping[str, Mapping[str, Any]],
    name: str,
    changes: Changes,
) -> None:
    for key in old:
        if key not in new:
            changes.breaking.append(f"{name} no longer takes {key}")
    for key, param in new.items():
        if key not in old and _is_required(param):
            changes.breaking.append(f"{name} requires the new parameter {key}")
        elif key not in old:
            changes.texts.append(f"{name} has the new optional parameter {key}")
        else:
            stricter = find_stricter(old[key], param)
            changes.breaking += [f"{name}: {key} {reason}" for reason in stricter]
            if not stricter and old[key].get("description") != param.get("description"):
                changes.texts.append(f"{name}: the description of {key}")


def _params(tool: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    listed = tool.get("params")
    entries = (
        listed if isinstance(listed, Sequence) and not isinstance(listed, str) else ()
    )
    params = {}
    for param in entries:
        if isinstance(param, Mapping):
            params[str(param["name"])] = param
    return params


def _is_required(param: Mapping[str, Any]) -> bool:
    return (
        "default" not in param
        and param.get("required") is not False
        and param.get("in") != "nulls"
    )


def find_stricter(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The ways in which a parameter refuses values that it took; none where it takes as much."""
    reasons = []
    if _is_required(after) and not _is_required(before):
        reasons.append("is now required")
    reasons += _stricter_type(before, after)
    reasons += _stricter_fields(before, after)
    reasons += _stricter_limits(before, after)
    if "pattern" in after and before.get("pattern") != after["pattern"]:
        reasons.append(f"has the new pattern {str(after['pattern'])[:60]}")
    return reasons


def _stricter_type(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return how choices and type refuse more."""
    reasons = []
    old_choices, new_choices = before.get("choices"), after.get("choices")
    if new_choices is not None and old_choices is None:
        reasons.append(f"takes only {', '.join(map(str, new_choices))[:80]}")
    elif (
        new_choices is None
        and old_choices is not None
        and after.get("type", "str") != "str"
    ):
        reasons.append(f"is now of the type {after.get('type')}")
    elif new_choices is not None and old_choices is not None:
        dropped = [str(choice) for choice in old_choices if choice not in new_choices]
        reasons += [f"no longer takes {', '.join(dropped)[:80]}"] if dropped else []
    elif not _widens(str(before.get("type", "str")), str(after.get("type", "str"))):
        reasons.append(
            f"was {before.get('type', 'str')} and is now {after.get('type', 'str')}"
        )
    return reasons


def _stricter_limits(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Return the limits that are narrower."""
    reasons = []
    for key in LOWER_LIMITS:
        if key in after and (key not in before or before[key] < after[key]):
            reasons.append(f"has the new limit {key} {after[key]}")
    for key in UPPER_LIMITS:
        if key in after and (key not in before or before[key] > after[key]):
            reasons.append(f"has the new limit {key} {after[key]}")
    return reasons


def _stricter_fields(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """The same for the fields of an object."""
    old, new = (
        _params({"params": before.get("fields")}),
        _params({"params": after.get("fields")}),
    )
    reasons = []
    for name, param in new.items():
        if name in old:
            for reason in find_stricter(old[name], param):
                reasons.append(f"{name}: {reason}")
        elif old and _is_required(param):
            reasons.append(f"requires the new field {name}")
    return reasons


def _widens(before: str, after: str) -> bool:
    """Whether all values of one type are values of another."""
    wider = {("int", "float"), ("object", "dict"), ("list[object]", "list[dict]")}
    return before == after or after == "any" or (before, after) in wider
