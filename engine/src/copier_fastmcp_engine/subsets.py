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
# The key of an ASGI scope under which the path's own subset is
SCOPE_KEY = "subset"
# The headers, and the fields of a subset that they set
HEADER_PREFIX = b"x-mcp-"
LISTS = {"toolsets": "toolsets", "tools": "tools", "exclude-tools": "exclude"}
FLAGS = {"readonly": "read_only", "no-destructive": "no_destructive"}
# Any other value of a flag narrows
FALSE_VALUES = {"", "0", "false", "no", "off"}


@dataclass(frozen=True)
class Facts:
    """The facts that a subset selects tools by.

    Attributes:
        name: The tool's name.
        place: Its place below tools/; None for a tool that is in every toolset.
        is_read_only: Whether it changes nothing.
        is_destructive: Whether it may destroy.
        formerly: Its former names.
    """

    name: str
    place: str | None
    is_read_only: bool
    is_destructive: bool
    formerly: Sequence[str] = ()

    def matches(self, patterns: Sequence[str]) -> bool:
        """Tell whether a pattern names it, now or as it was called."""
        for name in (self.name, *self.formerly):
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                return True
        return False

    @property
    def toolset(self) -> str:
        """The folder that it is in, or the file that holds several; empty for a file of its own in tools/."""
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
        """Tell whether it leaves anything out."""
        return any(vars(self).values())

    def reason_left_out(self, tool: Facts) -> str | None:
        """Return why a tool is not in it, or None."""
        if self.read_only and not tool.is_read_only:
            return "it may write, and this server is read-only"
        if self.no_destructive and tool.is_destructive:
            return "it may be destructive, and destructive tools are not served"
        if self.tools and not tool.matches(self.tools):
            return "only other tools are served"
        if tool.matches(self.exclude):
            return "it is excluded"
        if not self._has_place_of(tool):
            return (
                f"it is not in {', '.join(self.toolsets)}, and nothing else is served"
            )
        return None

    def _has_place_of(self, tool: Facts) -> bool:
        """Tell whether a tool is in one of the toolsets, or in its reading half."""
        if tool.place is None or not self.toolsets:
            return True
        for toolset in self.toolsets:
            name, colon, half = toolset.partition(":")
            is_half = half == "readonly" and tool.is_read_only
            if is_below(tool.place, name) and (is_half or not colon):
                return True
        return False

    def check(self, tools: Sequence[Facts]) -> None:
        """Check the names in the settings, so that a typing mistake shows no more than meant.

        Raises:
            StartError: A value of a setting names nothing that there is.
        """
        self._check_toolsets(tools)
        for setting in ("tools", "exclude"):
            for pattern in getattr(self, setting):
                if not any(tool.matches([pattern]) for tool in tools):
                    names = ", ".join(tool.name for tool in tools)
                    problem = f"no tool is called {pattern!r}; there are {names}"
                    raise StartError(f"setting {setting}: {problem}")

    def _check_toolsets(self, tools: Sequence[Facts]) -> None:
        places = sorted({tool.place for tool in tools if tool.place})
        for toolset in self.toolsets:
            name, colon, half = toolset.partition(":")
            exists = any(is_below(place, name) for place in places)
            if not exists or (colon and half != "readonly"):
                listed = ", ".join(places) or "none"
                raise StartError(
                    f"setting toolsets: nothing is called {toolset!r}; there are {listed}"
                )


def is_below(place: str, toolset: str) -> bool:
    """Tell whether a place is a toolset or in it."""
    return bool(toolset) and f"{place}.".startswith(f"{toolset}.")


def of_request() -> Iterator[Subset]:
    """Yield what the client of this request narrowed by its path and its headers; nothing over stdio."""
    try:
        request = get_http_request()
    except RuntimeError:
        return
    if subset := request.scope.get(SCOPE_KEY):
        yield subset
    # As bytes, since each call comes here and most headers are others
    for name, value in request.scope["headers"]:
        if not name.startswith(HEADER_PREFIX):
            continue
        header = name.removeprefix(HEADER_PREFIX).decode("latin-1")
        line = value.decode("latin-1")
        if header in LISTS:
            fields: dict[str, Any] = {LISTS[header]: _parse_values(line)}
            yield Subset(**fields)
        if header in FLAGS:
            words = {value.lower() for value in _parse_values(line)}
            flags: dict[str, Any] = {FLAGS[header]: bool(words - FALSE_VALUES)}
            yield Subset(**flags)


def _parse_values(line: str) -> list[str]:
    """Return the values of a header, which have commas between them."""
    stripped = [value.strip() for value in line.split(",")]
    return [value for value in stripped if value]


class Paths:
    """ASGI middleware: the paths below the endpoint that name a part of its tools lead to it; others are not found."""

    def __init__(self, app: ASGIApp, path: str, places: Sequence[str]) -> None:
        self.app = app
        self.path = path
        self.places = places

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with its part noted."""
        root = scope.get("root_path", "") + self.path
        if scope["type"] == "http" and scope["path"] != root:
            match = re.fullmatch(re.escape(root) + PART, scope["path"])
            if match and (not match[1] or self._has_toolset(match[1])):
                toolsets = [match[1]] if match[1] else []
                subset = Subset(toolsets, read_only=bool(match[2]))
                narrowed = {"path": root, "raw_path": root.encode(), SCOPE_KEY: subset}
                scope = {**scope, **narrowed}
        await self.app(scope, receive, send)

    def _has_toolset(self, name: str) -> bool:
        return any(is_below(place, name) for place in self.places)
