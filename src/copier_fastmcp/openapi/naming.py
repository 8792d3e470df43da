"""Names for tools: the verb first, in words of the tool language where they are true."""

import keyword
import re
from collections.abc import Callable, Iterable, Mapping

from ..tables import load_tables
from ..words import singular
from .derived import Derived
from .evidence import is_collection
from .extensions import name_of
from .operations import Operation, words
from .verbs import ALL_VERBS, RESERVED, SMALL, STARTED, base

LONGEST, AIM = 64, 40
MANY_OF = ("list", "search", "find", "query", "count")
TAKEN = (
    RESERVED
    | frozenset(keyword.kwlist)
    | frozenset(word.lower() for word in keyword.kwlist)
)
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
    return [word for word in words(text) if word.isascii()]


def _nouns(operation: Operation) -> list[str]:
    """What the path is about: its last literal part that is not a verb, one of it for an item."""
    literal = [
        part for part in operation.segments if "{" not in part and ascii_words(part)
    ]
    kept = [
        part
        for part in literal
        if ascii_words(part)[0] not in ALL_VERBS or part == "search"
    ] or literal
    found = ascii_words(kept[-1]) if kept else []
    after = operation.segments.index(kept[-1]) if kept else 0
    one = any("{" in part for part in operation.segments[after + 1 : after + 2])
    return _one_of(found) if found and one else found


def _one_of(nouns: list[str]) -> list[str]:
    """Words of which the last names one thing."""
    if nouns[-1] == "partial" and len(nouns) > 1:  # of a PATCH in Django
        return [*_one_of(nouns[:-1]), "partial"]
    return [*nouns[:-1], singular(nouns[-1])]


def _owner(operation: Operation) -> list[str]:
    """What an action is done to: the part of the path before it."""
    literal = [
        part
        for part in operation.segments[:-1]
        if "{" not in part and ascii_words(part)
    ]
    return _one_of(ascii_words(literal[-1]) if literal else ["it"])


def wanted(operation: Operation, derived: Derived) -> list[str]:
    """The words of a good name, before it is made short and unique."""
    if operation.chosen[0]:
        nouns = [
            word
            for word in _nouns(operation)
            if singular(word) not in ("action", "operation")
        ]
        return [*ascii_words(operation.chosen[1]), *(nouns or _owner(operation))]
    given = ascii_words(name_of(operation)) or [
        word for word in operation.id_words if word.isascii()
    ]
    if not given or (operation.generated and not name_of(operation)):
        nouns = _nouns(operation) or ["root"]
        tail = ascii_words(operation.tail)
        if (
            operation.method == "POST"
            and tail
            and tail[0] in ALL_VERBS
            and not operation.ends_in_parameter
        ):
            return [*tail, *[word for word in nouns if word not in tail]]
        first = FIRST[derived.behavior]
        if derived.behavior == "read" and not operation.ends_in_parameter:
            first = "list" if nouns[-1] != singular(nouns[-1]) else "get"
        first = {"QUERY": "query", "HEAD": "check"}.get(operation.method, first)
        item = operation.method == "POST" and operation.ends_in_parameter
        if derived.behavior in ("put", "update") and (
            operation.method == "PATCH" or item
        ):
            first = "update"
        if derived.behavior == "action" and operation.method != "POST":
            first = operation.method.lower() if operation.method != "GET" else "call"
        started = (
            operation.method == "POST"
            and not derived.asked
            and is_collection(operation)
        )
        if derived.behavior == "create" or (derived.behavior == "action" and started):
            first, nouns = "create", _one_of(nouns)
        return [first, *nouns]
    found = list(given)
    if found[0] not in ALL_VERBS and not _says(operation, found, derived):
        at = _verb_at(found, derived)
        if not at and derived.behavior not in ("read", "delete", "create"):
            found = _after_its_tag(operation, found)
        elif at or derived.behavior in ("read", "delete", "create"):
            verb = found.pop(at) if at else FIRST[derived.behavior]
            single = derived.behavior == "create" or operation.ends_in_parameter
            found = [
                verb,
                *(_one_of(found) if single and verb not in MANY_OF else found),
            ]
    if (
        len(found) > 1
        and found[0] in ("post", "put", "patch")
        and found[1] in ALL_VERBS
    ):
        found = found[1:]
    found[0] = base(found[0]) if found[0] not in STARTED else found[0]
    found[0] = SAME.get(derived.behavior, {}).get(found[0], found[0])
    if derived.first and found[0] in ("remove", "delete"):
        found[0] = derived.first
    rest = found[1:]
    while rest and rest[0] in ("a", "an", "the"):
        rest = rest[1:]
    found = [found[0], *rest]
    if (
        not rest
        or (rest[0] in SMALL - {"as", "at", "by"} and rest[0] != "in")
        or rest[:1] == ["in"]
    ):
        tag = _tag_noun(operation, derived, found[0])
        known = (found[0], f"{found[0]}s")
        found = [found[0], *[word for word in tag if word not in known], *rest]
    return found


