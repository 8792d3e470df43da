"""docs/tools.md: every tool with behavior, hints, gate, scopes and reason. Managed by the template."""

import re
from collections.abc import Mapping
from typing import Any

from .lock import HINTS

HEAD = "Tool | Title | Behavior | Read-only | Destructive | Idempotent | Open world | Gate | Scopes | Why"
TOP = """# Tools

Written by `uv run tests/policy/pin.py` from the running server; a test fails when it is stale. Hints
are advisory: `-` is one left to the protocol's default. A tool that `asks` waits for a person.
"""


def record_of(name: str, verbs: set[str]) -> str:
    """What a tool is about: the word of its name behind the verb, in the singular."""
    words = name.lower().split("_")
    behind = next((n + 1 for n, word in enumerate(words[:3]) if word in verbs), 0)
    word = re.sub("(ch|sh|us|x|z)es$", r"\1", (words[behind:] or words)[0])
    return re.sub("(?<![su])s$", "", re.sub("ies$", "y", word))


def markdown(tools: Mapping[str, Mapping[str, Any]], groups: Mapping[str, str]) -> str:
    """The table as Markdown, a section for each group of several tools; what an author wrote is escaped.

    Args:
        tools: The lock's entries by name.
        groups: The folder or the record of each tool.
    """
    counted, sections = list(groups.values()), dict[str, list[str]]()
    for name in sorted(tools):
        several = counted.count(groups[name]) > 1
        sections.setdefault(groups[name] if several else "~other", []).append(name)
    lines = [TOP]
    for group, names in sorted(sections.items()):
        if len(sections) > 1:
            lines.append(f"## {_escaped(group.strip('~').replace('_', ' ').capitalize())}\n")
        lines += [f"| {HEAD} |", "|" + " --- |" * len(HEAD.split("|"))]
        lines += [f"| {' | '.join(_cells(name, tools[name]))} |" for name in names] + [""]
    return "\n".join(lines)


def _cells(name: str, tool: Mapping[str, Any]) -> list[str]:
    hints = [{True: "yes", False: "no"}.get(tool["hints"].get(hint), "-") for hint in HINTS]
    rest = ["asks" if tool["gated"] else "", " ".join(tool["scopes"])]
    whys = filter(None, [tool["why"], *(f"{e['hint']}: {e['why']}" for e in tool["exceptions"])])
    texts = [tool["title"], tool["behavior"] or "?", *hints, *rest, "; ".join(whys)]
    return [f"`{name}`", *map(_escaped, texts)]


def _escaped(text: str) -> str:
    return "".join("\\" + c if c in "\\`*_[]<|&" else c for c in text.replace("\n", " "))
