"""Names for tools: the verb first, in words of the tool language where they are true."""

import keyword
import re
from collections.abc import Container, Iterable, Mapping

from ..tables import load_tables
from ..words import singular
from .derived import Derived
from .evidence import is_collection
from .extensions import name_of
from .operations import Operation, words
from .verbs import ALL_VERBS, RESERVED, SMALL, STARTED, base

LONGEST, AIM = 64, 40
MANY_OF = ("list", "search", "find", "query", "count")
TAKEN = RESERVED | frozenset(keyword.kwlist) | frozenset(map(str.lower, keyword.kwlist))
SAME = {
    "read": {
        "retrieve": "get",
        "fetch": "get",
        "read": "get",
        "view": "get",
        "show": "get",
        "browse": "list",
        "query": "query",
        "head": "check",
    },
    "create": {"post": "create", "make": "create", "new": "create", "insert": "create"},
    "append": {"post": "add"},
    "put": {
        "patch": "update",
        "put": "set",
        "edit": "update",
        "modify": "update",
        "change": "update",
    },
    "update": {
        "patch": "update",
        "put": "update",
        "edit": "update",
        "change": "update",
    },
    "delete": {"destroy": "delete", "del": "delete", "erase": "delete"},
}
FIRST = {
    "read": "get",
    "create": "create",
    "ensure": "ensure",
    "append": "append",
    "update": "update",
    "put": "set",
    "delete": "delete",
    "action": "run",
}
SHORT = {
    "organization": "org",
    "organizations": "orgs",
    "repository": "repo",
    "repositories": "repos",
    "configuration": "config",
    "configurations": "configs",
    "information": "info",
    "environment": "env",
    "environments": "envs",
    "application": "app",
    "applications": "apps",
    "administrator": "admin",
    "authentication": "auth",
    "parameters": "params",
}


def ascii_words(text: str) -> list[str]:
    """Words that can be parts of a name."""
    return list(filter(str.isascii, words(text)))


def _literal_parts(segments: Iterable[str]) -> list[str]:
    """Return the parts of a path that are no parameters and have words for a name."""
    literal = []
    for part in segments:
        if "{" not in part and ascii_words(part):
            literal.append(part)
    return literal


def _is_noun(part: str) -> bool:
    """Whether a literal part of a path does not begin with a verb; the noun of a search is `search`."""
    return part == "search" or ascii_words(part)[0] not in ALL_VERBS


def _omit_words(parts: Iterable[str], omitted: Container[str]) -> list[str]:
    return [word for word in parts if word not in omitted]


def _nouns(operation: Operation) -> list[str]:
    """What the path is about: its last literal part that is not a verb, one of it for an item."""
    literal = _literal_parts(operation.segments)
    nouns = list(filter(_is_noun, literal)) or literal
    parts = ascii_words(nouns[-1]) if nouns else []
    after = operation.segments.index(nouns[-1]) if nouns else 0
    next_part = "".join(operation.segments[after + 1 : after + 2])
    is_item = "{" in next_part
    return _one_of(parts) if parts and is_item else parts


def _one_of(nouns: list[str]) -> list[str]:
    """Words of which the last names one thing."""
    if nouns[-1] == "partial" and len(nouns) > 1:  # of a PATCH in Django
        return [*_one_of(nouns[:-1]), "partial"]
    return [*nouns[:-1], singular(nouns[-1])]


def _owner(operation: Operation) -> list[str]:
    """What an action is done to: the part of the path before it."""
    literal = _literal_parts(operation.segments[:-1])
    return _one_of(ascii_words(literal[-1]) if literal else ["it"])


def wanted(operation: Operation, derived: Derived) -> list[str]:
    """The words of a good name, before it is made short and unique."""
    if operation.chosen[0]:
        return _words_of_choice(operation)
    id_words = ascii_words(name_of(operation))
    if not id_words:
        id_words = list(filter(str.isascii, operation.id_words))
    if not id_words or (operation.generated and not name_of(operation)):
        return _words_of_path(operation, derived)
    return _words_of_id(operation, derived, id_words)


def _words_of_choice(operation: Operation) -> list[str]:
    """Words for an operation that does one of the choices of a field."""
    nouns = []
    for word in _nouns(operation):
        if singular(word) not in ("action", "operation"):
            nouns.append(word)
    return [*ascii_words(operation.chosen[1]), *(nouns or _owner(operation))]


