"""Evidence for and against a read, in the words, inputs and responses of an operation that may write."""

from collections.abc import Iterator
from typing import Any

from ..tables import load_tables
from ..words import singular
from .imperatives import find_writing_input
from .operations import Operation, words
from .schemas import required_of
from .steps import find_query_language, find_side_effect, find_spent_secret
from .verbs import (
    ACTION,
    ALL_VERBS,
    BESIDE,
    BESIDE_IT,
    DELETE,
    MADE_ON_REQUEST,
    OBJECTS,
    OTHERS,
    PUT,
    READ,
    READ_BY_POST,
    SPOKEN_READS,
    UPSERT,
    base,
)

USE = ["use", "this", "method", "to"]
NOT_200 = "it does not answer 200 alone"
CHECKS = frozenset({"check", "validate", "verify"})
MANY = frozenset({"batch", "bulk"})
STORING = frozenset({"save", "saved", "store", "token", "create"})
CHANGING = (
    DELETE
    | ACTION
    | PUT
    | UPSERT
    | {"create", "add", "save", "store", "token", "tokens", "login"}
) - READ
ANYTHING = frozenset({"sql", "cmd", "script", "cypher", "statement", "mutation"})


class Signals:
    """The verbs of an operation: where its path ends, its operationId, its summary."""

    def __init__(self, operation: Operation) -> None:
        """Read them off an operation."""
        tail = [] if operation.ends_in_parameter else words(operation.tail)
        resource, dot, method = operation.tail.rpartition(".")
        if tail and dot and resource:  # as in POST /comments.info
            tail = words(method)
            tail = ["get"] if tail == ["info"] else tail
        self.tail = tail  # as written: at the end of a path a plural is a noun
        self.verb = base(operation.id_words[0]) if operation.id_words else ""
        sentence = []
        for word in operation.split_sentence("summary"):
            if word not in ("the", "a", "an"):
                sentence.append(word)
        if not sentence:
            sentence = operation.split_sentence("description")
            sentence = (sentence[4:] if sentence[:4] == USE else sentence)[:1]
        self.spoken = base(sentence[0]) if sentence else ""
        self.returns = sentence[:1] == ["returns"]
        self.all_words = {*self.tail, *operation.id_words}

    def mentions(self, verbs: frozenset[str]) -> list[str]:
        """Which of path, operationId and summary say one of some verbs."""
        mentions = []
        if self.tail and self.tail[0] in verbs:
            mentions.append(f"its path ends in {self.tail[0]!r}")
        if self.verb in verbs:
            mentions.append(f"its operationId says {self.verb!r}")
        if self.spoken in verbs:
            mentions.append(f"its summary says {self.spoken!r}")
        return mentions


def describe_version(operation: Operation) -> str:
    """The version that a write has to name, as words for people; empty without one."""
    if operation.parameter("header", "If-Match").get("required") is True:
        return "it requires If-Match"
    _, schema = operation.json_body
    required = required_of(schema)
    for name in load_tables()["versions"]:
        if name in required and isinstance(schema.get("properties"), dict):
            return f"its body requires {name!r}"
    return ""


def body_field_names(operation: Operation) -> list[str]:
    """The names of the fields of a body in JSON."""
    properties = operation.json_body[1].get("properties")
    return list(map(str, properties)) if isinstance(properties, dict) else []


def find_choice_field(operation: Operation) -> str:
    """A field of the body that chooses what is done, as in {action: open | close}."""
    properties = operation.json_body[1].get("properties")
    names = (
        ("op", "type")
        if words(operation.tail)[-1:] in (["actions"], ["action"])
        else ("op",)
    )
    for name, schema in (properties if isinstance(properties, dict) else {}).items():
        if name in {*load_tables()["action_parameters"], *names}:
            choices = operation.document.resolve_if_possible(schema).get("enum")
            listed = choices if isinstance(choices, list) else []
            acts = any(set(words(choice)[:1]) & ALL_VERBS for choice in listed)
            if name == "op" or (
                len(listed) > 1 and (acts or name in ("action", "command"))
            ):
                read_evidence, _ = find_post_evidence(operation, Signals(operation))
                filters = len(read_evidence) > 1 and name not in required_of(
                    operation.json_body[1]
                )
                return "" if filters else str(name)
    return ""


def find_second_action(operation: Operation) -> str:
    """What is done in addition to the first verb, as in `getAndClear` and "Returns a message and deletes it"; mostly nothing."""
    named = operation.id_words
    for at, word in enumerate(named[:-1]):
        if at and word == "and" and named[at + 1] in BESIDE:
            return named[at + 1]
    for sentence in (
        operation.split_sentence("summary"),
        operation.split_sentence("description"),
    ):
        third = (
            bool(sentence)
            and sentence[0].endswith("s")
            and sentence[0] not in ALL_VERBS
        )
        for at, word in enumerate(sentence[:-1]):
            if word in OTHERS:
                break
            after = _find_following_word(sentence[at + 1 :])
            is_action = base(after) in BESIDE or (
                base(after) in BESIDE_IT and {*sentence[at + 2 :][:1]} & OBJECTS
            )
            if at and word == "and" and is_action and third == (after not in ALL_VERBS):
                return base(after)
    return ""


