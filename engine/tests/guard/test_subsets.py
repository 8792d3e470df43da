"""A subset of a server's tools: an excluded tool is neither listed nor called, whoever excludes it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.exceptions import ToolError
from fastmcp.server.http import set_http_request
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from mcp_types import ToolAnnotations
from starlette.requests import Request

from copier_fastmcp_engine.errors import StartError
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.subsets import Facts, Subset
from engine.tests.engine_support.notes import extend
from engine.tests.engine_support.notes.server import create_server
from engine.tests.engine_support.raw import LEGACY, MODERN
from engine.tests.engine_support.targets import SETTINGS, declare

pytestmark = pytest.mark.anyio
EVERY = {
    "search_notes",
    "get_note",
    "create_note",
    "ensure_note",
    "append_note",
    "update_note",
    "archive_note",
    "delete_note",
    "send_note",
}
READS = {"search_notes", "get_note"}
READ_ONLY = ToolAnnotations(read_only_hint=True)
FOLDER = {"get_note", "delete_note"}  # the files of these two are in a folder


def make_server(**settings: object) -> FastMCP[Any]:
    """The server with a part of its tools, of which two are in the folder `filed`."""
    return create_server(SETTINGS.model_copy(update=settings))


def make_function(module: str) -> Callable[[], str]:
    """A function of another package."""

    def function() -> str:
        return "x"

    function.__module__ = module
    return function


async def list_names(served: Any) -> set[str]:
    """The names that a client of a server or an address lists."""
    async with Client(served) as client:
        return {tool.name for tool in await client.list_tools()}


def make_facts(place: str | None) -> Facts:
    """The facts of a read at a place."""
    return Facts("get_note", place, is_read_only=True, is_destructive=False)


def test_a_tool_of_the_engine_is_in_every_toolset() -> None:
    assert Subset(toolsets=["filed"]).reason_left_out(make_facts(None)) is None
    assert Subset(toolsets=["filed"]).reason_left_out(make_facts("other"))


@pytest.mark.parametrize("toolset", ["", ":", ":readonly", "filed:", "filed:other"])
def test_a_toolset_that_is_none_has_no_tools(toolset: str) -> None:
    subset = Subset(toolsets=[toolset])
    for place in ("", "filed", "filed.get_note"):
        assert subset.reason_left_out(make_facts(place))


def test_a_server_without_toolsets_has_none_to_choose_from() -> None:
    with pytest.raises(StartError, match="nothing is called 'filed'; there are none"):
        Subset(toolsets=["filed"]).check([make_facts(None)])


@pytest.mark.parametrize(
    ("place", "toolset"),
    [
        (None, ""),
        ("", ""),
        ("get_note", ""),
        ("filed.get_note", "filed"),
        ("filed", "filed"),
    ],
)
def test_a_toolset_is_a_folder_or_a_file_of_several_tools(
    place: str | None, toolset: str
) -> None:
    assert make_facts(place).toolset == toolset


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"read_only": True}, READS),
        (
            {"no_destructive": True},
            EVERY - {"delete_note", "update_note", "archive_note", "send_note"},
        ),
        ({"tools": ["get_*", "create_note"]}, {"get_note", "create_note"}),
        ({"exclude": ["*_note"]}, {"search_notes"}),
        ({"toolsets": ["filed"]}, FOLDER),
        ({"toolsets": ["filed:readonly"]}, {"get_note"}),
        ({"toolsets": ["filed", "search_notes"]}, FOLDER | {"search_notes"}),
        ({"toolsets": ["filed.get_note"]}, {"get_note"}),
        ({"toolsets": ["filed"], "read_only": True}, {"get_note"}),
        ({"tools": ["delete_note"], "read_only": True}, set()),
    ],
    ids=lambda value: str(value if isinstance(value, dict) else sorted(value)),
)
async def test_the_stricter_setting_wins(
    settings: dict[str, Any], expected: set[str]
) -> None:
    part = make_server(**settings)
    assert await list_names(part) == expected
    async with Client(part) as client:
        for name in EVERY - expected:
            with pytest.raises(
                ToolError,
                match=f"{name} cannot be called here: .*(served|read-only)|excluded",
            ):
                await client.call_tool(name, {})


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        (
            {"toolsets": ["fild"]},
            "setting toolsets: nothing is called 'fild'; there are .*filed",
        ),
        (
            {"toolsets": ["filed:write"]},
            "setting toolsets: nothing is called 'filed:write'",
        ),
        (
            {"tools": ["get_nots"]},
            "setting tools: no tool is called 'get_nots'; there are ",
        ),
        (
            {"exclude": ["delete_nots"]},
            "setting exclude: no tool is called 'delete_nots'",
        ),
    ],
    ids=["toolset", "half", "tool", "excluded"],
)
def test_an_unknown_name_stops_the_start(settings: dict[str, Any], line: str) -> None:
    with pytest.raises(StartError, match=line):
        make_server(**settings)


async def test_a_tool_in_no_toolset_is_left_out() -> None:
    part, child = make_server(toolsets=["filed"]), FastMCP("child")
    for name, module in (("wild", "other"), ("foreign", "other.tools.filed.foreign")):
        child.tool(elsewhere := make_function(module), name=name)
        assert elsewhere.__module__ == module
    declare(part, "foreign", "read")
    part.mount(child)
    assert await list_names(part) == FOLDER


def test_a_tool_from_elsewhere_makes_no_toolset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tool = make_function("other.notes")
    monkeypatch.setattr(extend, "extend", lambda server: server.tool(tool))
    with pytest.raises(
        StartError, match=r"nothing is called 'other'; there are (?!.*other)"
    ):
        make_server(toolsets=["other"])


async def test_the_list_of_resources_is_in_every_toolset() -> None:
    settings = SETTINGS.model_copy(update={"toolsets": ["filed"]})
    server = create_server(settings, lists_resources=True)
    assert await list_names(server) == {*FOLDER, "list_resources"}


@pytest.mark.parametrize("setting", ["read_only", "no_destructive"])
async def test_an_undeclared_tool_is_served_with_reads_where_its_hint_is_trusted(
    setting: str,
) -> None:
    server = make_server(**{setting: True}, trust_reads=["trusted"])
    for name in ("trusted", "untrusted"):
        server.tool(make_function("other"), name=name, annotations=READ_ONLY)
    names = await list_names(server)
    assert "trusted" in names
    assert "untrusted" not in names


async def test_a_look_at_all_tools_leaves_the_subset_as_it_was() -> None:
    server = make_server(toolsets=["filed"])
    await guard_of(server).tool_pairs()
    assert {tool.name for tool in await server.list_tools()} == FOLDER


@asynccontextmanager
async def serve_over_http(part: FastMCP[Any]) -> AsyncIterator[Any]:
    """A way to connect to a path of a server, with headers, in an era."""
    app = part.http_app(host_origin_protection=False)

    def factory(**options: Any) -> httpx2.AsyncClient:
        options.pop("transport", None)
        return httpx2.AsyncClient(transport=httpx2.ASGITransport(app), **options)

    def connect(path: str, era: str, **headers: str) -> Client[Any]:
        address = f"http://localhost{path}"
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        transport = StreamableHttpTransport(
            address,
            headers=named,
            httpx_client_factory=factory,  # type: ignore[arg-type]
        )
        return Client(transport, mode=era)

    async with app.router.lifespan_context(app):
        yield connect


@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_client_narrows_its_subset(era: str) -> None:
    async with serve_over_http(make_server(exclude=["search_notes"])) as connect:
        for path, headers, expected in [
            ("/mcp", {}, EVERY - {"search_notes"}),
            ("/mcp/readonly", {}, {"get_note"}),
            ("/mcp/x/filed", {}, FOLDER),
            ("/mcp/x/filed/readonly", {}, {"get_note"}),
            ("/mcp/x/filed", {"X_MCP_Readonly": "true"}, {"get_note"}),
            (
                "/mcp",
                {"X_MCP_Toolsets": "filed, create_note"},
                {*FOLDER, "create_note"},
            ),
            ("/mcp", {"X_MCP_Tools": "search_notes,get_note"}, {"get_note"}),
            ("/mcp/readonly", {"X_MCP_Exclude_Tools": "get_*"}, set()),
            ("/mcp/x/filed", {"X_MCP_No_Destructive": "1"}, {"get_note"}),
            ("/mcp", {"X_MCP_Readonly": "treu"}, {"get_note"}),
            ("/mcp/x/filed", {"X_MCP_No_Destructive": "no, please"}, {"get_note"}),
            ("/mcp/x/filed", {"X_MCP_Readonly": "Off"}, FOLDER),
            ("/mcp", {"X_MCP_Toolsets": "filed:write"}, set()),
            ("/mcp", {"X_MCP_Toolsets": "filed:, :readonly"}, set()),
        ]:
            async with connect(path, era, **headers) as client:
                names = {tool.name for tool in await client.list_tools()}
                assert names == expected, (path, headers)
                with pytest.raises(
                    ToolError, match="search_notes cannot be called here"
                ):
                    await client.call_tool("search_notes", {})


async def list_with_headers(headers: list[tuple[str, str]]) -> set[str]:
    """The names that a request with these headers lists."""
    pairs = [(name.encode(), value.encode()) for name, value in headers]
    with set_http_request(Request({"type": "http", "headers": pairs})):
        return {tool.name for tool in await make_server().list_tools()}


@pytest.mark.parametrize(
    ("name", "values", "expected"),
    [
        ("readonly", ["off", "on"], READS),
        ("exclude-tools", ["get_note", "*s"], EVERY - READS),
        ("toolsets", ["filed", "filed:readonly"], {"get_note"}),
        ("toolsets", ["filed", "create_note"], set()),
        ("tools", ["get_*, send_note", "*_note"], {"get_note", "send_note"}),
        ("tools", ["get_note", ""], {"get_note"}),
        ("toolsets", [" , "], EVERY),
    ],
)
async def test_repeated_headers_are_combined(
    name: str, values: list[str], expected: set[str]
) -> None:
    pairs = [(f"x-mcp-{name}", value) for value in values]
    assert await list_with_headers(pairs) == expected


@pytest.mark.parametrize("name", ["readonly", "tools", "exclude-tools", "toolsets"])
async def test_a_header_without_the_prefix_narrows_nothing(name: str) -> None:
    assert await list_with_headers([(name, "get_note")]) == EVERY


@pytest.mark.parametrize("where", ["here", "mounted"])
def test_no_cache_answers_one_client_with_the_part_of_another(where: str) -> None:
    part, child = make_server(), make_server()
    for cached in (False, True):
        caching = ResponseCachingMiddleware(
            call_tool_settings={"enabled": False},
            list_tools_settings={"enabled": cached},
        )
        (part if where == "here" else child).add_middleware(caching)
        part.mount(child, namespace="child")
        if not cached:
            part.http_app()
    with pytest.raises(
        StartError, match="CachingMiddleware would list the tools of one client"
    ):
        part.http_app()


async def test_a_path_that_names_nothing_is_not_found() -> None:
    app = make_server().http_app(host_origin_protection=False)
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://localhost"
    ) as client:
        for path in (
            "/mcp/x/none",
            "/mcp/x/",
            "/mcp/x/filed/write",
            "/mcp/x/filed:write",
            "/mcp/write",
            "/mcp/x",
        ):
            assert (await client.post(path, json={})).status_code == 404, path
