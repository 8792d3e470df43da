"""What a ResponseCachingMiddleware may answer for: declared reads that anybody may call, and nothing else."""

from collections.abc import Iterable, Sequence
from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import Tool
from fastmcp.utilities.components import FastMCPComponent

from .errors import RuleError
from .guarded_components import find_source
from .policy import Policy
from .private_api import CACHED_CALLS, CACHED_PROMPTS, CACHED_READS, servers_below
from .tools import declared, has_demands

RESOURCE_LISTS = ("list_resources", "list_resource_templates")
# The lists of what each kind of setting answers for
CACHED_LISTS: dict[str, tuple[str, ...]] = {
    CACHED_CALLS: (),
    CACHED_READS: RESOURCE_LISTS,
    CACHED_PROMPTS: ("list_prompts",),
}
REMEDY = "list in included_tools only declared reads that every caller may use"


async def list_components(
    server: FastMCP[Any], lists: Iterable[str]
) -> list[FastMCPComponent]:
    """Return what a server, and those mounted in it, have of some kinds, whatever a caller may see."""
    components: list[FastMCPComponent] = []
    for nested in servers_below(server):
        for kind in lists:
            components += await getattr(FastMCP, kind)(nested, run_middleware=False)
    return components


async def check_caches(mcp: FastMCP[Any], pairs: Sequence[tuple[Tool, Tool]]) -> None:
    """Raise StartError where a cache, here or in a mounted server, would answer for more than declared reads."""
    read_names: dict[FastMCP[Any], set[str]] = {}
    for tool, served in pairs:
        declaration = declared(served)
        if declaration is None or has_demands(served):
            continue
        policy: Policy = served.policy  # type: ignore[attr-defined]
        if policy.truth(declaration)["read_only"]:
            source = await find_source(mcp, tool)
            for server, name in source.path:
                read_names.setdefault(server, set()).add(name)
    for server in servers_below(mcp):
        for middleware in server.middleware:
            exposed = await _wrongly_cached(
                server, middleware, read_names.get(server, set())
            )
            if exposed:
                names = ", ".join(sorted(exposed))
                problem = f"{type(middleware).__name__} would answer for {names}"
                raise RuleError(f"extend.py: {problem}", REMEDY, "cache-reads-only")


async def _wrongly_cached(
    server: FastMCP[Any], middleware: Any, read_names: set[str]
) -> set[str]:
    """Return the names that a middleware would answer for, and must not."""
    exposed: set[str] = set()
    for name, lists in CACHED_LISTS.items():
        settings = getattr(middleware, name, {"enabled": False})
        if settings.get("enabled") is False:
            continue
        if name == CACHED_CALLS:
            exposed |= {
                *(settings.get("included_tools") or ["every tool"])
            } - read_names
        for item in await list_components(server, lists):
            if has_demands(item):
                exposed.add(item.name)
    return exposed
