"""The votes of other tools of the same server."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ..lock import HINTS
from .reading import tokens
from .votes import IDEMPOTENT, READ_ONLY, Signal, Subject

CONTRARY = (("", "un"), ("", "de"), ("", "dis"), ("en", "dis"))


def twins(name: str, names: set[str]) -> set[str]:
    """Names of tools that undo what this one does."""
    parts = tokens(name)
    undone = set()
    for place, part in enumerate(parts):
        for one, other in (*CONTRARY, *((b, a) for a, b in CONTRARY)):
            if part.startswith(one) and len(turned := other + part.removeprefix(one)) > 2:
                undone.add("_".join([*parts[:place], turned, *parts[place + 1 :]]))
    return undone & (names - {"_".join(parts)})


def with_peers(read: Sequence[Subject]) -> list[Subject]:
    """Each tool with what at least two others of its verb declare, and none of them otherwise."""
    families: dict[str, list[Subject]] = {}
    for subject in read:
        for verb in (subject.named or subject.described)[:1]:
            families.setdefault(verb.word, []).append(subject)
    agreed: dict[int, dict[str, tuple[bool, str]]] = {}
    for family in families.values():
        for hint in HINTS:
            said = [one for one in family if isinstance(one.tool.annotations.get(hint), bool)]
            saying = {v: [s for s in said if s.tool.annotations[hint] is v] for v in (True, False)}
            for one in family:
                others = {v: [s for s in each if s is not one] for v, each in saying.items()}
                for value, each in others.items():
                    if len(each) > 1 and not others[not value]:
                        names = f"{each[0].tool.name!r} and {each[1].tool.name!r}"
                        agreed.setdefault(id(one), {})[hint] = (value, names)
    return [replace(one, peers=agreed.get(id(one), {})) for one in read]


def of_twins(subject: Subject) -> Iterator[Signal]:
    """`unpin_note` beside `pin_note` changes a note back: both write, and both set a state."""
    for twin in sorted(subject.twins)[:1]:
        for hint, value in ((READ_ONLY, False), (IDEMPOTENT, True)):
            yield Signal("siblings", hint, value, 1, f"{twin!r} is its contrary")


def of_peers(subject: Subject, found: Sequence[Signal]) -> Iterator[Signal]:
    """The same verb over other records: it supports what is found, and contradicts nothing."""
    for hint, (value, names) in subject.peers.items():
        if {one.value for one in found if one.hint == hint} == {value}:
            yield Signal("siblings", hint, value, 1, f"its siblings {names} say so")
