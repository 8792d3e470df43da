"""The hints proven on the data of tests/tools. Managed by the template, whose pytest plugin has the fixtures."""

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
