"""The inputs of an operation as parameters of a tool, and what of them is left out."""

import re
from typing import Any
from urllib.parse import quote

from .bodies import body
from .document import UnresolvedError
from .inputs import (
    MIXED,
    WIRE_NAME,
    Inputs,
    LeftOutError,
    is_version,
    mixed,
    param,
    snake,
)
from .objects import set_object_fields
from .operations import Operation
from .schemas import merged, properties_of, required_of
from .texts import clean
from .typed import Typed, typed

TRACING = {"traceparent", "tracestate", "baggage", "x-request-id", "x-correlation-id"}
KEYS = {"idempotency-key", "x-idempotency-key"}
CURSOR = "The `next_cursor` of the previous page."
A_KEY = "A text of your own choice, the same when you repeat this very call."
REFUSED_HEADERS = {
    "authorization",
    "host",
    "cookie",
    "content-length",
    "content-type",
    "connection",
    "transfer-encoding",
    "accept",
    "user-agent",
    "accept-encoding",
}
# What each of Google's operations takes.
TRANSPORT = {
    *(
        "$.xgafv",
        "access_token",
        "alt",
        "callback",
        "fields",
        "key",
        "oauth_token",
        "prettyPrint",
    ),
    *("quotaUser", "userIp", "upload_protocol", "uploadType"),
}
# What a request in the answers can hold.
QUERY_NAME = re.compile(r"[A-Za-z0-9_.$\[\]-]{1,80}")
_TEXT = r"(?:[A-Za-z0-9._~:@!$()*+,;=-]|%(?!2[eEfF]|5[cC]|[01])[0-9A-Fa-f]{2}|\{[a-z][a-z0-9_]*\})+"
PATH = re.compile(f"/(?:{_TEXT}(?:/{_TEXT})*/?)?")
SIZES = (
    "per_page",
    "page_size",
    "pagesize",
    "perpage",
    "limit",
    "max_results",
    "maxresults",
    "pagelen",
    "count",
)
PAGES = (
    "cursor",
    "page_token",
    "pagetoken",
    "after",
    "starting_after",
    "start_cursor",
    "next_cursor",
    "page",
    "offset",
    "page_number",
    "pagenumber",
    "skip",
)


def inputs(operation: Operation, *, paged: bool, gated: bool) -> Inputs:
    """The inputs of an operation.

    Args:
        operation: The operation.
        paged: Whether it answers with a list, so that page size and page become ours.
        gated: Whether a person may be asked, so that `confirm` is the gate's.

    Raises:
        LeftOutError: What it requires cannot be said.
    """
    collected = Inputs()
    _path(operation, collected, gated=gated)
    for parameter in operation.parameters:
        place, name = parameter.get("in"), parameter.get("name")
        if not isinstance(name, str) or not name:
            collected.left_out.append("a parameter without a name")
            continue
        if place == "path":
            if collected.wires.isdisjoint({name.lower()}):
                collected.left_out.append(
                    f"path parameter {clean(name, 60)} (not in the path)"
                )
            continue
        try:
            for wire, part in _flat(operation, parameter, name):
                _one(
                    operation,
                    part,
                    str(place),
                    wire,
                    collected,
                    paged=paged,
                    gated=gated,
                )
        except UnresolvedError as error:
            if parameter.get("required") is True:
                raise LeftOutError(
                    f"its parameter {clean(name, 60)}: {error}"
                ) from error
            collected.left_out.append(f"{place} parameter {clean(name, 60)} ({error})")
    if operation.contents or operation.body:
        body(operation, collected, gated=gated)
    return collected


def _path(operation: Operation, collected: Inputs, *, gated: bool) -> None:
    """The placeholders of the path, each a parameter with a name of ours."""
    if re.search("[#?]", operation.path):
        raise LeftOutError(
            "its path holds a # or ?, so another part of the request names it"
        )
    path, number = "", 0
    for part in re.split(r"(\{[^{}]*\})", operation.path):
        if not part.startswith("{"):
            path += quote(part, safe="/-._~:@!$()*+,;=%", errors="replace")
            continue
        number += 1
        wire = part[1:-1].rstrip("*").lstrip("+.;")
        parameter = operation.parameter("path", wire)
        collected.wires.add(wire.lower())
        if parameter.get("style") in ("label", "matrix"):
            raise LeftOutError(
                f"its path parameter {clean(wire, 60)} is in {parameter['style']} style"
            )
        name = snake(wire) or f"part_{number}"
        # The gate has a parameter `confirm` of its own
        while name in collected.plain or (name == "confirm" and gated):
            name = f"{name}_{number}"
        kind = _path_type(operation, parameter, wire)
        row = param(name, kind, True, str(parameter.get("description") or ""))
        if mixed(row):
            raise LeftOutError(f"its path parameter {clean(wire, 60)} {MIXED}")
        collected.add(row)
        path += f"{{{name}}}"
    if not _can_send(path):
        raise LeftOutError("its path cannot be sent")
    collected.path = path


