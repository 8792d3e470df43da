"""What a server says of its tools against what their definitions show: findings and questions.

A hint that is missing is judged as the protocol reads it: not read-only, destructive, not
idempotent, open-world (MCP specification, ToolAnnotations).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from ..lock import HINTS
from ..rules import Tool, examine
from ..tables import tables
from .clients import says
from .deriving import Verdict, derive
from .directories import checks
from .sound import sound
from .vocabulary import rules, source, vocabulary

READ_ONLY, DESTRUCTIVE, IDEMPOTENT, OPEN_WORLD = HINTS
# What a hint says that the definition contradicts: the rule, and how much harm it does.
CONTRADICTED = {
    (READ_ONLY, True): ("verb-writes", "error"),
    (READ_ONLY, False): ("verb-reads", "warning"),
    (DESTRUCTIVE, False): ("overwrite-is-destructive", "error"),
    (DESTRUCTIVE, True): ("additive-is-not-destructive", "warning"),
    (IDEMPOTENT, True): ("repeating-adds", "warning"),
    (IDEMPOTENT, False): ("replace-is-idempotent", "note"),
    (OPEN_WORLD, False): ("reaches-out", "warning"),
    (OPEN_WORLD, True): ("stays-inside", "note"),
}
LEFT_OUT, VERSIONED = "default-contradicts", "versioned-is-not-idempotent"
KNOWN = {"title", *HINTS}
# Of the rules that a generated server's own suite has, those that a derived verdict replaces here.
REPLACED = {rule for rule, _ in CONTRADICTED.values()} | {LEFT_OUT, VERSIONED}
GRAVE = {
    *("hints-boolean", "hints-known", "read-only-excludes-destructive", "one-action"),
    *("text-clean", "name-unique", "name-valid", "annotations-present", "text-commands"),
    "definition-valid",
}


@dataclass(frozen=True)
class Judged:
    """One thing that is wrong with a tool.

    `hint`, `declared` and `derived` are None where it is not about a hint; `declared` is what the
    wire says, null where it says nothing. `evidence` holds a line for each signal.
    """

    tool: str
    rule: str
    hint: str | None
    declared: Any
    derived: bool | None
    evidence: tuple[str, ...]
    message: str
    mend: str
    severity: str
    source: str
    server: str = ""

    def key(self) -> tuple[str, ...]:
        """What stays the same from one audit to the next."""
        about = self.message if self.hint is None else repr(self.declared)
        return (self.server, self.tool, self.rule, self.hint or "", about)


@dataclass(frozen=True)
class Question:
    """A hint whose signals contradict each other: somebody who knows the tool has to answer."""

    tool: str
    hint: str
    text: str
    evidence: tuple[str, ...]


def _hint(tool: Tool, verdict: Verdict, hint: str) -> Judged | None:
    """The finding on one hint, or None where it is as its definition shows."""
    if verdict.value is None or says(tool.annotations, hint) is verdict.value:
        return None
    declared = tool.annotations.get(hint)
    said = isinstance(declared, bool)
    if not said and (hint in tool.annotations or _typos(tool)):
        return (
            None  # what stands there has a finding of its own: it is not a boolean, or has a typo
        )
    rule, severity = CONTRADICTED[hint, not verdict.value]
    rule = VERSIONED if "version" in verdict.sources else rule
    rule = rule if said else LEFT_OUT
    saying = f"{hint} is {str(declared).lower()}" if said else f"{hint} is left out"
    default = "" if said else f", which clients read as {str(not verdict.value).lower()}"
    shown = str(verdict.value).lower()
    return Judged(
        tool=tool.name,
        rule=rule,
        hint=hint,
        declared=declared,
        derived=verdict.value,
        evidence=verdict.evidence,
        message=f"{saying}{default}, but {' and '.join(verdict.evidence[:3])}",
        mend=f"its author should say {hint}: {shown}; {vocabulary()['meanwhile'][rule]}",
        severity=severity,
        source=source(rule, ours=False),
    )


def _typos(tool: Tool) -> list[str]:
    """Names among the annotations that were meant for a hint; others are somebody's own."""
    near = {name.lower().removesuffix(end) for name in HINTS for end in ("", "hint")}
    unknown = (str(name) for name in tool.annotations.keys() - KNOWN)
    return [name for name in unknown if get_close_matches(name.lower(), near, 1, 0.8)]


