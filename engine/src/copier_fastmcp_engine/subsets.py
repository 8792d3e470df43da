"""Which tools are served, by where they stand, what they do and their names.

The settings narrow what a server has; over HTTP a client narrows it further for itself, by the path (/mcp/readonly,
/mcp/x/notes, /mcp/x/notes/readonly) and by the headers X-MCP-Toolsets, X-MCP-Tools, X-MCP-Exclude-Tools, X-MCP-Readonly
and X-MCP-No-Destructive. Nothing that one of them leaves out comes back through another, nor through the same header
on another line; an empty one says nothing.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from fastmcp.server.dependencies import get_http_request
from starlette.types import ASGIApp, Receive, Scope, Send

from .errors import StartError

PART = r"(?:/x/([^/]+))?(/readonly)?"  # of a path, behind that of the endpoint
ASKED = "subset"  # where the path's own subset stands in an ASGI scope
LISTS = {
    "toolsets": "toolsets",
    "tools": "tools",
    "exclude-tools": "exclude",
}  # after X-MCP-
FLAGS = {"readonly": "read_only", "no-destructive": "no_destructive"}
NO = {"", "0", "false", "no", "off"}  # any other value narrows


@dataclass(frozen=True)
class Facts:
    """What a subset goes by: a tool's name, its place below tools/ (None: wherever), and what it may do."""

    name: str
    place: str | None
    reads: bool
    destroys: bool
    formerly: Sequence[str] = ()

    def called(self, pattern: str) -> bool:
        """Whether a pattern names it, now or as it was called."""
        return any(fnmatchcase(name, pattern) for name in (self.name, *self.formerly))

    @property
    def toolset(self) -> str:
        """The folder that it stands in, or the file that holds several; empty for a file of its own in tools/."""
        return (self.place or "").removesuffix(self.name).rstrip(".")


@dataclass(frozen=True)
class Subset:
    """A part of a server's tools. A toolset is a folder or a file of tools/; `notes:readonly` is its reading half."""

    toolsets: Sequence[str] = ()
    tools: Sequence[str] = ()
    exclude: Sequence[str] = ()
    read_only: bool = False
    no_destructive: bool = False

    def __bool__(self) -> bool:
        """Whether it leaves anything out."""
        return any(vars(self).values())

    def without(self, tool: Facts) -> str | None:
        """Why a tool is not in it, or None."""
        if self.read_only and not tool.reads:
            return "it may write, and this server is served read-only"
        if self.no_destructive and tool.destroys:
            return "it may destroy, and what does is not served"
        if self.tools and not any(map(tool.called, self.tools)):
            return "only other tools are served"
        if any(map(tool.called, self.exclude)):
            return "it is excluded"
        if tool.place is None or not self.toolsets:
            return None
        halves = [each.partition(":") for each in self.toolsets]
        within = [half for name, *half in halves if below(tool.place, name)]
        if any(
            half == ["", ""] or (half == [":", "readonly"] and tool.reads)
            for half in within
        ):
            return None
        return f"it is not in {', '.join(self.toolsets)}, and only that is served"

    def check(self, tools: Sequence[Facts]) -> None:
        """StartError: a value of a setting names nothing there is, so that a typing mistake shows no more than meant."""
        places = sorted({tool.place for tool in tools if tool.place})
        for each in self.toolsets:
            name, colon, kind = each.partition(":")
            known = any(below(place, name) for place in places)
            if not known or (colon and kind != "readonly"):
                there = ", ".join(places) or "none"
                raise StartError(
                    f"setting toolsets: nothing is called {each!r}; there are {there}"
                )
        for each in (*self.tools, *self.exclude):
            if not any(tool.called(each) for tool in tools):
                setting = "tools" if each in self.tools else "exclude"
                why = f"no tool is called {each!r}; there are {', '.join(t.name for t in tools)}"
                raise StartError(f"setting {setting}: {why}")


def below(place: str, toolset: str) -> bool:
    """Whether a place is a toolset or in it."""
    return bool(toolset) and f"{place}.".startswith(f"{toolset}.")


def of_request() -> Iterator[Subset]:
    """What the client of this request narrowed by its path and its headers; nothing over stdio."""
    try:
        request = get_http_request()
    except RuntimeError:
        return
    if path := request.scope.get(ASKED):
        yield path
    for name, field in {**LISTS, **FLAGS}.items():
        for line in request.headers.getlist(f"x-mcp-{name}"):
            parts = [part for each in line.split(",") if (part := each.strip())]
            words = {part.lower() for part in parts}
            said: Any = bool(words - NO) if name in FLAGS else parts
            yield Subset(**{field: said})


class Paths:
    """ASGI middleware: the paths below the endpoint that name a part of its tools lead to it; others are not found."""

    def __init__(self, app: ASGIApp, path: str, places: Sequence[str]) -> None:
        self.app, self.path, self.places = app, path, places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its part noted."""
        if scope["type"] == "http":
            root = scope.get("root_path", "") + self.path
            asked = re.fullmatch(re.escape(root) + PART, scope["path"])
            names = [asked[1]] if asked and asked[1] else []
            if asked and all(
                any(below(place, n) for place in self.places) for n in names
            ):
                part = Subset(names, read_only=bool(asked[2]))
                scope = {**scope, "path": root, "raw_path": root.encode(), ASKED: part}
        await self.app(scope, receive, send)
