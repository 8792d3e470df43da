"""What an operation does, with what says so: an extension, its method, two signals, or a person.

The worst mistake is a `read` that changes something, since clients run reads without asking. So a
method that may write is believed to read only when two signals agree, and a method that reads is
doubted when anything speaks against it. What stays in doubt is `asked`: a person decides, and
without one it is an `action`, which counts as destructive. Sources: RFC 9110 9.2, RFC 5789, RFC 10008.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..tables import load_tables
from . import writing
from .derived import SAFE, Derived
from .evidence import ANYTHING, find_second_action
from .extensions import declared
from .imperatives import find_writing_input
from .operations import Operation, split_words, words
from .steps import find_side_effect, find_step
from .verbs import ALL_VERBS, DOING, DOUBLE, MOVING, OBJECTS, READ, base

# How a description begins that is about the endpoint: its verb follows.
ENDPOINTS = (["this", "endpoint"], ["this", "method"], ["this", "operation"])


def derive(operation: Operation) -> Derived:
    """The behavior of an operation, by its extensions, else by its method and words."""
    derived = _safe(operation) if operation.method in SAFE else writing.of(operation)
    declaration = declared(operation, derived)
    derived = declaration or derived
    if operation.extensions.get("x-openai-isConsequential") is True:
        derived = replace(derived, confirm=True)
    return derived


def _safe(operation: Operation) -> Derived:
    """A method that reads by its definition, unless something speaks against it."""
    doubts = list(_find_doubts(operation))
    if doubts:
        reason = f"{operation.method}, but {'; '.join(doubts)}"
        input_doubt = find_writing_input(operation)
        family = f"{operation.method}: {input_doubt}" if doubts == [input_doubt] else ""
        return Derived("action", "asked", reason, asked=True, family=family)
    law = "RFC 10008" if operation.method == "QUERY" else "RFC 9110 9.2.1"
    return Derived("read", "method", f"{operation.method} changes nothing ({law})")


class _Words:
    """The verbs of an operation whose method reads, and whether its texts surely say that it reads."""

    def __init__(self, operation: Operation) -> None:
        """Take them from the operationId, the summary and the description."""
        self.operation = operation
        self.verb = base(operation.id_words[0]) if operation.id_words else ""
        self.sentence = operation.split_sentence("summary") or operation.split_sentence(
            "description"
        )
        self.spoken = base(self.sentence[0]) if self.sentence else ""
        self.reads = self.verb in READ or (
            self.verb not in ALL_VERBS and self.spoken in READ
        )
        # Many generators write `get` before each GET, so that it says no more than the method.
        says_read = self.spoken in READ or bool(
            {*self.sentence[:1]} & {"return", "returns"}
        )
        self.is_stated = self.verb != "get" or says_read


def _find_doubts(operation: Operation) -> list[str]:
    """Return everything that speaks against a read, in the order of the report."""
    verbs = _Words(operation)
    doubts = [
        *_find_name_doubts(verbs),
        *_find_summary_doubts(verbs),
        *_find_description_doubts(verbs),
        *_find_step_doubts(verbs),
    ]
    for find in (find_step, find_side_effect):
        if not doubts and (doubt := find(operation)):
            doubts.append(doubt)
    doubts += _find_response_doubts(operation)
    doubts += _find_input_doubts(operation, reads=verbs.reads)
    return list(dict.fromkeys(doubts))


def _find_name_doubts(verbs: _Words) -> Iterator[str]:
    """Doubts from the operationId and the end of the path."""
    operation = verbs.operation
    if verbs.verb in DOING and verbs.verb not in READ:
        yield f"its operationId says {verbs.verb!r}"
    elif not verbs.reads:
        doing = [word for word in operation.id_words if word in DOING]
        if doing:
            yield f"its operationId says {doing[0]!r}"
    tail = words(operation.tail)
    is_sure = verbs.reads and (verbs.is_stated or len(tail) > 1)
    if tail and tail[0] in DOING and not operation.ends_in_parameter and not is_sure:
        yield f"its path ends in {operation.tail!r}"


def _find_summary_doubts(verbs: _Words) -> Iterator[str]:
    """Doubts from the first sentence."""
    operation, summary, spoken = verbs.operation, verbs.sentence, verbs.spoken
    is_double = spoken in DOUBLE and bool({*summary[1:2]} & OBJECTS)
    if (spoken in DOING and spoken not in READ) or is_double:
        yield f"its summary says {spoken!r}"
    elif (
        spoken not in READ
        and len(operation.id_words) > 1
        and operation.id_words[0] in MOVING
    ):
        yield f"its operationId says {verbs.verb!r}"
    if summary[:1] and summary[0] in ("allows", "enables", "lets") and "to" in summary:
        allowed = (
            base(summary[summary.index("to") + 1 :][0]) if summary[-1] != "to" else ""
        )
        if allowed in DOING | DOUBLE | {"request"}:
            yield f"it lets somebody {allowed}"


def _find_description_doubts(verbs: _Words) -> Iterator[str]:
    """Doubts from the verb with which a description begins."""
    described = verbs.operation.split_sentence("description")
    if described[:2] in ENDPOINTS:
        verb = base(described[2]) if len(described) > 2 else ""
        if verb in DOING and verb not in READ:
            yield f"its description says {verb!r}"
    elif described and verbs.spoken not in READ and described != verbs.sentence:
        # "Handle the callback", then "Exchanges the code for tokens".
        verb = base(described[0])
        if verb in DOING and verb != described[0]:
            yield f"its description says {verb!r}"


def _find_step_doubts(verbs: _Words) -> Iterator[str]:
    """Doubts from a callback, a connection, and what is done in addition to reading."""
    tail = words(verbs.operation.tail)
    if tail[:1] == ["callback"] and verbs.spoken not in READ:
        yield "its path ends in 'callback', where a browser is sent to"
    if verbs.verb == verbs.spoken == "connect":
        yield "it connects to something else"
    if second := find_second_action(verbs.operation):
        yield f"it also says {second!r}"


def _find_response_doubts(operation: Operation) -> Iterator[str]:
    """Doubts from scopes, statuses and callbacks."""
    if scope := _find_write_scope(operation):
        yield f"it asks for the scope {scope!r}"
    if "202" in operation.statuses and not {"200", "206"} & set(operation.statuses):
        yield "it answers 202"
    if operation.raw.get("callbacks"):
        yield "it has callbacks"


def _find_write_scope(operation: Operation) -> str:
    """Return a scope for writing where every set of required scopes has one; else nothing."""
    write = re.compile(load_tables()["write_scope"])
    write_scopes = []
    for scopes in filter(None, operation.scopes):
        write_scope = next(filter(write.search, scopes), "")
        if not write_scope:
            return ""
        write_scopes.append(write_scope)
    return write_scopes[0] if write_scopes else ""


def _find_input_doubts(operation: Operation, *, reads: bool) -> Iterator[str]:
    """Doubts from parameters that change something, or choose what is done."""
    if doubt := find_writing_input(operation):
        yield doubt
    for parameter in operation.parameters:
        if parameter.get("in") != "query":
            continue
        name = str(parameter.get("name"))
        if name.lower() in ANYTHING:
            yield f"its parameter {parameter.get('name')!r} may do anything"
        choice_words = split_words(_choices(operation, parameter))
        acts = bool(DOING.intersection(choice_words))
        if not reads and acts and name.lower() in load_tables()["action_parameters"]:
            yield f"its parameter {parameter.get('name')!r} chooses what it does"


def _choices(operation: Operation, parameter: Mapping[str, Any]) -> list[str]:
    schema = operation.document.resolve_if_possible(parameter.get("schema") or {})
    listed = schema.get("enum")
    return list(map(str, listed)) if isinstance(listed, list) else []
