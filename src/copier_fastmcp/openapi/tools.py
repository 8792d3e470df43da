"""An operation as a tool of the answers, within a budget of bytes."""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

from copier_fastmcp_engine.testing.rules import find_contradiction

from ..tables import load_tables
from .behavior import derive
from .derived import Derived, shortly
from .extensions import switched_off
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
        """What a program is told of it."""
        return {
            "operation": self.operation.name,
            "operation_id": self.operation.operation_id or None,
            "tool": self.tool["name"] if self.tool else None,
            "behavior": None if self.operation.broken else self.derived.behavior,
            "source": str(self.derived),
            "asked": self.derived.asked,
            "left_out": self.left_out,
        }


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
    names: dict[str, str] = field(
        default_factory=dict
    )  # of operations that have one already


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
    if operation.broken:
        raise LeftOutError(operation.broken)
    if operation.raw.get("deprecated") is True:
        raise LeftOutError("it is deprecated")
    if switched_off(operation):
        raise LeftOutError("the document says that it is not a tool")
    if operation.method not in SENT:
        raise LeftOutError(f"{clean(operation.method, 20)} requests are not sent")
    if derived.behavior == "read" and operation.method in ("PUT", "PATCH", "DELETE"):
        raise LeftOutError(f"a {operation.method} that reads has no form")
    above = place(operation)
    result = Answer() if operation.method == "HEAD" else answer(operation)
    gated = derived.confirm or derived.behavior != "read"
    given = inputs(operation, paged=result.paged, gated=gated)
    if operation.method == "PATCH" and not _sends(given):
        about = "The fields to change, as the API has them."
        given.add(
            {"name": "changes", "type": "dict", "whole": True, "description": about}
        )
    name = names.give(operation, derived)
    made: dict[str, Any] = {"name": name, "behavior": derived.behavior}
    made["http"] = (
        f"{operation.method} {above}{given.path}{'?' if given.query else ''}{'&'.join(given.query)}"
        f"{' ' if given.type else ''}{given.type}"
    )
    if len(made["http"]) > 290:
        raise LeftOutError("its path is too long")
    if given.request != "json":
        made["request"] = given.request
    made["title"] = _title(operation, name, derived)
    made["description"] = _description(operation, name, derived)
    if given.params or derived.behavior != "read":
        made["params"] = given.params
    else:
        made["params"] = []
    if options.request_model and len(given.params) > 4:
        made["request_model"] = True
    if derived.destructive is not None and derived.behavior == "action":
        made["destructive"] = derived.destructive
    if derived.idempotent is not None and derived.behavior == "action":
        made["idempotent"] = derived.idempotent
    if derived.destructive is False and derived.behavior == "put":
        why = "It adds an association, and nothing is lost."
        made["exceptions"] = [{"hint": "destructive", "value": False, "why": why}]
    if derived.confirm:
        made["confirm"] = True
    if options.scopes and (scopes := _scopes(operation, derived)):
        made["scopes"] = scopes
    made["why"] = _why(operation, derived)
    if fields := [name for name in given.nulls if len(name) <= LONGEST_CHOICE]:
        name = next(
            one
            for one in ("clear", "clear_fields", "set_null")
            if one not in given.plain
        )
        about = "Fields to set to null."
        made["params"] += [
            {"name": name, "in": "nulls", "choices": fields, "description": about}
        ]
    found = Imported(
        operation, derived, made, [*given.left_out, *result.left_out], given.findings
    )
    _fit(found, result, options.budget)
    return found


def _sends(given: Inputs) -> bool:
    """Whether anything of what it takes goes into a body."""
    placed = f"{given.path}?{'&'.join(given.query)}"
    return any(_in_body(one, placed) for one in given.params)


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
    more = sentence(sentences(operation.text("description"), 300))
    said = summary.rstrip(".").lower()
    if operation.chosen[0]:
        return clean(f"{title_of(name)}. {summary or more}", 420)
    parts = [summary] if not more or said not in (title_of(name).lower(), "") else []
    if more and said:
        shared = set(said.split()) & set(more.lower().rstrip(".").split())
        parts = [] if len(shared) * 3 >= len(said.split()) * 2 else parts
    text = clean(" ".join([*parts, more]), 420) or f"{title_of(name)}."
    if _contradicts(text, name, derived.behavior == "read"):
        text = clean(f"A {operation.method} request. {text}", 420)
    return text


