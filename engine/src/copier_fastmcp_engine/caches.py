"""What a ResponseCachingMiddleware may answer for: declared reads that anybody may call, and nothing else."""

from collections.abc import Iterable, Sequence
from typing import Any

from fastmcp import FastMCP
from fastmcp.tools import Tool
from fastmcp.utilities.components import FastMCPComponent

from .errors import StartError
from .guarded_components import find_source
from .private_api import CACHED_CALLS, CACHED_PROMPTS, CACHED_READS, servers_below
from .tools import declared, has_demands

RESOURCE_LISTS = ("list_resources", "list_resource_templates")
# The lists of what each kind of setting answers for
CACHED_LISTS: dict[str, tuple[str, ...]] = {
    CACHED_CALLS: (),
    CACHED_READS: RESOURCE_LISTS,
    CACHED_PROMPTS: ("list_prompts",),
}
REMEDY = (
    "let it cache only declared reads that anybody may call, named in included_tools"
)


async def list_components(
    server: FastMCP[Any], lists: Iterable[str]
) -> list[FastMCPComponent]:
    """Return what a server, and those mounted in it, have of some kinds, whoever may see it."""
    components: list[FastMCPComponent] = []
    for below in servers_below(server):
        for kind in lists:
            components += await getattr(FastMCP, kind)(below, run_middleware=False)
    return components


async def check_caches(mcp: FastMCP[Any], pairs: Sequence[tuple[Tool, Tool]]) -> None:
    """Raise StartError where a cache, here or in a mounted server, would answer for more than declared reads."""
    reads: dict[FastMCP[Any], set[str]] = {}
    for tool, served in pairs:
        declaration = declared(served)
        policy = getattr(served, "policy", None)
        if not declaration or not policy or has_demands(served):
            continue
        if policy.truth(declaration)["read_only"]:
            source = await find_source(mcp, tool)
            for server, name in source.path:
                reads.setdefault(server, set()).add(name)
    for server in servers_below(mcp):
        for middleware in server.middleware:
            wrong = await _wrongly_cached(server, middleware, reads.get(server, set()))
            if wrong:
                names = ", ".join(sorted(wrong))
                why = f"{type(middleware).__name__} would answer for {names}"
                raise StartError(f"extend.py: {why}; {REMEDY}")


async def _wrongly_cached(
    server: FastMCP[Any], middleware: Any, reads: set[str]
) -> set[str]:
    """Return the names that a middleware would answer for, and must not."""
    wrong: set[str] = set()
    for name, lists in CACHED_LISTS.items():
        settings = getattr(middleware, name, {"enabled": False})
        if settings.get("enabled") is False:
            continue
        if name == CACHED_CALLS:
            wrong |= {*(settings.get("included_tools") or ["every tool"])} - reads
        for item in await list_components(server, lists):
            if has_demands(item):
                wrong.add(item.name)
    return wrong