def _words_of_path(operation: Operation, derived: Derived) -> list[str]:
    """Words from the path, with a verb from the method and the behavior."""
    nouns = _nouns(operation) or ["root"]
    tail = ascii_words(operation.tail)
    if (
        operation.method == "POST"
        and tail
        and tail[0] in ALL_VERBS
        and not operation.ends_in_parameter
    ):
        return [*tail, *_omit_words(nouns, tail)]
    first = _first_word(operation, derived, nouns)
    started = (
        operation.method == "POST" and not derived.asked and is_collection(operation)
    )
    if derived.behavior == "create" or (derived.behavior == "action" and started):
        first, nouns = "create", _one_of(nouns)
    return [first, *nouns]


def _first_word(operation: Operation, derived: Derived, nouns: list[str]) -> str:
    """The verb of an operation that names none."""
    first = FIRST[derived.behavior]
    if derived.behavior == "read" and not operation.ends_in_parameter:
        first = "list" if nouns[-1] != singular(nouns[-1]) else "get"
    first = {"QUERY": "query", "HEAD": "check"}.get(operation.method, first)
    item = operation.method == "POST" and operation.ends_in_parameter
    if derived.behavior in ("put", "update") and (operation.method == "PATCH" or item):
        first = "update"
    if derived.behavior == "action" and operation.method != "POST":
        first = operation.method.lower() if operation.method != "GET" else "call"
    return first


def _words_of_id(
    operation: Operation, derived: Derived, id_words: list[str]
) -> list[str]:
    """Words of the operationId, the verb first and in the words of the tool language."""
    parts = list(id_words)
    if parts[0] not in ALL_VERBS and not _says(operation, parts, derived):
        at = _verb_at(parts, derived)
        if not at and derived.behavior not in ("read", "delete", "create"):
            parts = _after_its_tag(operation, parts)
        elif at or derived.behavior in ("read", "delete", "create"):
            verb = parts.pop(at) if at else FIRST[derived.behavior]
            single = derived.behavior == "create" or operation.ends_in_parameter
            parts = [
                verb,
                *(_one_of(parts) if single and verb not in MANY_OF else parts),
            ]
    parts = _with_usual_verb(parts, derived)
    verb, *modifiers = parts
    while modifiers and modifiers[0] in ("a", "an", "the"):
        modifiers = modifiers[1:]
    is_preposition = bool(modifiers) and modifiers[0] in SMALL - {"as", "at", "by"}
    if not modifiers or is_preposition or modifiers[:1] == ["in"]:
        tag = _tag_noun(operation, derived, verb)
        return [verb, *_omit_words(tag, (verb, f"{verb}s")), *modifiers]
    return [verb, *modifiers]


def _with_usual_verb(parts: list[str], derived: Derived) -> list[str]:
    """The words of a name with the tool language's word for its verb."""
    if (
        len(parts) > 1
        and parts[0] in ("post", "put", "patch")
        and parts[1] in ALL_VERBS
    ):
        parts = parts[1:]
    parts[0] = base(parts[0]) if parts[0] not in STARTED else parts[0]
    parts[0] = SAME.get(derived.behavior, {}).get(parts[0], parts[0])
    if derived.first and parts[0] in ("remove", "delete"):
        parts[0] = derived.first
    return parts


def _says(operation: Operation, parts: list[str], derived: Derived) -> bool:
    """Whether the summary begins with the same verb, and what is done to what: placeOrder, Place an order."""
    summary = words(operation.text("summary"))[:2]
    verb = derived.behavior in ("create", "delete") and len(parts) > 1
    return verb and summary[:1] == parts[:1] and summary[1:] in (["a"], ["an"], ["the"])


def _after_its_tag(operation: Operation, parts: list[str]) -> list[str]:
    """The words of Orders_Ship as ship_order: those behind the operation's tag are what is done."""
    if not re.search(r"[_./:#-]", operation.operation_id):
        return parts
    for tag in operation.tags:
        tag_words = ascii_words(tag)
        size = len(tag_words)
        if tag_words and parts[:size] == tag_words != parts:
            done = parts[size:]
            return [*done, *_omit_words(_one_of(tag_words), done)]
    return parts


