"""Each private name of FastMCP and of the SDK that the engine uses: the test that fails when the name is gone."""

import ast
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, Context, FastMCP
from fastmcp.server.middleware.caching import ResponseCachingMiddleware
from fastmcp.server.transforms import Transform
from fastmcp.server.transforms.catalog import CatalogTransform
from fastmcp.tools import FunctionTool, Tool

from copier_fastmcp_engine import private_api
from engine.tests.engine_support.graph import SOURCE

# Our own private attributes of components of ours, which the guard sets and reads
OWN = {
    "_asks",
    "_asks_itself",
    "_body",
    "_error",
    "_guard",
    "_hints",
    "_load",
    "_own_confirm",
    "_parameters",
    "_prompt",
    "_resource",
    "_source",
    "_template",
    "_tool",
    "_uri",
    # of the standard library
    "_current_frames",
    "_getframe",
}


def private_names(path: Path) -> set[str]:
    """Return the private attributes of other objects that a module uses."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Attribute) or not node.attr.startswith("_"):
            continue
        if node.attr.startswith("__") or node.attr in OWN:
            continue
        owner = node.value
        if isinstance(owner, ast.Name) and owner.id in ("self", "cls"):
            continue
        if isinstance(owner, ast.Call) and getattr(owner.func, "id", None) == "super":
            continue  # a method of our own base class
        names.add(node.attr)
    return names


def test_only_one_module_uses_private_names() -> None:
    users = {}
    for path in SOURCE.rglob("*.py"):
        if path.name != "private_api.py" and (names := private_names(path)):
            users[path.relative_to(SOURCE).as_posix()] = names
    assert users == {}


async def mount_child() -> FastMCP[Any]:
    child: FastMCP[Any] = FastMCP("child")
    child.tool(lambda: "done", name="work")
    child.prompt(lambda: "said", name="say")
    child.resource("data://one", name="one")(lambda: "one")
    child.resource("data://{name}/all", name="all")(lambda name: name)
    parent: FastMCP[Any] = FastMCP("parent")
    parent.mount(child, namespace="inner")
    return parent


@pytest.mark.anyio
async def test_a_mounted_tool_names_its_server_and_its_own_name() -> None:
    parent = await mount_child()
    tool: Any = await parent.get_tool("inner_work")
    assert private_api.mounted_server(tool).name == "child"
    assert private_api.original_name(tool) == "work"


@pytest.mark.anyio
async def test_a_mounted_prompt_names_its_server_and_its_own_name() -> None:
    parent = await mount_child()
    prompt: Any = await parent.get_prompt("inner_say")
    assert private_api.mounted_server(prompt).name == "child"
    assert private_api.original_name(prompt) == "say"


@pytest.mark.anyio
async def test_a_mounted_resource_names_its_own_address() -> None:
    parent = await mount_child()
    resource: Any = await parent.get_resource("data://inner/one")
    assert private_api.original_uri(resource) == "data://one"


@pytest.mark.anyio
async def test_a_mounted_template_names_its_own_address() -> None:
    parent = await mount_child()
    (template,) = await parent.list_resource_templates(run_middleware=False)
    mounted_template: Any = await parent.get_resource_template("data://inner/x/all")
    assert template.uri_template == "data://inner/{name}/all"
    assert private_api.original_template(mounted_template) == "data://{name}/all"


@pytest.mark.anyio
async def test_the_servers_below_a_server_are_found() -> None:
    parent = await mount_child()
    assert [server.name for server in private_api.servers_below(parent)] == [
        "parent",
        "child",
    ]


@pytest.mark.anyio
async def test_a_tool_runs_as_its_server_would_run_it() -> None:
    tool = Tool.from_function(lambda: "done", name="work")
    result = await private_api.run_unchecked(tool, {})
    assert getattr(result.content[0], "text", None) == "done"


@pytest.mark.anyio
async def test_a_resource_is_read_as_its_server_would_read_it() -> None:
    parent = await mount_child()
    resource: Any = await parent.get_resource("data://inner/one")
    result = await private_api.read_resource(resource)
    assert result.contents[0].content == "one"


@pytest.mark.anyio
async def test_a_template_is_read_as_its_server_would_read_it() -> None:
    parent = await mount_child()
    uri = "data://inner/x/all"
    template: Any = await parent.get_resource_template(uri)
    result = await private_api.read_template(template, uri, {"name": "x"})
    assert result.contents[0].content == "x"


@pytest.mark.anyio
async def test_a_prompt_is_rendered_as_its_server_would_render_it() -> None:
    parent = await mount_child()
    prompt: Any = await parent.get_prompt("inner_say")
    result = await private_api.render_prompt(prompt, {})
    assert getattr(result.messages[0].content, "text", None) == "said"


def test_a_transform_is_moved_behind_the_others() -> None:
    server: FastMCP[Any] = FastMCP("transforms")
    first, second = Transform(), Transform()
    server.add_transform(first)
    server.add_transform(second)
    private_api.move_transform_last(server, first)
    assert server.transforms == [second, first]


@pytest.mark.anyio
async def test_a_generator_is_collected() -> None:
    async def several() -> Any:
        for number in range(2):
            yield number

    tool = FunctionTool.from_function(lambda: None, name="several")
    assert await private_api.collect_generator(tool, several()) == [0, 1]


@pytest.mark.parametrize(
    "name",
    [
        private_api.CACHED_CALLS,
        private_api.CACHED_READS,
        private_api.CACHED_PROMPTS,
        private_api.CACHED_TOOL_LISTS,
    ],
)
def test_a_cache_has_its_settings_under_this_name(name: str) -> None:
    assert getattr(ResponseCachingMiddleware(), name).get("enabled", True) is not False


def test_a_catalog_is_switched_off() -> None:
    class Catalog(CatalogTransform):
        async def transform_tools(self, tools: Any) -> Any:
            return tools

    catalog = Catalog()
    private_api.disable_catalog(catalog)
    assert catalog._bypass.get() is True


@pytest.mark.anyio
@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_body_sees_another_round(mode: str) -> None:
    server: FastMCP[Any] = FastMCP("rounds")
    states: list[object] = []

    @server.tool
    async def look(ctx: Context) -> str:
        with private_api.replaced_round(ctx, {"requestState": "theirs"}):
            states.append(ctx.request_state)
        states.append(ctx.request_state)
        return "done"

    async with Client(server, mode=mode) as client:
        await client.call_tool("look", {})
    assert states[-1] is None
    assert states[0] == "theirs"
