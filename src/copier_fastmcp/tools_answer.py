"""The answer `tools`: its forms, the names in it, and the behavior of each tool."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from .tables import load_tables

NAME = re.compile("[a-z][a-z0-9_]{0,63}")
# The end of `why` in an imported tool, in parentheses: the source of its behavior.
IMPORT_SOURCE = re.compile(
    r"\(((?:method|signal|(?:two|three) signals|asked|extension|your choice)[^()]*)\)\.$"
)


def list_tools(tools: object) -> list[Any]:
    """Return the answer `tools`, which may be a text, a mapping or a list, as a list."""
    if isinstance(tools, str):
        names = map(str.strip, re.split("[,\n]", tools))
        return list(filter(None, names))
    if isinstance(tools, Mapping):
        return [tools]
    return list(tools) if isinstance(tools, list) else []


def parse_entry(entry: object) -> dict[str, Any]:
    """Return an entry of the answer (`get_note`, `archive_note=put` or a mapping) as a mapping."""
    if isinstance(entry, Mapping):
        return {str(key): value for key, value in entry.items()}
    name, _, behavior = str(entry).partition("=")
    tool = {"name": name.strip()}
    if behavior:
        tool["behavior"] = behavior.strip()
    return tool


def parse_entries(tools: object) -> list[dict[str, Any]]:
    """Return the entries of the answer `tools` as mappings."""
    return list(map(parse_entry, list_tools(tools)))


def get_tool_name(entry: object) -> str:
    """Return the name of a tool in the answers."""
    return str(parse_entry(entry).get("name")).strip()


def shorten_entries(tools: Sequence[dict[str, Any]]) -> list[Any]:
    """Return mappings in their shortest form: a mapping that has only a name becomes the name."""
    entries = []
    for tool in tools:
        entries.append(tool["name"] if tool.keys() == {"name"} else tool)
    return entries


def infer_from_name(name: str) -> str:
    """Return the behavior that the first word of a name implies; empty for an unknown word."""
    first_word = name.partition("_")[0]
    for behavior, verbs in load_tables()["verbs"].items():
        if first_word in verbs:
            return str(behavior)
    return ""


def infer_behavior(tool: Mapping[str, Any]) -> str:
    """Return the declared behavior of a tool, else that of its name; empty if neither exists."""
    declared = tool.get("behavior")
    if declared:
        return str(declared)
    behavior = infer_from_name(str(tool.get("name", "")))
    if behavior != "update" or "params" not in tool:
        return behavior
    versions = load_tables()["versions"]
    for parameter in tool["params"] or []:
        if isinstance(parameter, Mapping) and parameter.get("name") in versions:
            return behavior
    # Without a version parameter, an update overwrites whatever is there.
    return "put"


@cache
def _list_proposals() -> dict[str, frozenset[str]]:
    """Return the words that suggest each behavior, first the behaviors that change most.

    The words of the audit, which reads the names of any server, help only to propose a behavior.
    """
    vocabulary = load_tables("auditing/audit")
    nouns = set(vocabulary["nouns"].split())
    proposals: dict[str, frozenset[str]] = {}
    for behavior, kinds in load_tables("language")["proposals"].items():
        verbs = set(load_tables()["verbs"][behavior])
        words: set[str] = set()
        for kind in kinds:
            lists = vocabulary["words"][kind]
            words.update(lists["sure"].split())
            if behavior != "read":  # a doubtful word never proposes a read
                words.update(lists["weak"].split())
        words -= nouns
        proposals[str(behavior)] = frozenset(words | verbs)
    return proposals


def propose_behavior(name: str) -> str:
    """Return the behavior to propose for a name without a known verb at its beginning.

    As in macros/proposals.jinja: `nc_notes_delete_note` gets `delete`, never a behavior without a gate.
    """
    parts = name.split("_")
    proposed: dict[str, str] = load_tables("language")["proposed"]
    if parts[0] in proposed:
        return proposed[parts[0]]
    for behavior, words in _list_proposals().items():
        if words.intersection(parts):
            return behavior
    return "put"


def list_meanings() -> list[tuple[str, str, str]]:
    """Return the behaviors as options of a dialog: name, meaning in a sentence, and name again."""
    behaviors = load_tables()["behaviors"]
    return [(name, str(row["meaning"]), name) for name, row in behaviors.items()]


def describe_source(tool: Mapping[str, Any]) -> str:
    """Return what determines the behavior of a tool; empty if it has none."""
    if tool.get("behavior"):
        reason = str(tool.get("why") or "")
        match = IMPORT_SOURCE.search(reason)
        is_imported = match is not None and bool(tool.get("http"))
        return match[1] if match and is_imported else "you"
    behavior = infer_behavior(tool)
    if not behavior:
        return ""
    name = str(tool.get("name", ""))
    first_word = name.partition("_")[0]
    suffix = "" if behavior == infer_from_name(name) else ", no version"
    return f"first word {first_word!r}{suffix}"
