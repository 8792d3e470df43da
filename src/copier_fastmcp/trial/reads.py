"""The reads of a server, and the requests that call them without optional parameters."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..tools_answer import infer_behavior, parse_entries

PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
WITHOUT_BODY = ("GET", "HEAD", "DELETE")
# Places of a parameter that a request without optional parameters may need.
PLACES = ("path", "query", "header", "body")
SMALLEST = {"int": 1, "float": 1, "bool": False}


@dataclass(frozen=True)
class Param:
    """A parameter that a read requires."""

    name: str
    place: str
    wire: str
    raw: Mapping[str, Any]

    def usual_value(self) -> Any:
        """Return a value that any API takes: the first choice, the smallest number; None where there is none."""
        choices = self.raw.get("choices")
        if choices:
            return choices[0]
        kind = str(self.raw.get("type", "str"))
        if self.place == "path" or kind not in SMALLEST:
            return None
        return self.raw.get("ge", SMALLEST[kind])


@dataclass
class Read:
    """A tool that reads, and its request.

    Attributes:
        tool: The tool in the answers.
        method: The method of its request.
        path: The path with `{parameters}`.
        query: Values of the query that are always sent.
        required: The parameters that a call needs.
        has_body: Whether the request has a JSON body, empty without optional parameters.
    """

    tool: dict[str, Any]
    method: str
    path: str
    query: dict[str, str] = field(default_factory=dict)
    required: list[Param] = field(default_factory=list)
    has_body: bool = False

    @property
    def name(self) -> str:
        """The name of the tool."""
        return str(self.tool["name"])


@dataclass
class Skipped:
    """A tool that reads and is not called, with the reason."""

    name: str
    reason: str


def find_reads(tools: object) -> tuple[list[Read], list[Skipped]]:
    """Return the reads among the tools of some answers, and those that cannot be called.

    Args:
        tools: The answer `tools`.
    """
    reads: list[Read] = []
    skipped: list[Skipped] = []
    for tool in parse_entries(tools):
        if infer_behavior(tool) != "read":
            continue
        if "http" not in tool:
            skipped.append(Skipped(str(tool["name"]), "its answers name no request"))
            continue
        read = parse_read(tool)
        if isinstance(read, Skipped):
            skipped.append(read)
        else:
            reads.append(read)
    # Lists first: identities of other reads come from them.
    reads.sort(key=lambda read: len(PLACEHOLDER.findall(read.path)))
    return reads, skipped


def parse_read(tool: dict[str, Any]) -> Read | Skipped:
    """Return the request of a tool without optional parameters.

    Args:
        tool: A tool with `http`.
    """
    name = str(tool["name"])
    method, target, *media_type = str(tool["http"]).split(" ")
    if media_type and "json" not in media_type[0]:
        return Skipped(name, f"its body is {media_type[0]}")
    if tool.get("request", "json") != "json":
        return Skipped(name, "its body is a form")
    path, _, query_text = target.partition("?")
    read = Read(tool, method, path)
    wires: dict[str, str] = {}
    for pair in filter(None, query_text.split("&")):
        wire, _, value = pair.partition("=")
        placeholder = PLACEHOLDER.fullmatch(value)
        if placeholder:
            wires[placeholder[1]] = wire
        else:
            read.query[wire] = value
    params = {}
    for param in parse_entries(tool.get("params")):
        params[str(param.get("name"))] = param
    for placed in [*PLACEHOLDER.findall(path), *wires]:
        params.setdefault(placed, {"name": placed})
    for param_name, raw in params.items():
        place = _place_of(param_name, raw, path, wires, method)
        read.has_body |= place == "body"
        if is_optional(raw) or place not in PLACES:
            continue
        if raw.get("whole") is True:
            return Skipped(name, f"it needs a whole body in {param_name}")
        wire = wires.get(param_name, param_name)
        read.required.append(Param(param_name, place, wire, raw))
    return read


def is_optional(param: Mapping[str, Any]) -> bool:
    """Whether a call may leave a parameter out."""
    return param.get("required") is False or "default" in param


def _place_of(
    name: str, raw: Mapping[str, Any], path: str, wires: Mapping[str, str], method: str
) -> str:
    if f"{{{name}}}" in path:
        return "path"
    if name in wires:
        return "query"
    usual = "query" if method in WITHOUT_BODY else "body"
    return str(raw.get("in", usual))
