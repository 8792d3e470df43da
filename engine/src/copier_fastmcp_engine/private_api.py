"""Every private name of FastMCP and of the SDK that the engine uses, each with its reason.

A new version may drop one: engine/tests/test_private_api.py then fails and names it.
"""

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from fastmcp import Context, FastMCP
from fastmcp.prompts import Prompt
from fastmcp.prompts.base import PromptResult
from fastmcp.resources import Resource, ResourceResult, ResourceTemplate
from fastmcp.server.providers.fastmcp_provider import (
    FastMCPProviderPrompt,
    FastMCPProviderResource,
    FastMCPProviderResourceTemplate,
    FastMCPProviderTool,
)
from fastmcp.server.transforms import Transform
from fastmcp.server.transforms.catalog import CatalogTransform
from fastmcp.tools import FunctionTool, Tool, ToolResult

Mounted = (
    FastMCPProviderPrompt
    | FastMCPProviderResource
    | FastMCPProviderResourceTemplate
    | FastMCPProviderTool
)
# The settings of ResponseCachingMiddleware, by what it answers for; they are not public.
CACHED_CALLS = "_call_tool_settings"
CACHED_READS = "_read_resource_settings"
CACHED_PROMPTS = "_get_prompt_settings"
CACHED_TOOL_LISTS = "_list_tools_settings"


@contextlib.contextmanager
def replaced_round(ctx: Context, round_: Mapping[str, Any] | None) -> Iterator[None]:
    """Let a tool see its own round of questions instead of ours.

    `Context.input_responses` and `request_state` read `RequestContext._srctx`, and there is no public way to hand a
    body other values than the request's own.
    """
    request = ctx.request_context
    if request is None or round_ is None:
        yield
        return
    whole = request._srctx
    request._srctx = dataclasses.replace(
        whole, params={**(whole.params or {}), **round_}
    )
    try:
        yield
    finally:
        request._srctx = whole


def servers_below(provider: Any) -> Iterator[FastMCP[Any]]:
    """Yield a server and those mounted in it, however deep; a namespace wraps its provider as `_inner`."""
    if isinstance(provider, FastMCP):
        yield provider
    inner = (getattr(provider, "server", None), getattr(provider, "_inner", None))
    for child in (*inner, *getattr(provider, "providers", ())):
        if child is not None:
            yield from servers_below(child)


def mounted_server(component: Mounted) -> FastMCP[Any]:
    """Return the server that a mounted component comes from; there is no public attribute."""
    server: FastMCP[Any] = component._server
    return server


def original_name(component: FastMCPProviderTool | FastMCPProviderPrompt) -> str:
    """Return a mounted component's name in its own server; there is no public attribute."""
    return str(component._original_name)


def original_uri(component: FastMCPProviderResource) -> str:
    """Return a mounted resource's address in its own server; there is no public attribute."""
    return str(component._original_uri)


def original_template(component: FastMCPProviderResourceTemplate) -> str:
    """Return a mounted template's address in its own server; there is no public attribute."""
    return component._original_uri_template or ""


async def run_unchecked(tool: Tool, arguments: dict[str, Any]) -> ToolResult:
    """Run a tool as its server would (`Tool._run` chooses between a task and a call); `run` alone skips that."""
    return await tool._run(arguments)


async def read_resource(resource: Resource) -> ResourceResult:
    """Read a resource as its server would (`Resource._read`); `read` alone skips mounted servers."""
    return await resource._read()


async def read_template(
    template: ResourceTemplate, uri: str, parameters: dict[str, Any]
) -> ResourceResult:
    """Read a resource of a template as its server would (`ResourceTemplate._read`)."""
    return await template._read(uri, parameters)


async def render_prompt(
    prompt: Prompt, arguments: dict[str, Any] | None
) -> PromptResult:
    """Render a prompt as its server would (`Prompt._render`); `render` alone skips mounted servers."""
    return await prompt._render(arguments)


def move_transform_last(server: FastMCP[Any], transform: Transform) -> None:
    """Let a transform see what all others of a server make; `add_transform` only appends, and nothing reorders."""
    server._transforms.remove(transform)
    server._transforms.append(transform)


async def collect_generator(tool: FunctionTool, value: Any) -> Any:
    """Return what a generator yields, as FastMCP does for its own tools."""
    return await tool._materialize_generator(value)


def disable_catalog(transform: CatalogTransform) -> None:
    """Switch a search off for this task; its public switch is for the length of a `with` block in its own code."""
    transform._bypass.set(True)
