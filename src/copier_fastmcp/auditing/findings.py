"""The declared hints of a server's tools compared with the derived ones: findings and questions.

A missing hint has the protocol's default: not read-only, destructive, not idempotent, open-world
(MCP specification, ToolAnnotations).
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from copier_fastmcp_engine.testing.lock import HINTS
from copier_fastmcp_engine.testing.rules import Tool, examine

from ..tables import load_tables
from .clients import effective_hint
from .directories import find_violations
from .evidence import DESTRUCTIVE, IDEMPOTENT, OPEN_WORLD, READ_ONLY
from .validation import AuditedTool, validate_definition
from .verdicts import Verdict, derive_verdicts
from .vocabulary import find_source, load_rules, load_vocabulary

# What a definition contradicts: the rule for a hint with that value, and how much harm it does.
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
LEFT_OUT = "default-contradicts"
VERSIONED = "versioned-is-not-idempotent"
# Rules that say in general what a finding on a hint that is left out says in particular.
MISSING_HINTS = {"annotations-present", "applicable-hint"}
KNOWN_ANNOTATIONS = {"title", *HINTS}
# Of the rules that a generated server's own suite has, those that a derived verdict replaces here.
REPLACED = {rule for rule, _ in CONTRADICTED.values()} | {LEFT_OUT, VERSIONED}
GRAVE = {
    "annotations-present",
    "applicable-hint",
    "definition-valid",
    "hints-boolean",
    "hints-known",
    "name-unique",
    "name-valid",
    "one-action",
    "parameters-typed",
    "read-only-excludes-destructive",
    "text-clean",
    "text-commands",
}
# Sources that are the name in other words.
NAME_SOURCES = {"name", "title", "siblings"}
# Sources that state a read, where an author's `readOnlyHint: false` needs more than verbs against it.
STATING_SOURCES = {"phrases", "language", "choices"}
SHOWN_EVIDENCE = 3
TYPO_SIMILARITY = 0.8


@dataclass(frozen=True)
class AuditFinding:
    """A problem of a tool.

    `hint`, `declared` and `derived` are None if it does not concern a hint; `declared` is the value on
    the wire, or None. `evidence` has a line for each source.
    """

    tool: str
    rule: str
    hint: str | None
    declared: Any
    derived: bool | None
    evidence: tuple[str, ...]
    message: str
    fix: str
    severity: str
    source: str
    server: str = ""

    def key(self) -> tuple[str, ...]:
        """The identity of a finding across audits."""
        about = self.message if self.hint is None else repr(self.declared)
        return (self.server, self.tool, self.rule, self.hint or "", about)


@dataclass(frozen=True)
class Question:
    """A hint whose evidence is contradictory, so that only the author of the tool can decide it."""

    tool: str
    hint: str
    text: str
    evidence: tuple[str, ...]


def audit_tools(
    definitions: Sequence[Mapping[str, Any]],
    profile: str = "foreign",
    server: str = "",
    *,
    is_own: bool = False,
    declared: Collection[str] = (),
) -> tuple[list[AuditFinding], list[Question]]:
    """Audit a server's tools: the findings, and the questions that only the author can answer.

    Args:
        definitions: The tools as tools/list has them.
        profile: `foreign` for any server, `anthropic` or `openai` for a directory's own rules.
        server: What tells this server from others that are audited with it.
        is_own: Whether the reader owns, and so can edit, the server: the fixes are then those of its policy.
        declared: Tools whose behavior is declared, and proved by running them; what their words
            say does not count against it.
    """
    tools = []
    errors = []
    for definition in definitions:
        valid, invalid_parts = validate_definition(definition)
        tools.append(AuditedTool(valid))
        errors.append(invalid_parts)
    findings: list[AuditFinding] = []
    questions: list[Question] = []
    for tool, verdicts in zip(tools, derive_verdicts(tools), strict=True):
        if tool.name in declared:
            continue
        for result in _compare_hints(tool, verdicts):
            if isinstance(result, Question):
                questions.append(result)
            elif profile in load_rules()[result.rule]["profiles"]:
                findings.append(result)
    named = {finding.tool for finding in findings}
    for finding in _apply_rules(tools, errors, profile, is_own):
        is_repeated = finding.rule in MISSING_HINTS and finding.tool in named
        if not is_repeated or profile != "foreign":
            findings.append(finding)
    order: dict[str, int] = {}
    for place, tool in enumerate(tools):
        order.setdefault(tool.name, place)
    findings.sort(key=lambda finding: order[finding.tool])
    return [replace(finding, server=server) for finding in findings], questions


def _compare_hints(
    tool: Tool, verdicts: Mapping[str, Verdict]
) -> Iterator[AuditFinding | Question]:
    """Compare the hints of a tool with the verdicts from its definition."""
    is_read_only = verdicts[READ_ONLY].value
    declared = tool.annotations.get(READ_ONLY)
    if is_read_only is None and isinstance(declared, bool):
        is_read_only = declared
    for hint in HINTS:
        if hint in (DESTRUCTIVE, IDEMPOTENT) and is_read_only is not False:
            continue  # these two mean nothing for a tool that only reads
        verdict = verdicts[hint]
        if verdict.clash or _is_bolder_than_author(tool, hint, verdict):
            text = f"{hint}: {'; '.join(verdict.evidence)}; somebody who knows it has to say"
            yield Question(tool.name, hint, text, verdict.evidence)
            continue
        finding = _compare_hint(tool, verdict, hint)
        if finding:
            yield finding


def _is_bolder_than_author(tool: Tool, hint: str, verdict: Verdict) -> bool:
    """Whether a verdict contradicts a false that the author declares, on too little evidence."""
    if verdict.value is not True or tool.annotations.get(hint) is not False:
        return False
    if hint == READ_ONLY:
        return not verdict.sources & STATING_SOURCES
    return verdict.sources <= NAME_SOURCES


def _compare_hint(tool: Tool, verdict: Verdict, hint: str) -> AuditFinding | None:
    """The finding on one hint; None if it agrees with the verdict."""
    value = verdict.value
    if value is None or effective_hint(tool.annotations, hint) is value:
        return None
    declared = tool.annotations.get(hint)
    is_declared = isinstance(declared, bool)
    if not is_declared and (hint in tool.annotations or _find_typos(tool)):
        return None  # a value that is no boolean, or a typo, is a finding of its own
    rule, severity = CONTRADICTED[hint, not value]
    if not is_declared:
        rule = LEFT_OUT
    elif "version" in verdict.sources:
        rule = VERSIONED
    if is_declared:
        statement = f"{hint} is {str(declared).lower()}"
    else:
        statement = (
            f"{hint} is left out, which clients read as {str(not value).lower()}"
        )
    advice = f"its author should say {hint}: {str(value).lower()}"
    return AuditFinding(
        tool=tool.name,
        rule=rule,
        hint=hint,
        declared=declared,
        derived=value,
        evidence=verdict.evidence,
        message=f"{statement}, but {' and '.join(verdict.evidence[:SHOWN_EVIDENCE])}",
        fix=f"{advice}; {load_vocabulary()['meanwhile'][rule]}",
        severity=severity,
        source=find_source(rule, is_own=False),
    )


def _find_typos(tool: Tool) -> list[str]:
    """The annotations whose names are typos of a hint; other unknown names are extensions."""
    hints: set[str] = set()
    for hint in HINTS:
        hints |= {hint.lower(), hint.lower().removesuffix("hint")}
    typos = []
    for annotation in tool.annotations.keys() - KNOWN_ANNOTATIONS:
        name = str(annotation)
        if get_close_matches(name.lower(), hints, 1, TYPO_SIMILARITY):
            typos.append(name)
    return typos


def _apply_rules(
    tools: Sequence[Tool], errors: Sequence[Sequence[str]], profile: str, is_own: bool
) -> list[AuditFinding]:
    """The findings of rules that need no verdict; one for each tool and rule."""
    messages: dict[tuple[str, str], list[str]] = {}
    without_typo = {tool.name for tool in tools if not _find_typos(tool)}
    for violation in examine(tools, load_tables(), profile):
        is_own_annotation = (
            violation.rule == "hints-known" and violation.tool in without_typo
        )
        if violation.rule not in REPLACED and not is_own_annotation:
            messages.setdefault((violation.tool, violation.rule), []).append(
                violation.message
            )
    for tool, invalid_parts in zip(tools, errors, strict=True):
        violations = list(find_violations(tool))
        violations += [("definition-valid", part) for part in invalid_parts]
        for rule, message in violations:
            if profile in load_rules()[rule]["profiles"]:
                messages.setdefault((tool.name, rule), []).append(message)
    findings = []
    for (name, rule), rule_messages in messages.items():
        finding = AuditFinding(
            tool=name,
            rule=rule,
            hint=None,
            declared=None,
            derived=None,
            evidence=tuple(rule_messages),
            message=_join_messages(rule_messages),
            fix=_find_fix(rule, is_own),
            severity=_rate(rule, profile),
            source=find_source(rule, is_own=is_own),
        )
        findings.append(finding)
    return findings


def _find_fix(rule: str, is_own: bool) -> str:
    project_fix: str = load_rules()[rule]["fix"]
    if is_own:
        return project_fix
    foreign_fix: str = load_vocabulary()["fixes"].get(rule, project_fix)
    return foreign_fix


def _rate(rule: str, profile: str) -> str:
    if rule == "output-schema":
        return "warning"  # the directory warns of it
    if profile != "foreign":
        return "error"  # the directory refuses it
    return "warning" if rule in GRAVE else "note"


def _join_messages(messages: Sequence[str]) -> str:
    suffix = (
        f" and {len(messages) - SHOWN_EVIDENCE} more"
        if len(messages) > SHOWN_EVIDENCE
        else ""
    )
    return "; ".join(dict.fromkeys(messages[:SHOWN_EVIDENCE])) + suffix
