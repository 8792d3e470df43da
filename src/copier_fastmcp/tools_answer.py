"""The answer `tools`: the forms that it has, the names in it, and what a name says."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from .tables import load_tables

NAME = re.compile("[a-z][a-z0-9_]{0,63}")
WRITTEN = re.compile(
    r"\(((?:method|signal|(?:two|three) signals|asked|extension|your choice)[^()]*)\)\.$"
)


def list_tools(tools: object) -> list[Any]:
    """The answer `tools`, which may be a text, a mapping or a list, as a list."""
    if isinstance(tools, str):
        return [item.strip() for item in re.split("[,\n]", tools) if item.strip()]
    return (
        [tools]
        if isinstance(tools, Mapping)
        else list(tools)
        if isinstance(tools, list)
        else []
    )


def parse_entry(one: object) -> dict[str, Any]:
    """A tool of the answers as a mapping: of `get_note`, of `archive_note=put`, or of a mapping."""
    if isinstance(one, Mapping):
        return {str(key): value for key, value in one.items()}
    name, _, behavior = str(one).partition("=")
    return {"name": name.strip()} | ({"behavior": behavior.strip()} if behavior else {})


def parse_entries(tools: object) -> list[dict[str, Any]]:
    """The answer `tools` as mappings."""
    return [parse_entry(one) for one in list_tools(tools)]


def get_tool_name(one: object) -> str:
    """The name of a tool in the answers."""
    return str(parse_entry(one).get("name")).strip()


def shorten_entries(tools: Sequence[dict[str, Any]]) -> list[Any]:
    """Mappings as short as they can be said."""
    return [one["name"] if one.keys() == {"name"} else one for one in tools]


def infer_from_name(name: str) -> str:
    """The behavior that the first word of a name says; empty where the tables do not know the word."""
    verb = name.partition("_")[0]
    return next(
        (
            behavior
            for behavior, verbs in load_tables()["verbs"].items()
            if verb in verbs
        ),
        "",
    )


def infer_behavior(tool: Mapping[str, Any]) -> str:
    """What a tool says that it does, else what its name says; empty where neither does."""
    if said := tool.get("behavior"):
        return str(said)
    found = infer_from_name(str(tool.get("name", "")))
    names = {
        one.get("name") for one in tool.get("params") or [] if isinstance(one, Mapping)
    }
    overwrites = "params" in tool and not names & {*load_tables()["versions"]}
    return "put" if found == "update" and overwrites else found


def list_meanings() -> list[tuple[str, str, str]]:
    """Each behavior: its name, what it means in a sentence, and its name again, to choose from."""
    return [
        (name, str(row["meaning"]), name)
        for name, row in load_tables()["behaviors"].items()
    ]


def describe_source(tool: Mapping[str, Any]) -> str:
    """What says that a tool does what it does; empty where nothing does."""
    if tool.get("behavior"):
        found = WRITTEN.search(str(tool.get("why") or ""))
        return found[1] if found and tool.get("http") else "you"
    behavior, said = infer_behavior(tool), infer_from_name(str(tool.get("name", "")))
    verb = str(tool.get("name", "")).partition("_")[0]
    return (
        f"first word {verb!r}{', no version' * (behavior != said)}" if behavior else ""
    )