def _can_send(path: str) -> bool:
    has_gap = "//" in path or re.search(r"/\.\.?(/|$)", path)
    if has_gap or len(path) > 250 or not path.isascii():
        return False
    return bool(PATH.fullmatch(path))


def _path_type(operation: Operation, parameter: dict[str, Any], wire: str) -> Typed:
    """Return the type of a parameter of the path; what is no single value is a text.

    Raises:
        LeftOutError: A reference of its schema leads nowhere.
    """
    if not parameter:
        return Typed({"type": "str"})
    try:
        kind = typed(operation.document, _schema(operation, parameter))
    except UnresolvedError as error:
        raise LeftOutError(f"its path parameter {clean(wire, 60)}: {error}") from error
    if kind.type.startswith("list[") or kind.type in ("dict", "any"):
        kind.keys = {"type": "str"}
    kind.has_default = False
    return kind


def _schema(operation: Operation, parameter: dict[str, Any]) -> Any:
    """The schema of a parameter, which may stand in its one media type."""
    if isinstance(parameter.get("schema"), dict):
        return parameter["schema"]
    content = parameter.get("content")
    for media in content.values() if isinstance(content, dict) else ():
        return operation.document.resolve_if_possible(media).get("schema") or {}
    return {"type": "string"}


def _flat(
    operation: Operation, parameter: dict[str, Any], name: str
) -> list[tuple[str, dict[str, Any]]]:
    """A parameter under its wire name; an object of single values in the query as a parameter for each of them.

    `deepObject` sends `name[key]=value`, the usual style `key=value`.
    """
    style = parameter.get("style", "form")
    deep = style == "deepObject"
    if (
        parameter.get("in") != "query"
        or parameter.get("content")
        or style not in ("form", "deepObject")
    ):
        return [(name, parameter)]
    schema = merged(operation.document, _schema(operation, parameter))
    properties = properties_of(schema)
    if not properties or (not deep and parameter.get("explode") is False):
        return [(name, parameter)]
    needed = required_of(schema) if parameter.get("required") is True else set()
    flat = []
    for key, inner in properties.items():
        nested = typed(operation.document, inner).type in (
            "dict",
            "any",
            "list[dict]",
            "list[any]",
        )
        if nested and deep:
            return [(name, parameter)]
        part = {"in": "query", "schema": inner, "required": key in needed}
        flat.append((f"{name}[{key}]" if deep else key, part))
    return flat


def _set_style(operation: Operation, parameter: dict[str, Any], kind: Typed) -> None:
    """Keep how a list or an object is written into the query, where that is not the usual way."""
    style = str(parameter.get("style", "form"))
    if parameter.get("content"):
        if kind.type in ("dict", "list[dict]"):
            set_object_fields(
                operation.document, _merged_schema(operation, parameter), kind
            )
        kind.keys["style"] = "json"
    elif kind.type.startswith("list["):
        explode = parameter.get("explode", style == "form")
        if explode is False and style in ("form", "spaceDelimited", "pipeDelimited"):
            kind.keys["style"] = style
            kind.keys["explode"] = False
    elif style == "deepObject" and kind.type == "dict":
        set_object_fields(
            operation.document, _merged_schema(operation, parameter), kind
        )
        kind.keys["style"] = style


def _merged_schema(operation: Operation, parameter: dict[str, Any]) -> dict[str, Any]:
    return merged(operation.document, _schema(operation, parameter))


def _one(
    operation: Operation,
    parameter: dict[str, Any],
    place: str,
    name: str,
    collected: Inputs,
    *,
    paged: bool,
    gated: bool,
) -> None:
    """One parameter in the query, a header or a cookie."""
    required, label = parameter.get("required") is True, clean(name, 60)
    if place == "header" and name.lower() in REFUSED_HEADERS:
        return
    reason = _reason_not_sent(operation, parameter, place, name)
    if reason:
        collected.left_out.append(reason)
        return
    if place not in ("query", "header"):
        whole = f"it requires the {place} parameter {label}"
        collected.leave(required, whole, f"{place} parameter {label} (not sent)")
        return
    kind = typed(operation.document, _schema(operation, parameter))
    if place == "query":
        _set_style(operation, parameter, kind)
        if kind.type == "any" and not parameter.get("content"):
            kind.keys = {"type": "str"}
    if _is_object(parameter, kind, place, name):
        whole = f"it requires the {place} parameter {label}, which is an object"
        collected.leave(required, whole, f"{place} parameter {label} (an object)")
    elif place == "query" and not QUERY_NAME.fullmatch(name):
        whole = f"it requires the parameter {label}, whose name cannot be sent"
        collected.leave(required, whole, f"query parameter {label} (its name)")
    elif place == "query" and _is_in(collected.query, name):
        collected.left_out.append(f"query parameter {label} (it is there twice)")
    else:
        _add(operation, parameter, kind, place, name, collected, paged, gated)


