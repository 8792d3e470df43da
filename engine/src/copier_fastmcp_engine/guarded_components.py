"""What a server serves that its registry did not build: tools, resources and prompts behind the server's checks."""

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from fastmcp import FastMCP
from fastmcp.prompts import Prompt
from fastmcp.prompts.base import PromptResult
from fastmcp.resources import Resource, ResourceResult, ResourceTemplate
from fastmcp.resources.template import forward_uri
from fastmcp.server.dependencies import get_context
from fastmcp.server.providers.fastmcp_provider import (
    FastMCPProviderPrompt,
    FastMCPProviderResource,
    FastMCPProviderResourceTemplate,
    FastMCPProviderTool,
)
from fastmcp.tools import Tool, ToolResult
from fastmcp.tools.tool_transform import TransformedTool
from fastmcp.utilities.components import FastMCPComponent
from fastmcp.utilities.tasks import TaskConfig
from fastmcp.utilities.versions import VersionSpec
from mcp_types import ToolAnnotations
from pydantic import AnyUrl, Field, PrivateAttr

from .confirmation.gate import Call, run_gated, serve, versioned_name
from .declarations import Declaration, action
from .private_api import (
    mounted_server,
    original_name,
    original_template,
    original_uri,
    read_resource,
    read_template,
    render_prompt,
    run_unchecked,
)
from .runtime import Runtime, running
from .tools import SCOPES, PolicyTool, mark_of
from .wire_schemas import CompactTool

Function = Callable[..., Any]
REMEDY = 'say what it does, with declare("{}", ...) in extend.py, or name it in TRUST_READS if it says read-only'
# A worker would run the bare body
NO_TASKS = TaskConfig(mode="forbidden")


class GuardedTool(CompactTool):
    """A tool that the registry did not build, behind what its declaration or the protocol's defaults ask.

    Attributes:
        declaration: Its declaration, or that of the tool of ours behind it; None where nobody declared it.
        policy: The policy of the server that guards it.
    """

    declaration: Any = Field(default=None, exclude=True)
    policy: Any = Field(default=None, exclude=True)
    _guard: Runtime = PrivateAttr()
    _tool: Tool = PrivateAttr()
    _source: Tool = PrivateAttr()
    _asks: bool = PrivateAttr(default=False)
    # Whether the tool behind it checks its caller and asks
    _asks_itself: bool = PrivateAttr(default=False)
    _hints: ToolAnnotations | None = PrivateAttr(default=None)

    @property
    def guarded_source(self) -> Tool:
        """The tool behind mounts and transforms."""
        return self._source

    def to_mcp_tool(self, **overrides: Any) -> Any:
        """Return the tool on the wire: one of ours as we serve it, any other as its author did."""
        if isinstance(self._source, PolicyTool):
            return super().to_mcp_tool(**overrides)
        return Tool.to_mcp_tool(self, **overrides)

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool, once its caller may and a person agreed where that is asked."""
        if self._asks_itself:
            with running(self._guard, served_as=versioned_name(self)):
                return await run_unchecked(self._tool, arguments)
        is_declared = self.declaration is not None
        declaration = self.declaration or action(title=self.title or self.name)
        return await serve(
            self._guard,
            self,
            declaration,
            arguments,
            functools.partial(self._run_admitted, declaration),
            has_gate=self._asks and is_declared,
            # Its own argument of that name is the gate's then
            passes_confirm="confirm" in self._tool.parameters.get("properties", {}),
            remedy=REMEDY.format(self.name),
            has_envelope=is_declared,
        )

    async def _run_admitted(
        self, declaration: Declaration, arguments: dict[str, Any]
    ) -> ToolResult:
        """Check the caller, ask where that is needed, and run the tool with its own arguments."""
        function = getattr(self._source, "fn", None)
        await self._guard.admit(self.name, declaration.scopes, function)
        run = functools.partial(run_unchecked, self._tool, arguments)
        if not self._asks:
            return await run()
        preview = None
        if declaration.preview:
            previewed = dict(arguments)
            previewed.pop("confirm", None)
            preview = functools.partial(declaration.preview, **previewed)
        return await run_gated(declaration, run, preview)


class CodeTool(Tool):
    """FastMCP's tool that runs code of the client, which calls other tools and reads their results itself.

    A question that a tool answers its call with would reach that code, not the client; and code that previews and
    confirms in one go has shown nothing to anybody.
    """

    _guard: Runtime = PrivateAttr()
    _tool: Tool = PrivateAttr()

    @classmethod
    def wrap(cls, guard: Runtime, tool: Tool) -> "CodeTool":
        """Return such a tool as it is served."""
        fields = {name: getattr(tool, name) for name in Tool.model_fields}
        wrapped = cls.model_construct(**fields)
        wrapped._guard = guard
        wrapped._tool = tool
        return wrapped

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool; what it calls is part of its call."""
        call = Call(get_context(), self._guard, self.name, is_code=True)
        with running(self._guard, call):
            return await run_unchecked(self._tool, arguments)


