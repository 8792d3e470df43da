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
    found = Inputs()
    _path(operation, found, gated=gated)
    for one in operation.parameters:
        place, name = one.get("in"), one.get("name")
        if not isinstance(name, str) or not name:
            found.left_out.append("a parameter without a name")
            continue
        if place == "path":
            if found.wires.isdisjoint({name.lower()}):
                found.left_out.append(
                    f"path parameter {clean(name, 60)} (not in the path)"
                )
            continue
        try:
            for wire, part in _flat(operation, one, name):
                _one(operation, part, str(place), wire, found, paged=paged, gated=gated)
        except UnresolvedError as error:
            if one.get("required") is True:
                raise LeftOutError(
                    f"its parameter {clean(name, 60)}: {error}"
                ) from error
            found.left_out.append(f"{place} parameter {clean(name, 60)} ({error})")
    if operation.contents or operation.body:
        body(operation, found, gated=gated)
    return found


def _path(operation: Operation, found: Inputs, *, gated: bool) -> None:
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
        given = operation.parameter("path", wire)
        found.wires.add(wire.lower())
        if given.get("style") in ("label", "matrix"):
            raise LeftOutError(
                f"its path parameter {clean(wire, 60)} is in {given['style']} style"
            )
        name = snake(wire) or f"part_{number}"
        while name in found.plain or (name == "confirm" and gated):  # the gate's own
            name = f"{name}_{number}"
        try:
            one = (
                typed(operation.document, _schema(operation, given))
                if given
                else Typed({"type": "str"})
            )
        except UnresolvedError as error:
            raise LeftOutError(
                f"its path parameter {clean(wire, 60)}: {error}"
            ) from error
        if one.type.startswith("list[") or one.type in ("dict", "any"):
            one.keys = {"type": "str"}
        one.has_default = False
        made = param(name, one, True, str(given.get("description") or ""))
        if mixed(made):
            raise LeftOutError(f"its path parameter {clean(wire, 60)} {MIXED}")
        found.add(made)
        path += f"{{{name}}}"
    if (
        "//" in path
        or re.search(r"/\.\.?(/|$)", path)
        or len(path) > 250
        or not path.isascii()
    ):
        raise LeftOutError("its path cannot be sent")
    if not PATH.fullmatch(path):
        raise LeftOutError("its path cannot be sent")
    found.path = path


def _schema(operation: Operation, given: dict[str, Any]) -> Any:
    """The schema of a parameter, which may stand in its one media type."""
    if isinstance(given.get("schema"), dict):
        return given["schema"]
    content = given.get("content")
    for media in content.values() if isinstance(content, dict) else ():
        return operation.document.followed(media).get("schema") or {}
    return {"type": "string"}


def _flat(
    operation: Operation, given: dict[str, Any], name: str
) -> list[tuple[str, dict[str, Any]]]:
    """A parameter under its wire name; an object of single values in the query as a parameter for each of them.

    `deepObject` sends `name[key]=value`, the usual style `key=value`.
    """
    style = given.get("style", "form")
    deep = style == "deepObject"
    if (
        given.get("in") != "query"
        or given.get("content")
        or style not in ("form", "deepObject")
    ):
        return [(name, given)]
    schema = merged(operation.document, _schema(operation, given))
    properties = properties_of(schema)
    if not properties or (not deep and given.get("explode") is False):
        return [(name, given)]
    needed = required_of(schema) if given.get("required") is True else set()
    made = []
    for key, inner in properties.items():
        nested = typed(operation.document, inner).type in (
            "dict",
            "any",
            "list[dict]",
            "list[any]",
        )
        if nested and deep:
            return [(name, given)]
        part = {"in": "query", "schema": inner, "required": key in needed}
        made.append((f"{name}[{key}]" if deep else key, part))
    return made


def _set_style(operation: Operation, given: dict[str, Any], one: Typed) -> None:
    """Keep how a list or an object is written into the query, where that is not the usual way."""
    style = str(given.get("style", "form"))
    if given.get("content"):
        if one.type in ("dict", "list[dict]"):
            set_object_fields(operation.document, _merged_schema(operation, given), one)
        one.keys["style"] = "json"
    elif one.type.startswith("list["):
        explode = given.get("explode", style == "form")
        if explode is False and style in ("form", "spaceDelimited", "pipeDelimited"):
            one.keys["style"] = style
            one.keys["explode"] = False
    elif style == "deepObject" and one.type == "dict":
        set_object_fields(operation.document, _merged_schema(operation, given), one)
        one.keys["style"] = style


def _merged_schema(operation: Operation, given: dict[str, Any]) -> dict[str, Any]:
    return merged(operation.document, _schema(operation, given))


