"""What a release does to many servers, put together: rules first, then what follows from them."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import format_count
from ..project.ownership import OWNERS
from .checkouts import CONFLICT, FAILED, Result
from .policy_changes import COMPUTING, SEVERAL, Consequences
from .reports import escape_markdown, format_counts, format_items, wrap_line

PACKAGE = re.compile(r"(?<=src/)[^/]+(?=/)")
ANSWERS_FILE = ".copier-answers.yml"
SHOWN = 12  # names in a line of the text report; the Markdown report and JSON have all
SEVERAL_TEXT = "no rule alone causes it"


@dataclass
class Outcome:
    """One kind of change for tools, as `gate lost`, and the tools by server."""

    change: str
    is_relaxed: bool
    tools: dict[str, list[str]] = field(default_factory=dict)

    def count(self) -> int:
        """Return the number of tools."""
        return sum(len(names) for names in self.tools.values())

    def describe(self) -> str:
        """Return the change and how much it concerns."""
        label = "RELAXED: " if self.is_relaxed else ""
        servers = format_count(len(self.tools), "server")
        return (
            f"{label}{self.change}: {format_count(self.count(), 'tool')} in {servers}"
        )


@dataclass
class Rule:
    """A rule that the release changes, with its outcomes; relaxations are first."""

    name: str
    change: str
    is_accepted: bool
    outcomes: list[Outcome] = field(default_factory=list)

    def is_relaxed(self) -> bool:
        """Return whether any tool is relaxed."""
        return any(outcome.is_relaxed for outcome in self.outcomes)

    def describe(self) -> str:
        """Return the rule, its change and its outcomes in one line."""
        parts = [outcome.describe() for outcome in self.outcomes]
        accepted = " (accepted)" if self.is_relaxed() and self.is_accepted else ""
        return "; ".join([f"{self.name}: {self.change}{accepted}", *parts])


@dataclass
class Plan:
    """What a release does to servers.

    Attributes:
        rules: The rules that it changes.
        answers: Answers that would change, and for how many servers.
        files: Policy and shared files that would change, and for how many servers.
        conflicts: Servers with a conflict, and what the release changes there.
        blocked: Servers that cannot be updated, with the reason.
        unreached: Servers whose policy files would not be as the release has them.
        unknown: Tools whose hints could not be computed, by server.
        live: What running servers showed, by server.
        static: Servers without a lock.
        servers: Every server, with its outcome.
    """

    rules: list[Rule] = field(default_factory=list)
    answers: dict[str, int] = field(default_factory=dict)
    files: dict[str, int] = field(default_factory=dict)
    conflicts: dict[str, list[str]] = field(default_factory=dict)
    blocked: dict[str, str] = field(default_factory=dict)
    unreached: dict[str, list[str]] = field(default_factory=dict)
    unknown: dict[str, list[str]] = field(default_factory=dict)
    live: dict[str, list[str]] = field(default_factory=dict)
    static: list[str] = field(default_factory=list)
    servers: dict[str, str] = field(default_factory=dict)

    def compares_no_rules(self) -> bool:
        """Return whether no server could be updated, so that nothing shows which rules change."""
        return bool(self.blocked) and len(self.blocked) == len(self.servers)

    def open_relaxations(self) -> list[str]:
        """Return the names of rules that relax a tool and are not accepted."""
        names = []
        for rule in self.rules:
            if rule.is_relaxed() and not rule.is_accepted:
                names.append(rule.name)
        return names

    def needs_a_decision(self) -> bool:
        """Return whether somebody has to look at it."""
        return bool(
            self.open_relaxations()
            or self.conflicts
            or self.blocked
            or self._has_unexplained_relaxations()
        )

    def _has_unexplained_relaxations(self) -> bool:
        """Return whether a running server shows a relaxation that is no effect of a rule."""
        explained = set()
        for rule in self.rules:
            for outcome in rule.outcomes:
                for server, names in outcome.tools.items():
                    for name in names:
                        explained.add((server, f"{name}: RELAXED: {outcome.change}"))
        for server, lines in self.live.items():
            for line in lines:
                if ": RELAXED: " in line and (server, line) not in explained:
                    return True
        return False


def make_plan(results: Iterable[Result], accepted: Iterable[str]) -> Plan:
    """Put the results of servers together.

    Args:
        results: A result for each server.
        accepted: The names of rules whose relaxations are wanted.
    """
    plan = Plan()
    rules: dict[str, Rule] = {}
    answers: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for result in results:
        server = result.project
        plan.servers[server] = result.outcome
        if result.outcome == FAILED:
            plan.blocked[server] = "; ".join(result.detail)
        if result.outcome == CONFLICT:
            plan.conflicts[server] = result.conflicts or result.detail
        if result.differs:
            plan.unreached[server] = result.differs
        if result.tools:
            plan.live[server] = result.tools
        if result.consequences:
            _add_consequences(
                plan, rules, server, Consequences.from_json(result.consequences)
            )
        for name, (before, after) in result.answers.items():
            if name != "_src_path":
                answers[f"{name}: {before!r} -> {after!r}"] += 1
        files.update(_format_files(result))
    for rule in rules.values():
        rule.is_accepted = rule.name in accepted
        rule.outcomes.sort(key=lambda outcome: (not outcome.is_relaxed, outcome.change))
    plan.rules = sorted(
        rules.values(), key=lambda rule: (not rule.is_relaxed(), rule.name)
    )
    plan.answers = dict(sorted(answers.items()))
    plan.files = dict(sorted(files.items()))
    return plan


def _add_consequences(
    plan: Plan, rules: dict[str, Rule], server: str, consequences: Consequences
) -> None:
    """Add what follows for one server."""
    if consequences.unknown:
        plan.unknown[server] = consequences.unknown
    if consequences.is_static:
        plan.static.append(server)
    for name, change in consequences.rules.items():
        rules.setdefault(name, Rule(name, change, is_accepted=False))
    for effect in consequences.effects:
        text = SEVERAL_TEXT if effect.rule == SEVERAL else "changes tools"
        rule = rules.setdefault(effect.rule, Rule(effect.rule, text, is_accepted=False))
        for outcome in rule.outcomes:
            if outcome.change == effect.change:
                break
        else:
            outcome = Outcome(effect.change, effect.is_relaxed)
            rule.outcomes.append(outcome)
        outcome.tools.setdefault(server, []).append(effect.tool)


def _format_files(result: Result) -> Iterator[str]:
    """Yield each policy or shared file that changes, the package's name left open."""
    for name, state in result.files.items():
        if OWNERS.fullmatch(name) or name.endswith(ANSWERS_FILE):
            continue
        general = PACKAGE.sub("*", name)
        computes = state == "changed" and Path(name).name in COMPUTING
        hint = " (it computes hints and gates: try --live)" if computes else ""
        yield f"{general}: {state}{hint}"


