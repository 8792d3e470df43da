"""docs/tools.md: the pinned tools as a table for people."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from . import lock
from .rules import Tool

HEAD = "Tool | Title | Behavior | Read-only | Destructive | Idempotent | Open world | Gate | Scopes | Why"
TOP = """# Tools

Written by `uv run tests/policy/pin.py` from the running server; a test fails when it is stale. [Hints](adr/policy/0001-tool-annotations.md)
are advisory: `-` is one left to the protocol's default. A tool that `asks` waits for a person."""
SHOWN = ("name", "title", "description", "annotations")
WIRE = "\n## On the wire\n\n`tools/list` begins so, schemas left out:\n"
Entry = Mapping[str, Any]


def record_of(name: str, tables: Mapping[str, Any]) -> str:
    """Return what a tool is about: the word of its name behind the verb, in the singular."""
    verbs = {verb for group in tables["verbs"].values() for verb in group}
    words = name.lower().split("_")
    start = next((n + 1 for n, word in enumerate(words[:3]) if word in verbs), 0)
    word = re.sub("(ch|sh|us|x|z)es$", r"\1", (words[start:] or words)[0])
    return re.sub("(?<![su])s$", "", re.sub("ies$", "y", word))


def format_table(
    entries: Mapping[str, Entry],
    tools: Sequence[Tool],
    tables: Mapping[str, Any],
    modules: Mapping[str, str],
) -> str:
    """Return the table as Markdown, with a section for each module, else for each record of several tools.

    Args:
        entries: The lock's tools.
        tools: The tools as they are served; the first is shown.
        tables: tables.json.
        modules: The folder of each tool's file below tools/; empty for a file without one.
    """
    records = Counter(record_of(name, tables) for name in entries)
    sections: dict[str, list[str]] = {}
    for name in sorted(entries):
        module = modules.get(name, "")
        group = module.replace("_", " ").replace(".", ", ").capitalize()
        if not group:
            group = _record_group(name, records, tables)
        sections.setdefault(group, []).append(_row(name, entries[name], tables))
    lines = [TOP]
    for group, rows in sorted(
        sections.items()
    ):  # "other" is in lower case, and so the last one
        if len(sections) > 1:
            lines.append(f"\n## {_escape(group.capitalize())}")
        lines += [f"\n| {HEAD} |", "|" + " --- |" * len(HEAD.split("|")), *rows]
    first = []
    for tool in tools[:1]:
        first.append({key: value for key, value in tool.wire.items() if key in SHOWN})
    sample = json.dumps({"tools": first}, indent=2, ensure_ascii=False)
    return "\n".join([*lines, ""]) + f"{WIRE}\n```json\n{sample}\n```\n"


def _record_group(
    name: str, records: Mapping[str, int], tables: Mapping[str, Any]
) -> str:
    """Return the section of a tool by its record; `other` where no second tool has that record."""
    for word in (name, *name.split("_")):
        record = record_of(word, tables)
        if records[record] > 1:
            return record.capitalize()
    return "other"


def format_components(components: Mapping[str, Sequence[Entry]]) -> str:
    """Return the sections of resources and prompts; empty where a server has none.

    Args:
        components: Lists as `list_components` returns them.
    """
    lines = []
    for row in [*components["resources"], *components["templates"]]:
        uri = row.get("uri") or row["uriTemplate"]
        cells = [f"`{uri}`", _escape(row["name"]), _escape(row["description"] or "")]
        lines.append(f"| {' | '.join([*cells, row.get('mimeType') or ''])} |")
    page = ""
    if lines:
        head = ["", "## Resources", "", "| Resource | Name | Description | Type |"]
        page += "\n".join([*head, "| --- | --- | --- | --- |", *lines, ""])
    lines = []
    for row in components["prompts"]:
        arguments = []
        for argument in row.get("arguments") or ():
            optional = "" if argument.get("required") else " (optional)"
            arguments.append(f"`{argument['name']}`{optional}")
        cells = [f"`{row['name']}`", _escape(row.get("title") or "")]
        cells += [_escape(row["description"] or ""), ", ".join(arguments)]
        lines.append(f"| {' | '.join(cells)} |")
    if lines:
        head = ["", "## Prompts", "", "| Prompt | Title | Description | Arguments |"]
        page += "\n".join([*head, "| --- | --- | --- | --- |", *lines, ""])
    return page


def _row(name: str, entry: Entry, tables: Mapping[str, Any]) -> str:
    hints = []
    for hint in lock.HINTS:
        hints.append({True: "yes", False: "no"}.get(entry["hints"].get(hint), "-"))
    cells = [entry["title"], entry["behavior"] or "?", *hints]
    cells += ["asks" if entry["gated"] else "", " ".join(entry["scopes"])]
    cells.append(" ".join(filter(None, _format_reasons(entry, tables))))
    return " | ".join([f"| `{name}`", *map(_escape, cells)]) + " |"


def _format_reasons(entry: Entry, tables: Mapping[str, Any]) -> list[str]:
    """Return why a tool is as it is: its own reason or its behavior's, its exceptions, its former names."""
    meaning = (
        tables["behaviors"]
        .get(entry["behavior"], {"meaning": ""})["meaning"]
        .capitalize()
    )
    reasons = [entry["why"] or meaning]
    for row in entry["exceptions"]:
        reasons.append(f"{row['hint']}: {row['why']}")
    if "formerly" in entry:
        reasons.append(f"Formerly {', '.join(entry['formerly'])}.")
    if "deprecated" in entry:
        reasons.append(f"Deprecated: {entry['deprecated']}")
    for waiver in entry.get("waivers", ()):
        reasons.append(
            f"{waiver['rule']} waived until {waiver['until']}: {waiver['why']}"
        )
    return reasons


def _escape(text: str) -> str:
    return "".join(
        "\\" + c if c in "\\`*_[]<|&" else c for c in text.replace("\n", " ")
    )