def _one(
    operation: Operation,
    given: dict[str, Any],
    place: str,
    name: str,
    found: Inputs,
    *,
    paged: bool,
    gated: bool,
) -> None:
    """One parameter in the query, a header or a cookie."""
    required, shown = given.get("required") is True, clean(name, 60)
    note = found.left_out.append
    if (
        place == "query"
        and name in TRANSPORT
        and operation.parameter("query", "prettyPrint")
    ):
        return note(f"query parameter {shown} (of Google's transport)")
    if given.get("deprecated") is True and not required:
        return note(f"{place} parameter {shown} (deprecated)")
    if place == "header" and name.lower() in REFUSED_HEADERS:
        return None
    if place == "header" and name.lower() in TRACING and not required:
        return note(f"header {shown} (of tracing)")
    if place == "cookie":
        return note(
            f"cookie {shown} (sent only where the API's key is set as cookie:{shown})"
        )
    if place not in ("query", "header"):
        whole = f"it requires the {place} parameter {shown}"
        return found.leave(required, whole, f"{place} parameter {shown} (not sent)")
    one = typed(operation.document, _schema(operation, given))
    if place == "query":
        _set_style(operation, given, one)
        if one.type == "any" and not given.get("content"):
            one.keys = {"type": "str"}
    if _is_object(given, one, place, name):
        whole = f"it requires the {place} parameter {shown}, which is an object"
        return found.leave(required, whole, f"{place} parameter {shown} (an object)")
    if place == "query" and not QUERY_NAME.fullmatch(name):
        whole = f"it requires the parameter {shown}, whose name cannot be sent"
        return found.leave(required, whole, f"query parameter {shown} (its name)")
    if place == "query" and any(pair.startswith(f"{name}=") for pair in found.query):
        return note(f"query parameter {shown} (it is there twice)")
    made, wire = _made(given, one, place, name, found, paged=paged, gated=gated)
    if place == "header":
        made["in"] = "header"
    elif operation.method not in ("GET", "HEAD", "DELETE") or is_version(made["name"]):
        made["in"] = "query"
    if mixed(made):
        part = f"{place} parameter {shown} ({MIXED})"
        return found.leave(required, f"its parameter {shown} {MIXED}", part)
    if not found.add(made):
        part = f"{place} parameter {shown} (its name is taken)"
        return found.leave(required, f"two of its parameters are called {shown}", part)
    if wire:
        made.pop("in", None)
        found.query.append(f"{wire}={{{made['name']}}}")
    found.left_out += [f"{shown}: {text}" for text in one.notes]
    return None


def _is_object(given: dict[str, Any], one: Typed, place: str, name: str) -> bool:
    """Whether a parameter is more than a text or a list can say."""
    if place == "header":
        listed = one.type.startswith("list[") or one.type in ("dict", "any")
        return (
            listed
            or given.get("style") == "deepObject"
            or not WIRE_NAME.fullmatch(name)
        )
    free = one.type in ("dict", "any", "list[dict]", "list[any]")
    return free and one.keys.get("style") not in ("deepObject", "json")


def _made(
    given: dict[str, Any],
    one: Typed,
    place: str,
    name: str,
    found: Inputs,
    *,
    paged: bool,
    gated: bool,
) -> tuple[dict[str, Any], str]:
    """A parameter under our name, and its name in the query where that differs."""
    required = given.get("required") is True
    mine, wire = (
        _query_name(name, one, paged, found) if place == "query" else (name, "")
    )
    if mine == "confirm" and gated and one.type != "bool":
        if place == "header":
            raise LeftOutError(
                "its header confirm has the name of the answer of who is asked"
            )
        mine, wire = "confirm_with", name
    about = str(given.get("description") or "")
    if place == "header" and name.lower() in KEYS:
        about = A_KEY
    made = param(mine, one, required, about)
    if mixed(made) and place == "query" and not gated:  # what is read is filtered by it
        made["name"], wire = f"{mine}_filter", name
    if made["name"] == "cursor" and paged and not about:
        made["description"] = CURSOR
    return made, wire


def _query_name(name: str, one: Typed, paged: bool, found: Inputs) -> tuple[str, str]:
    """Our name of a query parameter, and its wire name where that differs."""
    plain = name.lower().replace("-", "_").replace("[", "_").replace("]", "")
    wire = name
    # A page or an offset that is a number stays one: the caller counts, and no answer names the next.
    if (
        paged
        and plain in SIZES
        and one.type in ("int", "any")
        and "limit" not in found.plain
    ):
        return "limit", wire if name != "limit" else ""
    if paged and plain in PAGES and "cursor" not in found.plain and one.type == "str":
        return "cursor", wire if name != "cursor" else ""
    if WIRE_NAME.fullmatch(name):
        return name, ""
    return snake(name) or f"p{len(found.params)}", wire