@dataclass(frozen=True)
class _Part:
    title: str
    lines: list[str]
    is_folded: bool = False


def _prefix_lines(lines_by_server: Mapping[str, list[str]]) -> list[str]:
    """Return the lines of all servers, each with the name of its server."""
    prefixed = []
    for server, lines in lines_by_server.items():
        for line in lines:
            prefixed.append(f"{server}: {line}")
    return prefixed


def _build_parts(plan: Plan, *, with_names: bool) -> list[_Part]:
    """Return the report's parts in the order of their weight."""
    relaxed: list[str] = []
    other_lines: list[str] = []
    for rule in plan.rules:
        lines = relaxed if rule.is_relaxed() else other_lines
        lines.append(rule.describe())
    blocked = [f"{server}: {reason}" for server, reason in plan.blocked.items()]
    live = _prefix_lines(plan.live)
    live.sort(key=lambda line: ": RELAXED: " not in line)
    unknown = []
    for server, names in plan.unknown.items():
        unknown.append(f"{server}: {', '.join(names)}")
    answers = []
    for text, count in plan.answers.items():
        answers.append(f"{text}: in {format_count(count, 'server')}")
    files = []
    for text, count in plan.files.items():
        files.append(f"{text} in {format_count(count, 'server')}")
    parts = [
        _Part("Rules that relax tools", relaxed),
        _Part("Other rules that change", other_lines),
        _Part("From running servers", live),
        _Part("Conflicts", _prefix_lines(plan.conflicts)),
        _Part("Blocked", blocked),
        _Part(
            "Rules that may not arrive: policy files that were edited or deleted",
            _prefix_lines(plan.unreached),
        ),
        _Part(
            "Not computed, since the lock differs from the declarations: try --live",
            unknown,
        ),
        _Part("Answers that change", answers),
        _Part(
            "Tools by rule",
            list(_format_tools(plan, with_names=with_names)),
            is_folded=True,
        ),
        _Part("Servers without a lock, from their sources only (static)", plan.static),
        _Part("Files that change", files, is_folded=True),
    ]
    return [part for part in parts if part.lines]


