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
        return [
            fit_line(f"{word}: {line}") for word, listed in groups for line in listed
        ]


def fit_line(line: str) -> str:
    """A line of a report, cut to what a terminal and a log show."""
    return line if len(line) <= LONGEST_LINE else f"{line[: LONGEST_LINE - 1]}…"


def compare_tools(
    before: object, now: object, renames: Mapping[str, str] | None = None
) -> Changes:
    """Compare the tools of two answers as their callers see them.

    Args:
        before: The answer `tools` of before.
        now: The answer `tools` of now.
        renames: New names of tools by old ones.
    """
    old = {str(tool.get("name")): tool for tool in parse_entries(before)}
    new = {str(tool.get("name")): tool for tool in parse_entries(now)}
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
    before: Mapping[str, Any], now: Mapping[str, Any], name: str, found: Changes
) -> None:
    old = _params(before)
    new = _params(now)
    for key in old:
        if key not in new:
            found.breaking.append(f"{name} no longer takes {key}")
    for key, param in new.items():
        if key not in old and _is_required(param):
            found.breaking.append(f"{name} requires the new parameter {key}")
        elif key not in old:
            found.texts.append(f"{name} has the new optional parameter {key}")
        else:
            stricter = find_stricter(old[key], param)
            found.breaking += [f"{name}: {key} {reason}" for reason in stricter]
            if not stricter and old[key].get("description") != param.get("description"):
                found.texts.append(f"{name}: the description of {key}")
    if before.get("behavior") != now.get("behavior"):
        found.behaviors.append(
            f"{name}: {before.get('behavior')} is now {now.get('behavior')}"
        )
    for key in ("confirm", "destructive", "idempotent", "exceptions"):
        if before.get(key) != now.get(key):
            found.behaviors.append(f"{name}: {key}")
    found.texts += [
        f"{name}: its {key}" for key in TEXTS if before.get(key) != now.get(key)
    ]
    if before.get("returns") != now.get("returns"):
        found.texts.append(f"{name}: what it says of its result")
    if before.get("http") != now.get("http"):
        found.requests.append(
            f"{name} sends {now.get('http')} (before: {before.get('http')})"
        )


def _params(tool: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    listed = tool.get("params")
    given = (
        listed if isinstance(listed, Sequence) and not isinstance(listed, str) else ()
    )
    return {str(param["name"]): param for param in given if isinstance(param, Mapping)}


def _is_required(param: Mapping[str, Any]) -> bool:
    return (
        "default" not in param
        and param.get("required") is not False
        and param.get("in") != "nulls"
    )


def find_stricter(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The ways in which a parameter refuses values that it took; none where it takes as much."""
    found = []
    if _is_required(now) and not _is_required(before):
        found.append("is now required")
    old_choices, new_choices = before.get("choices"), now.get("choices")
    if new_choices is not None and old_choices is None:
        found.append(f"takes only {', '.join(map(str, new_choices))[:80]}")
    elif (
        new_choices is None
        and old_choices is not None
        and now.get("type", "str") != "str"
    ):
        found.append(f"is now of the type {now.get('type')}")
    elif new_choices is not None and old_choices is not None:
        gone = [str(choice) for choice in old_choices if choice not in new_choices]
        found += [f"no longer takes {', '.join(gone)[:80]}"] if gone else []
    elif not _widens(str(before.get("type", "str")), str(now.get("type", "str"))):
        found.append(
            f"was {before.get('type', 'str')} and is now {now.get('type', 'str')}"
        )
    found += _stricter_fields(before, now)
    for key in LOWER_LIMITS:
        if key in now and (key not in before or before[key] < now[key]):
            found.append(f"has the new limit {key} {now[key]}")
    for key in UPPER_LIMITS:
        if key in now and (key not in before or before[key] > now[key]):
            found.append(f"has the new limit {key} {now[key]}")
    if "pattern" in now and before.get("pattern") != now["pattern"]:
        found.append(f"has the new pattern {str(now['pattern'])[:60]}")
    return found


def _stricter_fields(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The same for the fields of an object."""
    old, new = (
        _params({"params": before.get("fields")}),
        _params({"params": now.get("fields")}),
    )
    found = []
    for name, param in new.items():
        if name in old:
            found += [f"{name}: {reason}" for reason in find_stricter(old[name], param)]
        elif old and _is_required(param):
            found.append(f"requires the new field {name}")
    return found


def _widens(before: str, now: str) -> bool:
    """Whether all values of one type are values of another."""
    wider = {("int", "float"), ("object", "dict"), ("list[object]", "list[dict]")}
    return before == now or now == "any" or (before, now) in wider
