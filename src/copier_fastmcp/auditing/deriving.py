"""Verdicts on a tool's hints, from independent signals of its definition; no tool is called.

A source has one vote for a hint: 2 where it says so alone, 1 where a second one has to agree. A
hint is decided by 2 votes without contradiction, or by 3 against 1; votes that contradict each
other otherwise are a clash, which is a question to whoever knows the tool.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..lock import HINTS
from ..rules import Tool
from .signals import signals, subjects
from .sound import sound
from .votes import CERTAIN, Signal


@dataclass(frozen=True)
class Verdict:
    """What a hint should be: None where the signals do not say; `clash` where they contradict."""

    value: bool | None
    clash: bool = False
    evidence: tuple[str, ...] = ()
    sources: frozenset[str] = frozenset()


def _decide(hint: str, found: Sequence[Signal]) -> Verdict:
    of = [one for one in found if one.hint == hint]
    votes = {value: [one for one in of if one.value is value] for value in (True, False)}
    weight = {value: sum(one.votes for one in each) for value, each in votes.items()}
    value = weight[True] > weight[False]
    most, least = weight[value], weight[not value]
    evidence = tuple(one.text for one in sorted(votes[value], key=lambda one: -one.votes))
    if most >= 2 and (least == 0 or (most >= 3 and least == 1) or (most >= CERTAIN > least)):
        sources = frozenset(one.source for one in votes[value])
        return Verdict(value, evidence=evidence, sources=sources)
    if most and least and most + least > 2:
        return Verdict(None, True, tuple(one.text for one in (*votes[True], *votes[False])))
    return Verdict(None)


def _verdicts(found: Sequence[Signal]) -> dict[str, Verdict]:
    return {hint: _decide(hint, found) for hint in HINTS}


def derive(tools: Sequence[Tool]) -> list[dict[str, Verdict]]:
    """A verdict on each hint of each tool of a server, in their order."""
    return [_verdicts(signals(subject)) for subject in subjects(tools)]


def explained(served: Sequence[Mapping[str, Any]], name: str) -> list[dict[str, Any]]:
    """Every signal about the tools of a name, and the verdicts that follow."""
    rows = []
    for subject in subjects([Tool(sound(tool)[0]) for tool in served]):
        if subject.tool.name != name:
            continue
        found = signals(subject)
        rows.append(
            {
                "tool": name,
                "signals": [
                    f"{one.hint} {str(one.value).lower()} ({one.source}): {one.text}"
                    for one in found
                ],
                "hints": {
                    hint: {
                        "declared": subject.tool.annotations.get(hint),
                        "derived": verdict.value,
                        "says": "its signals contradict each other"
                        if verdict.clash
                        else "unknown"
                        if verdict.value is None
                        else str(verdict.value).lower(),
                    }
                    for hint, verdict in _verdicts(found).items()
                },
            }
        )
    return rows