def _format_tools(plan: Plan, *, with_names: bool) -> Iterator[str]:
    """Yield the tools of each change, by server."""
    for rule in plan.rules:
        for outcome in rule.outcomes:
            for server, names in outcome.tools.items():
                shown_names = names if with_names else names[:SHOWN]
                text = ", ".join(shown_names)
                hidden = len(names) - len(shown_names)
                if hidden:
                    text += f" and {hidden} more"
                yield f"{rule.name}, {outcome.change}: {server}: {text}"


def _format_summary(plan: Plan) -> str:
    counts = Counter(plan.servers.values())
    return f"{format_count(len(plan.servers), 'server')}: {format_counts(counts) or 'none'}"


def _format_decision(plan: Plan) -> list[str]:
    """Return how to go on where a relaxation is not accepted."""
    if not (names := plan.open_relaxations()):
        return []
    options = " ".join(f"--accept {name}" for name in names)
    return [f"to accept what these rules relax: {options}"]


def _describe_no_rules(plan: Plan) -> str:
    """Return that no rule changes, or that no server shows whether one does; empty where rules change."""
    if plan.rules:
        return ""
    if plan.compares_no_rules():
        return "Rules not compared: every server is blocked."
    return "No rule changes."


def plan_as_text(plan: Plan) -> str:
    """Return the plan for a terminal."""
    lines = []
    for part in _build_parts(plan, with_names=False):
        lines.append(f"{part.title}:")
        for line in part.lines:
            lines += wrap_line(f"  {line}")
    if line := _describe_no_rules(plan):
        lines.insert(0, line)
    for line in [_format_summary(plan), *_format_decision(plan)]:
        lines += wrap_line(line)
    return "\n".join(lines)


def plan_as_markdown(plan: Plan) -> str:
    """Return the plan in Markdown, for a review."""
    lines = ["# What the release does", "", _format_summary(plan), ""]
    if line := _describe_no_rules(plan):
        lines += [line, ""]
    for part in _build_parts(plan, with_names=True):
        items = format_items(part.lines)
        if part.is_folded:
            head = f"<details><summary>{part.title} ({len(part.lines)})</summary>"
            lines += [head, "", *items, "", "</details>", ""]
        else:
            lines += [f"## {part.title}", "", *items, ""]
    for text in _format_decision(plan):
        lines += wrap_line(escape_markdown(text))
    return "\n".join(lines).rstrip("\n") + "\n"


def plan_as_json(plan: Plan) -> dict[str, Any]:
    """Return the plan as plain data."""
    rules = []
    for rule in plan.rules:
        outcomes = []
        for outcome in rule.outcomes:
            row = {
                "change": outcome.change,
                "relaxed": outcome.is_relaxed,
                "tools": outcome.tools,
            }
            outcomes.append(row)
        row = {"rule": rule.name, "change": rule.change, "relaxed": rule.is_relaxed()}
        rules.append({**row, "accepted": rule.is_accepted, "effects": outcomes})
    return {
        "rules": rules,
        "open": plan.open_relaxations(),
        "answers": plan.answers,
        "conflicts": plan.conflicts,
        "blocked": plan.blocked,
        "unreached": plan.unreached,
        "unknown": plan.unknown,
        "static": plan.static,
        "live": plan.live,
        "files": plan.files,
        "servers": plan.servers,
    }
