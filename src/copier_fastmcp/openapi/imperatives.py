"""Inputs that change something: a parameter described as "Set pause state" makes a GET a write.

A description counts when it orders a change in its own words ("Queue all monitors", "Whether to mark
messages as read"). A description that selects or shapes the result ("Set the number of results") does not.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from .operations import Operation, words
from .schemas import properties_of
from .verbs import OBJECTS

# Verbs that are hardly ever nouns: they count wherever an imperative can begin.
CHANGES = frozenset(
    [
        "acknowledge",
        "ack",
        "enqueue",
        "requeue",
        "dequeue",
        "recheck",
        "rescan",
        "resync",
        "rerun",
        "requeue",
        "regenerate",
        "invalidate",
        "purge",
        "delete",
        "pause",
        "unpause",
        "resume",
        "mute",
        "unmute",
        "renew",
        "revoke",
        "trigger",
        "unsubscribe",
        "unarchive",
        "force",
        "reindex",
        "restart",
        "reprocess",
        "recalculate",
        "persist",
    ]
)
# Verbs that are nouns as often: they count with an object ("the", "all"), behind "to", or on a flag.
OFTEN_NOUNS = frozenset(
    [
        "queue",
        "mark",
        "refresh",
        "reset",
        "set",
        "update",
        "create",
        "send",
        "start",
        "stop",
        "run",
        "execute",
        "save",
        "store",
        "record",
        "remove",
        "clear",
        "flush",
        "touch",
        "subscribe",
        "archive",
        "lock",
        "unlock",
        "commit",
        "publish",
        "notify",
        "reload",
        "schedule",
        "submit",
        "register",
        "cancel",
        "close",
        "open",
        "approve",
        "reject",
        "sync",
        "scan",
        "rotate",
        "kill",
        "terminate",
    ]
)
# A flag with such a first word in its name changes something even without a description.
FLAG_NAMES = CHANGES | {"refresh", "reset", "touch", "flush", "rotate", "mark"}
# Behind a noun: "Run ID", "Start of the range", "Queue to filter by".
NOUN_FOLLOWERS = frozenset(
    [
        "of",
        "id",
        "ids",
        "name",
        "names",
        "by",
        "for",
        "time",
        "date",
        "at",
        "type",
        "key",
        "number",
        "count",
        "in",
        "on",
        "from",
        "whose",
        "to",
        "state",
        "status",
        "index",
        "position",
        "offset",
        "order",
        "level",
        "mode",
    ]
)
# What "Set the ..." and "Clear the ..." shape without changing anything stored.
RESULT_WORDS = frozenset(
    [
        "limit",
        "size",
        "page",
        "pages",
        "number",
        "maximum",
        "max",
        "minimum",
        "min",
        "offset",
        "order",
        "sort",
        "sorting",
        "format",
        "language",
        "locale",
        "depth",
        "timeout",
        "range",
        "level",
        "cursor",
        "token",
        "field",
        "fields",
        "column",
        "columns",
        "unit",
        "units",
        "filter",
        "filters",
        "count",
        "result",
        "results",
        "interval",
        "resolution",
        "precision",
        "width",
        "height",
        "quality",
        "response",
        "output",
        "verbosity",
        "detail",
        "details",
        "html",
        "whitespace",
        "duplicates",
        "prefix",
    ]
)
CONDITIONS = frozenset(["if", "when", "whether", "once"])
OPENERS = CONDITIONS | frozenset(
    [
        "set",
        "pass",
        "use",
        "specify",
        "send",
        "provide",
        "add",
        "used",
        "flag",
        "indicates",
        "indicate",
        "determines",
        "controls",
        "true",
        "boolean",
        "option",
        "required",
    ]
)
FILLERS = frozenset(
    [
        "optional",
        "optionally",
        "boolean",
        "flag",
        "please",
        "will",
        "also",
        "then",
        "true",
        "false",
        "yes",
        "no",
        "server",
        "api",
        "it",
        "to",
        "should",
        "1",
        "0",
    ]
)
# "Runs are created from experiments" says where they come from, and orders nothing.
ORIGINS = frozenset(["at", "by", "during", "from", "in", "using", "via", "with"])
SWITCHED = frozenset(["enabled", "it", "set", "the", "this", "true"])
PASSIVES = frozenset({"is", "are", "be", "get", "gets"})
LONGEST = 600


def find_writing_input(operation: Operation) -> str:
    """An input of an operation that changes something, with its evidence; empty without one."""
    for name, description, schema in _inputs(operation):
        if verb := find_imperative(name, description, schema):
            return f"its parameter {name!r} says {verb!r}"
    return ""


def _inputs(operation: Operation) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Name, description and schema of each input in the query, a header or a JSON body."""
    document = operation.document
    for parameter in operation.parameters:
        if parameter.get("in") in ("query", "header"):
            schema = document.resolve_if_possible(parameter.get("schema") or {})
            description = parameter.get("description") or schema.get("description")
            yield str(parameter.get("name")), str(description or ""), schema
    for name, entry in properties_of(operation.json_body[1]).items():
        schema = document.resolve_if_possible(entry)
        yield name, str(schema.get("description") or ""), schema


