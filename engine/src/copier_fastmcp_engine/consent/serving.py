"""Where consent is asked for: in what is served, and at its door for what comes from elsewhere.

What is asked, and how, is in consent.py.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from fastmcp import FastMCP
from fastmcp.exceptions import ResourceError, ToolError
from fastmcp.prompts.base import InputRequiredPromptResult, PromptResult
from fastmcp.resources import Resource, ResourceResult, ResourceTemplate
from fastmcp.resources.base import InputRequiredResourceResult
from fastmcp.resources.template import forward_uri
from fastmcp.server.dependencies import get_context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.server.providers.fastmcp_provider import (
    FastMCPProviderPrompt,
    FastMCPProviderResource,
    FastMCPProviderResourceTemplate,
)
from fastmcp.tools import Tool, ToolResult
from fastmcp.tools.base import InputRequiredToolResult
from starlette.middleware import Middleware as ASGIMiddleware

from ..confirmation.elicitation import Asked
from ..guard import PolicyServer, missing_scopes
from ..private_api import mounted_server, original_name, original_template, original_uri
from ..runtime import SERVER
from ..settings import PolicySettings
from ..tools import GRANT, SCOPES, PolicyTool, marked
from .asking import Refusal, require, required_text
from .tokens import metadata_address


class ConsentServer(PolicyServer):
    """A server that lets nobody on who has not granted access where a function requires it.

    What needs scopes stays listed, so that a caller who lacks them is told which.
    """

    def __init__(
        self, name: str, *, front: Callable[..., Any] | None = None, **options: Any
    ) -> None:
        super().__init__(name, **options)
        self.front = front  # ASGI middleware before the endpoint
        self.challenge = 'Bearer error="insufficient_scope", scope="{}"'
        if address := metadata_address(self.auth):
            self.challenge += f', resource_metadata="{address}"'

    def add_tool(self, tool: Tool | Callable[..., Any]) -> Tool:
        """Serve a tool."""
        if isinstance(tool, PolicyTool):
            tool = tool.model_copy(update={"auth": None})
        return super().add_tool(tool)

    def add_resource(self, resource: Any) -> Resource | ResourceTemplate:
        """Serve a resource."""
        made = super().add_resource(resource)
        made.auth = None if marked(resource, SCOPES) else made.auth
        return made

    def http_app(self, *more: Any, **options: Any) -> Any:
        """The application to serve over HTTP, with the front before its endpoint."""
        if self.front and self.auth:
            front = ASGIMiddleware(self.front, server=self)
            options["middleware"] = [*(options.get("middleware") or ()), front]
        return super().http_app(*more, **options)

    def listen(self, settings: PolicySettings, *names: str) -> None:
        """Serve at /mcp, also to the name by which browsers reach this server."""
        host = urlsplit(getattr(settings, "server_url", None) or "").hostname
        super().listen(settings, *names, *filter(None, [host]))

    async def admit(
        self, name: str, scopes: Sequence[str], function: Callable[..., Any] | None
    ) -> None:
        """Check scopes, then consent.

        Raises:
            ToolError: Access was not granted.
            Asked: The client is to get a token with more scopes, or to show a link first.
        """
        try:
            await super().admit(name, scopes, function)
        except ToolError as error:
            meta = {
                "mcp/www_authenticate": [self.challenge.format(missing_scopes(scopes))]
            }
            raise Asked(ToolResult(str(error), meta=meta, is_error=True)) from error
        if marked(function, GRANT):
            await require(get_context(), name)

    async def read_resource(self, uri: str, **options: Any) -> ResourceResult:
        """Read a resource, also one that no file of resources/ holds and that requires consent."""
        SERVER.set(self)
        if options.get("run_middleware") is False:
            await self.admit(uri, (), await resource_at(self, uri))
        return await super().read_resource(uri, **options)

    async def render_prompt(
        self, name: str, *more: Any, **options: Any
    ) -> PromptResult:
        """Render a prompt, which may require consent as well."""
        SERVER.set(self)
        if options.get("run_middleware") is False:
            await self.admit(name, (), await prompt_at(self, name))
        return await super().render_prompt(name, *more, **options)


async def prompt_at(server: FastMCP[Any], name: str) -> Callable[..., Any] | None:
    """The function that answers for a prompt, also in a server that is mounted."""
    prompt: Any = await server.get_prompt(name)
    while isinstance(prompt, FastMCPProviderPrompt):
        prompt = await mounted_server(prompt).get_prompt(original_name(prompt))
    return getattr(prompt, "fn", None)


async def resource_at(server: FastMCP[Any], uri: str) -> Callable[..., Any] | None:
    """The function that answers for an address, also in a server that is mounted."""
    found: Any = await server.get_resource(uri) or await server.get_resource_template(
        uri
    )
    if isinstance(found, FastMCPProviderResource):
        return await resource_at(mounted_server(found), original_uri(found))
    if isinstance(found, FastMCPProviderResourceTemplate):
        inner = forward_uri(original_template(found), found.matches(uri) or {}, uri)
        return await resource_at(mounted_server(found), inner)
    return getattr(found, "fn", None)


_within: ContextVar[object] = ContextVar("within", default=None)


class ConsentMiddleware(Middleware):
    """The outermost one, where a question becomes what the protocol has for it."""

    async def on_request(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]
    ) -> Any:
        """Let a request through; calls that bodies make of each other leave through the first."""
        ctx = context.fastmcp_context or get_context()
        outermost = (
            ctx.request_context is None or _within.get() is not ctx.request_context
        )
        token = _within.set(ctx.request_context)
        try:
            result = await call_next(context)
        except Asked as asked:
            if not outermost:
                raise
            result = asked.instead
        finally:
            _within.reset(token)
        if not outermost or not isinstance(result, ToolResult):
            return result
        if isinstance(result, Refusal):
            raise result._error
        if context.method == "tools/call":
            return result
        if not isinstance(result, InputRequiredToolResult):
            raise ResourceError(getattr(result.content[0], "text", required_text()))
        if context.method == "prompts/get":
            return InputRequiredPromptResult(result.input_required)
        return InputRequiredResourceResult(result.input_required)
