"""docs/tools.md: the pinned tools as a table for people."""

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from . import lock
from .rules import Tool

HEAD = "Tool | Title | Behavior | Read-only | Destructive | Idempotent | Open world | Gate | Scopes | Why"
TOP = """# Tools

Written by `uv run tests/policy/pin.py` from the running server; a test fails when it is stale. [Hints](adr/policy/0001-tool-annotations.md)
are advisory: `-` is one left to the protocol's default. A tool that `asks` waits for a person."""
RESOURCE_HEAD = ("Resource", "Name", "Description", "Type")
PROMPT_HEAD = ("Prompt", "Title", "Description", "Arguments")
HINT_WORDS = {True: "yes", False: "no"}
MARKUP = re.compile(r"[\\`*_\[\]<|&]")  # what Markdown reads
SHOWN = ("name", "title", "description", "annotations")
WIRE = "\n## On the wire\n\n`tools/list` begins so, schemas left out:\n"
Entry = Mapping[str, Any]


def find_record(name: str, tables: Mapping[str, Any]) -> str:
    """Return what a tool is about: the word of its name behind the verb, in the singular."""
    verbs: set[str] = set()
    for group in tables["verbs"].values():
        verbs.update(group)
    words = name.lower().split("_")
    record = words[0]
    for word, following in pairwise(words[:4]):
        if word in verbs:
            record = following
            break
    return get_singular(record)


def get_singular(word: str) -> str:
    """Return the singular of a word, to compare records and to name a section.

    The macros and the command have rules of their own: their results become names of tools and records, which must
    never change.
    """
    word = re.sub("(ch|sh|us|x|z)es$", r"\1", word)
    word = re.sub("ies$", "y", word)
    return re.sub("(?<![su])s$", "", word)


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
    records: Counter[str] = Counter()
    for name in entries:
        records[find_record(name, tables)] += 1
    sections: dict[str, list[str]] = {}
    for name in sorted(entries):
        section = _format_module(modules.get(name, ""))
        if not section:
            section = _choose_section(name, records, tables)
        row = _format_row(name, entries[name], tables)
        sections.setdefault(section, []).append(row)
    lines = [TOP]
    rule = "|" + " --- |" * len(HEAD.split("|"))
    # "other" is in lower case, and so the last one.
    for section, rows in sorted(sections.items()):
        if len(sections) > 1:
            lines.append(f"\n## {_escape(section.capitalize())}")
        lines += [f"\n| {HEAD} |", rule, *rows]
    lines.append(_format_sample(tools))
    return "\n".join(lines)


def _format_module(module: str) -> str:
    """Return the heading for a folder of tool files."""
    words = module.replace("_", " ")
    return words.replace(".", ", ").capitalize()


def _choose_section(
    name: str,
    records: Mapping[str, int],
    tables: Mapping[str, Any],
) -> str:
    """Return the section of a tool by its record; `other` where no second tool has that record."""
    for word in (name, *name.split("_")):
        record = find_record(word, tables)
        if records[record] > 1:
            return record.capitalize()
    return "other"


def _format_sample(tools: Sequence[Tool]) -> str:
    """Return the beginning of `tools/list` as JSON."""
    listing: list[dict[str, Any]] = []
    for tool in tools[:1]:
        fields: dict[str, Any] = {}
        for key, value in tool.wire.items():
            if key in SHOWN:
                fields[key] = value
        listing.append(fields)
    sample = json.dumps({"tools": listing}, indent=2, ensure_ascii=False)
    return f"{WIRE}\n```json\n{sample}\n```\n"


def format_components(components: Mapping[str, Sequence[Entry]]) -> str:
    """Return the sections of resources and prompts; empty where a server has none.

    Args:
        components: Lists as `list_components` returns them.
    """
    resources: list[list[str]] = []
    for resource in [*components["resources"], *components["templates"]]:
        uri = resource.get("uri") or resource["uriTemplate"]
        cells = [
            f"`{uri}`",
            _escape(resource["name"]),
            _escape(resource["description"] or ""),
            resource.get("mimeType") or "",
        ]
        resources.append(cells)
    prompts: list[list[str]] = []
    for prompt in components["prompts"]:
        arguments = map(_format_argument, prompt.get("arguments") or ())
        cells = [
            f"`{prompt['name']}`",
            _escape(prompt.get("title") or ""),
            _escape(prompt["description"] or ""),
            ", ".join(arguments),
        ]
        prompts.append(cells)
    page = _format_section("Resources", RESOURCE_HEAD, resources)
    return page + _format_section("Prompts", PROMPT_HEAD, prompts)


def _format_argument(argument: Entry) -> str:
    """Return the argument of a prompt as a cell of the table."""
    name = f"`{argument['name']}`"
    return name if argument.get("required") else f"{name} (optional)"


def _format_section(
    title: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
) -> str:
    """Return a heading and a table; empty without rows."""
    if not rows:
        return ""
    lines = ["", f"## {title}", ""]
    rule = ["---"] * len(head)
    for row in (head, rule, *rows):
        lines.append(f"| {' | '.join(row)} |")
    lines.append("")
    return "\n".join(lines)


def _format_row(name: str, entry: Entry, tables: Mapping[str, Any]) -> str:
    hints = entry["hints"]
    cells = [entry["title"], entry["behavior"] or "?"]
    for hint in lock.HINTS:
        value = hints.get(hint)
        cells.append(HINT_WORDS.get(value, "-"))
    cells.append("asks" if entry["gated"] else "")
    cells.append(" ".join(entry["scopes"]))
    reasons = _format_reasons(entry, tables)
    cells.append(" ".join(filter(None, reasons)))
    escaped = " | ".join(map(_escape, cells))
    return f"| `{name}` | {escaped} |"


def _format_reasons(entry: Entry, tables: Mapping[str, Any]) -> list[str]:
    """Return why a tool is as it is: its own reason or its behavior's, its exceptions, its former names."""
    behavior = tables["behaviors"].get(entry["behavior"], {"meaning": ""})
    reasons = [entry["why"] or behavior["meaning"].capitalize()]
    for row in entry["exceptions"]:
        reasons.append(f"{row['hint']}: {row['why']}")
    if "formerly" in entry:
        reasons.append(f"Formerly {', '.join(entry['formerly'])}.")
    if "deprecated" in entry:
        reasons.append(f"Deprecated: {entry['deprecated']}")
    for waiver in entry.get("waivers", ()):
        period = f"{waiver['rule']} waived until {waiver['until']}"
        reasons.append(f"{period}: {waiver['why']}")
    return reasons


def _escape(text: str) -> str:
    return MARKUP.sub(r"\\\g<0>", text.replace("\n", " "))
