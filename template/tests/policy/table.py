"""docs/tools.md: every tool with behavior, hints, gate, scopes and reason. Managed by the template."""

import json
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .lock import HINTS

TABLES = json.loads(Path(__file__).with_name("tables.json").read_text(encoding="utf-8"))
VERBS = {verb for verbs in TABLES["verbs"].values() for verb in verbs}
HEAD = "Tool | Title | Behavior | Read-only | Destructive | Idempotent | Open world | Gate | Scopes | Why"
TOP = """# Tools

Written by `uv run tests/policy/pin.py` from the running server; a test fails when it is stale. Hints
are advisory: `-` is one left to the protocol's default. A tool that `asks` waits for a person."""


def record_of(name: str) -> str:
    """What a tool is about: the word of its name behind the verb, in the singular."""
    words = name.lower().split("_")
    behind = next((n + 1 for n, word in enumerate(words[:3]) if word in VERBS), 0)
    word = re.sub("(ch|sh|us|x|z)es$", r"\1", (words[behind:] or words)[0])
    return re.sub("(?<![su])s$", "", re.sub("ies$", "y", word))


def markdown(tools: Mapping[str, Mapping[str, Any]]) -> str:
    """The lock's tools as Markdown, a section for each record of several tools."""
    records = Counter(map(record_of, tools))
    sections: dict[str, list[str]] = {}
    for name in sorted(tools):
        record = record_of(name)
        group = record.capitalize() if records[record] > 1 else "other"
        sections.setdefault(group, []).append(_row(name, tools[name]))
    lines = [TOP]
    for group, rows in sorted(sections.items()):  # "other" is in lower case, and so the last one
        lines += [f"\n## {_escaped(group.capitalize())}"] * (len(sections) > 1)
        lines += [f"\n| {HEAD} |", "|" + " --- |" * len(HEAD.split("|")), *rows]
    return "\n".join([*lines, ""])


def _row(name: str, tool: Mapping[str, Any]) -> str:
    hints = [{True: "yes", False: "no"}.get(tool["hints"].get(hint), "-") for hint in HINTS]
    rest = ["asks" if tool["gated"] else "", " ".join(tool["scopes"])]
    whys = filter(None, [tool["why"], *(f"{e['hint']}: {e['why']}" for e in tool["exceptions"])])
    cells = [tool["title"], tool["behavior"] or "?", *hints, *rest, " ".join(whys)]
    return " | ".join([f"| `{name}`", *map(_escaped, cells)]) + " |"


def _escaped(text: str) -> str:
    return "".join("\\" + c if c in "\\`*_[]<|&" else c for c in text.replace("\n", " "))