# All others are FastMCP's own, and only call these
OWN_KINDS = PolicyTool | GuardedTool


@dataclass
class Source:
    """Where a tool comes from.

    Attributes:
        tool: The tool behind mounts, and behind transforms that change its texts or its arguments only.
        path: The servers on the way, with the name that the tool has in each.
    """

    tool: Tool
    path: list[tuple[FastMCP[Any], str]] = field(default_factory=list)


def unwrap_transforms(tool: Tool) -> Tool:
    """Return the tool behind transforms that change its texts or its arguments only."""
    while isinstance(tool, TransformedTool) and tool.fn is tool.forwarding_fn:
        tool = tool.parent_tool
    return tool


async def find_source(server: FastMCP[Any], tool: Tool) -> Source:
    """Find where a tool of a server comes from, however deep it is mounted."""
    source = Source(unwrap_transforms(tool), [(server, tool.name)])
    while isinstance(source.tool, FastMCPProviderTool):
        mounted = source.tool
        inner_server, name = mounted_server(mounted), original_name(mounted)
        source.path.append((inner_server, name))
        version = VersionSpec(eq=mounted.version)
        inner_tool = await inner_server.get_tool(name, version)
        if inner_tool is None:
            break
        source.tool = unwrap_transforms(inner_tool)
    return source


Result = TypeVar("Result")


async def run_admitted(
    server: Runtime,
    name: str,
    function: Function | None,
    run: Callable[[], Awaitable[Result]],
) -> Result:
    """Read a resource or render a prompt, once its caller may.

    Args:
        server: The server that serves it.
        name: Its name or its address, as the server serves it.
        function: The function behind it, also in a mounted server; None where there is none.
        run: Reads or renders it.

    Raises:
        ToolError: The caller lacks what the function requires.
    """
    scopes = mark_of(function, SCOPES) or ()
    refused = getattr(function, "__name__", name) if scopes else name
    await server.admit(refused, scopes, function)
    with running(server, component=name):
        return await run()


class GuardedResource(Resource):
    """A resource that is read once its caller may."""

    _guard: Runtime = PrivateAttr()
    _resource: Resource = PrivateAttr()

    @property
    def guarded_source(self) -> Resource:
        """The resource as it was registered."""
        return self._resource

    async def read(self) -> ResourceResult:
        """Read the resource."""
        function = await resource_function(self._resource)
        read = functools.partial(read_resource, self._resource)
        return await run_admitted(self._guard, str(self.uri), function, read)


class GuardedTemplate(ResourceTemplate):
    """A resource template whose resources are read once their caller may."""

    _guard: Runtime = PrivateAttr()
    _template: ResourceTemplate = PrivateAttr()

    @property
    def guarded_source(self) -> ResourceTemplate:
        """The template as it was registered."""
        return self._template

    def matches(self, uri: str) -> dict[str, Any] | None:
        """Return the parameters in an address; None for an address of another template."""
        return self._template.matches(uri)

    async def create_resource(self, uri: str, params: dict[str, Any]) -> Resource:
        """Return the resource at an address of this template."""
        resource = TemplateResource.model_construct(
            uri=AnyUrl(uri), name=self.name, mime_type=self.mime_type
        )
        resource._uri = uri
        resource._guard = self._guard
        resource._template = self._template
        resource._parameters = params
        return resource


