"""Tools behind a search: their files are read at the start, and imported when one of them is needed."""

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.declarations import DECLARED
from copier_fastmcp_engine.deferred_tools import (
    DeferredTool,
    DeferredTools,
    parse_tools,
)
from copier_fastmcp_engine.errors import StartError
from copier_fastmcp_engine.registry import defer_tools, load_tools
from copier_fastmcp_engine.search import ToolSearch
from engine.tests.engine_support.servers import (
    client_of,
    make_policy,
    make_server,
    outcome_of,
)

PACKAGE = "deferred_things"
WIPE = '''"""Wipe."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..policy import delete


class WipeResult(BaseModel):
    """What was wiped."""

    name: str


@delete(title="Wipe Thing", formerly=["erase_thing"])
async def wipe_thing(
    name: Annotated[str, Field(description="The slate.", min_length=2)],
) -> WipeResult:
    """Wipe a thing from the board."""
    return WipeResult(name=name)
'''
COUNT = '''"""Count."""

from ..policy import read


@read(title="Count Things")
async def count_things() -> int:
    """Count them."""
    return 3
'''


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the tools of a package, which is on the path."""
    tools = tmp_path / PACKAGE / "tools"
    tools.mkdir(parents=True)
    (tmp_path / PACKAGE / "__init__.py").touch()
    (tools / "__init__.py").touch()
    (tmp_path / PACKAGE / "policy.py").write_text(
        "from copier_fastmcp_engine.declarations import delete, read\n"
    )
    (tools / "wipe_thing.py").write_text(WIPE)
    (tools / "count_things.py").write_text(COUNT)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    yield tools
    for name in list(sys.modules):
        if name.partition(".")[0] == PACKAGE:
            del sys.modules[name]
            DECLARED.pop(name, None)


def defer(name: str, named: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return the tools of the package by name; each policy has a cache of its own."""
    tools = defer_tools(make_policy(name), f"{PACKAGE}.tools", named)
    return {tool.name: tool for tool in tools}


def test_no_file_is_imported_before_its_tool_is_needed(package: Path) -> None:
    tools = defer("one-mcp")
    assert {type(tool) for tool in tools.values()} == {DeferredTool}
    assert f"{PACKAGE}.tools.wipe_thing" not in sys.modules
    policy = make_policy("two-mcp")
    for whole in load_tools(policy, f"{PACKAGE}.tools"):
        deferred = tools[whole.name]
        assert deferred.to_mcp_tool() == whole.to_mcp_tool()
        assert deferred.annotations == whole.annotations
        for name in ("title", "description", "auth", "icons", "meta"):
            assert getattr(deferred, name) == getattr(whole, name)
        described = deferred.parameters["properties"]
        assert described.keys() == whole.parameters["properties"].keys() - {"confirm"}


