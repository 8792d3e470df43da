"""The server of a project: nothing is served through it without what its policy asks of it.

A tool of the policy checks its caller and asks by itself, however it is served. What nobody declared (a mounted server,
an OpenAPI document, a tool added late) is caught in `get_tool`, which every call passes.
"""

import functools
import inspect
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.resources import Resource, ResourceResult, ResourceTemplate
from fastmcp.server.dependencies import get_access_token, get_context
from fastmcp.server.providers.fastmcp_provider import FastMCPProviderTool
from fastmcp.tools import Tool, ToolResult
from fastmcp.tools.tool_transform import TransformedTool
from fastmcp.utilities.components import FastMCPComponent
from fastmcp.utilities.tasks import TaskConfig
from fastmcp.utilities.versions import VersionSpec
from mcp_types import ToolAnnotations
from pydantic import Field, PrivateAttr

from . import http, subsets
from .caches import check_caches
from .confirmation.envelope import ENVELOPE_SCHEMA
from .confirmation.gate import run_gated, serve
from .confirmation.pending import PendingStore
from .declarations import Declaration, action, awaiting, declaration_of
from .errors import StartError
from .logs import log_tool_call
from .policy import Policy
from .private_api import mounted_server, original_name, run_unchecked
from .runtime import SERVER
from .settings import PolicySettings
from .tools import SCOPES, PolicyTool, admitted, declared, run_now, with_confirm, worded
from .wire_schemas import Slim

# Modules of FastMCP whose tools call other tools of the server
CALLING_MODULES = ("fastmcp.server.transforms.", "fastmcp.experimental.transforms.")
REMEDY = 'say what it does, with declare("{}", ...) in extend.py, or name it in TRUST_READS if it says read-only'


class Guarded(Slim):
    """A tool that the registry did not build, behind what its declaration or the protocol's defaults ask."""

    declaration: Any = Field(
        default=None, exclude=True
    )  # of it, or of the tool of ours behind it
    policy: Any = Field(default=None, exclude=True)
    _tool: Tool = PrivateAttr()
    _source: Tool = PrivateAttr()
    _asks: bool = PrivateAttr(default=False)
    _asks_itself: bool = PrivateAttr(
        default=False
    )  # the tool behind it checks its caller and asks
    _hints: ToolAnnotations | None = PrivateAttr(default=None)

    def to_mcp_tool(self, **overrides: Any) -> Any:
        """Return the tool on the wire: one of ours as we serve it, any other as its author did."""
        if isinstance(self._source, PolicyTool):
            return super().to_mcp_tool(**overrides)
        return Tool.to_mcp_tool(self, **overrides)

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool, once its caller may and a person agreed where that is asked."""
        if self._asks_itself:
            return await run_unchecked(self._tool, arguments)
        is_declared = self.declaration is not None
        declaration = self.declaration or action(title=self.title or self.name)

        async def run(own_arguments: dict[str, Any]) -> ToolResult:
            function = getattr(self._source, "fn", None)
            await SERVER.get().admit(self.name, declaration.scopes, function)
            body = functools.partial(run_unchecked, self._tool, own_arguments)
            if not self._asks:
                return await body()
            preview = None
            if declaration.preview:
                sent = {
                    name: value
                    for name, value in own_arguments.items()
                    if name != "confirm"
                }
                preview = functools.partial(declaration.preview, **sent)
            return await run_gated(declaration, body, preview)

        return await serve(
            self,
            declaration,
            arguments,
            run,
            has_gate=self._asks and is_declared,
            # Its own argument of that name is the gate's then
            passes_confirm="confirm" in self._tool.parameters.get("properties", {}),
            remedy=REMEDY.format(self.name),
            has_envelope=is_declared,
        )


OWN_KINDS = PolicyTool | Guarded  # all others are FastMCP's own, and only call these


def missing_scopes(scopes: Sequence[str]) -> str:
    """Return the scopes that this request's token lacks; over stdio, where the user started the server, none."""
    if get_context().transport == "stdio":
        return ""
    token = get_access_token()
    held = token.scopes if token else ()
    return " ".join(scope for scope in scopes if scope not in held)


