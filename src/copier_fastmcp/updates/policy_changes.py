"""What a release's rules mean for the tools of a server: hints and gates, computed without the server.

The declarations come from the source files, parsed; what they mean comes from the tables of both versions; the lock
shows whether the computation is right for the version that the server has.
"""

import ast
import copy
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from copier_fastmcp_engine.testing import lock

from ..behaviors import build_declaration, build_policy
from ..errors import UnableError, format_count
from ..project import copier_process
from ..project.tool_files import FUNCTIONS, parse_behavior
from ..tools_answer import infer_behavior, parse_entries

Tables = Mapping[str, Any]
SEVERAL = "several"  # rules that only together change a tool
# Tables whose rows are rules; the others are words that readers and generators use.
RULE_TABLES = ("behaviors", "on_the_wire", "profiles", "confirm", "rules", "verbs")
# Files that compute hints and gates: what they change shows in no table.
COMPUTING = {"policy.py", "declarations.py", "gate.py", "guard.py"}
DECLARED = ("destructive", "idempotent", "open_world", "confirm", "exceptions")
SOURCES = "src/*/**/*.py"
TABLES = ("src/*/tables.json", "engine/**/tables.json")


@dataclass(frozen=True)
class RuleChange:
    """A rule that differs between two versions.

    Attributes:
        name: Its place in the tables, as profiles.explicit.confirm.
        before: Its old value; None where it is new.
        after: Its new value; None where it is gone.
    """

    name: str
    before: Any
    after: Any

    def describe(self) -> str:
        """Return what changed, in one line."""
        if self.before is None:
            return f"new: {_format_value(self.after)}"
        if self.after is None:
            return "gone"
        if isinstance(self.before, Mapping) and isinstance(self.after, Mapping):
            keys = self.before.keys() | self.after.keys()
            parts = []
            for key in sorted(keys):
                old, new = self.before.get(key), self.after.get(key)
                if old != new:
                    parts.append(f"{key} {_format_value(old)} -> {_format_value(new)}")
            return ", ".join(parts)
        return f"{_format_value(self.before)} -> {_format_value(self.after)}"


@dataclass(frozen=True)
class Effect:
    """A change for one tool.

    Attributes:
        rule: The name of the rule that causes it.
        tool: The tool.
        change: What changes, as `gate lost`.
        is_relaxed: Whether a client may do more without a confirmation.
    """

    rule: str
    tool: str
    change: str
    is_relaxed: bool


@dataclass
class Consequences:
    """What a release's rules mean for one server.

    Attributes:
        rules: Each rule that changed, by its name: what changed.
        effects: The changes for tools.
        unknown: Tools whose hints the computation does not reproduce for the old version.
        is_static: Whether there is no lock to compare with.
    """

    rules: dict[str, str] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    is_static: bool = False

    def has_relaxations(self) -> bool:
        """Return whether any tool is relaxed."""
        return any(effect.is_relaxed for effect in self.effects)

    def relaxations(self) -> list[str]:
        """Return each relaxation with the number of its tools."""
        counts: Counter[str] = Counter()
        for effect in self.effects:
            if effect.is_relaxed:
                counts[effect.change] += 1
        lines = []
        for change, count in counts.items():
            lines.append(f"{change}: {format_count(count, 'tool')}")
        return lines

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Consequences":
        """Return what `as_json` has written."""
        if not data:
            return cls()
        effects = [Effect(**row) for row in data["effects"]]
        return cls(
            dict(data["rules"]), effects, list(data["unknown"]), bool(data["is_static"])
        )


@dataclass(frozen=True)
class Facts:
    """What a tool is under a policy: its hints on the wire, and whether it has a gate."""

    hints: Mapping[str, bool]
    is_gated: bool


def load_release_tables(source: str, ref: str | None) -> Tables:
    """Return the tables of a template at a version.

    Raises:
        UnableError: The template cannot be reached, or that version has no tables.
    """
    text = copier_process.read_template_file(source, ref, TABLES)
    if not text:
        raise UnableError(f"{source} at {ref} has no tables.json")
    tables: Tables = json.loads(text)
    return tables


def find_rule_changes(old: Tables, new: Tables) -> list[RuleChange]:
    """Return the rules that differ between the tables of two versions."""
    before = dict(_list_rules(old))
    after = dict(_list_rules(new))
    changes = []
    for name in before.keys() | after.keys():
        old_value, new_value = before.get(name), after.get(name)
        if old_value != new_value:
            changes.append(RuleChange(name, old_value, new_value))
    return sorted(changes, key=lambda change: change.name)


