"""A project's lock as the verbs read it: definitions of tools, without a server to ask."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from copier_fastmcp_engine.testing import lock

from ..errors import UnableError


def load_pinned_tools() -> dict[str, Mapping[str, Any]]:
    """The pinned definition of each tool of the project in the current folder.

    Raises:
        UnableError: There is no lock, or what stands there is none.
    """
    if not Path(lock.FILE).exists():
        remedy = (
            "go to a project's folder, or write it with `uv run tests/policy/pin.py`"
        )
        raise UnableError(f"{lock.FILE} is not in {Path.cwd()}; {remedy}")
    try:
        tools: dict[str, Mapping[str, Any]] = lock.load_lock(Path(lock.FILE))["tools"]
    except ValueError as error:
        raise UnableError(str(error)) from error
    return tools


def build_definition(name: str, pinned: Mapping[str, Any]) -> dict[str, Any]:
    """A tool as tools/list has it, from its pinned definition."""
    return {
        "name": name,
        "title": pinned.get("title"),
        "description": pinned.get("description"),
        "annotations": {"title": pinned.get("title"), **pinned["hints"]},
        "inputSchema": pinned["input"],
        "outputSchema": pinned["output"],
    }