def _says(operation: Operation, found: list[str], derived: Derived) -> bool:
    """Whether the summary begins with the same verb, and what is done to what: placeOrder, Place an order."""
    said = words(operation.text("summary"))[:2]
    verb = derived.behavior in ("create", "delete") and len(found) > 1
    return verb and said[:1] == found[:1] and said[1:] in (["a"], ["an"], ["the"])


def _after_its_tag(operation: Operation, found: list[str]) -> list[str]:
    """The words of Orders_Ship as ship_order: those behind the operation's tag are what is done."""
    front = [ascii_words(tag) for tag in operation.tags]
    own = next(
        (tag for tag in front if tag and found[: len(tag)] == tag != found), None
    )
    if own is None or not re.search(r"[_./:#-]", operation.operation_id):
        return found
    done = found[len(own) :]
    return [*done, *[word for word in _one_of(own) if word not in done]]


def _verb_at(found: list[str], derived: Derived) -> int:
    """Where a later word is the verb: user_list, petsCreate; 0 where none is."""
    fits = (
        set(load_tables()["verbs"].get(derived.behavior, ()))
        | {one for one, other in SAME.get(derived.behavior, {}).items()}
        | ({"update", "edit"} if derived.behavior == "put" else set())
    )
    last = len(found) - 1
    return last if last and found[last] in fits else 0


def _tag_noun(operation: Operation, derived: Derived, verb: str) -> list[str]:
    """The noun of an operationId such as issues/list: what its tag or its path is about."""
    front = re.split(r"[/.:#]", operation.operation_id)[:-1]
    noun = ascii_words(front[-1]) if front else _nouns(operation)
    if not noun:
        noun = _nouns(operation)
    one = "{" in operation.path or derived.behavior == "create"
    if noun and verb not in MANY_OF and one:
        noun = _one_of(noun)
    return noun


def _short(found: list[str], aim: int) -> list[str]:
    """Words that come to at most so many letters, as many of them as can be kept."""
    made = (
        "_".join(found)
        .replace("for_authenticated_user", "for_me")
        .replace("for_the_authenticated_user", "for_me")
        .split("_")
    )
    steps: tuple[Callable[[list[str]], list[str]], ...] = (
        lambda all_: [SHORT.get(word, word) for word in all_],
        lambda all_: [
            word for at, word in enumerate(all_) if at == 0 or word not in SMALL | {"s"}
        ],
        lambda all_: [word for at, word in enumerate(all_) if word not in all_[:at]],
    )
    for step in steps:
        if len("_".join(made)) <= aim:
            break
        made = step(made)
    return made


def camel(name: str) -> str:
    """The name of the class that a tool's name makes."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_") if word)


class Names:
    """Names that are unique among themselves; two that make one class are one name."""

    def __init__(
        self, taken: Iterable[str] = (), kept: Mapping[str, str] | None = None
    ) -> None:
        """Begin with names that are given already; `kept` are those of operations."""
        self.kept = dict(kept or {})
        self.taken = {camel(name) for name in (*taken, *self.kept.values())}
        self.numbers: dict[str, int] = {}

    def give(self, operation: Operation, derived: Derived) -> str:
        """A name for an operation: that which it had, its own words, then words of its path, then a number."""
        if operation.key in self.kept:
            return self.kept[operation.key]
        found = wanted(operation, derived)
        name = self._fit(found)
        if camel(name) in self.taken:
            extra = [
                word
                for part in operation.segments
                if "{" not in part
                for word in ascii_words(part)
                if word not in found and singular(word) not in found
            ]
            name = self._fit([*found, *extra[:2]]) if extra else name
        stem = name[: LONGEST - 6].rstrip("_")
        while camel(name) in self.taken:
            number = self.numbers[stem] = self.numbers.get(stem, 1) + 1
            name = f"{stem}_{number}"
        self.taken.add(camel(name))
        return name

    def _fit(self, found: list[str]) -> str:
        made = _short(found, AIM)
        name = "_".join(made)
        while len(name) > LONGEST - 2 and len(made) > 1:
            made = made[:-1]
            name = "_".join(made)
        name = re.sub(r"_+", "_", re.sub(r"^[^a-z]+", "", name))[: LONGEST - 2].strip(
            "_"
        )
        if not name or name in TAKEN or not name[0].isalpha():
            name = f"call_{name}".strip("_")
        return name


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
    return " ".join(
        word
        if word in small and 0 < at < len(parts) - 1
        else word[:1].upper() + word[1:]
        for at, word in enumerate(parts)
    )
