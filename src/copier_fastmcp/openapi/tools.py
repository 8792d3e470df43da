"""An operation as a tool of the answers, within a budget of bytes."""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from copier_fastmcp_engine.testing.rules import find_contradiction

from ..tables import load_tables
from .behavior import derive
from .derived import Derived, shorten_reason
from .extensions import is_switched_off
from .inputs import Inputs, LeftOutError
from .naming import Names, title_of
from .operations import Operation
from .parameters import inputs
from .results import ALWAYS, Answer, answer
from .server import place
from .sizes import model_bytes
from .texts import clean, sentence, sentences

BUDGET = 3000
MOST_TIMES = 4  # so many budgets may a tool have before an input is left out
LONGEST_SHORT = 70
LONGEST_CHOICE = 36
SENT = ("GET", "HEAD", "QUERY", "POST", "PUT", "PATCH", "DELETE")


@dataclass
class Imported:
    """An operation, what it came to, and what of it was left out; `tool` is None where all of it was."""

    operation: Operation
    derived: Derived
    tool: dict[str, Any] | None
    left_out: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    bytes: int = 0

    def row(self) -> dict[str, Any]:
        """Its report, for programs."""
        return {
            "operation": self.operation.name,
            "operation_id": self.operation.operation_id or None,
            "tool": self.tool["name"] if self.tool else None,
            "behavior": None if self.operation.broken else self.derived.behavior,
            "source": str(self.derived),
            "asked": self.derived.asked,
            "left_out": self.left_out,
        }


def collect_tools(rows: Iterable[Imported]) -> list[dict[str, Any]]:
    """Return the tools of the operations that became one."""
    return [row.tool for row in rows if row.tool]


def count_bytes(rows: Iterable[Imported]) -> int:
    """Return the size of all tools together in tools/list."""
    return sum(row.bytes for row in rows if row.tool)


def group_by_family(rows: Iterable[Imported]) -> list[list[Imported]]:
    """Operations that one question settles together, in their order; one without a family is alone."""
    groups: dict[str, list[Imported]] = {}
    for row in rows:
        name = row.derived.family or row.operation.key
        groups.setdefault(name, []).append(row)
    return [*groups.values()]


@dataclass
class Options:
    """How operations become tools."""

    budget: int = BUDGET
    scopes: bool = False
    request_model: bool = False
    behaviors: dict[str, str] = field(default_factory=dict)
    # The names of operations that have one already
    names: dict[str, str] = field(default_factory=dict)


def imported(operation: Operation, names: Names, options: Options) -> Imported:
    """One operation as a tool, or the reason why it is none."""
    derived = derive(operation)
    chosen = options.behaviors.get(operation.key)
    if chosen:
        derived = Derived(
            chosen,
            "your choice",
            f"instead of {derived}"[:200],
            confirm=derived.confirm,
        )
    try:
        return _tool(operation, derived, names, options)
    except LeftOutError as error:
        return Imported(operation, derived, None, [str(error)])


def _tool(
    operation: Operation, derived: Derived, names: Names, options: Options
) -> Imported:
    _require_usable(operation, derived)
    above = place(operation)
    result = Answer() if operation.method == "HEAD" else answer(operation)
    gated = derived.confirm or derived.behavior != "read"
    collected = inputs(operation, paged=result.paged, gated=gated)
    if operation.method == "PATCH" and not _sends(collected):
        about = "The fields to change, as the API has them."
        collected.add(
            {"name": "changes", "type": "dict", "whole": True, "description": about}
        )
    name = names.give(operation, derived)
    tool: dict[str, Any] = {"name": name, "behavior": derived.behavior}
    tool["http"] = (
        f"{operation.method} {above}{collected.path}{'?' if collected.query else ''}{'&'.join(collected.query)}"
        f"{' ' if collected.type else ''}{collected.type}"
    )
    if len(tool["http"]) > 290:
        raise LeftOutError("its path is too long")
    if collected.request != "json":
        tool["request"] = collected.request
    tool["title"] = _title(operation, name, derived)
    tool["description"] = _description(operation, name, derived)
    if collected.params or derived.behavior != "read":
        tool["params"] = collected.params
    else:
        tool["params"] = []
    if options.request_model and len(collected.params) > 4:
        tool["request_model"] = True
    _add_hints(tool, derived)
    if options.scopes and (scopes := _scopes(operation, derived)):
        tool["scopes"] = scopes
    tool["why"] = _why(operation, derived)
    _add_nulls(tool, collected)
    _describe_open_objects(tool["params"])
    row = Imported(
        operation,
        derived,
        tool,
        [*collected.left_out, *result.left_out],
        collected.findings,
    )
    _fit(row, result, options.budget)
    return row