async def source_of(
    tool: Tool, passed: list[tuple[FastMCP[Any], str]] | None = None
) -> Tool:
    """Return the tool behind mounts, and behind transforms that change its texts or its arguments only.

    Args:
        tool: The tool as it is served.
        passed: Gets the servers on the way, with the name that the tool has in each.
    """
    behind: Tool | None = tool
    while behind:
        tool = behind
        if isinstance(tool, TransformedTool) and tool.fn is tool.forwarding_fn:
            behind = tool.parent_tool
        elif isinstance(tool, FastMCPProviderTool):
            server, name = mounted_server(tool), original_name(tool)
            if passed is not None:
                passed.append((server, name))
            version = VersionSpec(eq=tool.version) if tool.version else None
            behind = await server.get_tool(name, version)
        else:
            break
    return tool


class PolicyServer(FastMCP[Any]):
    """A server whose tools and resources, and those of servers mounted in it, are served as its policy says."""

    def govern(
        self, policy: Policy, gate: PendingStore, settings: PolicySettings
    ) -> None:
        """Serve as a policy and the settings say, with questions that wait in a gate."""
        self.policy = policy
        self.gate = gate
        self.trust_reads = settings.trust_reads
        fields = settings.model_dump(include={*subsets.Subset.__dataclass_fields__})
        self.subset = subsets.Subset(**fields)
        self.declared_elsewhere: dict[
            str, Declaration
        ] = {}  # by declare(), for this server
        self._declared_by_package = awaiting(
            policy.package
        )  # outside extend(), as when a module is imported
        self.formerly: dict[
            str, str
        ] = {}  # former names of tools, and their present ones
        self.declarations: dict[str, Declaration] = {}  # what the log calls a tool
        self._logger = policy.logger("guard")

    def add_resource(self, resource: Any) -> Resource | ResourceTemplate:
        """Serve a resource; a function that demands something of its caller checks it by itself."""
        if inspect.isfunction(resource):
            scopes = vars(resource).get(SCOPES, ())
            resource = admitted(resource, scopes, resource.__name__)
        return super().add_resource(resource)

    async def list_tools(self, *, run_middleware: bool = True) -> Sequence[Tool]:
        """Return every tool, with the hints and the gate that it is served with."""
        if run_middleware:  # FastMCP comes back here for what is below the middleware
            return await super().list_tools()
        parts = self._parts()
        listed = []
        for _, served in await self.tool_pairs():
            if self._reason_left_out(served, parts) is None:
                listed.append(served)
        return listed

    async def get_tool(
        self, name: str, version: VersionSpec | None = None
    ) -> Tool | None:
        """Return the tool that a call runs, also by a former name.

        Raises:
            ToolError: It is not in the part that is served here.
        """
        tool = await super().get_tool(name, version)
        if tool is None:
            current = self.formerly.get(name)
            return await self.get_tool(current, version) if current else None
        tool = await self._guard(tool)
        if reason := self._reason_left_out(tool, self._parts()):
            raise ToolError(f"{name} cannot be called here: {reason}")
        SERVER.set(self)
        return tool

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None, **options: Any
    ) -> ToolResult:
        """Run a tool, as FastMCP does; one line of the log for each call."""
        run = super().call_tool(name, arguments, **options)
        if (
            options.get("run_middleware") is False
        ):  # FastMCP comes back here, as for a list
            return await run
        current = self.formerly.get(name, name)
        return await log_tool_call(
            self.policy, run, name, current, self.declarations.get(current)
        )

    async def read_resource(self, uri: str, **options: Any) -> ResourceResult:
        """Read a resource, as FastMCP does."""
        SERVER.set(self)
        return await super().read_resource(uri, **options)

    async def get_tasks(self) -> Sequence[FastMCPComponent]:
        """Return what may run in the background: nothing, since a worker runs the bare body."""
        return []

    def http_app(self, *arguments: Any, **options: Any) -> Any:
        """Return the application to serve over HTTP; a warning names what needs scopes that nobody can have.

        Raises:
            StartError: A cache would answer the list of one client, with its own path and headers, to another.
        """
        http.check_list_caches(self)
        http.warn_unusable_scopes(self)
        return http.extend_app(self, super().http_app(*arguments, **options))

    def listen(self, settings: PolicySettings, *names: str) -> None:
        """Serve at /mcp until stopped, to `names` and those of the settings.

        Raises:
            CouldNotError: It cannot listen there.
        """
        http.listen(self, settings, *names)

    async def admit(
        self, name: str, scopes: Sequence[str], function: Callable[..., Any] | None
    ) -> None:
        """Raise ToolError unless the caller has the scopes that a tool or a resource requires."""
        if missing := missing_scopes(scopes):
            raise ToolError(f"insufficient_scope: {name} needs a token with {missing}")

    async def tool_pairs(self) -> list[tuple[Tool, Tool]]:
        """Return each tool as it came, and as it is served."""
        tools = await FastMCP.list_tools(self, run_middleware=False)
        return [(tool, await self._guard(tool)) for tool in tools]

    async def _guard(self, tool: Tool) -> Tool:
        """Return a tool with the hints and the gate of its declaration, or asked for where it has none."""
        if isinstance(tool, OWN_KINDS) and tool.annotations is tool._hints:
            return tool
        passed: list[tuple[FastMCP[Any], str]] = [(self, tool.name)]
        source = await source_of(tool, passed)
        function = getattr(source, "fn", None)
        declaration = declared(source)
        declaration = declaration or self.declared_elsewhere.get(tool.name)
        declaration = declaration or self._declared_by_package.get(tool.name)
        declaration = declaration or declaration_of(function)
        calls_others = str(getattr(function, "__module__", "")).startswith(
            CALLING_MODULES
        )
        if (
            declaration is None
            and calls_others
            and isinstance(passed[-1][0], PolicyServer)
        ):
            return tool  # that server guards it
        fields = {name: getattr(tool, name) for name in Tool.model_fields}
        fields["task_config"] = TaskConfig(mode="forbidden")
        fields["declaration"] = declaration
        fields["policy"] = self.policy
        asks_itself = self._asks_by_itself(source, declaration)
        asks = self._asks_before(tool, source, declaration)
        if declaration:
            title = tool.title if isinstance(source, OWN_KINDS) else declaration.title
            hints = {"title": title, **self.policy.hints(declaration)}
            fields["title"] = title
            fields["annotations"] = ToolAnnotations.model_validate(hints)
        if declaration and not isinstance(source, OWN_KINDS):
            fields.update(worded(declaration, tool.description, tool.meta))
        if declaration and asks and not asks_itself:
            fields["parameters"] = with_confirm(self.policy, tool.parameters)
            fields["output_schema"] = ENVELOPE_SCHEMA
        guarded = Guarded.model_construct(**fields)
        guarded._tool = tool
        guarded._source = source
        guarded._asks = asks
        guarded._asks_itself = asks_itself
        guarded._hints = guarded.annotations
        return guarded

    def _asks_by_itself(self, source: Tool, declaration: Declaration | None) -> bool:
        """Tell whether a tool of ours asks, and asks for all that this server's policy asks for."""
        if not isinstance(source, OWN_KINDS):
            return False
        policy = source.policy
        if declaration is None or policy is None or policy is self.policy:
            return True
        return policy.is_gated(declaration) or not self.policy.is_gated(declaration)

    def _asks_before(
        self, tool: Tool, source: Tool, declaration: Declaration | None
    ) -> bool:
        """Tell whether this server asks before a tool that the registry did not build."""
        if declaration:
            asks = self.policy.is_gated(declaration)
        else:
            asks = self.policy.confirm != "none" and not self._trusts(tool)
        theirs = getattr(source, "declaration", None)
        if theirs not in (
            None,
            declaration,
        ):  # of another server, whose policy may ask already
            their_policy = getattr(source, "policy", None)
            if their_policy is not None and their_policy.is_gated(theirs):
                return False
        return asks

    def _trusts(self, tool: Tool) -> bool:
        """Tell whether the settings believe what a tool says of itself."""
        if not (tool.annotations and tool.annotations.read_only_hint):
            return False
        return any(fnmatchcase(tool.name, pattern) for pattern in self.trust_reads)

    def facts(self, tool: Tool) -> subsets.Facts:
        """Return what a subset goes by; what nobody declared may do anything, and is in no toolset."""
        declaration = declared(tool)
        truth = self.policy.truth(declaration) if declaration else {}
        # FastMCP's own only call others
        is_theirs = not isinstance(tool, OWN_KINDS)
        reads = truth.get("read_only", is_theirs or self._trusts(tool))
        function = getattr(getattr(tool, "_source", tool), "fn", None)
        return subsets.Facts(
            name=tool.name,
            place=self._place_of(str(getattr(function, "__module__", ""))),
            reads=reads,
            destroys=truth.get("destructive", not reads),
            formerly=declaration.formerly if declaration else (),
        )

    def _place_of(self, module: str) -> str | None:
        """Return where below tools/ a module is; None for the engine's own, which are in every toolset."""
        if module.startswith(f"{__package__}."):
            return None
        root = f"{self.policy.package}.tools.".lstrip(".")
        return module.removeprefix(root) if module.startswith(root) else ""

    def _parts(self) -> list[subsets.Subset]:
        """Return what the settings and the client of this request leave of the tools."""
        return [part for part in (self.subset, *subsets.of_request()) if part]

    def _reason_left_out(
        self, tool: Tool, parts: Sequence[subsets.Subset]
    ) -> str | None:
        """Return why a served tool is not in each of some parts."""
        if not parts or not isinstance(tool, OWN_KINDS):
            return None
        facts = self.facts(tool)
        for part in parts:
            if reason := part.without(facts):
                return reason
        return None

    def check(self) -> None:
        """Check what is served, and name in the log what nobody declared.

        Raises:
            StartError: An undeclared tool destroys, a tool of ours is served with other hints than it
                declares, a former name is another tool's, or a cache would answer for more than declared reads.
        """
        pairs = run_now(self.tool_pairs(), self)
        self.subset.check([self.facts(served) for _, served in pairs])
        self.declarations = {}
        for _, served in pairs:
            if declaration := declared(served):
                self.declarations[served.name] = declaration
        self._collect_former_names({served.name for _, served in pairs})
        undeclared = []
        for tool, served in pairs:
            self._check_hints(tool, served)
            if (
                declared(served) is None
                and isinstance(served, Guarded)
                and not self._trusts(tool)
            ):
                undeclared.append(tool.name)
        if undeclared:
            asked = (
                "nobody is asked"
                if self.policy.confirm == "none"
                else "a person is asked"
            )
            names = ", ".join(undeclared)
            self._logger.warning(
                "%s before undeclared %s: %s", asked, names, REMEDY.format("name")
            )
        run_now(check_caches(self, pairs, source_of))

    def _collect_former_names(self, names: set[str]) -> None:
        """Let tools answer by their former names; StartError where one is another tool's."""
        for declaration in self.declarations.values():
            if declaration.name not in names:
                continue
            for former in declaration.formerly:
                if (
                    former in names
                    or self.formerly.setdefault(former, declaration.name)
                    != declaration.name
                ):
                    why = f"{declaration.name} was formerly {former}, which is the name of another tool"
                    raise StartError(
                        f"{why}; take it out of formerly=, or rename that one"
                    )

    def _check_hints(self, tool: Tool, served: Tool) -> None:
        """Raise StartError for a destructive tool without a gate, or for hints other than the declared ones."""
        source = getattr(served, "_source", served)
        annotations = tool.annotations or ToolAnnotations()
        if declared(served) is None and annotations.destructive_hint:
            function: Any = getattr(source, "fn", None)
            place = function.__code__.co_filename if function else "a mounted server"
            why = f"the destructive tool {tool.name} has no gate"
            raise StartError(f"{place}: {why}; {REMEDY.format(tool.name)}")
        hints = annotations.model_dump(
            by_alias=True, exclude_none=True, exclude={"title"}
        )
        if isinstance(source, PolicyTool) and hints != source.policy.hints(
            source.declaration
        ):
            why = f"extend.py: {tool.name} is served with other hints than it declares"
            raise StartError(f"{why}: {hints}; leave out annotations=")