def _verb_at(parts: list[str], derived: Derived) -> int:
    """Where a later word is the verb: user_list, petsCreate; 0 where none is."""
    fits = (
        set(load_tables()["verbs"].get(derived.behavior, ()))
        | set(SAME.get(derived.behavior, {}))
        | ({"update", "edit"} if derived.behavior == "put" else set())
    )
    last = len(parts) - 1
    return last if last and parts[last] in fits else 0


def _tag_noun(operation: Operation, derived: Derived, verb: str) -> list[str]:
    """The noun of an operationId such as issues/list: what its tag or its path is about."""
    front = re.split(r"[/.:#]", operation.operation_id)[:-1]
    noun = ascii_words(front[-1]) if front else _nouns(operation)
    if not noun:
        noun = _nouns(operation)
    is_item = "{" in operation.path or derived.behavior == "create"
    if noun and verb not in MANY_OF and is_item:
        noun = _one_of(noun)
    return noun


def _abbreviate_words(parts: list[str]) -> list[str]:
    return [SHORT.get(word, word) for word in parts]


def _omit_small_words(parts: list[str]) -> list[str]:
    return [*parts[:1], *_omit_words(parts[1:], SMALL | {"s"})]


def _omit_repetitions(parts: list[str]) -> list[str]:
    return list(dict.fromkeys(parts))


def _short(parts: list[str], aim: int) -> list[str]:
    """Words that come to at most so many letters, as many of them as can be kept."""
    kept_words = (
        "_".join(parts)
        .replace("for_authenticated_user", "for_me")
        .replace("for_the_authenticated_user", "for_me")
        .split("_")
    )
    for step in (_abbreviate_words, _omit_small_words, _omit_repetitions):
        if len("_".join(kept_words)) <= aim:
            break
        kept_words = step(kept_words)
    return kept_words


def camel(name: str) -> str:
    """The name of the class that a tool's name makes."""
    return "".join(map(_capitalize, name.split("_")))


def _capitalize(word: str) -> str:
    return word[:1].upper() + word[1:]


class Names:
    """Names that are unique among themselves; two that make one class are one name."""

    def __init__(
        self, taken: Iterable[str] = (), assigned: Mapping[str, str] | None = None
    ) -> None:
        """Begin with the names in use; `assigned` are those of operations."""
        self.assigned = dict(assigned or {})
        self.taken = set(map(camel, (*taken, *self.assigned.values())))
        self.numbers: dict[str, int] = {}

    def give(self, operation: Operation, derived: Derived) -> str:
        """A name for an operation: that which it had, its own words, then words of its path, then a number."""
        if operation.key in self.assigned:
            return self.assigned[operation.key]
        parts = wanted(operation, derived)
        name = self._fit(parts)
        if camel(name) in self.taken:
            extra = _words_above(operation, parts)
            name = self._fit([*parts, *extra[:2]]) if extra else name
        stem = name[: LONGEST - 6].rstrip("_")
        while camel(name) in self.taken:
            number = self.numbers[stem] = self.numbers.get(stem, 1) + 1
            name = f"{stem}_{number}"
        self.taken.add(camel(name))
        return name

    def _fit(self, parts: list[str]) -> str:
        kept_words = _short(parts, AIM)
        name = "_".join(kept_words)
        while len(name) > LONGEST - 2 and len(kept_words) > 1:
            kept_words = kept_words[:-1]
            name = "_".join(kept_words)
        name = re.sub(r"_+", "_", re.sub(r"^[^a-z]+", "", name))[: LONGEST - 2].strip(
            "_"
        )
        if not name or name in TAKEN or not name[0].isalpha():
            name = f"call_{name}".strip("_")
        return name


def _words_above(operation: Operation, parts: list[str]) -> list[str]:
    """Return the words of the path that a name lacks."""
    lacking = []
    for part in _literal_parts(operation.segments):
        for word in ascii_words(part):
            if word not in parts and singular(word) not in parts:
                lacking.append(word)
    return lacking


def title_of(name: str) -> str:
    """A title from a name: its words, as people write them."""
    small = {
        "a",
        "an",
        "and",
        "by",
        "for",
        "from",
        "in",
        "of",
        "on",
        "or",
        "the",
        "to",
        "with",
    }
    parts = name.split("_")
    for at, word in enumerate(parts):
        is_inside = 0 < at < len(parts) - 1
        if word not in small or not is_inside:
            parts[at] = _capitalize(word)
    return " ".join(parts)