def _is_in(query: list[str], name: str) -> bool:
    return any(pair.startswith(f"{name}=") for pair in query)


def _reason_not_sent(
    operation: Operation, parameter: dict[str, Any], place: str, name: str
) -> str:
    """Return why no tool has a parameter; empty where one has it."""
    required, label = parameter.get("required") is True, clean(name, 60)
    is_google = bool(operation.parameter("query", "prettyPrint"))
    if place == "query" and name in TRANSPORT and is_google:
        return f"query parameter {label} (of Google's transport)"
    if parameter.get("deprecated") is True and not required:
        return f"{place} parameter {label} (deprecated)"
    if place == "header" and name.lower() in TRACING and not required:
        return f"header {label} (of tracing)"
    if place == "cookie":
        return (
            f"cookie {label} (sent only where the API's key is set as cookie:{label})"
        )
    return ""


def _add(
    operation: Operation,
    parameter: dict[str, Any],
    kind: Typed,
    place: str,
    name: str,
    collected: Inputs,
    paged: bool,
    gated: bool,
) -> None:
    """Add a parameter under our name, in its place."""
    required, label = parameter.get("required") is True, clean(name, 60)
    row, wire = _made(parameter, kind, place, name, collected, paged=paged, gated=gated)
    if place == "header":
        row["in"] = "header"
    elif operation.method not in ("GET", "HEAD", "DELETE") or is_version(row["name"]):
        row["in"] = "query"
    if mixed(row):
        part = f"{place} parameter {label} ({MIXED})"
        collected.leave(required, f"its parameter {label} {MIXED}", part)
        return
    if not collected.add(row):
        part = f"{place} parameter {label} (its name is taken)"
        whole = f"two of its parameters are called {label}"
        collected.leave(required, whole, part)
        return
    if wire:
        row.pop("in", None)
        collected.query.append(f"{wire}={{{row['name']}}}")
    collected.left_out += [f"{label}: {text}" for text in kind.notes]


def _is_object(parameter: dict[str, Any], kind: Typed, place: str, name: str) -> bool:
    """Whether a parameter is more than a text or a list can say."""
    if place == "header":
        listed = kind.type.startswith("list[") or kind.type in ("dict", "any")
        return (
            listed
            or parameter.get("style") == "deepObject"
            or not WIRE_NAME.fullmatch(name)
        )
    free = kind.type in ("dict", "any", "list[dict]", "list[any]")
    return free and kind.keys.get("style") not in ("deepObject", "json")


def _made(
    parameter: dict[str, Any],
    kind: Typed,
    place: str,
    name: str,
    collected: Inputs,
    *,
    paged: bool,
    gated: bool,
) -> tuple[dict[str, Any], str]:
    """A parameter under our name, and its name in the query where that differs."""
    required = parameter.get("required") is True
    mine, wire = (
        _query_name(name, kind, paged, collected) if place == "query" else (name, "")
    )
    if mine == "confirm" and gated and kind.type != "bool":
        if place == "header":
            raise LeftOutError(
                "its header confirm has the name of the answer of who is asked"
            )
        mine, wire = "confirm_with", name
    about = str(parameter.get("description") or "")
    if place == "header" and name.lower() in KEYS:
        about = A_KEY
    row = param(mine, kind, required, about)
    if mixed(row) and place == "query" and not gated:  # what is read is filtered by it
        row["name"], wire = f"{mine}_filter", name
    if row["name"] == "cursor" and paged and not about:
        row["description"] = CURSOR
    return row, wire


def _query_name(
    name: str, kind: Typed, paged: bool, collected: Inputs
) -> tuple[str, str]:
    """Our name of a query parameter, and its wire name where that differs."""
    plain = name.lower().replace("-", "_").replace("[", "_").replace("]", "")
    wire = name
    # A page or an offset that is a number stays one: the caller counts, and no answer names the next.
    if (
        paged
        and plain in SIZES
        and kind.type in ("int", "any")
        and "limit" not in collected.plain
    ):
        return "limit", wire if name != "limit" else ""
    if (
        paged
        and plain in PAGES
        and "cursor" not in collected.plain
        and kind.type == "str"
    ):
        return "cursor", wire if name != "cursor" else ""
    if WIRE_NAME.fullmatch(name):
        return name, ""
    return snake(name) or f"p{len(collected.params)}", wire