def _require_usable(operation: Operation, derived: Derived) -> None:
    """Check that an operation can be a tool at all.

    Raises:
        LeftOutError: It cannot; the text says why.
    """
    if operation.broken:
        raise LeftOutError(operation.broken)
    if operation.raw.get("deprecated") is True:
        raise LeftOutError("it is deprecated")
    if is_switched_off(operation):
        raise LeftOutError("the document says that it is not a tool")
    if operation.method not in SENT:
        raise LeftOutError(f"{clean(operation.method, 20)} requests are not sent")
    if derived.behavior == "read" and operation.method in ("PUT", "PATCH", "DELETE"):
        raise LeftOutError(f"a {operation.method} that reads has no form")


def _add_hints(tool: dict[str, Any], derived: Derived) -> None:
    """Add what differs from the hints of the behavior."""
    if derived.behavior == "action" and derived.destructive is not None:
        tool["destructive"] = derived.destructive
    if derived.behavior == "action" and derived.idempotent is not None:
        tool["idempotent"] = derived.idempotent
    if derived.behavior == "put" and derived.destructive is False:
        reason = "It adds an association, and nothing is lost."
        tool["exceptions"] = [{"hint": "destructive", "value": False, "why": reason}]
    if derived.confirm:
        tool["confirm"] = True


def _add_nulls(tool: dict[str, Any], collected: Inputs) -> None:
    """Add the parameter that names fields to set to null, where there are any."""
    fields = [name for name in collected.nulls if len(name) <= LONGEST_CHOICE]
    if not fields:
        return
    name = "clear"
    for candidate in ("set_null", "clear_fields", "clear"):
        if candidate not in collected.plain:
            name = candidate
    about = "Fields to set to null."
    param = {"name": name, "in": "nulls", "choices": fields, "description": about}
    tool["params"] += [param]


def _describe_open_objects(params: list[dict[str, Any]]) -> None:
    """Say of inputs that they take any fields, where a tool takes nothing else."""
    if not all(param.get("type") in ("dict", "list[dict]") for param in params):
        return
    if any("Fields:" in param["description"] for param in params):
        return
    for param in params:
        param["description"] = clean(f"{param['description']} Any fields.", 300)


def _sends(collected: Inputs) -> bool:
    """Whether anything of what it takes goes into a body."""
    placed = f"{collected.path}?{'&'.join(collected.query)}"
    return any(_in_body(param, placed) for param in collected.params)


def _contradicts(text: str, name: str, reads: bool) -> bool:
    """Whether a text begins with the contrary of what its tool does."""
    return bool(find_contradiction(text, name, load_tables(), reads=reads))


def _title(operation: Operation, name: str, derived: Derived) -> str:
    summary = (
        clean(operation.text("summary"), 300).rstrip(".")
        if not operation.chosen[0]
        else ""
    )
    if not summary or len(summary) > 70 or summary == name or len(summary) < 3:
        return title_of(name)
    return (
        title_of(name)
        if _contradicts(summary, name, derived.behavior == "read")
        else summary
    )


def _description(operation: Operation, name: str, derived: Derived) -> str:
    summary = sentence(sentences(operation.text("summary"), 200))
    description = sentence(sentences(operation.text("description"), 300))
    plain_summary = summary.rstrip(".").lower()
    if operation.chosen[0]:
        return clean(f"{title_of(name)}. {summary or description}", 420)
    parts = (
        [summary]
        if not description or plain_summary not in (title_of(name).lower(), "")
        else []
    )
    if description and plain_summary:
        shared = set(plain_summary.split()) & set(
            description.lower().rstrip(".").split()
        )
        parts = [] if len(shared) * 3 >= len(plain_summary.split()) * 2 else parts
    text = clean(" ".join([*parts, description]), 420) or f"{title_of(name)}."
    if _contradicts(text, name, derived.behavior == "read"):
        text = clean(f"A {operation.method} request. {text}", 420)
    return text


def _why(operation: Operation, derived: Derived) -> str:
    reason, voices = shorten_reason(derived.reason)
    if operation.method not in reason:
        reason = f"{operation.method}: {reason}"
    source = "three signals" if voices > 2 else derived.source
    return clean(f"{reason[:1].upper()}{reason[1:]} ({source}).", 400)


