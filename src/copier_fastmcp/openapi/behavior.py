"""What an operation does, with what says so: an extension, its method, two signals, or a person.

The worst mistake is a `read` that changes something, since clients run reads without asking. So a
method that may write is believed to read only when two signals agree, and a method that reads is
doubted when anything speaks against it. What stays in doubt is `asked`: a person decides, and
without one it is an `action`, which counts as destructive. Sources: RFC 9110 9.2, RFC 5789, RFC 10008.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..tables import load_tables
from . import writing
from .derived import SAFE, Derived
from .evidence import ANYTHING, find_second_action
from .extensions import declared
from .imperatives import find_writing_input
from .operations import Operation, words
from .verbs import ALL_VERBS, DOING, DOUBLE, MOVING, OBJECTS, READ, base


def derive(operation: Operation) -> Derived:
    """The behavior of an operation, by its extensions, else by its method and words."""
    found = _safe(operation) if operation.method in SAFE else writing.of(operation)
    said = declared(operation, found)
    found = said or found
    if operation.extensions.get("x-openai-isConsequential") is True:
        found = replace(found, confirm=True)
    return found


def _safe(operation: Operation) -> Derived:
    """A method that reads by its definition, unless something speaks against it."""
    doubts = list(_doubts(operation))
    if doubts:
        reason = f"{operation.method}, but {'; '.join(doubts)}"
        writes = find_writing_input(operation)
        family = f"{operation.method}: {writes}" if doubts == [writes] else ""
        return Derived("action", "asked", reason, asked=True, family=family)
    law = "RFC 10008" if operation.method == "QUERY" else "RFC 9110 9.2.1"
    return Derived("read", "method", f"{operation.method} changes nothing ({law})")


def _doubts(operation: Operation) -> list[str]:
    found: list[str] = []
    verb = base(operation.id_words[0]) if operation.id_words else ""
    said = operation.said("summary") or operation.said("description")
    spoken = base(said[0]) if said else ""
    reads = verb in READ or (verb not in ALL_VERBS and spoken in READ)
    # Many generators write `get` before each GET, so that it says no more than the method.
    told = verb != "get" or spoken in READ or {*said[:1]} & {"return", "returns"}
    if verb in DOING and verb not in READ:
        found.append(f"its operationId says {verb!r}")
    elif not reads and (doing := [one for one in operation.id_words if one in DOING]):
        found.append(f"its operationId says {doing[0]!r}")
    tail = words(operation.tail)
    sure = reads and (told or len(tail) > 1)
    if tail and tail[0] in DOING and not operation.ends_in_parameter and not sure:
        found.append(f"its path ends in {operation.tail!r}")
    if (spoken in DOING and spoken not in READ) or (
        spoken in DOUBLE and {*said[1:2]} & OBJECTS
    ):
        found.append(f"its summary says {spoken!r}")
    elif (
        spoken not in READ
        and len(operation.id_words) > 1
        and operation.id_words[0] in MOVING
    ):
        found.append(f"its operationId says {verb!r}")
    if said[:1] and said[0] in ("allows", "enables", "lets") and "to" in said:
        allowed = base(said[said.index("to") + 1 :][0]) if said[-1] != "to" else ""
        if allowed in DOING | DOUBLE | {"request"}:
            found.append(f"it lets somebody {allowed}")
    endpoint = operation.said("description")
    if endpoint[:2] in (
        ["this", "endpoint"],
        ["this", "method"],
        ["this", "operation"],
    ):
        does = base(endpoint[2]) if len(endpoint) > 2 else ""
        if does in DOING and does not in READ:
            found.append(f"its description says {does!r}")
    elif endpoint and spoken not in READ and endpoint != said:
        does = base(
            endpoint[0]
        )  # "Handle the callback", then "Exchanges the code for tokens"
        if does in DOING and does != endpoint[0]:
            found.append(f"its description says {does!r}")
    if tail[:1] == ["callback"] and spoken not in READ:
        found.append("its path ends in 'callback', where a browser is sent to")
    if verb == spoken == "connect":
        found.append("it connects to something else")
    if more := find_second_action(operation):
        found.append(f"it also says {more!r}")
    write = re.compile(load_tables()["write_scope"])
    ways = [way for way in operation.scopes if way]
    if ways and all(any(write.search(scope) for scope in way) for way in ways):
        scope = next(scope for scope in ways[0] if write.search(scope))
        found.append(f"it asks for the scope {scope!r}")
    if "202" in operation.statuses and not {"200", "206"} & set(operation.statuses):
        found.append("it answers 202")
    if operation.raw.get("callbacks"):
        found.append("it has callbacks")
    if writes := find_writing_input(operation):
        found.append(writes)
    for one in operation.parameters:
        if one.get("in") == "query" and str(one.get("name")).lower() in ANYTHING:
            found.append(f"its parameter {one.get('name')!r} may do anything")
        choices = _choices(operation, one)
        if (
            one.get("in") == "query"
            and not reads
            and any(set(words(each)) & DOING for each in choices)
        ) and str(one.get("name")).lower() in load_tables()["action_parameters"]:
            found.append(f"its parameter {one.get('name')!r} chooses what it does")
    return list(dict.fromkeys(found))


def _choices(operation: Operation, parameter: Mapping[str, Any]) -> list[str]:
    schema = operation.document.followed(parameter.get("schema") or {})
    listed = schema.get("enum")
    return [str(one) for one in listed] if isinstance(listed, list) else []
