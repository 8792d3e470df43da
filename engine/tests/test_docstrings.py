"""What a tool's docstring tells a client, whether or not FastMCP parses it."""

import inspect
from collections.abc import Callable

import pytest

from copier_fastmcp_engine.declarations import delete, read
from copier_fastmcp_engine.signatures import without_plain_docstring
from engine.tests.engine_support.targets import build_policy_tool

PLAIN = """Find notes - all of them.

The newest is the first.
"""
GOOGLE = """Find notes.

Args:
    text: What to find.
"""
NUMPY = """Find notes.

Parameters
----------
text
    What to find.
"""
SPHINX = """Find notes.

:param text: What to find.
"""


async def find_notes(text: str = "x", *, limit: int = 3) -> str:
    return text * limit


def declare(
    docstring: str, decorator: type[read] | type[delete]
) -> Callable[..., object]:
    async def find(text: str = "x", *, limit: int = 3) -> str:
        return text * limit

    find.__doc__ = docstring
    return decorator(title="Find")(find)


@pytest.mark.parametrize("decorator", [read, delete])
@pytest.mark.parametrize("docstring", [GOOGLE, NUMPY, SPHINX])
def test_a_parameter_that_a_docstring_describes_has_its_description(
    docstring: str, decorator: type[read] | type[delete]
) -> None:
    tool = build_policy_tool(declare(docstring, decorator))
    assert tool.parameters["properties"]["text"]["description"] == "What to find."


@pytest.mark.parametrize("decorator", [read, delete])
def test_a_docstring_without_sections_is_the_whole_description(
    decorator: type[read] | type[delete],
) -> None:
    tool = build_policy_tool(declare(PLAIN, decorator))
    assert (tool.description or "").startswith(inspect.cleandoc(PLAIN))
    assert "description" not in tool.parameters["properties"]["text"]


@pytest.mark.anyio
async def test_a_copy_without_docstring_is_called_as_the_function_is() -> None:
    find_notes.__doc__ = PLAIN
    copy = without_plain_docstring(find_notes)
    assert (copy.__doc__, find_notes.__doc__) == (None, PLAIN)
    assert inspect.unwrap(copy) is find_notes
    assert inspect.signature(copy) == inspect.signature(find_notes)
    assert inspect.iscoroutinefunction(copy)
    assert await copy() == "xxx"
    assert await copy("ab", limit=1) == "ab"


def test_a_copy_keeps_annotations_that_were_set_by_hand() -> None:
    """Python 3.14 calls a function for annotations, and forgets it where they are set."""

    def find(**arguments: object) -> str:
        """Find notes."""
        return str(arguments)

    find.__annotations__ = {"text": int, "return": str}
    copy = without_plain_docstring(find)
    assert copy.__annotations__ == {"text": int, "return": str}
