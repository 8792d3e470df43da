"""Results of updates as text for a terminal, or as Markdown for a pull request.

What a reviewer has to decide comes first: relaxations, then conflicts and other changes for clients; files follow,
folded in Markdown.
"""

import json
import re
import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..errors import UnableError
from ..project.ownership import OWNERS
from ..project.pinning import PINNED
from .checkouts import CONFLICT, Result

WIDTH = 200  # no line of a report is longer
LONGEST_VALUE = 80  # of an answer in a report
NEXT_STEPS = [
    "what somebody edited there: copier-fastmcp drift",
    "the template's text again, once an edit that is wanted is elsewhere: copier-fastmcp restore",
    "where such an edit may stand: the guide for policy owners, under Troubleshooting",
]
MARKUP = (
    re.compile(  # where it would be read as markup; a name_of_a_tool and an -> are not
        r"[\\`*]|(?<!\w)_|_(?!\w)|<(?=[A-Za-z/!?])|\[(?=[ xX]\])|\](?=[(\[:])|^[>#]"
    )
)
RELAXED_LABEL = ": RELAXED: "


@dataclass(frozen=True)
class Section:
    """A titled list of lines; a folded one is closed in Markdown."""

    title: str
    lines: list[str]
    is_folded: bool = False


def require_writable(path: Path | None) -> None:
    """Require, before anything is updated, that a report can be written.

    Raises:
        UnableError: Its folder does not exist.
    """
    if path and not path.absolute().parent.is_dir():
        raise UnableError(
            f"--report: {path.parent} is not a folder; make it, or name another"
        )


def write_report(path: Path | None, results: list[Result]) -> None:
    """Write a report in Markdown, if one is wanted."""
    if path:
        path.write_text(format_markdown(results), encoding="utf-8", newline="\n")


def format_markdown(results: list[Result]) -> str:
    """Return a report on checkouts, a section each."""
    lines: list[str] = []
    for result in results:
        lines.extend(_format_result(result))
    return "\n".join(lines) + "\n"


def _format_result(result: Result) -> Iterator[str]:
    detail = "see below" if result.outcome == CONFLICT else ", ".join(result.detail)
    yield f"## {Path(result.project).name}: {result.outcome}\n"
    yield from wrap_line(escape_markdown(detail))
    yield ""
    for section in _build_sections(result):
        items = format_items(section.lines)
        if section.is_folded:
            yield f"<details><summary>{section.title} ({len(section.lines)})</summary>\n"
            yield from items
            yield "\n</details>\n"
        else:
            yield f"### {section.title}\n"
            yield from items
            yield ""


def format_items(texts: Iterable[str]) -> list[str]:
    """Return texts as the items of a list in Markdown."""
    lines = []
    for text in texts:
        lines += wrap_line(f"- {escape_markdown(text)}")
    return lines


def format_counts(counts: Mapping[str, int]) -> str:
    """Return counts by name, as in `2 clean, 1 conflict`."""
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def format_text(result: Result) -> str:
    """Return the report on one checkout for a terminal."""
    lines = wrap_line(f"{result.outcome}: {', '.join(result.detail)}")
    for section in _build_sections(result):
        lines.append(f"{section.title}:")
        for fact in section.lines:
            lines += wrap_line(f"  {fact}")
    return "\n".join(lines)


def _build_sections(result: Result) -> list[Section]:
    """Return what there is to report on a checkout, in the order of its weight."""
    relaxed: list[str] = []
    other_changes: list[str] = []
    for line in result.tools:
        lines = relaxed if RELAXED_LABEL in line else other_changes
        lines.append(line)
    answers = []
    for name, (before, after) in result.answers.items():
        answers.append(f"{name}: {_describe_change(before, after)}")
    is_conflict = result.outcome == CONFLICT
    with_own_heading = {*result.merged, *(result.detail if is_conflict else [])}
    yours = []
    pinned = []
    for name in result.files:
        if name in PINNED:
            pinned.append(name)
        elif OWNERS.fullmatch(name) and name not in with_own_heading:
            yours.append(name)
    # Drift and restore are about the policy's files; a conflict in an author's file needs neither.
    has_policy_conflict = is_conflict and not all(map(OWNERS.fullmatch, result.detail))
    sections = [
        Section("Rules that the release changes", result.rules),
        Section("Relaxed for clients", relaxed),
        Section(
            "Conflicts", result.conflicts or (result.detail if is_conflict else [])
        ),
        Section("Next steps", NEXT_STEPS if has_policy_conflict else []),
        Section("Other changes for clients", other_changes),
        Section("Before you merge", result.notes),
        Section("Tools that the answers changed and your files did not", result.behind),
        Section("Files of yours that have the change of their answers", result.merged),
        Section("Answers", answers),
        Section("Policy files that are not as this release has them", result.differs),
        Section("Check, before and after", result.check),
        Section("Policy and shared files", _format_files(result), is_folded=True),
        Section("Pinned again", pinned, is_folded=True),
        Section("Files that are yours now", yours, is_folded=True),
    ]
    return [section for section in sections if section.lines]


def _format_files(result: Result) -> list[str]:
    """Count the policy and shared files by what happened to them, and name those that are new or removed."""
    counts: Counter[str] = Counter()
    lines = []
    for name, state in result.files.items():
        if OWNERS.fullmatch(name):
            continue
        counts[state] += 1
        if state != "changed":
            lines.append(f"{name}: {state}")
    return [format_counts(counts), *lines] if counts else []


def _describe_change(before: object, after: object) -> str:
    """Return an answer before and after; of a list only the entries that differ, by name."""
    if isinstance(before, list) and isinstance(after, list):
        return _describe_entries(before, after)
    return f"{_describe_value(before)} -> {_describe_value(after)}"


def _describe_value(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    if text == "null":
        return "unsaid"
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _describe_entries(before: list[object], after: list[object]) -> str:
    """Name the entries of a list that are new, changed or removed."""
    old = _entries_by_name(before)
    new = _entries_by_name(after)
    removed = []
    changed = []
    for name, entry in old.items():
        if name not in new:
            removed.append(name)
        elif entry != new[name]:
            changed.append(name)
    added = [name for name in new if name not in old]
    parts = []
    for word, names in (("new", added), ("changed", changed), ("removed", removed)):
        if names:
            parts.append(f"{word}: {', '.join(names)}")
    return "; ".join(parts) or "another order"


def _entries_by_name(listed: list[object]) -> dict[str, object]:
    by_name = {}
    for item in listed:
        name = item.get("name") if isinstance(item, dict) else None
        by_name[str(name or _describe_value(item))] = item
    return by_name


def wrap_line(line: str) -> list[str]:
    """Return a line as several that are at most as wide as a report."""
    if len(line) <= WIDTH:
        return [line]
    indent = " " * (len(line) - len(line.lstrip(" -")) + 2)
    return textwrap.wrap(line, WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def escape_markdown(line: str) -> str:
    """Return a line as Markdown shows it: nothing in it is markup."""
    return MARKUP.sub(r"\\\g<0>", line)
