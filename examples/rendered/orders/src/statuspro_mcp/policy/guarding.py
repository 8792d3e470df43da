"""The server of this project: nothing is served through it without what the policy asks of it.

Managed by the template. A tool of the policy checks its caller and asks by itself, however it is served. What nobody
declared (a mounted server, an OpenAPI document, a tool added late) is caught in `get_tool`, which every call passes.
"""

import functools
import inspect
import logging
import socket
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Any

import fastmcp
from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.resources import Resource, ResourceResult, ResourceTemplate
from fastmcp.server.dependencies import get_access_token, get_context
from fastmcp.tools import Tool, ToolResult
from fastmcp.utilities.components import FastMCPComponent
from fastmcp.utilities.tasks import TaskConfig
from fastmcp.utilities.versions import VersionSpec
from mcp_types import ToolAnnotations
from pydantic import Field, PrivateAttr
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from . import serving, subsets
from .asking import SERVER, Gate
from .declarations import ELSEWHERE, Declaration, action, declaration_of
from .errors import CouldNotError, StartError
from .gate import gated, serve
from .process import tell_start, told
from .profile import CONFIRM
from .schemas import Slim
from .settings import PolicySettings

logger = logging.getLogger(__name__)
THEIRS = ("fastmcp.server.transforms.", "fastmcp.experimental.transforms.")  # tools that call ours
LISTS = "give it list_tools_settings={'enabled': False}"
TOOLS = f"{__package__.rpartition('.')[0]}.tools.".lstrip(".")  # where toolsets are
MEND = 'say what it does, with declare("{}", ...) in extend.py, or name it in TRUST_READS if it says read-only'


class Guarded(Slim):
    """A tool that the registry did not build, behind what its declaration or the protocol's defaults ask."""

    declaration: Any = Field(default=None, exclude=True)  # of it, or of the tool of ours behind it
    _tool: Tool = PrivateAttr()
    _source: Tool = PrivateAttr()
    _asks: bool = PrivateAttr(default=False)
    _hints: ToolAnnotations | None = PrivateAttr(default=None)

    def to_mcp_tool(self, **overrides: Any) -> Any:
        """The tool on the wire: one of ours as we serve it, any other as its author did."""
        if isinstance(self._source, serving.PolicyTool):
            return super().to_mcp_tool(**overrides)
        return Tool.to_mcp_tool(self, **overrides)

    async def run(self, arguments: dict[str, Any]) -> ToolResult:
        """Run the tool, once its caller may and a person agreed where that is asked."""
        if isinstance(self._source, KINDS):  # it does both itself
            return await self._tool._run(arguments)
        known = self.declaration or action(title=self.title or self.name)

        async def run(given: dict[str, Any]) -> ToolResult:
            await SERVER.get().admit(self.name, known.scopes, getattr(self._source, "fn", None))
            body = functools.partial(self._tool._run, given)
            sent = {name: it for name, it in given.items() if name != "confirm"}
            ahead = known.preview and functools.partial(known.preview, **sent)
            return await (gated(known, body, ahead) if self._asks else body())

        told = self.declaration is not None
        own = "confirm" in self._tool.parameters.get("properties", {})  # which this then answers
        about = {"mend": MEND.format(self.name), "enveloped": told}
        return await serve(
            self, known, arguments, run, confirms=self._asks and told, own=own, **about
        )


KINDS = serving.PolicyTool | Guarded  # all others are FastMCP's own, and only call these


def missing_scopes(scopes: Sequence[str]) -> str:
    """The scopes that this request's token lacks; over stdio, where the user started the server, none."""
    held = token.scopes if (token := get_access_token()) else ()
    trusted = get_context().transport == "stdio"
    return "" if trusted else " ".join(each for each in scopes if each not in held)