def _scopes(operation: Operation, derived: Derived) -> list[str]:
    """The scopes of the first way to be let in, where the tool language takes them."""
    required = next(filter(None, operation.scopes), [])
    write = re.compile(load_tables()["write_scope"])
    is_read = derived.behavior == "read"
    scopes = []
    for scope in dict.fromkeys(required):
        if not re.fullmatch(r"[!#-\[\]-~]{1,200}", scope):
            continue
        if not is_read or not write.search(scope):
            scopes.append(scope)
    return scopes


def _forget(params: list[dict[str, Any]], names: Collection[str]) -> None:
    """Let no caller set a field to null that was left out."""
    for param in list(params):
        if param.get("in") != "nulls":
            continue
        choices = param["choices"]
        param["choices"] = [choice for choice in choices if choice not in names]
        if not param["choices"]:
            params.remove(param)


def _weight(entry: dict[str, Any], name: str = "") -> int:
    """Roughly the bytes of a parameter, or of a field of the result with its name."""
    around = 70 + 2 * len(name) if name else 40
    return around + len(json.dumps(entry, ensure_ascii=False).encode())


def _size(tool: dict[str, Any], fields: list[tuple[str, dict[str, Any]]]) -> int:
    """Roughly the bytes of a tool in tools/list: its texts, and what schemas and hints put around them."""
    texts = len(tool["title"].encode()) * 2 + len(tool["description"].encode())
    inner = sum(map(_weight, tool["params"]))
    for name, entry in fields:
        inner += _weight(entry, name)
    return 550 + texts + inner


def _fit(row: Imported, result: Answer, budget: int) -> None:
    """Make a tool smaller until it keeps its budget, without a loss for callers as long as that is possible.

    First go descriptions of results, which arrive all the same; then objects with fields become any
    object, and descriptions become short. An input is left out only where a tool is many times too
    large, and is listed.
    """
    tool = row.tool
    assert tool is not None
    fields = list(result.fields)
    _cut_fields(tool, fields, ALWAYS, budget)
    size = _size(tool, fields)
    for step in (_simplify_object, _shorten_description):
        for param in reversed(tool["params"]):
            if size > budget:
                size -= _weight(param)
                step(param)
                size += _weight(param)
    _leave_out_inputs(row, fields, budget * MOST_TIMES)
    _cut_fields(tool, fields, 1, 1.5 * budget)
    result.fields = fields
    returns = result.returns()
    if returns is not None:
        tool["returns"] = returns
    row.bytes = model_bytes(tool)


def _cut_fields(
    tool: dict[str, Any],
    fields: list[tuple[str, dict[str, Any]]],
    least: int,
    most: float,
) -> None:
    """Describe fewer fields of a result, the least important first."""
    size = _size(tool, fields)
    while len(fields) > least and size > most:
        name, entry = fields.pop()
        size -= _weight(entry, name)


def _simplify_object(param: dict[str, Any]) -> None:
    """Describe an object with fields by their names alone."""
    if fields := param.pop("fields", None):
        param["type"] = param["type"].replace("object", "dict")
        names = ", ".join(field["name"] for field in fields)
        param["description"] = clean(
            f"{param['description']} Fields: {names}.", 2 * LONGEST_SHORT
        )


def _shorten_description(param: dict[str, Any]) -> None:
    param["description"] = clean(param["description"], LONGEST_SHORT)


def _leave_out_inputs(
    row: Imported, fields: list[tuple[str, dict[str, Any]]], most: float
) -> None:
    """Leave out optional inputs, objects first, until a tool keeps a size; each is listed."""
    tool = row.tool
    assert tool is not None
    size = _size(tool, fields)
    names = set[str]()
    optional = list(filter(_is_optional, tool["params"]))
    optional.sort(
        key=lambda param: (
            param.get("type") in ("dict", "list[dict]", "any", "list[any]")
        )
    )
    changes = sum(_in_body(param, tool["http"]) for param in tool["params"])
    while optional and size > most:
        param = optional.pop()
        name, sent = param["name"], _in_body(param, tool["http"])
        if tool["http"].startswith("PATCH") and sent and changes == 1:
            continue  # a PATCH has something to change
        if (
            name in ("limit", "cursor", row.operation.chosen[0])
            or f"{{{name}}}" in tool["http"]
        ):
            continue
        names.add(name)
        changes -= sent
        size -= _weight(param)
        row.left_out.append(f"{name} (budget)")
    tool["params"] = [param for param in tool["params"] if param["name"] not in names]
    _forget(tool["params"], names)


def _is_optional(param: dict[str, Any]) -> bool:
    return "default" in param or param.get("required") is False


def _in_body(param: dict[str, Any], http: str) -> bool:
    """Whether a parameter goes into the body."""
    return param.get("in", "body") == "body" and f"{{{param['name']}}}" not in http
