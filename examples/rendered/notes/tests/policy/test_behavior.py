"""The hints proven: each tool runs on the data that its file in tests/tools arranges, between snapshots.

Managed by the template. `prove` is a fixture of its pytest plugin.
"""

from collections.abc import Awaitable, Callable

import pytest

from .cases import Tool


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.anyio
async def test_hints_are_true(proven_tool: Tool, prove: Callable[[Tool], Awaitable[None]]) -> None:
    await prove(proven_tool)


@pytest.mark.anyio
async def test_reading_resources_and_prompts_changes_nothing(
    check_components: Callable[[], Awaitable[None]],
) -> None:
    await check_components()
