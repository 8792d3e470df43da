"""The guard of a server: a transform that everything passes which the server lists, calls, reads or renders.

A tool of the policy checks its caller and asks by itself, however it is served. What nobody declared (a mounted server,
an OpenAPI document, a tool added late) gets its hints and its gate here. The guard is the last transform, since
transforms wrap those before them. Tools that a middleware injects pass no transform: `GuardedInjection` guards them.
"""

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from fnmatch import fnmatchcase
from typing import Any, TypeGuard

from fastmcp import FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.prompts import Prompt
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.dependencies import get_access_token, get_context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.server.middleware.tool_injection import ToolInjectionMiddleware
from fastmcp.server.transforms import Transform
from fastmcp.tools import Tool
from fastmcp.utilities.versions import VersionSpec
from mcp_types import ToolAnnotations
from starlette.middleware import Middleware as ASGIMiddleware

from . import subsets
from .caches import check_caches
from .confirmation.envelope import ENVELOPE_SCHEMA
from .confirmation.pending import PendingStore
from .declarations import Declaration, awaiting, declaration_of
from .errors import RuleError
from .guarded_components import (
    NO_TASKS,
    OWN_KINDS,
    REMEDY,
    CodeTool,
    GuardedTool,
    Source,
    find_source,
    guard_prompt,
    guard_resource,
    guard_template,
    unwrap_transforms,
)
from .http import make_app
from .logs import log_tool_call
from .policy import Policy
from .private_api import move_transform_last
from .settings import PolicySettings
from .tools import (
    SCOPES,
    PolicyTool,
    add_confirm_argument,
    declared,
    describe_tool,
    function_of,
    has_mark,
    run_now,
)

# Modules of FastMCP whose tools call other tools of the server
CALLING_MODULES = ("fastmcp.server.transforms.", "fastmcp.experimental.transforms.")
# The one whose tool runs code of the client, which reads the results of these calls itself
CODE_MODULE = "fastmcp.experimental.transforms.code_mode"


def _module_of(tool: Tool) -> str:
    """Return the name of the module of the function behind a tool; an empty text where there is none."""
    return str(getattr(getattr(tool, "fn", None), "__module__", ""))


def _file_of(function: Any) -> str | None:
    """Return the file of a function, or of the one that a partial function calls; None where there is none."""
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(function, "__code__", None)
    return code.co_filename if code else None


def missing_scopes(scopes: Sequence[str]) -> str:
    """Return the scopes that this request's token lacks; over stdio, where the user started the server, none."""
    if get_context().transport == "stdio":
        return ""
    token = get_access_token()
    held = token.scopes if token else ()
    return " ".join(scope for scope in scopes if scope not in held)


