"""docs/tools.md: every tool with its behavior, hints, gate, scopes and reason, from the lock's entries.

Managed by the template.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .lock import HINTS

HEAD = "Tool | Title | Behavior | Read-only | Destructive | Idempotent | Open world | Gate | Scopes | Why"
TOP = """# Tools

Written by `uv run tests/policy/pin.py` from the running server; a test fails when it is stale. Hints are advisory:
`-` is one left to the protocol's default. A tool that `asks` waits for a person.
"""
PLURALS = (("ies$", "y"), ("(ch|s|sh|us|x|z)es$", r"\1"), ("(?<!s)s$", ""))


def record_of(name: str, verbs: frozenset[str]) -> str:
    """What a tool is about: the word of its name behind the verb, in the singular."""
    words = name.lower().split("_")
    place = next((n + 1 for n, word in enumerate(words[:3]) if word in verbs), 0)
    word = (words[place:] or words)[0]
    for plural, singular in PLURALS:
        if re.search(plural, word):
            return re.sub(plural, singular, word)
    return word


def markdown(tools: Mapping[str, Mapping[str, Any]], groups: Mapping[str, str]) -> str:
    """The table as Markdown, a section for each group of several tools; what an author wrote is escaped.

    Args:
        tools: The lock's entries by name.
        groups: The folder or the record of each tool.
    """
    sections: dict[str, list[str]] = {}
    for name in sorted(tools):
        sections.setdefault(groups[name], []).append(name)
    alone = [name for names in sections.values() if len(names) == 1 for name in names]
    several = {group: names for group, names in sorted(sections.items()) if len(names) > 1}
    parts = [*several.items(), *([("other", sorted(alone))] if alone else [])]
    lines = [TOP]
    for group, names in parts:
        lines += [f"## {_escaped(group.replace('_', ' ').capitalize())}\n"] * (len(parts) > 1)
        lines += [f"| {HEAD} |", "|" + " --- |" * len(HEAD.split("|"))]
        lines += [f"| `{name}` | " + " | ".join(map(_escaped, _cells(tools[name]))) + " |" for name in names]
        lines += [""]
    return "\n".join(lines)


def _cells(tool: Mapping[str, Any]) -> Iterator[str]:
    yield tool["title"] or ""
    yield tool["behavior"] or "?"
    words = {True: "yes", False: "no"}
    yield from (words.get(tool["hints"].get(hint), "-") for hint in HINTS)
    yield "asks" if tool["gated"] else ""
    yield " ".join(tool["scopes"])
    exceptions = [f"{exception['hint']}: {exception['why']}" for exception in tool["exceptions"]]
    yield "; ".join([*([tool["why"]] if tool["why"] else []), *exceptions])


def _escaped(text: str) -> str:
    return "".join("\\" + c if c in "\\`*_[]<|&" else c for c in text.replace("\n", " "))