def _list_rules(tables: Tables) -> Iterator[tuple[str, Any]]:
    """Yield each rule with its name; a rule of the suite is one, a row of another table is one for each value."""
    for row in tables.get("finer", ()):
        yield _name_finer_rule(row), dict(row)
    for table in RULE_TABLES:
        for key, row in tables.get(table, {}).items():
            if table == "rules" or not isinstance(row, Mapping):
                yield f"{table}.{key}", row
            else:
                yield from _list_leaves(f"{table}.{key}", row)


def _name_finer_rule(row: Mapping[str, Any]) -> str:
    return ".".join(
        ["finer", str(row["behavior"]), "+".join(row["tools"]), str(row["hint"])]
    )


def _list_leaves(name: str, row: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in row.items():
        if isinstance(value, Mapping):
            yield from _list_leaves(f"{name}.{key}", value)
        else:
            yield f"{name}.{key}", value


def with_change(tables: Tables, change: RuleChange) -> Tables:
    """Return tables in which only one rule has its new value."""
    changed = copy.deepcopy(dict(tables))
    table, *path = change.name.split(".")
    if table == "finer":
        rows = []
        for row in changed.get("finer", ()):
            if _name_finer_rule(row) != change.name:
                rows.append(row)
        if change.after is not None:
            rows.append(change.after)
        changed["finer"] = rows
        return changed
    row = changed.setdefault(table, {})
    for key in path[:-1]:
        row = row.setdefault(key, {})
    if change.after is None:
        row.pop(path[-1], None)
    else:
        row[path[-1]] = change.after
    return changed


@dataclass(frozen=True)
class Declaration:
    """A tool's declaration as it is written in the source."""

    behavior: str
    entry: Mapping[str, Any]


def parse_declarations(
    project: Path, answers: Mapping[str, Any]
) -> dict[str, Declaration]:
    """Return the declaration of each tool, from the source files; from the answers where a file shows none."""
    declarations = {}
    for tool in parse_entries(answers.get("tools")):
        name = str(tool.get("name")).strip()
        behavior = infer_behavior(tool)
        if behavior:
            declarations[name] = Declaration(
                behavior, {key: tool[key] for key in DECLARED if key in tool}
            )
    for path in sorted(project.glob(SOURCES)):
        try:
            tree = ast.parse(path.read_bytes())
        except (SyntaxError, ValueError, OSError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, FUNCTIONS):
                behavior, call = parse_behavior(node)
                if behavior:
                    declarations[node.name] = Declaration(
                        behavior, _parse_keywords(call)
                    )
            elif isinstance(node, ast.Call):
                name, behavior = _parse_declare_call(node)
                if name:
                    declarations[name] = Declaration(behavior, _parse_keywords(node))
    return declarations


def _parse_declare_call(call: ast.Call) -> tuple[str, str]:
    """Return name and behavior of a `declare("name", "behavior", ...)`; empty for another call."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    function = call.func.id if isinstance(call.func, ast.Name) else function
    words = [value.value for value in call.args if isinstance(value, ast.Constant)]
    if function != "declare" or len(words) < 2:
        return "", ""
    return str(words[0]), str(words[1])


def _parse_keywords(call: ast.Call | None) -> dict[str, Any]:
    """Return the keywords that count for hints and gate; one that is computed is left out."""
    values: dict[str, Any] = {}
    for keyword in call.keywords if call else ():
        if keyword.arg not in DECLARED:
            continue
        try:
            values[keyword.arg] = ast.literal_eval(keyword.value)
        except ValueError:
            continue
    return values


def compute_facts(
    name: str, declaration: Declaration, answers: Mapping[str, Any], tables: Tables
) -> Facts:
    """Return what a declaration means under the tables of a version.

    Raises:
        KeyError: The version has no such behavior.
    """
    policy = build_policy(answers, tables)
    declared_tool = build_declaration(
        {"name": name, **declaration.entry}, declaration.behavior
    )
    return Facts(policy.hints(declared_tool), policy.is_gated(declared_tool))


def _list_differences(before: Facts, after: Facts) -> Iterator[tuple[str, bool]]:
    """Yield each difference for clients, and whether it is a relaxation."""
    if before.is_gated != after.is_gated:
        yield ("gate gained", False) if after.is_gated else ("gate lost", True)
    for hint, relaxed in lock.RELAXED.items():
        old_value, new_value = before.hints.get(hint), after.hints.get(hint)
        if old_value is new_value:
            continue
        is_relaxed = new_value is relaxed or (
            hint == "destructiveHint" and old_value is True
        )
        yield (
            f"{hint} {_format_value(old_value)} -> {_format_value(new_value)}",
            is_relaxed,
        )


def find_consequences(
    project: Path,
    old_answers: Mapping[str, Any],
    new_answers: Mapping[str, Any],
    old: Tables,
    new: Tables,
) -> Consequences:
    """Return what the rules of a version mean for a server.

    Args:
        project: The server, as it is or after the update: its tools are the same.
        old_answers: Its answers before.
        new_answers: Its answers now.
        old: The tables of its version.
        new: The tables of the release.
    """
    changes = find_rule_changes(old, new)
    result = Consequences({change.name: change.describe() for change in changes})
    pinned: Mapping[str, Any] = {}
    try:
        pinned = lock.load_lock(project / lock.FILE)["tools"]
    except ValueError:
        result.is_static = True
    declarations = parse_declarations(project, old_answers)
    names = pinned.keys() or declarations.keys()
    for name in sorted(names):
        declaration = declarations.get(name) or _build_pinned_declaration(pinned, name)
        try:
            before = compute_facts(name, declaration, old_answers, old)
            after = compute_facts(name, declaration, new_answers, new)
        except KeyError:
            result.unknown.append(name)
            continue
        if name in pinned and not _reproduces(before, pinned[name]):
            result.unknown.append(name)
            continue
        for change, is_relaxed in _list_differences(before, after):
            rule = _find_cause(
                name, declaration, old_answers, new_answers, old, changes, change
            )
            result.effects.append(Effect(rule, name, change, is_relaxed))
    return result


def describe_consequences(consequences: Consequences) -> list[str]:
    """Return a line for each changed rule with what follows from it, relaxations first."""
    lines = []
    causes = dict(consequences.rules)
    for effect in consequences.effects:
        causes.setdefault(effect.rule, "changes tools")
    for rule, change in causes.items():
        tools: dict[tuple[bool, str], list[str]] = {}
        for effect in consequences.effects:
            if effect.rule == rule:
                tools.setdefault((not effect.is_relaxed, effect.change), []).append(
                    effect.tool
                )
        parts = []
        for (is_harmless, text), names in sorted(tools.items()):
            label = "" if is_harmless else "RELAXED: "
            parts.append(f"{label}{text} ({', '.join(names)})")
        lines.append(f"{rule}: {change}" + "".join(f"; {part}" for part in parts))
    lines.sort(key=lambda line: "RELAXED: " not in line)
    if consequences.unknown:
        unknown = ", ".join(consequences.unknown)
        lines.append(
            f"not computed, since the lock differs from the declarations: {unknown}"
        )
    return lines


def _build_pinned_declaration(pinned: Mapping[str, Any], name: str) -> Declaration:
    """Return the declaration that the lock has of a tool that no source file shows."""
    entry = pinned[name]
    return Declaration(
        str(entry.get("behavior")), {"exceptions": entry.get("exceptions") or ()}
    )


def _reproduces(facts: Facts, pinned: Mapping[str, Any]) -> bool:
    return facts == Facts(pinned["hints"], bool(pinned["gated"]))


def _find_cause(
    name: str,
    declaration: Declaration,
    old_answers: Mapping[str, Any],
    new_answers: Mapping[str, Any],
    old: Tables,
    changes: list[RuleChange],
    effect: str,
) -> str:
    """Return the rule that alone causes a change; the answer where an answer does, or `several`."""
    before = compute_facts(name, declaration, old_answers, old)
    for change in changes:
        after = compute_facts(name, declaration, old_answers, with_change(old, change))
        if effect in dict(_list_differences(before, after)):
            return change.name
    if effect in dict(
        _list_differences(before, compute_facts(name, declaration, new_answers, old))
    ):
        return "answers"
    return SEVERAL


def _format_value(value: Any) -> str:
    if isinstance(value, str):
        return value
    text = (
        "absent"
        if value is None
        else json.dumps(value, ensure_ascii=False, sort_keys=True)
    )
    return text if len(text) <= 100 else text[:99] + "…"
