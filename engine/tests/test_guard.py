"""The guard is a transform: whatever a server serves passes it, wherever that comes from and however it is called."""

import json
import logging
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from fastmcp import Client, Context, FastMCP, FastMCPApp
from fastmcp.exceptions import ToolError
from fastmcp.server import create_proxy
from fastmcp.server.middleware import Middleware
from fastmcp.server.middleware.tool_injection import ToolInjectionMiddleware
from fastmcp.server.providers.addressing import (
    hashed_backend_name,
    parse_hashed_backend_name,
)
from fastmcp.server.transforms import Transform
from fastmcp.tools import Tool
from mcp_types import ToolAnnotations

from copier_fastmcp_engine.confirmation.gate import require_confirmation
from copier_fastmcp_engine.declarations import (
    collecting,
    declaration_of,
    declare,
    delete,
    read,
)
from copier_fastmcp_engine.errors import StartError
from copier_fastmcp_engine.existing_server import govern
from copier_fastmcp_engine.guard import find_guard, guard_of
from copier_fastmcp_engine.tools import build_tool
from engine.tests.engine_support.servers import (
    client_of,
    make_policy,
    make_server,
    make_settings,
    outcome_of,
)

POLICY = make_policy()
DONE: list[str] = []
Serve = Callable[[FastMCP[Any]], str]


@delete(title="Wipe")
async def wipe(name: str) -> None:
    """Wipe one."""
    DONE.append(name)


def destroy(name: str) -> None:
    """Destroy one; nobody declares it."""
    DONE.append(name)


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


def add_wipe(server: FastMCP[Any]) -> str:
    """Add a tool of the policy."""
    declaration = declaration_of(wipe)
    assert declaration is not None
    server.add_tool(build_tool(POLICY, wipe, declaration))
    return "wipe"


def add_wipe_under_its_former_name(server: FastMCP[Any]) -> None:
    """Add a tool of the policy that was formerly called as another one is."""

    @delete(title="Scrap", formerly=["wipe"])
    async def scrap(name: str) -> None:
        """Scrap one."""

    declaration = declaration_of(scrap)
    assert declaration is not None
    server.add_tool(build_tool(POLICY, scrap, declaration))


def add_undeclared(server: FastMCP[Any]) -> str:
    """Add an undeclared tool."""
    server.tool(destroy)
    return "destroy"


def mount_undeclared(server: FastMCP[Any]) -> str:
    """Mount a server with an undeclared tool."""
    child: FastMCP[Any] = FastMCP("child")
    child.tool(destroy)
    server.mount(child, namespace="child")
    return "child_destroy"


def mount_wipe(server: FastMCP[Any]) -> str:
    """Mount a server without a policy that has a tool of ours."""
    child: FastMCP[Any] = FastMCP("child")
    add_wipe(child)
    server.mount(child, namespace="child")
    return "child_wipe"


def mount_policy_server(server: FastMCP[Any]) -> str:
    """Mount a server of ours."""
    server.mount(make_server(make_policy("child-mcp"), wipe), namespace="child")
    return "child_wipe"


def mount_proxy(server: FastMCP[Any]) -> str:
    """Mount a proxy of a server with an undeclared tool."""
    remote: FastMCP[Any] = FastMCP("remote")
    remote.tool(destroy)
    server.mount(create_proxy(remote), namespace="remote")
    return "remote_destroy"


def inject_undeclared(server: FastMCP[Any]) -> str:
    """Let a middleware inject an undeclared tool."""
    tool = Tool.from_function(destroy)
    server.add_middleware(ToolInjectionMiddleware([tool]))
    return "destroy"


def add_versions(server: FastMCP[Any]) -> str:
    """Add two versions of an undeclared tool."""
    for version in ("1.0", "2.0"):
        server.add_tool(Tool.from_function(destroy, version=version))
    return "destroy"


def add_app_tool(server: FastMCP[Any]) -> str:
    """Add an app with an undeclared tool, which its pages call by the hash of its identity."""
    app = FastMCPApp("shop")
    app.tool(destroy)
    server.add_provider(app)
    return hashed_backend_name("shop", "destroy")