def _find_following_word(following: list[str]) -> str:
    """Return the first word that is no adverb of time or addition; empty without one."""
    for word in following:
        if word not in ("then", "also"):
            return word
    return ""


def find_post_evidence(
    operation: Operation, signals: Signals
) -> tuple[list[str], list[str]]:
    """Return what says that a POST only reads, and what speaks against it."""
    read_evidence = _find_read_evidence(operation, signals)
    write_evidence = [
        *_find_response_evidence(operation),
        *_find_verb_evidence(operation, signals),
        *_find_text_evidence(operation),
        *_find_input_evidence(operation, signals, may_read=bool(read_evidence)),
    ]
    return read_evidence, write_evidence


def _find_read_evidence(operation: Operation, signals: Signals) -> list[str]:
    """Return which of path, operationId and summary say that a POST reads."""
    tail = {*signals.tail[:1]} if len(signals.tail) == 1 else set()
    joined = "".join(signals.tail)
    called = len(operation.segments) == 1 and signals.tail[:1]  # as in POST /getChat
    is_batch = bool(signals.tail) and (signals.tail[0] in MANY or "batch" in joined)
    read_evidence = []
    if {*tail, *(called or ())} & READ_BY_POST or (
        is_batch and {*signals.tail[1:]} & READ_BY_POST
    ):
        read_evidence.append(f"its path ends in {operation.tail!r}")
    if signals.verb in SPOKEN_READS:
        read_evidence.append(f"its operationId says {signals.verb!r}")
    if signals.spoken in SPOKEN_READS or signals.returns:
        read_evidence.append(f"its summary says {signals.spoken!r}")
    return read_evidence


def _find_response_evidence(operation: Operation) -> Iterator[str]:
    """Find responses that a read does not have."""
    if set(operation.success) != {"200"}:
        yield NOT_200
    if has_location(operation):
        yield "it answers with Location"


def _nouns_of(operation: Operation) -> set[str]:
    """The resources on the way of a path: /block_types/filter blocks nothing."""
    nouns = set[str]()
    for part in operation.segments[:-1]:
        if "{" not in part:
            nouns.update(map(singular, words(part)))
    return nouns


def _find_verb_evidence(operation: Operation, signals: Signals) -> Iterator[str]:
    """Find verbs that change something, and nouns that are made on request."""
    nouns = _nouns_of(operation)
    spoken = set(map(base, words(operation.text("summary"))[:1]))
    named = {word for word in operation.id_words if singular(word) not in nouns}
    named.update(map(base, signals.tail))
    particles = {*operation.id_words[1:2], *signals.tail[1:2]}
    if {"in", "out", "off"} & particles:  # check in a guest
        yield "its verb goes on with 'in' or 'out'"
    verbs = (spoken | named) & CHANGING or STORING & (signals.all_words - nouns)
    if verbs:
        yield f"it also says {min(verbs)!r}"
    first_words = {*operation.split_sentence("summary"), *operation.id_words}
    if not operation.text("summary"):
        first_words |= {*operation.split_sentence("description")}
    products = sorted(MADE_ON_REQUEST & (first_words - nouns - {*signals.tail}))
    if products:
        yield f"it may make the {products[0]!r} that it answers with"
    if signals.tail[:1] == ["read"]:  # of a notification, it is marked as read
        yield "its path ends in 'read', which may mark something as read"


def _find_text_evidence(operation: Operation) -> Iterator[str]:
    """Find what is done in addition to reading."""
    if operation.raw.get("callbacks"):
        yield "it has callbacks"
    if second := find_second_action(operation):
        yield f"it also says {second!r}"


def _find_input_evidence(
    operation: Operation, signals: Signals, *, may_read: bool
) -> Iterator[str]:
    """Find inputs that change something, and languages and secrets that may."""
    if may_read:
        checks = {signals.verb, signals.spoken, *signals.tail[:1]} & CHECKS
        finders = [find_writing_input, find_side_effect, find_query_language]
        if checks:
            finders.append(find_spent_secret)
        for find in finders:
            if doubt := find(operation):
                yield doubt
    field_names = map(str.lower, body_field_names(operation))
    free = sorted(ANYTHING.intersection(field_names))
    if free:
        yield f"its body has {free[0]!r}, which may do anything"


def headers(answer: dict[str, Any]) -> dict[str, Any]:
    """The headers of an answer; none where they are not a mapping."""
    fields = answer.get("headers")
    return fields if isinstance(fields, dict) else {}


def has_location(operation: Operation) -> bool:
    """Whether a success names the address of something, most likely of a new record."""
    for response in operation.success.values():
        names = map(str.lower, headers(response))
        if "location" in names:
            return True
    return False


def is_collection(operation: Operation) -> bool:
    """Whether a path has items below it, or a plural at its end."""
    if operation.ends_in_parameter:
        return False
    if operation.path.rstrip("/") in operation.document.collections:
        return True
    last = words(operation.tail)[-1:]
    return bool(last) and last[0].endswith("s") and not last[0].endswith("ss")
