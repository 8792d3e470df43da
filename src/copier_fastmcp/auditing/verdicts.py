"""Verdicts on a tool's hints, from independent evidence of its definition; no tool is called.

Each source has a weight: 2 if it decides alone, 1 if a second source has to agree. A weight of 2 without
contradiction decides a hint, and so does 3 against 1. Any other contradiction is a clash: a question to the
author of the tool.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from copier_fastmcp_engine.testing.lock import HINTS
from copier_fastmcp_engine.testing.rules import Tool

from .definitions import collect_evidence, parse_tools
from .evidence import CERTAIN, READ_ONLY, STRONG, WEAK, Evidence, ToolTexts
from .validation import validate_definition

# Sources in a description or in its parameters; the others are the name in other words.
DESCRIBING_SOURCES = {"description", "phrases", "language", "choices"}
OUTVOTING = 3  # what decides against a single weak contradiction


@dataclass(frozen=True)
class Verdict:
    """The derived value of a hint: None if the evidence is insufficient, with `clash` if it is contradictory."""

    value: bool | None
    clash: bool = False
    evidence: tuple[str, ...] = ()
    sources: frozenset[str] = frozenset()


Collected = Sequence[Evidence]
Verdicts = dict[str, Verdict]


class Side:
    """The evidence for one value of a hint."""

    def __init__(self, value: bool, evidence: Iterable[Evidence]) -> None:
        """Keep the evidence for a value.

        Args:
            value: The value.
            evidence: The evidence about the hint, for either value.
        """
        self.value = value
        self.evidence: list[Evidence] = []
        self.weight = 0
        self.forbids_contrary = False
        for signal in evidence:
            if signal.value is value:
                self.evidence.append(signal)
                self.weight += signal.weight
                self.forbids_contrary |= signal.forbids

    def list_texts(self) -> list[str]:
        """The texts of the evidence."""
        return [signal.text for signal in self.evidence]

    def build_verdict(self) -> Verdict:
        """The verdict for this value, with the strongest evidence first."""
        self.evidence.sort(key=attrgetter("weight"), reverse=True)
        sources = map(attrgetter("source"), self.evidence)
        return Verdict(
            self.value,
            evidence=tuple(self.list_texts()),
            sources=frozenset(sources),
        )


def decide(hint: str, collected: Collected) -> Verdict:
    """The verdict on one hint."""
    evidence = [signal for signal in collected if signal.hint == hint]
    positive = Side(True, evidence)
    negative = Side(False, evidence)
    leading, trailing = negative, positive
    if positive.weight > negative.weight:
        leading, trailing = positive, negative
    most, least = leading.weight, trailing.weight
    is_forbidden = most > 0 and trailing.forbids_contrary
    if not is_forbidden and is_decided(most, least):
        return leading.build_verdict()
    contradicts = most > 0 and least > 0 and most + least > STRONG
    if is_forbidden or contradicts:
        texts = positive.list_texts() + negative.list_texts()
        return Verdict(None, clash=True, evidence=tuple(texts))
    return Verdict(None)


def is_decided(most: int, least: int) -> bool:
    """Whether the weight of a value outvotes the weight of the contrary."""
    if least == 0:
        return most >= STRONG
    if least == WEAK and most >= OUTVOTING:
        return True
    return most >= CERTAIN > least


def decide_all(texts: ToolTexts, collected: Collected) -> Verdicts:
    """The verdict on each hint; there is no verdict of a read that the description does not support."""
    verdicts = {hint: decide(hint, collected) for hint in HINTS}
    read = verdicts[READ_ONLY]
    shows_read = not read.sources.isdisjoint(DESCRIBING_SOURCES)
    if texts.sentences and read.value is True and not shows_read:
        verdicts[READ_ONLY] = Verdict(None)
    return verdicts


def derive_verdicts(tools: Sequence[Tool]) -> list[Verdicts]:
    """A verdict on each hint of each tool of a server, in their order."""
    verdicts: list[Verdicts] = []
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