def _verdicts(tool: Tool, verdicts: Mapping[str, Verdict]) -> Iterator[Judged | Question]:
    reads = verdicts[READ_ONLY].value
    for hint in HINTS:
        if hint in (DESTRUCTIVE, IDEMPOTENT) and reads is not False:
            continue  # these two mean nothing for a tool that only reads
        verdict = verdicts[hint]
        if verdict.clash:
            text = f"{hint}: {'; '.join(verdict.evidence)}; somebody who knows it has to say"
            yield Question(tool.name, hint, text, verdict.evidence)
        elif found := _hint(tool, verdict, hint):
            yield found


def judge(
    served: Sequence[Mapping[str, Any]],
    profile: str = "foreign",
    server: str = "",
    *,
    ours: bool = False,
    declared: Collection[str] = (),
) -> tuple[list[Judged], list[Question]]:
    """What is wrong with a server's tools, and what nobody can tell from outside.

    Args:
        served: The tools as tools/list has them.
        profile: `foreign` for any server, `anthropic` or `openai` for a directory's own rules.
        server: What tells this server from others that are judged with it.
        ours: Whether who reads this can edit the server: the mends are then those of its policy.
        declared: Tools whose behavior is declared, and proved by running them; what their words
            say does not count against it.
    """
    read = [sound(tool) for tool in served]
    tools = [Tool(tool) for tool, _ in read]
    findings: list[Judged] = []
    questions: list[Question] = []
    for tool, verdicts in zip(tools, derive(tools), strict=True):
        if tool.name in declared:
            continue
        for one in _verdicts(tool, verdicts):
            if isinstance(one, Question):
                questions.append(one)
            elif profile in rules()[one.rule]["profiles"]:
                findings.append(one)
    told = {one.tool for one in findings}
    for other in _others(tools, [wrong for _, wrong in read], profile, ours):
        if other.rule != "annotations-present" or other.tool not in told or profile != "foreign":
            findings.append(other)
    order = {tool.name: place for place, tool in reversed(list(enumerate(tools)))}
    named = [replace(one, server=server) for one in findings]
    return sorted(named, key=lambda one: order[one.tool]), questions


def _others(
    listed: Sequence[Tool], unsound: Sequence[Sequence[str]], profile: str, ours: bool
) -> list[Judged]:
    """What the rules of the tables find without a verdict; one finding for a tool and a rule."""
    found: dict[tuple[str, str], list[str]] = {}
    odd = {tool.name for tool in listed if not _typos(tool)}
    for one in examine(listed, tables(), profile):
        if one.rule not in REPLACED and not (one.rule == "hints-known" and one.tool in odd):
            found.setdefault((one.tool, one.rule), []).append(one.message)
    for tool, wrong in zip(listed, unsound, strict=True):
        for rule, message in (*checks(tool), *(("definition-valid", each) for each in wrong)):
            if profile in rules()[rule]["profiles"]:
                found.setdefault((tool.name, rule), []).append(message)
    return [
        Judged(
            tool=name,
            rule=rule,
            hint=None,
            declared=None,
            derived=None,
            evidence=tuple(messages),
            message=_joined(messages),
            mend=rules()[rule]["mend"]
            if ours
            else vocabulary()["mends"].get(rule, rules()[rule]["mend"]),
            severity=_weight(rule, profile),
            source=source(rule, ours=ours),
        )
        for (name, rule), messages in found.items()
    ]


def _weight(rule: str, profile: str) -> str:
    if rule == "output-schema":
        return "warning"  # the directory warns of it
    if profile != "foreign":
        return "error"  # the directory refuses it
    return "warning" if rule in GRAVE else "note"


def _joined(messages: Sequence[str]) -> str:
    rest = f" and {len(messages) - 3} more" if len(messages) > 3 else ""
    return "; ".join(dict.fromkeys(messages[:3])) + rest