class Guard(Transform):
    """What a server serves, and what servers mounted in it serve, is served as the policy says.

    Attributes:
        mcp: The server.
        policy: Its policy.
        gate: Where its pending confirmations are.
        consent: Its consent; None where its policy has none.
        is_public: Whether callers without a token get what needs none.
        trust_reads: Names of undeclared tools whose own readOnlyHint is believed.
        declared_elsewhere: The declarations that `declare()` makes for this server.
        formerly: The former names of its tools, with their present ones.
        declarations: The declarations of its tools by name, as the log shows them.
        texts: What the metadata files say of each tool; those of tools of ours are applied before.
    """

    consent: Any = None
    # Whether what needs scopes is listed to callers who lack them, so that a call tells them which
    lists_scoped = False

    def __init__(
        self,
        mcp: FastMCP[Any],
        policy: Policy,
        gate: PendingStore,
        settings: PolicySettings,
    ) -> None:
        self.mcp = mcp
        self.policy = policy
        self.gate = gate
        self.declared_elsewhere: dict[str, Declaration] = {}
        self.formerly: dict[str, str] = {}
        self.declarations: dict[str, Declaration] = {}
        self.texts: Mapping[str, Any] = {}
        self.trust_reads = settings.trust_reads
        self.is_public = settings.public
        self.spells_numbers = settings.spells_numbers
        self.requires_declarations = True
        self.lists_scoped = self.lists_scoped or settings.public
        fields = settings.model_dump(include={*subsets.Subset.__dataclass_fields__})
        self._subset = subsets.Subset(**fields)
        # Outside extend(), as when a module is imported
        self._declared_by_package = awaiting(policy.package)
        self._logger = policy.logger("guard")
        # A tool of the policy by its key, and the same with this server as its own
        self._bound_tools: dict[str, tuple[Tool, PolicyTool | GuardedTool]] = {}
        self._is_bypassed: ContextVar[bool] = ContextVar("bypassed", default=False)

    def install(self) -> None:
        """Guard the server from now on, as its last transform, whatever is added to it later."""
        methods = vars(self.mcp)
        methods["http_app"] = functools.partial(make_app, self, self.mcp.http_app)
        self.mcp.add_transform(self)
        methods["add_transform"] = self._add_transform_below(self.mcp.add_transform)
        methods["add_middleware"] = self._guard_middleware(self.mcp.add_middleware)
        self.mcp.middleware.insert(0, GuardMiddleware(self))
        self.guard_injections()

    def _add_transform_below(
        self, add_transform: Callable[[Transform], None]
    ) -> Callable[[Transform], None]:
        def add_below(transform: Transform) -> None:
            """Add a transform to the server, below its guard."""
            add_transform(transform)
            move_transform_last(self.mcp, self)

        return add_below

    def _guard_middleware(
        self, add_middleware: Callable[[Middleware], None]
    ) -> Callable[[Middleware], None]:
        def add_guarded(middleware: Middleware) -> None:
            """Add a middleware to the server, with the tools that it injects guarded."""
            add_middleware(middleware)
            self.guard_injections()

        return add_guarded

    # What FastMCP asks of a transform --------------------------------------------------------------------------------

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """Return the tools of this server's subset, with the hints and the gate that they are served with."""
        if self._is_bypassed.get():
            return tools
        parts = self._parts()
        listed = []
        for tool in tools:
            served = await self.guard_tool(tool)
            if self._reason_left_out(served, parts) is None:
                listed.append(served)
        return listed

    async def get_tool(
        self,
        name: str,
        call_next: Any,
        *,
        version: VersionSpec | None = None,
    ) -> Tool | None:
        """Return the tool that a call runs, also by a former name.

        Raises:
            ToolError: It is not in the part that is served here.
        """
        tool = await call_next(name, version=version)
        if tool is None and name in self.formerly:
            name = self.formerly[name]
            tool = await call_next(name, version=version)
        if tool is None:
            return None
        served = await self.guard_tool(tool)
        self._check_subset(name, served)
        return served

    async def list_resources(self, resources: Sequence[Resource]) -> Sequence[Resource]:
        """Return the resources as they are served."""
        return [guard_resource(self, resource) for resource in resources]

    async def get_resource(
        self,
        uri: str,
        call_next: Any,
        *,
        version: VersionSpec | None = None,
    ) -> Resource | None:
        """Return the resource at an address as it is served."""
        resource = await call_next(uri, version=version)
        return resource and guard_resource(self, resource)

    async def list_resource_templates(
        self, templates: Sequence[ResourceTemplate]
    ) -> Sequence[ResourceTemplate]:
        """Return the resource templates as they are served."""
        return [guard_template(self, template) for template in templates]

    async def get_resource_template(
        self,
        uri: str,
        call_next: Any,
        *,
        version: VersionSpec | None = None,
    ) -> ResourceTemplate | None:
        """Return the template of an address as it is served."""
        template = await call_next(uri, version=version)
        return template and guard_template(self, template)

    async def list_prompts(self, prompts: Sequence[Prompt]) -> Sequence[Prompt]:
        """Return the prompts as they are served."""
        return [guard_prompt(self, prompt) for prompt in prompts]

    async def get_prompt(
        self,
        name: str,
        call_next: Any,
        *,
        version: VersionSpec | None = None,
    ) -> Prompt | None:
        """Return a prompt as it is served."""
        prompt = await call_next(name, version=version)
        return prompt and guard_prompt(self, prompt)

    # What the server needs over HTTP ---------------------------------------------------------------------------------

    def http_middleware(self) -> list[ASGIMiddleware]:
        """Return what stands before the endpoint over HTTP: where the settings ask for it, the front of public tools."""
        if not self.is_public:
            return []
        from .public import PublicFront

        return [ASGIMiddleware(PublicFront, server=self.mcp)]

    def public_hosts(self, settings: PolicySettings) -> list[str]:
        """Return the names, other than those of the settings, by which browsers reach this server."""
        return []

    # What the tools need ---------------------------------------------------------------------------------------------

    async def admit(
        self,
        name: str,
        scopes: Sequence[str],
        function: Callable[..., Any] | None,
    ) -> None:
        """Raise ToolError unless the caller has the scopes that a tool or a resource requires."""
        if missing := missing_scopes(scopes):
            raise ToolError(f"insufficient_scope: {name} needs a token with {missing}")

    def is_read(self, tool: Tool) -> bool:
        """Tell whether a served tool changes nothing."""
        return self.facts(tool).is_read_only

    def facts(self, tool: Tool) -> subsets.Facts:
        """Return the facts that a subset selects by; an undeclared tool may do anything, and is in no toolset."""
        declaration = declared(tool)
        truth = self.policy.truth(declaration) if declaration else {}
        is_read = truth.get("read_only", self._trusts(tool))
        function = function_of(tool)
        return subsets.Facts(
            name=tool.name,
            place=self._place_of(str(getattr(function, "__module__", ""))),
            is_read_only=is_read,
            is_destructive=truth.get("destructive", not is_read),
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
        return [part for part in (self._subset, *subsets.of_request()) if part]

    def _reason_left_out(
        self, tool: Tool, parts: Sequence[subsets.Subset]
    ) -> str | None:
        """Return why a served tool is not in each of some parts."""
        if not parts or not isinstance(tool, OWN_KINDS):
            return None
        facts = self.facts(tool)
        for part in parts:
            if reason := part.reason_left_out(facts):
                return reason
        return None

    def _check_subset(self, name: str, tool: Tool) -> None:
        """Raise ToolError for a tool that is not in the part that is served here."""
        if reason := self._reason_left_out(tool, self._parts()):
            raise ToolError(f"{name} cannot be called here: {reason}")

    # A tool as it is served ------------------------------------------------------------------------------------------

    async def guard_tool(self, tool: Tool) -> Tool:
        """Return a tool with the hints and the gate of its declaration, or asked for where it has none."""
        if _is_unchanged(tool):
            return self._bind(tool)
        return self._guard_source(tool, await find_source(self.mcp, tool))

    def _bind(self, tool: PolicyTool | GuardedTool) -> Tool:
        """Return a tool of ours that holds this server."""
        known = self._bound_tools.get(tool.key)
        if known and known[0] is tool:
            return known[1]
        bound = tool.model_copy(update={"auth": None} if self.lists_scoped else None)
        bound._guard = self
        self._bound_tools[tool.key] = tool, bound
        return bound

    def _guard_source(self, tool: Tool, source: Source) -> Tool:
        """Return a tool, of which it is known where it comes from, as it is served."""
        declaration = self._find_declaration(tool, source.tool)
        if declaration is None and self._is_guarded_below(source):
            is_code = _module_of(source.tool) == CODE_MODULE
            return CodeTool.wrap(self, tool) if is_code else tool
        is_own = isinstance(source.tool, OWN_KINDS)
        asks_itself = self._asks_by_itself(source.tool, declaration)
        asks = self._asks_before(tool, source.tool, declaration)
        fields = {name: getattr(tool, name) for name in Tool.model_fields}
        fields["task_config"] = NO_TASKS
        # A check that an author gives a tool of their own hides it as before
        if self.lists_scoped and isinstance(source.tool, PolicyTool):
            fields["auth"] = None
        fields["declaration"] = declaration
        fields["policy"] = self.policy
        if declaration:
            fields["title"] = tool.title if is_own else self._title_of(declaration)
            hints = {"title": fields["title"], **self.policy.hints(declaration)}
            fields["annotations"] = ToolAnnotations.model_validate(hints)
        if declaration and not is_own:
            has_two_steps = asks and self.policy.confirm_fallback == "two_step"
            # A metadata file replaces the whole description, as of the project's own tools.
            is_replaced = "description" in self.texts.get(tool.name, {})
            description = describe_tool(
                declaration,
                tool.description,
                tool.meta,
                has_two_steps=has_two_steps and not is_replaced,
            )
            fields.update(description)
        if declaration and asks and not asks_itself:
            texts = self.texts.get(tool.name, {}).get("arguments", {}).get("confirm")
            fields["parameters"] = add_confirm_argument(
                self.policy, tool.parameters, texts
            )
            fields["output_schema"] = ENVELOPE_SCHEMA
        guarded = GuardedTool.model_construct(**fields)
        guarded._guard = self
        guarded._tool = tool
        guarded._source = source.tool
        guarded._asks = asks
        guarded._asks_itself = asks_itself
        guarded._hints = guarded.annotations
        return guarded

    def _title_of(self, declaration: Declaration) -> str:
        """Return the title of a tool that `declare` declares: that of the metadata files, else of its declaration."""
        title = self.texts.get(declaration.name, {}).get("title")
        return str(title or declaration.title)

    def gated_names(self) -> list[str]:
        """Return the names of the declared tools that ask; `check` collects the declarations."""
        names = []
        for name, declaration in self.declarations.items():
            if self.policy.is_gated(declaration):
                names.append(name)
        return names

    def _find_declaration(self, tool: Tool, source: Tool) -> Declaration | None:
        """Return what declares a tool: its decorator, wherever it was registered, or `declare` by its name here."""
        return (
            declared(source)
            or self.declared_elsewhere.get(tool.name)
            or self._declared_by_package.get(tool.name)
            or declaration_of(getattr(source, "fn", None))
        )

    def _is_guarded_below(self, source: Source) -> bool:
        """Tell whether a tool only calls others of its server, and that server guards those."""
        if not _module_of(source.tool).startswith(CALLING_MODULES):
            return False
        server, _ = source.path[-1]
        # At the start, this server is checked before its guard is installed
        return server is self.mcp or find_guard(server) is not None

    def _asks_by_itself(self, source: Tool, declaration: Declaration | None) -> bool:
        """Tell whether a tool of ours asks, and asks for all that this server's policy asks for."""
        if not isinstance(source, OWN_KINDS):
            return False
        if declaration is None:
            return True
        asks = source.policy.is_gated(declaration)
        return asks or not self.policy.is_gated(declaration)

    def _asks_before(
        self, tool: Tool, source: Tool, declaration: Declaration | None
    ) -> bool:
        """Tell whether this server asks before a tool that the registry did not build."""
        if declaration:
            asks = self.policy.is_gated(declaration)
        else:
            asks = self.policy.confirm != "none" and not self._trusts(tool)
        their_declaration = getattr(source, "declaration", None)
        if their_declaration not in (None, declaration):
            # Of another server, whose policy may ask already
            their_policy = getattr(source, "policy", None)
            if their_policy is not None and their_policy.is_gated(their_declaration):
                return False
        return asks

    def _trusts(self, tool: Tool) -> bool:
        """Tell whether the settings believe what a tool says of itself."""
        if not (tool.annotations and tool.annotations.read_only_hint):
            return False
        return any(fnmatchcase(tool.name, pattern) for pattern in self.trust_reads)

    # Tools that a middleware injects ---------------------------------------------------------------------------------

    def guard_injections(self) -> None:
        """Guard the tools that middleware injects, which FastMCP serves past all transforms."""
        for index, middleware in enumerate(self.mcp.middleware):
            if not isinstance(middleware, ToolInjectionMiddleware):
                continue
            if not isinstance(middleware, GuardedInjection):
                self.mcp.middleware[index] = GuardedInjection(self, middleware)

    def guard_injected_tool(self, tool: Tool) -> Tool:
        """Return a tool that a middleware injects as it is served."""
        if _is_unchanged(tool):
            return self._bind(tool)
        source = Source(unwrap_transforms(tool), [(self.mcp, tool.name)])
        return self._guard_source(tool, source)

    def list_injected_tools(self, tools: Sequence[Tool]) -> list[Tool]:
        """Return the injected tools of this server's subset as they are served."""
        if self._is_bypassed.get():
            return [*tools]
        parts = self._parts()
        served = [self.guard_injected_tool(tool) for tool in tools]
        return [tool for tool in served if self._reason_left_out(tool, parts) is None]

    def get_injected_tool(self, tool: Tool) -> Tool:
        """Return an injected tool that is called; ToolError: it is not in the part that is served here."""
        served = self.guard_injected_tool(tool)
        self._check_subset(tool.name, served)
        return served

    # The start -------------------------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def bypassed(self) -> Iterator[None]:
        """Let the block list the tools as they were registered, whatever the subset."""
        token = self._is_bypassed.set(True)
        try:
            yield
        finally:
            self._is_bypassed.reset(token)

    async def tool_pairs(self) -> list[tuple[Tool, Tool]]:
        """Return each tool as it was registered, and as it is served."""
        with self.bypassed():
            tools = await self.mcp.list_tools(run_middleware=False)
        return [(tool, await self.guard_tool(tool)) for tool in tools]

    def check(self) -> None:
        """Check what is served, and log undeclared tools.

        Raises:
            StartError: An undeclared tool destroys, a tool of ours is served with other hints than it
                declares, a former name is another tool's, a cache would answer for more than declared reads, or
                a part is public of a server that verifies no tokens.
        """
        pairs = run_now(self.tool_pairs(), self.mcp)
        self._subset.check([self.facts(served) for _, served in pairs])
        self.declarations = {}
        for _, served in pairs:
            if declaration := declared(served):
                self.declarations[served.name] = declaration
        self._collect_former_names({served.name for _, served in pairs})
        undeclared = []
        for tool, served in pairs:
            self._check_hints(tool, served)
            is_undeclared = declared(served) is None and isinstance(served, GuardedTool)
            if is_undeclared and not self._trusts(tool):
                undeclared.append(tool.name)
        if undeclared:
            self._warn_undeclared(undeclared)
        run_now(check_caches(self.mcp, pairs), self.mcp)
        if self.is_public and self.mcp.auth is None:
            variable = f"{self.policy.env_prefix}PUBLIC"
            text = f"extend.py: {variable} exempts tools from tokens, but no token is verified"
            remedy = "set mcp.auth in extend(mcp), or remove the setting"
            raise RuleError(text, remedy, "public-authenticated")
        if self.lists_scoped:
            run_now(self._list_scoped_resources(), self.mcp)

    async def _list_scoped_resources(self) -> None:
        """List resources to callers who lack their scopes; a read of theirs is refused."""
        provider = self.mcp.local_provider
        resources = await provider.list_resources()
        templates = await provider.list_resource_templates()
        components: list[Resource | ResourceTemplate] = [*resources, *templates]
        for component in components:
            if has_mark(function_of(component), SCOPES):
                component.auth = None

    def _warn_undeclared(self, names: Sequence[str]) -> None:
        """Log the undeclared tools."""
        consequence = "a person is asked"
        if self.policy.confirm == "none":
            consequence = "nobody is asked"
        remedy = REMEDY.format("name")
        self._logger.warning(
            "%s before undeclared %s: %s (tool-declared)",
            consequence,
            ", ".join(names),
            remedy,
        )

    def _collect_former_names(self, names: set[str]) -> None:
        """Let tools answer by their former names; StartError where one is another tool's."""
        for declaration in self.declarations.values():
            if declaration.name not in names:
                continue
            for former in declaration.formerly:
                current = self.formerly.setdefault(former, declaration.name)
                if former in names or current != declaration.name:
                    problem = f"{declaration.name} was formerly {former}, which is the name of another tool"
                    remedy = "remove it from formerly=, or rename that tool"
                    raise RuleError(problem, remedy, "former-name-free")

    def _check_hints(self, tool: Tool, served: Tool) -> None:
        """Raise StartError for a destructive tool without a gate, or for hints other than the declared ones.

        An existing server starts with such a tool, which asks before it runs, and is logged.
        """
        source = getattr(served, "guarded_source", served)
        annotations = tool.annotations or ToolAnnotations()
        is_undeclared = declared(served) is None
        if (
            self.requires_declarations
            and is_undeclared
            and annotations.destructive_hint
        ):
            place = _file_of(getattr(source, "fn", None)) or "a mounted server"
            problem = f"{place}: the destructive tool {tool.name} has no gate"
            raise RuleError(problem, REMEDY.format(tool.name), "gate-present")
        if not isinstance(source, PolicyTool):
            return
        hints = annotations.model_dump(
            by_alias=True, exclude_none=True, exclude={"title"}
        )
        if hints != source.policy.hints(source.declaration):
            problem = (
                f"extend.py: {tool.name} is served with other hints than it declares"
            )
            remedy = "leave out annotations="
            raise RuleError(f"{problem}: {hints}", remedy, "hints-match-behavior")


def _is_unchanged(tool: Tool) -> TypeGuard[PolicyTool | GuardedTool]:
    """Tell whether a tool is of ours, with the hints that it was built with."""
    return isinstance(tool, OWN_KINDS) and tool.annotations is tool._hints


class GuardMiddleware(Middleware):
    """The outermost middleware of a guarded server: it logs calls, and guards tools that were injected late."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def on_request(
        self,
        context: MiddlewareContext[Any],
        call_next: CallNext[Any, Any],
    ) -> Any:
        """Let a request through, once all injected tools are guarded."""
        self._guard.guard_injections()
        return await call_next(context)

    async def on_call_tool(
        self,
        context: MiddlewareContext[Any],
        call_next: CallNext[Any, Any],
    ) -> Any:
        """Run a tool; one line of the log for each call."""
        name = context.message.name
        current = self._guard.formerly.get(name, name)
        declaration = self._guard.declarations.get(current)
        return await log_tool_call(
            self._guard.policy, call_next(context), name, current, declaration
        )


class GuardedInjection(ToolInjectionMiddleware):
    """A middleware that injects tools, each behind the guard of its server."""

    def __init__(self, guard: Guard, middleware: ToolInjectionMiddleware) -> None:
        super().__init__([])
        self._guard = guard
        self._middleware = middleware

    @property
    def injected_tools(self) -> Sequence[Tool]:
        """The injected tools as they are served."""
        return self._guard.list_injected_tools(self._middleware.injected_tools)

    def get_injected_tool(self, name: str) -> Tool | None:
        """Return the injected tool with this name as it is served, if there is one."""
        tool = self._middleware.get_injected_tool(name)
        return tool and self._guard.get_injected_tool(tool)

    async def __call__(
        self,
        context: MiddlewareContext[Any],
        call_next: CallNext[Any, Any],
    ) -> Any:
        """Run the hooks of the middleware."""
        return await self._middleware(context, call_next)


def find_guard(mcp: FastMCP[Any]) -> Guard | None:
    """Return the guard of a server; None where it has none."""
    for transform in mcp.transforms:
        if isinstance(transform, Guard):
            return transform
    return None


def guard_of(mcp: FastMCP[Any]) -> Guard:
    """Return the guard of a server that `build_server` or `govern` made.

    Raises:
        LookupError: The server has none.
    """
    guard = find_guard(mcp)
    if guard is None:
        raise LookupError(f"the server {mcp.name} has no policy")
    return guard