@pytest.mark.anyio
async def test_a_deferred_tool_is_found_checked_gated_and_called(
    package: Path, era: str
) -> None:
    server = make_server(make_policy(f"{era[:2]}-mcp"))
    server.add_provider(DeferredTools(defer(f"{era[:2]}-mcp").values()))
    server.add_transform(ToolSearch({"board"}, read_only=False))
    async with client_of(server, era, agrees=True) as client:
        assert len(await client.list_tools()) == 2
        assert f"{PACKAGE}.tools.wipe_thing" not in sys.modules
        matches = await client.call_tool("search_tools", {"query": "slate"})
        (definition,) = matches.structured_content["result"]
        assert definition["inputSchema"]["properties"]["name"]["minLength"] == 2
        assert "confirm" in definition["inputSchema"]["properties"]
        assert definition["annotations"]["destructiveHint"] is True
        assert f"{PACKAGE}.tools.count_things" not in sys.modules
        call = {"name": "wipe_thing", "arguments": {"name": "ab"}}
        assert await outcome_of(client, "call_tool", **call) == "applied"
        invalid = {"name": "wipe_thing", "arguments": {"name": "a"}}
        with pytest.raises(ToolError, match="name"):
            await client.call_tool("call_tool", invalid)
    async with client_of(server, era, agrees=False) as client:
        assert await outcome_of(client, "call_tool", **call) == "declined"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('@delete(title="Wipe Thing", formerly=["erase_thing"])', "@delete(", "never"),
        ('formerly=["erase_thing"]', 'formerly="erase_thing"', "formerly is a list"),
        ("import delete", "import deleet as delete", "cannot import name 'deleet'"),
        ("import BaseModel", "import BaseModell as BaseModel", "BaseModell"),
        ("@delete(", "wipe_thing = 1\n\n\n@delete(bad=1, ", "unexpected keyword"),
        ("async def wipe_thing", "async def count_things", "is already in"),
        ('"""Wipe."""', "from .nowhere import x", "No module named"),
        ("return WipeResult(name=name)\n", "return 1\n\n\nwipe_thing = 3\n", "hidden"),
    ],
)
def test_a_deferred_tool_file_with_an_error_stops_the_start(
    old: str, new: str, message: str, package: Path
) -> None:
    path = package / "wipe_thing.py"
    assert old in WIPE
    path.write_text(WIPE.replace(old, new))
    with pytest.raises(StartError) as refused:
        defer(f"refused-{abs(hash(new))}-mcp")
    assert str(path) in str(refused.value)
    if message != "never":
        assert message in str(refused.value)


@pytest.mark.parametrize(
    "unusual",
    [
        WIPE.replace("@delete(", 'TITLE = "x"\n\n\n@delete('),
        WIPE.replace('title="Wipe Thing"', 'title="Wipe" + " Thing"'),
        WIPE.replace("@delete(", "@staticmethod\n@delete("),
        WIPE.replace("@delete(", '@delete(**{"why": "x"}, '),
    ],
)
def test_a_file_with_more_than_declarations_is_imported_at_the_start(
    unusual: str, package: Path
) -> None:
    (package / "wipe_thing.py").write_text(unusual)
    assert parse_tools(package / "wipe_thing.py", f"{PACKAGE}.tools.wipe_thing") is None


def test_a_typed_dict_needs_no_import(package: Path) -> None:
    path = package / "wipe_thing.py"
    fields = 'Fields = TypedDict("Fields", {"a-b": str})\n\n\n@delete('
    typed = WIPE.replace("import Annotated", "import Annotated, TypedDict")
    path.write_text(typed.replace("@delete(", fields))
    assert parse_tools(path, f"{PACKAGE}.tools.wipe_thing")


def test_a_tool_added_elsewhere_under_the_same_name_stops_the_start(
    package: Path,
) -> None:
    tools = defer("distinct-mcp")
    with pytest.raises(StartError, match="wipe_thing is already in tools/"):
        DeferredTools(tools.values()).require_distinct([tools["wipe_thing"]])


def test_a_tool_with_other_texts_is_imported_at_the_start(package: Path) -> None:
    tools = defer("texts-mcp", frozenset({"erase_thing"}))
    assert type(tools["wipe_thing"]) is not DeferredTool
    assert type(tools["count_things"]) is DeferredTool


@pytest.mark.anyio
async def test_wrong_types_are_an_error_of_the_first_call(
    package: Path, era: str
) -> None:
    path = package / "wipe_thing.py"
    path.write_text(WIPE.replace("name: Annotated[str,", "name: Annotated[Nothing,"))
    server = make_server(make_policy(f"wrong-{era[:2]}-mcp"))
    server.add_provider(DeferredTools(defer(f"wrong-{era[:2]}-mcp").values()))
    async with client_of(server, era, agrees=True) as client:
        with pytest.raises(
            ToolError, match=r"wipe_thing\.py:\d+: NameError: .*Nothing"
        ):
            await client.call_tool("wipe_thing", {"name": "ab"})