def find_imperative(name: str, description: str, schema: Mapping[str, Any]) -> str:
    """The verb of an input that orders a change; empty without one.

    Args:
        name: The input's name.
        description: Its description, in Markdown or not.
        schema: Its schema, which says whether it is a flag.
    """
    named = words(name)[:1]
    flag = schema.get("type") == "boolean" or bool({*named} & FLAG_NAMES)
    plain = re.sub(r"`[^`\n]*`", " ", description[:LONGEST])  # code says nothing
    for phrase in re.split(r"(?<=[.!?;:])\s|\n|,", plain):
        if verb := _verb_of(words(phrase), flag=flag):
            return verb
    if schema.get("type") == "boolean" and {*named} & FLAG_NAMES:
        return named[0]
    return ""


def _verb_of(phrase: list[str], *, flag: bool) -> str:
    """The verb with which a phrase orders a change; empty without one."""
    while phrase and phrase[0] in FILLERS:
        phrase = phrase[1:]
    if not phrase:
        return ""
    if phrase[0] in OPENERS:
        for at, word in enumerate(phrase[:-1]):
            if word == "to" and _is_change(
                phrase[at + 1], phrase[at + 2 :], certain=True
            ):
                return phrase[at + 1]
    if passive := _passive_of(phrase):
        return passive
    return phrase[0] if _is_change(phrase[0], phrase[1:], certain=flag) else ""


def _is_change(verb: str, words_after: list[str], *, certain: bool) -> bool:
    """Whether a word is a verb that changes something, given the words after it."""
    if verb in CHANGES:
        return True
    if verb not in OFTEN_NOUNS or {*words_after[:4]} & RESULT_WORDS:
        return False
    follower = words_after[0] if words_after else ""
    if follower in OBJECTS:
        return True
    if verb == "set":
        return bool(follower) and follower not in ("of", "to", "this", "if", "when")
    return certain and follower not in NOUN_FOLLOWERS


def _passive_of(phrase: list[str]) -> str:
    """The verb of "returned messages are marked as read"; empty where a relative clause has it."""
    for at, word in enumerate(phrase[:-1]):
        if word in ("that", "which", "who", "what"):
            return ""
        done = phrase[at + 1]
        if done == "created" and _is_origin(phrase[at + 2 :]):
            continue
        if word in PASSIVES and done.endswith("ed"):
            for verb in (done[:-1], done[:-2]):
                if verb in CHANGES | OFTEN_NOUNS - {"set"}:
                    return verb
    return ""


def _is_origin(words_after: list[str]) -> bool:
    """Tell whether the words behind "created" say where something comes from, not what the input does."""
    if words_after[:1] == ["when"]:
        return words_after[1:2] != [] and words_after[1] not in SWITCHED
    return bool({*words_after[:1]} & ORIGINS)
