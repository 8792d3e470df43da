"""Verdicts on a tool's hints, from independent evidence of its definition; no tool is called.

Each source weighs on a hint: 2 where it decides alone, 1 where a second source has to agree. A hint is
decided by 2 without contradiction, or by 3 against 1. Evidence that contradicts itself otherwise is a
clash, which is a question to someone who knows the tool.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from copier_fastmcp_engine.testing.lock import HINTS
from copier_fastmcp_engine.testing.rules import Tool

from .definitions import collect_evidence, parse_tools
from .evidence import CERTAIN, READ_ONLY, STRONG, Evidence, ToolTexts
from .validation import validate_definition

# Sources in a description or in its parameters; the others are the name in other words.
DESCRIBING_SOURCES = {"description", "phrases", "language", "choices"}
OUTVOTING = 3  # what decides against a single weak contradiction


@dataclass(frozen=True)
class Verdict:
    """What a hint should be: None where the evidence does not show it, `clash` where it contradicts itself."""

    value: bool | None
    clash: bool = False
    evidence: tuple[str, ...] = ()
    sources: frozenset[str] = frozenset()


def decide(hint: str, collected: Sequence[Evidence]) -> Verdict:
    """The verdict on one hint."""
    supporting: dict[bool, list[Evidence]] = {True: [], False: []}
    weights = {True: 0, False: 0}
    forbidden: set[bool] = set()
    for evidence in collected:
        if evidence.hint != hint:
            continue
        supporting[evidence.value].append(evidence)
        weights[evidence.value] += evidence.weight
        if evidence.forbids:
            forbidden.add(not evidence.value)
    value = weights[True] > weights[False]
    most = weights[value]
    least = weights[not value]
    is_forbidden = most > 0 and value in forbidden
    if not is_forbidden and is_decided(most, least):
        return _build_verdict(value, supporting[value])
    contradicts = most > 0 and least > 0 and most + least > STRONG
    if is_forbidden or contradicts:
        texts = _list_texts(supporting[True] + supporting[False])
        return Verdict(None, clash=True, evidence=texts)
    return Verdict(None)


def _build_verdict(value: bool, supporting: Sequence[Evidence]) -> Verdict:
    """A verdict with its evidence, the strongest first."""
    strongest_first = sorted(supporting, key=attrgetter("weight"), reverse=True)
    sources = frozenset(map(attrgetter("source"), supporting))
    return Verdict(value, evidence=_list_texts(strongest_first), sources=sources)


def _list_texts(collected: Sequence[Evidence]) -> tuple[str, ...]:
    return tuple(map(attrgetter("text"), collected))


def is_decided(most: int, least: int) -> bool:
    """Whether the weight of a value decides against the weight of the other."""
    if least == 0:
        return most >= STRONG
    return (most >= OUTVOTING and least == 1) or most >= CERTAIN > least


def decide_all(texts: ToolTexts, collected: Sequence[Evidence]) -> dict[str, Verdict]:
    """The verdict on each hint; a description that does not show a read leaves none."""
    verdicts = {hint: decide(hint, collected) for hint in HINTS}
    read = verdicts[READ_ONLY]
    shows_read = not read.sources.isdisjoint(DESCRIBING_SOURCES)
    if texts.sentences and read.value is True and not shows_read:
        verdicts[READ_ONLY] = Verdict(None)
    return verdicts


def derive_verdicts(tools: Sequence[Tool]) -> list[dict[str, Verdict]]:
    """A verdict on each hint of each tool of a server, in their order."""
    verdicts: list[dict[str, Verdict]] = []
    for texts in parse_tools(tools):
        collected = collect_evidence(texts)
        verdicts.append(decide_all(texts, collected))
    return verdicts


def explain_tools(
    definitions: Sequence[Mapping[str, Any]], name: str
) -> list[dict[str, Any]]:
    """All evidence about the tools of a name, and the verdicts that follow."""
    tools: list[Tool] = []
    for definition in definitions:
        valid, _ = validate_definition(definition)
        tools.append(Tool(valid))
    rows: list[dict[str, Any]] = []
    for texts in parse_tools(tools):
        if texts.tool.name == name:
            rows.append(_explain(texts))
    return rows


def _explain(texts: ToolTexts) -> dict[str, Any]:
    collected = collect_evidence(texts)
    signals: list[str] = []
    for evidence in collected:
        value = str(evidence.value).lower()
        signals.append(f"{evidence.hint} {value} ({evidence.source}): {evidence.text}")
    hints: dict[str, dict[str, Any]] = {}
    for hint, verdict in decide_all(texts, collected).items():
        hints[hint] = {
            "declared": texts.tool.annotations.get(hint),
            "derived": verdict.value,
            "says": _describe(verdict),
        }
    return {"tool": texts.tool.name, "signals": signals, "hints": hints}


def _describe(verdict: Verdict) -> str:
    if verdict.clash:
        return "its signals contradict each other"
    if verdict.value is None:
        return "unknown"
    return str(verdict.value).lower()
