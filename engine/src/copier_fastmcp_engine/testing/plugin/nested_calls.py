"""Tools that a tool calls through its own server."""

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch


@contextlib.contextmanager
def watching_calls(*classes: type) -> Iterator[list[Any]]:
    """Collect the tools that run in the block.

    Args:
        classes: The classes of the tools.
    """
    tools: list[Any] = []
    with contextlib.ExitStack() as stack:
        for owner in classes:
            stack.enter_context(patch.object(owner, "run", _noting(owner, tools)))
        yield tools


def _noting(owner: Any, tools: list[Any]) -> Any:
    """Return the method `run` of a class that notes each tool."""
    run = owner.run

    async def noting(tool: Any, arguments: dict[str, Any]) -> Any:
        tools.append(tool)
        return await run(tool, arguments)

    return noting