class TemplateResource(Resource):
    """A resource of a template, which is read once its caller may."""

    _guard: Runtime = PrivateAttr()
    _template: ResourceTemplate = PrivateAttr()
    _uri: str = PrivateAttr()
    _parameters: dict[str, Any] = PrivateAttr()

    async def read(self) -> ResourceResult:
        """Read the resource."""
        function = await template_function(self._template, self._uri)
        read = functools.partial(
            read_template, self._template, self._uri, self._parameters
        )
        return await run_admitted(self._guard, self._uri, function, read)


class GuardedPrompt(Prompt):
    """A prompt that is rendered once its caller may."""

    _guard: Runtime = PrivateAttr()
    _prompt: Prompt = PrivateAttr()

    @property
    def guarded_source(self) -> Prompt:
        """The prompt as it was registered."""
        return self._prompt

    async def render(self, arguments: dict[str, Any] | None = None) -> PromptResult:
        """Render the prompt."""
        function = await prompt_function(self._prompt)
        render = functools.partial(render_prompt, self._prompt, arguments)
        return await run_admitted(self._guard, self.name, function, render)


def guard_resource(server: Runtime, resource: Resource) -> GuardedResource:
    """Return a resource as a server serves it."""
    guarded = GuardedResource.model_construct(**_fields_of(resource, Resource))
    guarded._guard = server
    guarded._resource = resource
    return guarded


def guard_template(server: Runtime, template: ResourceTemplate) -> GuardedTemplate:
    """Return a resource template as a server serves it."""
    fields = _fields_of(template, ResourceTemplate)
    guarded = GuardedTemplate.model_construct(**fields)
    guarded._guard = server
    guarded._template = template
    return guarded


def guard_prompt(server: Runtime, prompt: Prompt) -> GuardedPrompt:
    """Return a prompt as a server serves it."""
    guarded = GuardedPrompt.model_construct(**_fields_of(prompt, Prompt))
    guarded._guard = server
    guarded._prompt = prompt
    return guarded


def _fields_of(
    component: FastMCPComponent, kind: type[FastMCPComponent]
) -> dict[str, Any]:
    """Return the fields of a component that all of its kind have; none runs in the background."""
    fields = {name: getattr(component, name) for name in kind.model_fields}
    fields["task_config"] = NO_TASKS
    return fields


async def resource_function(resource: Resource | None) -> Function | None:
    """Return the function behind a resource, also in a mounted server."""
    if isinstance(resource, GuardedResource):
        return await resource_function(resource.guarded_source)
    if isinstance(resource, FastMCPProviderResource):
        return await function_at(mounted_server(resource), original_uri(resource))
    return getattr(resource, "fn", None)


async def template_function(
    template: ResourceTemplate | None, uri: str
) -> Function | None:
    """Return the function behind a template, also in a mounted server.

    Args:
        template: The template.
        uri: An address of it.
    """
    if isinstance(template, GuardedTemplate):
        return await template_function(template.guarded_source, uri)
    if isinstance(template, FastMCPProviderResourceTemplate):
        parameters = template.matches(uri) or {}
        inner_uri = forward_uri(original_template(template), parameters, uri)
        return await function_at(mounted_server(template), inner_uri)
    return getattr(template, "fn", None)


async def function_at(server: FastMCP[Any], uri: str) -> Function | None:
    """Return the function that answers for an address, also in a mounted server."""
    resource = await server.get_resource(uri)
    if resource is not None:
        return await resource_function(resource)
    return await template_function(await server.get_resource_template(uri), uri)


async def prompt_function(prompt: Prompt | None) -> Function | None:
    """Return the function that renders a prompt, also in a mounted server."""
    if isinstance(prompt, GuardedPrompt):
        return await prompt_function(prompt.guarded_source)
    if isinstance(prompt, FastMCPProviderPrompt):
        server = mounted_server(prompt)
        return await prompt_function(await server.get_prompt(original_name(prompt)))
    return getattr(prompt, "fn", None)