class Adding(Transform):
    """A transform with a tool of its own, for which it asks no transform before it."""

    tool = Tool.from_function(destroy)

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        return [*tools, self.tool]

    async def get_tool(self, name: str, call_next: Any, **options: Any) -> Tool | None:
        if name == self.tool.name:
            return self.tool
        tool: Tool | None = await call_next(name, **options)
        return tool


def add_through_transform(server: FastMCP[Any]) -> str:
    """Add a transform with an undeclared tool."""
    server.add_transform(Adding())
    return "destroy"


WAYS: list[Serve] = [
    add_wipe,
    add_undeclared,
    mount_undeclared,
    mount_wipe,
    mount_policy_server,
    mount_proxy,
    inject_undeclared,
    add_through_transform,
    add_versions,
    add_app_tool,
]


def mount_in_plain_server(server: FastMCP[Any], tool: str) -> tuple[FastMCP[Any], str]:
    """Mount a server in one that has no policy."""
    outer: FastMCP[Any] = FastMCP("outer")
    outer.mount(server, namespace="outer")
    # No namespace changes the name of an app's tool
    if parse_hashed_backend_name(tool) is not None:
        return outer, tool
    return outer, f"outer_{tool}"


@pytest.mark.anyio
@pytest.mark.parametrize("is_mounted", [False, True], ids=["itself", "mounted"])
@pytest.mark.parametrize("serve", WAYS)
async def test_every_tool_asks_before_it_runs(
    serve: Serve, is_mounted: bool, era: str
) -> None:
    server = make_server(POLICY)
    tool = serve(server)
    if is_mounted:
        server, tool = mount_in_plain_server(server, tool)
    for agrees in (None, False):
        async with client_of(server, era, agrees=agrees) as client:
            await outcome_of(client, tool, name="a")
        assert DONE == []
    async with client_of(server, era, agrees=True) as client:
        await outcome_of(client, tool, name="a")
    assert DONE == ["a"]


@pytest.mark.anyio
@pytest.mark.parametrize("serve", WAYS)
async def test_a_call_past_all_middleware_asks_too(serve: Serve, era: str) -> None:
    server = make_server(POLICY)
    tool = serve(server)

    @read(title="Look")
    async def look(ctx: Context) -> None:
        """Call another tool without middleware."""
        await ctx.fastmcp.call_tool(tool, {"name": "a"}, run_middleware=False)

    declaration = declaration_of(look)
    assert declaration is not None
    server.add_tool(build_tool(POLICY, look, declaration))
    async with client_of(server, era, agrees=False) as client:
        await client.call_tool("look", {}, raise_on_error=False)
    assert DONE == []
    async with client_of(server, era, agrees=True) as client:
        await client.call_tool("look", {}, raise_on_error=False)
    assert DONE == ["a"]


@pytest.mark.anyio
async def test_the_guard_stays_the_last_transform(era: str) -> None:
    server = make_server(POLICY)
    first, second = Adding(), Adding()
    server.add_transform(first)
    server.add_transform(second)
    assert server.transforms == [first, second, guard_of(server)]
    async with client_of(server, era) as client:
        (tool,) = await client.list_tools()
    assert tool.name == "destroy"


@pytest.mark.anyio
async def test_a_middleware_put_into_the_list_is_found_by_the_next_request(
    era: str,
) -> None:
    server = make_server(POLICY)
    tools = [Tool.from_function(destroy)]
    server.middleware.append(ToolInjectionMiddleware(tools))
    async with client_of(server, era, agrees=False) as client:
        assert await outcome_of(client, "destroy", name="a") == "error"
    assert DONE == []


@pytest.mark.anyio
async def test_an_injected_tool_asks_in_a_call_that_no_request_came_before() -> None:
    injecting = ToolInjectionMiddleware([Tool.from_function(destroy)])
    server: FastMCP[Any] = FastMCP("existing", middleware=[injecting])
    govern(server, make_settings(POLICY))
    with pytest.raises(ToolError, match="destroy needs a person's confirmation"):
        await server.call_tool("destroy", {"name": "a"}, run_middleware=False)
    assert DONE == []


@pytest.mark.anyio
async def test_an_existing_server_starts_without_an_injected_tool_of_it(
    era: str,
) -> None:
    injecting = ToolInjectionMiddleware([Tool.from_function(destroy)])
    server: FastMCP[Any] = FastMCP("existing", middleware=[injecting])
    govern(server, make_settings(POLICY, exclude=["destroy"]))
    add_wipe(server)
    server.http_app()
    async with client_of(server, era) as client:
        (tool,) = await client.list_tools()
    assert tool.name == "wipe"


