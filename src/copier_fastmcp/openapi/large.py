"""Documents whose tools are too many for a model to read: groups by tag, and a search in place of the list."""

import re
from collections.abc import Iterable, Mapping, Sequence
from keyword import iskeyword
from typing import Any

from .inputs import snake
from .json_values import omit_keys
from .sizes import SERVER_BYTES
from .tools import Imported, collect_tools, count_bytes

MODULE = re.compile("[a-z][a-z0-9_]{0,39}")


def is_large(rows: Sequence[Imported]) -> bool:
    """Whether a model would read more of a server's tools than its suite allows."""
    return count_bytes(rows) > SERVER_BYTES


def offer_search(
    answers: dict[str, Any], rows: Sequence[Imported], *, asking: bool
) -> list[str]:
    """Give a large server toolsets by tag and a search in place of its list.

    Args:
        answers: The answers of the import, which are changed.
        rows: The operations behind them.
        asking: Whether there is somebody to ask; else a large server has the search.

    Returns:
        Lines about what was decided.
    """
    if not is_large(rows):
        return []
    group_by_tag(rows)
    size = count_bytes(rows)
    count = len(answers["tools"])
    summary = (
        f"{count} tools are {size:,} bytes for a model, more than {SERVER_BYTES:,}"
    )
    if asking:
        from ..terminal.prompts import ask_yes_no

        is_wanted = ask_yes_no(f"{summary}. List a search in place of them?")
    else:
        is_wanted = True
    if not is_wanted:
        return []
    answers["search"] = True
    return [
        f"{summary}: the server lists a search; --data search=false lists the tools"
    ]


def is_grouped(tools: Iterable[Mapping[str, Any]]) -> bool:
    """Whether an earlier import put tools into folders; those of a server without any stay where they are."""
    return any("module" in tool for tool in tools)


def group_by_tag(rows: Sequence[Imported]) -> None:
    """Put each tool in the folder of its first tag, which is a toolset."""
    names = {str(tool["name"]) for tool in collect_tools(rows)}
    for row in rows:
        module = module_of(row.operation.tags)
        if row.tool and module and module not in names:
            _insert_module(row.tool, module)


def module_of(tags: Sequence[str]) -> str:
    """Return the folder for a tag; empty if its name cannot be one."""
    name = snake(tags[0])[:40].strip("_") if tags else ""
    return name if MODULE.fullmatch(name) and not iskeyword(name) else ""


def _insert_module(tool: dict[str, Any], module: str) -> None:
    """Write the folder behind the name, where a reader looks for it."""
    copy: Mapping[str, Any] = dict(tool)
    tool.clear()
    tool["name"] = copy["name"]
    tool["module"] = module
    tool.update(omit_keys(copy, ("name",)))
