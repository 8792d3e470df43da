"""Which tools are served, by where they stand, what they do and their names. Managed by the template.

The settings narrow what a server has; over HTTP a client narrows it further for itself, by the path (/mcp/readonly,
/mcp/x/notes, /mcp/x/notes/readonly) and by the headers X-MCP-Toolsets, X-MCP-Tools, X-MCP-Exclude-Tools, X-MCP-Readonly
and X-MCP-No-Destructive. Nothing that one of them leaves out comes back through another.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from fastmcp.server.dependencies import get_http_request
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .errors import StartError

ASKED = "subset"  # where the path's own subset stands in an ASGI scope
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
        within = [each.partition(":") for each in self.toolsets]
        if tool.place is None or not within:
            return None
        if not any(
            below(tool.place, name) and (not colon or (kind == "readonly" and tool.reads))
            for name, colon, kind in within
        ):
            return f"it is not in {', '.join(self.toolsets)}, and only that is served"
        return None

    def check(self, tools: Sequence[Facts]) -> None:
        """StartError: a value of a setting names nothing there is, so that a typing mistake shows no more than meant."""
        places = sorted({tool.place for tool in tools if tool.place})
        for each in self.toolsets:
            name, colon, kind = each.partition(":")
            known = any(below(place, name) for place in places)
            if not known or (colon and kind != "readonly"):
                there = ", ".join(places) or "none"
                raise StartError(f"setting toolsets: nothing is called {each!r}; there are {there}")
        for setting, names in {"tools": self.tools, "exclude": self.exclude}.items():
            for each in names:
                if not any(tool.called(each) for tool in tools):
                    there = ", ".join(tool.name for tool in tools)
                    why = f"no tool is called {each!r}; there are {there}"
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
    yield _by_headers(request.headers)


def _by_headers(headers: Headers) -> Subset:
    def said(name: str) -> list[str]:
        parts = map(str.strip, ",".join(headers.getlist(f"x-mcp-{name}")).split(","))
        return [part for part in parts if part]

    read_only, safe = (
        not NO.issuperset(map(str.lower, said(name))) for name in ("readonly", "no-destructive")
    )
    return Subset(said("toolsets"), said("tools"), said("exclude-tools"), read_only, safe)


class Paths:
    """ASGI middleware: the paths below the endpoint that name a part of its tools lead to it; others are not found."""

    def __init__(self, app: ASGIApp, path: str, places: Sequence[str]) -> None:
        self.app, self.path, self.places = app, path, places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its part noted."""
        if scope["type"] == "http":
            root = scope.get("root_path", "") + self.path
            if asked := self._asked(scope["path"].removeprefix(f"{root}/").split("/")):
                scope = {**scope, "path": root, "raw_path": root.encode(), ASKED: asked}
        await self.app(scope, receive, send)

    def _asked(self, parts: list[str]) -> Subset | None:
        match parts:
            case ["readonly"]:
                return Subset(read_only=True)
            case ["x", name, *more] if more in ([], ["readonly"]):
                known = any(below(place, name) for place in self.places)
                return Subset([name], read_only=bool(more)) if known else None
        return None