class PolicyServer(FastMCP[Any]):
    """A server whose tools and resources, and those of servers mounted in it, are served as the policy says."""

    def govern(self, gate: Gate, settings: PolicySettings) -> None:
        """Serve as the settings say, with questions that wait in a gate."""
        self.gate, self.trust_reads = gate, settings.trust_reads
        part = settings.model_dump(include={*subsets.Subset.__dataclass_fields__})
        self.subset = subsets.Subset(**part)
        self.formerly: dict[str, str] = {}  # names that tools had, and those that they have
        self.known: dict[str, Declaration] = {}  # what the log calls a tool

    def add_resource(self, resource: Any) -> Resource | ResourceTemplate:
        """Serve a resource; a function that demands something of its caller checks it by itself."""
        if inspect.isfunction(resource):
            scopes, name = vars(resource).get(serving.SCOPES, ()), resource.__name__
            resource = serving.admitted(resource, scopes, name)
        return super().add_resource(resource)

    async def list_tools(self, *, run_middleware: bool = True) -> Sequence[Tool]:
        """Every tool, with the hints and the gate that it is served with."""
        if run_middleware:  # FastMCP comes back here for what is below the middleware
            return await super().list_tools()
        parts, served = self._parts(), [tool for _, tool in await self._pairs()]
        return [tool for tool in served if self._left_out(tool, parts) is None]

    async def get_tool(self, name: str, version: VersionSpec | None = None) -> Tool | None:
        """The tool that a call runs, also by a name that it had; ToolError: it is not in the part that is served here."""
        if (tool := await super().get_tool(name, version)) is None:
            now = self.formerly.get(name)
            return await self.get_tool(now, version) if now else None
        tool = await self._guard(tool)
        if why := self._left_out(tool, self._parts()):
            raise ToolError(f"{name} cannot be called here: {why}")
        SERVER.set(self)
        return tool

    async def call_tool(
        self, name: str, arguments: dict[str, Any] | None = None, **options: Any
    ) -> ToolResult:
        """Run a tool, as FastMCP does; one line of the log for each call."""
        run = super().call_tool(name, arguments, **options)
        if options.get("run_middleware") is False:  # FastMCP comes back here, as for a list
            return await run
        now = self.formerly.get(name, name)
        return await told(run, name, now, self.known.get(now))

    async def read_resource(self, uri: str, **options: Any) -> ResourceResult:
        """Read a resource, as FastMCP does."""
        SERVER.set(self)
        return await super().read_resource(uri, **options)

    async def get_tasks(self) -> Sequence[FastMCPComponent]:
        """What may run in the background: nothing, since a worker runs the bare body."""
        return []

    def http_app(self, *more: Any, **options: Any) -> Any:
        """The application to serve over HTTP; a warning names what needs scopes that nobody can have.

        StartError: a cache would answer the list of one client, with its own path and headers, to another.
        """
        for each in [each for one in serving.servers(self) for each in one.middleware]:
            said = getattr(each, "_list_tools_settings", {"enabled": False})
            if said.get("enabled") is not False:
                why = f"{type(each).__name__} would list the tools of one client for another"
                raise StartError(f"extend.py: {why}; {LISTS}")
        tools = [tool for _, tool in serving.run_now(self._pairs(), self)]
        items = [*tools, *serving.run_now(serving.listed(self, *serving.RESOURCES))]
        scoped = ", ".join(each.name for each in items if serving.demands(each))
        if scoped and self.auth is None:
            logger.warning("no token is verified, so nobody can use over HTTP: %s", scoped)
        app = super().http_app(*more, **options)
        places = [self.facts(tool).place or "" for tool in items if isinstance(tool, Tool)]
        app.add_middleware(subsets.Paths, path=app.state.path, places=places)
        app.router.routes.append(Route("/health", self._health))  # behind one of the author's own
        return app

    async def _health(self, _: Request) -> Response:
        """Whether it serves, and can write what it must record."""
        try:
            self.gate.trail.ready()
        except ToolError as error:
            return JSONResponse({"status": str(error)}, 503)
        return JSONResponse({"status": "ok"})

    def listen(self, settings: PolicySettings, *names: str) -> None:
        """Serve at /mcp until stopped, to `names` and those of the settings. CouldNotError: it cannot listen."""
        host, port = settings.host, settings.port
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            bound = socket.create_server((host, port), family=family)
            # asyncio sets it on sockets of its own only; without, a second answer waits 40 ms for the client
            bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except (OSError, UnicodeError) as error:
            why = str(getattr(error, "strerror", error)).partition(" (while")[0]
            mend = "say another with --host and --port"
            raise CouldNotError(f"cannot listen on {host}:{port}: {why}; {mend}") from error
        own = fastmcp.settings.http_allowed_hosts or []
        allowed = [host, *settings.allowed_hosts, *own, *names]
        known = ", ".join(dict.fromkeys(["localhost", *allowed]))
        adds = f"{settings.model_config['env_prefix']}ALLOWED_HOSTS adds names"
        logger.info("requests to %s are answered, to other hosts with 421; %s", known, adds)
        guard = {"host_origin_protection": "auto", "allowed_hosts": allowed}
        with bound:
            tell_start(settings, "http")
            self.run("http", host=host, port=port, sockets=[bound], show_banner=False, **guard)

    async def admit(
        self, name: str, scopes: Sequence[str], function: Callable[..., Any] | None
    ) -> None:
        """Come back where the caller has the scopes that a tool or a resource needs; else ToolError."""
        if missing := missing_scopes(scopes):
            raise ToolError(f"insufficient_scope: {name} needs a token with {missing}")

    async def _pairs(self) -> list[tuple[Tool, Tool]]:
        """Each tool as it came, and as it is served."""
        tools = await FastMCP.list_tools(self, run_middleware=False)
        return [(tool, await self._guard(tool)) for tool in tools]

    async def _guard(self, tool: Tool) -> Tool:
        """A tool with the hints and the gate of its declaration, or asked for where it has none."""
        if isinstance(tool, KINDS) and tool.annotations is tool._hints:
            return tool
        passed: list[tuple[FastMCP[Any], str]] = [(self, tool.name)]
        source = await serving.source_of(tool, passed)
        ours, function = isinstance(source, KINDS), getattr(source, "fn", None)
        known = serving.declared(source) or ELSEWHERE.get(tool.name) or declaration_of(function)
        theirs = str(getattr(function, "__module__", "")).startswith(THEIRS)
        if known is None and theirs and isinstance(passed[-1][0], PolicyServer):  # which guards
            return tool
        asks = known.gated() if known else CONFIRM != "none" and not self._trusts(tool)
        there = getattr(source, "declaration", None)
        if there not in (None, known) and there.gated():
            asks = False  # the policy of another server does
        fields = {name: getattr(tool, name) for name in Tool.model_fields}
        fields |= {"task_config": TaskConfig(mode="forbidden"), "declaration": known}
        if known:
            title = tool.title if ours else known.title
            hints = {"title": title, **known.hints()}
            fields |= {"title": title, "annotations": ToolAnnotations.model_validate(hints)}
        if known and not ours:
            fields |= serving.worded(known, tool.description, tool.meta)
        if known and asks and not ours:
            fields["parameters"] = serving.with_confirm(tool.parameters)
            fields["output_schema"] = serving.ENVELOPE
        guarded = Guarded.model_construct(**fields)
        guarded._tool, guarded._source, guarded._asks = tool, source, asks
        guarded._hints = guarded.annotations
        return guarded

    def _trusts(self, tool: Tool) -> bool:
        """Whether the settings believe what a tool says of itself."""
        says = tool.annotations and tool.annotations.read_only_hint
        return bool(says and any(fnmatchcase(tool.name, each) for each in self.trust_reads))

    def facts(self, tool: Tool) -> subsets.Facts:
        """What a subset goes by; what nobody declared may do anything, and stands in no toolset."""
        declaration, theirs = serving.declared(tool), not isinstance(tool, KINDS)
        does = declaration.behaves() if declaration else {}
        # FastMCP's own only call others
        reads = does.get("read_only", theirs or self._trusts(tool))
        function = getattr(getattr(tool, "_source", tool), "fn", None)
        module = str(getattr(function, "__module__", ""))
        anywhere = module.startswith(f"{__package__}.")
        place = module.removeprefix(TOOLS) if module.startswith(TOOLS) else ""
        formerly = declaration.formerly if declaration else ()
        destroys = does.get("destructive", not reads)
        return subsets.Facts(tool.name, None if anywhere else place, reads, destroys, formerly)

    def _parts(self) -> list[subsets.Subset]:
        """What the settings and the client of this request leave of the tools."""
        return [part for part in (self.subset, *subsets.of_request()) if part]

    def _left_out(self, tool: Tool, parts: Sequence[subsets.Subset]) -> str | None:
        """Why a served tool is not in each of some parts."""
        facts = self.facts(tool) if parts and isinstance(tool, KINDS) else None
        return next((why for part in parts if facts and (why := part.without(facts))), None)

    def check(self) -> None:
        """Name what nobody declared; StartError: it destroys, ours says what it does not declare, or would be cached."""
        pairs, undeclared = serving.run_now(self._pairs(), self), []
        self.subset.check([self.facts(served) for _, served in pairs])
        taken = {served.name for _, served in pairs}
        self.known = {served.name: d for _, served in pairs if (d := serving.declared(served))}
        known = [d for _, served in pairs if (d := serving.declared(served)) and d.name in taken]
        for name, old in ((each.name, old) for each in known for old in each.formerly):
            if old in taken or self.formerly.setdefault(old, name) != name:
                why = f"{name} was formerly {old}, which is the name of another tool"
                raise StartError(f"{why}; take it out of formerly=, or rename that one")
        for tool, served in pairs:
            source, declaration = getattr(served, "_source", served), serving.declared(served)
            said = tool.annotations or ToolAnnotations()
            function: Any = getattr(source, "fn", None)
            if declaration is None and said.destructive_hint:
                place = function.__code__.co_filename if function else "a mounted server"
                why = f"the destructive tool {tool.name} has no gate"
                raise StartError(f"{place}: {why}; {MEND.format(tool.name)}")
            hints = said.model_dump(by_alias=True, exclude_none=True, exclude={"title"})
            if isinstance(source, serving.PolicyTool) and hints != source.declaration.hints():
                why = f"extend.py: {tool.name} is served with other hints than it declares"
                raise StartError(f"{why}: {hints}; leave out annotations=")
            if declaration is None and isinstance(served, Guarded) and not self._trusts(tool):
                undeclared.append(tool.name)
        if undeclared:
            asked = "nobody is asked" if CONFIRM == "none" else "a person is asked"
            names = ", ".join(undeclared)
            logger.warning("%s before undeclared %s: %s", asked, names, MEND.format("name"))
        serving.run_now(serving.check_caches(self, pairs))