def _why(operation: Operation, derived: Derived) -> str:
    reason, voices = shortly(derived.reason)
    if operation.method not in reason:
        reason = f"{operation.method}: {reason}"
    source = "three signals" if voices > 2 else derived.source
    return clean(f"{reason[:1].upper()}{reason[1:]} ({source}).", 400)


def _scopes(operation: Operation, derived: Derived) -> list[str]:
    """The scopes of the first way to be let in, where the tool language takes them."""
    ways = [way for way in operation.scopes if way]
    found = [
        one
        for one in (ways[0] if ways else [])
        if re.fullmatch(r"[!#-\[\]-~]{1,200}", one)
    ]
    write = re.compile(load_tables()["write_scope"])
    reads = derived.behavior == "read"
    return [one for one in dict.fromkeys(found) if not (reads and write.search(one))]


def _forget(params: list[dict[str, Any]], gone: Collection[str]) -> None:
    """Let no caller set a field to null that was left out."""
    for one in [one for one in params if one.get("in") == "nulls"]:
        one["choices"] = [choice for choice in one["choices"] if choice not in gone]
        if not one["choices"]:
            params.remove(one)


def _weight(one: dict[str, Any], name: str = "") -> int:
    """Roughly the bytes of a parameter, or of a field of the result with its name."""
    around = 70 + 2 * len(name) if name else 40
    return around + len(json.dumps(one, ensure_ascii=False).encode())


def _size(made: dict[str, Any], fields: list[tuple[str, dict[str, Any]]]) -> int:
    """Roughly the bytes of a tool in tools/list: its texts, and what schemas and hints put around them."""
    texts = len(made["title"].encode()) * 2 + len(made["description"].encode())
    inner = sum(map(_weight, made["params"])) + sum(
        _weight(one, name) for name, one in fields
    )
    return 550 + texts + inner


def _fit(found: Imported, result: Answer, budget: int) -> None:
    """Make a tool smaller until it keeps its budget, without a loss for callers as long as that is possible.

    First go descriptions of results, which arrive all the same; then objects with fields become any
    object, and descriptions become short. An input is left out only where a tool is many times too
    large, and is listed.
    """
    made = found.tool
    assert made is not None
    fields = list(result.fields)
    _cut_fields(made, fields, ALWAYS, budget)
    size = _size(made, fields)
    for step in (_simplify_object, _shorten_description):
        for param in reversed(made["params"]):
            if size > budget:
                size -= _weight(param)
                step(param)
                size += _weight(param)
    _leave_out_inputs(found, fields, budget * MOST_TIMES)
    _cut_fields(made, fields, 1, 1.5 * budget)
    result.fields = fields
    returns = result.returns()
    if returns is not None:
        made["returns"] = returns
    found.bytes = model_bytes(made)


def _cut_fields(
    made: dict[str, Any],
    fields: list[tuple[str, dict[str, Any]]],
    least: int,
    most: float,
) -> None:
    """Describe fewer fields of a result, the least important first."""
    size = _size(made, fields)
    while len(fields) > least and size > most:
        name, one = fields.pop()
        size -= _weight(one, name)


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
    found: Imported, fields: list[tuple[str, dict[str, Any]]], most: float
) -> None:
    """Leave out optional inputs, objects first, until a tool keeps a size; each is listed."""
    made = found.tool
    assert made is not None
    size = _size(made, fields)
    gone = set[str]()
    optional = [
        one
        for one in made["params"]
        if "default" in one or one.get("required") is False
    ]
    optional.sort(
        key=lambda one: one.get("type") in ("dict", "list[dict]", "any", "list[any]")
    )
    changes = sum(_in_body(one, made["http"]) for one in made["params"])
    while optional and size > most:
        one = optional.pop()
        name, sent = one["name"], _in_body(one, made["http"])
        if made["http"].startswith("PATCH") and sent and changes == 1:
            continue  # a PATCH has something to change
        if (
            name in ("limit", "cursor", found.operation.chosen[0])
            or f"{{{name}}}" in made["http"]
        ):
            continue
        gone.add(name)
        changes -= sent
        size -= _weight(one)
        found.left_out.append(f"{name} (budget)")
    made["params"] = [one for one in made["params"] if one["name"] not in gone]
    _forget(made["params"], gone)


def _in_body(one: dict[str, Any], http: str) -> bool:
    """Whether a parameter goes into the body."""
    return one.get("in", "body") == "body" and f"{{{one['name']}}}" not in http