@pytest.mark.anyio
async def test_an_injection_is_guarded_once(era: str) -> None:
    server = make_server(POLICY)
    inject_undeclared(server)
    before = [*server.middleware]
    async with client_of(server, era) as client:
        await client.list_tools()
    assert server.middleware == before


@pytest.mark.anyio
async def test_an_injected_tool_of_a_mounted_server_asks(era: str) -> None:
    server, child = make_server(POLICY), FastMCP("child")
    inject_undeclared(child)
    server.mount(child, namespace="child")
    async with client_of(server, era, agrees=False) as client:
        await outcome_of(client, "child_destroy", name="a")
    assert DONE == []
    async with client_of(server, era, agrees=True) as client:
        await outcome_of(client, "child_destroy", name="a")
    assert DONE == ["a"]


class Refusing(Middleware):
    """A middleware that lets no call through."""

    async def on_call_tool(self, context: Any, call_next: Any) -> Any:
        raise ToolError("closed today")


@pytest.mark.anyio
async def test_a_call_that_a_middleware_of_the_author_refuses_is_logged(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    server: FastMCP[Any] = FastMCP("existing", middleware=[Refusing()])
    govern(server, make_settings(POLICY))
    with caplog.at_level(logging.INFO, POLICY.package):
        async with client_of(server, era) as client:
            assert await outcome_of(client, "wipe", name="a") == "error"
    (record,) = [line for line in caplog.records if "tool_call" in line.message]
    assert json.loads(record.message)["outcome"] == "error"


@pytest.mark.anyio
async def test_a_tool_that_takes_the_place_of_another_is_served(era: str) -> None:
    server = make_server(POLICY, wipe)
    async with client_of(server, era) as client:
        await client.list_tools()
    server.local_provider.remove_tool("wipe")

    async def scrap(name: str) -> None:
        """Scrap one."""
        DONE.append(f"scrapped {name}")

    scrap.__name__ = "wipe"
    declaration = declaration_of(delete(title="Scrap")(scrap))
    assert declaration is not None
    server.add_tool(build_tool(POLICY, scrap, declaration))
    async with client_of(server, era, agrees=True) as client:
        (tool,) = await client.list_tools()
        await outcome_of(client, "wipe", name="a")
    assert tool.title == "Scrap"
    assert DONE == ["scrapped a"]


class Whitewashing(Transform):
    """A transform that copies each tool with the hints of a read."""

    hints = ToolAnnotations(read_only_hint=True)

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        return [self.copy(tool) for tool in tools]

    async def get_tool(self, name: str, call_next: Any, **options: Any) -> Tool | None:
        tool = await call_next(name, **options)
        return tool and self.copy(tool)

    def copy(self, tool: Tool) -> Tool:
        return tool.model_copy(update={"annotations": self.hints})


@pytest.mark.anyio
async def test_a_copy_with_other_hints_is_served_with_those_of_its_declaration(
    era: str,
) -> None:
    server = make_server(POLICY, wipe)
    server.add_transform(Whitewashing())
    async with client_of(server, era, agrees=False) as client:
        (tool,) = await client.list_tools()
        assert await outcome_of(client, "wipe", name="a") == "declined"
    assert tool.annotations
    assert tool.annotations.destructive_hint is True
    assert DONE == []


@pytest.mark.anyio
async def test_each_version_of_a_mounted_tool_has_its_own_declaration(
    era: str,
) -> None:
    """The version that is called destroys, and the newest one of that name only reads."""
    server, child = make_server(POLICY), FastMCP("child")

    @child.tool(name="handle", version="1")
    @delete(title="Destroy")
    async def handle_before(name: str) -> None:
        DONE.append(name)

    @child.tool(name="handle", version="2")
    @read(title="Look")
    async def handle_now(name: str) -> None:
        DONE.append(f"looked at {name}")

    server.mount(child)
    async with client_of(server, era, agrees=False) as client:
        for version in ("1", "2"):
            await client.call_tool("handle", {"name": "a"}, version=version)
    assert DONE == ["looked at a"]


@pytest.mark.anyio
async def test_an_injected_tool_has_its_declaration_and_obeys_the_subset(
    era: str,
) -> None:
    server = make_server(POLICY, read_only=True)
    with collecting(guard_of(server).declared_elsewhere):
        declare("destroy", "delete", title="Destroy")
        declare("look", "read", title="Look")
    tools = [
        Tool.from_function(destroy),
        Tool.from_function(destroy, name="look"),
    ]
    server.add_middleware(ToolInjectionMiddleware(tools))
    async with client_of(server, era) as client:
        (tool,) = await client.list_tools()
        refused = await client.call_tool("destroy", {"name": "a"}, raise_on_error=False)
    assert (tool.name, tool.title) == ("look", "Look")
    assert "cannot be called here" in str(refused.content[0])
    assert DONE == []


def test_an_injected_destructive_tool_stops_the_start() -> None:
    server = make_server(POLICY)
    hints = ToolAnnotations(destructive_hint=True)
    tool = Tool.from_function(destroy, annotations=hints)
    server.add_middleware(ToolInjectionMiddleware([tool]))
    with pytest.raises(StartError, match="the destructive tool destroy has no gate"):
        guard_of(server).check()


@pytest.mark.anyio
async def test_nothing_runs_in_the_background() -> None:
    server = make_server(POLICY)

    async def work(name: str = "a") -> str:
        return name

    server.add_tool(Tool.from_function(work, task=True))
    server.add_middleware(
        ToolInjectionMiddleware([Tool.from_function(work, name="other", task=True)])
    )
    assert await server.get_tasks() == []
    outer, _ = mount_in_plain_server(server, "")
    assert await outer.get_tasks() == []


@pytest.mark.anyio
async def test_a_body_asks_in_a_resource_and_not_without_a_policy(era: str) -> None:
    server = make_server(POLICY)

    @server.resource("data://one")
    async def one(ctx: Context) -> str:
        return await require_confirmation(ctx, "Sure?")

    async def alone(ctx: Context) -> str:
        return await require_confirmation(ctx, "Sure?")

    async with client_of(server, "legacy", agrees=True) as client:
        (content,) = await client.read_resource("data://one")
    assert getattr(content, "text", None) == "confirmed"
    without: FastMCP[Any] = FastMCP("without")
    without.tool(alone)
    async with Client(without, mode=era) as client:
        with pytest.raises(ToolError, match="runs through its own server only"):
            await client.call_tool("alone", {})


@pytest.mark.anyio
async def test_a_tool_holds_its_server() -> None:
    server = make_server(POLICY, wipe)
    tool: Any = await server.get_tool("wipe")
    assert tool._guard is guard_of(server)
    assert (await server.get_tool("wipe")) is tool
    (registered,) = await server.local_provider.list_tools()
    assert getattr(registered, "_guard", None) is None


@pytest.mark.anyio
async def test_an_existing_server_is_checked_when_it_is_served() -> None:
    class Own(FastMCP[Any]):
        """A server of its author's own class."""

    server = Own("existing")
    assert govern(server, make_settings(POLICY)) is server
    assert type(server) is Own
    assert find_guard(govern(server, make_settings(POLICY))) is guard_of(server)
    add_wipe(server)
    add_wipe_under_its_former_name(server)
    with pytest.raises(StartError, match="which is the name of another tool"):
        server.http_app()
    with pytest.raises(StartError, match="which is the name of another tool"):
        await server.run_stdio_async()


@pytest.mark.anyio
async def test_an_existing_server_starts_with_an_undeclared_destructive_tool(
    era: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its author's loop registered it before there was a policy; it asks from now on."""
    server: FastMCP[Any] = FastMCP("existing")
    govern(server, make_settings(POLICY))
    server.tool(destroy, annotations={"destructiveHint": True})
    server.http_app()
    assert "a person is asked before undeclared destroy" in caplog.text
    async with client_of(server, era, agrees=False) as client:
        assert await outcome_of(client, "destroy", name="a") == "error"
    assert DONE == []
    async with client_of(server, era, agrees=True) as client:
        await outcome_of(client, "destroy", name="a")
    assert DONE == ["a"]


def test_a_server_without_a_policy_has_no_guard() -> None:
    plain_server: FastMCP[Any] = FastMCP("plain")
    assert find_guard(plain_server) is None
    with pytest.raises(LookupError, match="the server plain has no policy"):
        guard_of(plain_server)
