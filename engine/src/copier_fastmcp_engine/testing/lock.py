"""The lock: every tool's whole definition as shipped, pinned in annotations.lock.json and compared.

Managed by the template; copier-fastmcp and the suite of every project have the same file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .rules import Tool, format_finding

FILE = "annotations.lock.json"
COMMAND = "`uv run tests/policy/pin.py`"
FIX = f"restore it from git, or delete it and run {COMMAND}"
CURRENT, READABLE = "lock-current", "lock-readable"  # rules
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
RELAXED = dict(zip(HINTS, (True, False, True, False), strict=True))
TEXTS = ("behavior", "title", "description", "why", "effect", "exceptions")
RARE = ("deprecated", "formerly", "waivers")  # keys that most entries do not have
EXCLUSIONS = ("effects", "loses", "outside", "replaces", "skips")  # parts of a proof
SNAPSHOT = "snapshot()"  # on which every proof rests
PROOF_CHANGED = "proof changed"
COMPONENTS = "resources and prompts"
SIDES = ("input", "output")
REQUIRED = {"hints", "gated", "scopes", *TEXTS, *SIDES}
READ = ("name", "description", "inputSchema")  # the parts that models read
NULL = {"type": "null"}
FORM = "2"  # the version of the schemas that the policy writes
NEW = "is new"
UNRELEASED = "once somebody calls these tools, run pin.py --released"
GROUPS = ("new", "gone", "renamed", "changed")  # of a summary
SHOWN = 6  # names of tools in a summary
LONGEST = 80  # characters of a value in a difference
NAMED = ("properties", "patternProperties", "dependentSchemas")
WORDS = ("default", "deprecated", "description", "examples")
AT_LEAST = ("exclusiveMinimum", "minimum", "minItems", "minLength")
AT_MOST = ("exclusiveMaximum", "maximum", "maxItems", "maxLength")
TYPES = {
    str: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
    type(None): "null",
}
Lock = dict[str, Any]
Schema = Mapping[str, Any]
Entry = Mapping[str, Any]
Entries = Mapping[str, Entry]


def build_entry(tool: Tool) -> dict[str, Any]:
    """Return the lock's entry for a tool; an undeclared tool has no behavior."""
    wire = dict(tool.wire)
    declared = tool.declared or {}
    model_bytes = count_bytes(_select_keys(wire, READ))
    optional = {**declared, "waivers": list(tool.waivers)}
    entry: dict[str, Any] = {}
    for key in RARE:
        if optional.get(key):
            entry[key] = optional[key]
    if tool.proof:
        entry["proof"] = dict(tool.proof)
    entry |= {
        "behavior": declared.get("behavior"),
        "hints": _select_keys(tool.annotations, HINTS),
        "gated": declared.get("gated", False),
        "probed": bool(tool.probed),
        "scopes": sorted(declared.get("scopes", ())),
        "title": wire.get("title"),
        "description": wire.get("description"),
        "input": normalize_schema(wire.get("inputSchema") or {}),
        "output": normalize_schema(wire.get("outputSchema") or {}),
        "why": declared.get("why"),
        "effect": declared.get("public_effect", True),
        "exceptions": declared.get("exceptions", []),
        "bytes": {"model": model_bytes, "rest": count_bytes(wire) - model_bytes},
    }
    return entry


def _select_keys(mapping: Mapping[str, Any], keys: Iterable[str]) -> dict[str, Any]:
    """Return those of some keys that a mapping has, with their values."""
    return {key: mapping[key] for key in keys if key in mapping}


def count_bytes(value: object) -> int:
    """Return the size of a value as JSON without spaces."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(text.encode())


def build_lock(
    tools: Iterable[Tool],
    versions: Mapping[str, str],
    *,
    released: bool = False,
    snapshot: str = "",
) -> Lock:
    """Return the lock of a server's tools.

    Args:
        tools: The tools.
        versions: The versions of the libraries that render schemas.
        released: Whether somebody calls these tools already.
        snapshot: The digest of the function that shows all data to the proofs.
    """
    entries: dict[str, Any] = {}
    for tool in tools:
        entries[tool.name] = build_entry(tool)
    return {
        "released": released,
        "proof": {"snapshot": snapshot} if snapshot else {},
        "versions": {"schemas": FORM, **versions},
        "tools": entries,
    }


def format_lock(lock: Lock) -> str:
    """Return the text of a lock's file."""
    return json.dumps(lock, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def load_lock(path: Path) -> Lock:
    """Return the lock in a file.

    Raises:
        ValueError: The file is not a lock; the message names the file and the fix.
    """
    try:
        lock: Lock = json.loads(path.read_text(encoding="utf-8"))
        for name, entry in lock["tools"].items():
            missing = REQUIRED - entry.keys()
            if missing:
                raise ValueError(f"{name} has no {min(missing)}")
        return {
            "released": lock.get("released") is True,
            "proof": dict(lock.get("proof", {})),
            "versions": dict(lock["versions"]),
            "tools": lock["tools"],
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = " ".join(str(error).split())
        text = f"{path}: not a lock ({type(error).__name__}: {reason})"
        raise ValueError(format_finding(text, FIX, READABLE)) from None


def normalize_schema(
    schema: Any,
    defs: Schema | None = None,
    within: tuple[str, ...] = (),
) -> Any:
    """Return a JSON Schema sorted, with `$ref` resolved except for recursion, without titles and `x-...`.

    Args:
        schema: The schema, or a part of it.
        defs: The definitions of the whole schema.
        within: The names of the definitions that contain this part.
    """
    if isinstance(schema, list):
        return [normalize_schema(item, defs, within) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    if defs is None:
        defs = schema.get("$defs", {})
    target = get_reference(schema)
    if target in defs and target not in within:
        siblings = {key: value for key, value in schema.items() if key != "$ref"}
        resolved = {**defs[target], **siblings}
        return normalize_schema(resolved, defs, (*within, target))
    normalized: dict[str, Any] = {}
    for key, value in sorted(schema.items()):
        if key in ("$defs", "title") or key.startswith("x-"):
            continue
        normalized[key] = _normalize_keyword(key, value, defs, within)
    return normalized


def get_reference(schema: Schema) -> str:
    """Return the name of the definition that a schema refers to; nothing where it refers to none."""
    return str(schema.get("$ref", "")).removeprefix("#/$defs/")


def _normalize_keyword(
    key: str,
    value: Any,
    defs: Schema,
    within: tuple[str, ...],
) -> Any:
    """Return the value of one keyword of a schema, as `normalize_schema` does."""
    if key in NAMED:
        named: dict[str, Any] = {}
        for name, subschema in sorted(value.items()):
            named[name] = normalize_schema(subschema, defs, within)
        return named
    if key in ("required", "type", "enum") and isinstance(value, list):
        return sorted(value, key=json.dumps)
    if key in WORDS or key == "const":
        return value
    return normalize_schema(value, defs, within)


def covers(wide: Any, narrow: Any) -> bool:
    """Return whether a schema accepts every value that another one accepts; False if that is uncertain."""
    if not isinstance(wide, Mapping) or not isinstance(narrow, Mapping):
        if wide is True or (wide == "number" and narrow == "integer"):
            return True
        return bool(wide == narrow)
    wide_choices = _list_choices(wide)
    for choice in _list_choices(narrow):
        if not any(_covers_choice(candidate, choice) for candidate in wide_choices):
            return False
    return True


def _list_choices(schema: Schema) -> list[dict[str, Any]]:
    """Return the alternatives of a schema: of `anyOf`, of several types, and of an enumeration."""
    constraints: dict[str, Any] = {}
    for key, value in schema.items():
        if key not in WORDS:
            constraints[key] = value
    choices: list[dict[str, Any]] = []
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword not in constraints:
            continue
        if keyword == "allOf" and len(constraints[keyword]) != 1:
            continue
        for part in constraints.pop(keyword):
            choices += _list_choices(constraints | part)
        return choices
    for choice in _split_values(constraints):
        choices.append(NULL if choice.get("type") == "null" else choice)
    return choices


def _split_values(constraints: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a choice for each value of an enumeration, else for each type."""
    values = constraints.get("enum")
    if "const" in constraints:
        values = [constraints["const"]]
    if values:
        choices: list[dict[str, Any]] = []
        for value in values:
            choices.append({"enum": [value], "type": TYPES.get(type(value))})
        return choices
    types = constraints.get("type")
    if isinstance(types, list):
        return [constraints | {"type": name} for name in types]
    return [constraints]


def _is_closed(schema: Schema) -> bool:
    return schema.get("additionalProperties") is False


def _covers_choice(wide: Schema, narrow: Schema) -> bool:
    """Return whether one alternative of a schema accepts all values of another."""
    if not _covers_properties(wide, narrow):
        return False
    for key, limit in wide.items():
        if key != "properties" and not _covers_limit(key, limit, narrow.get(key)):
            return False
    return True


def _covers_properties(wide: Schema, narrow: Schema) -> bool:
    """Return whether the properties of an object accept all values of those of another."""
    wide_properties = wide.get("properties", {})
    narrow_properties = narrow.get("properties", {})
    only_wide = wide_properties.keys() - narrow_properties.keys()
    only_narrow = narrow_properties.keys() - wide_properties.keys()
    # A property that only one schema restricts: the other one must not allow it.
    if only_wide and not _is_closed(narrow):
        return False
    if only_narrow and _is_closed(wide):
        return False
    for name in wide_properties.keys() & narrow_properties.keys():
        if not covers(wide_properties[name], narrow_properties[name]):
            return False
    return True


def _covers_limit(key: str, wide: Any, narrow: Any) -> bool:
    """Return whether a keyword of a schema restricts no more than that of another."""
    if key == "required":
        return set(wide) <= set(narrow or ())
    if key in AT_LEAST:
        return narrow is not None and bool(wide <= narrow)
    if key in AT_MOST:
        return narrow is not None and bool(wide >= narrow)
    return covers(wide, narrow)


@dataclass(frozen=True)
class Difference:
    """One difference between two locks.

    Attributes:
        tool: The name of the tool.
        label: RELAXED, BREAKING, RENAMED, RENDERED, or nothing.
        text: What changed.
    """

    tool: str
    label: str
    text: str

    def __str__(self) -> str:
        words = (self.tool, self.label, self.text)
        return ": ".join(word for word in words if word)


def format_differences(pinned: Lock, running: Lock) -> list[str]:
    """Return the differences between two locks, a line each: `NAME: LABEL: what`.

    RELAXED: a client may do more without asking. BREAKING: a call may fail now, or its result differs.
    RENAMED: the same tool under another name. RENDERED: other library versions, or another policy, write
    the same schema differently. No label: new tools, stricter hints, wording.
    """
    return [str(difference) for difference in compare_locks(pinned, running)]


def report_differences(pinned: Lock, running: Lock) -> list[str]:
    """Return the lines that an author reads after a change.

    Before the first release there are no callers to break: only what is relaxed is listed, and the rest is one line.

    Args:
        pinned: The lock that was written before.
        running: The lock of the running server.
    """
    differences = compare_locks(pinned, running)
    if pinned["released"] or running["released"]:
        return list(map(str, differences))
    lines: list[str] = []
    summary = _summarize(differences, pinned, running)
    if summary:
        lines.append(f"changed since the scaffold: {summary}; {UNRELEASED}")
    for difference in differences:
        if difference.label == "RELAXED":
            lines.append(str(difference))
    return lines


def _summarize(differences: Iterable[Difference], pinned: Lock, running: Lock) -> str:
    """Return which tools are new, gone, renamed and changed; RENDERED is no change."""
    groups: dict[str, list[str]] = {name: [] for name in GROUPS}
    for difference in differences:
        names = groups[_classify(difference, pinned, running)]
        if difference.label != "RENDERED" and difference.tool not in names:
            names.append(difference.tool)
    parts: list[str] = []
    for group, names in groups.items():
        if not names:
            continue
        listed = ", ".join(names[:SHOWN])
        if len(names) > SHOWN:
            listed += f" and {len(names) - SHOWN} more"
        parts.append(f"{len(names)} {group} ({listed})")
    return ", ".join(parts)


def _classify(difference: Difference, pinned: Lock, running: Lock) -> str:
    """Return the group of a difference in a summary."""
    if difference.label == "RENAMED":
        return "renamed"
    if difference.tool in (SNAPSHOT, COMPONENTS):
        return "changed"
    if difference.tool not in pinned["tools"] and difference.text == NEW:
        return "new"
    return "changed" if difference.tool in running["tools"] else "gone"


def _collect_aliases(tools: Entries) -> dict[str, str]:
    """Return the present name of each former name."""
    aliases: dict[str, str] = {}
    for name, entry in tools.items():
        for former_name in entry.get("formerly", ()):
            aliases[former_name] = name
    return aliases


def _pick_tools(tools: Entries, names: Set[str]) -> dict[str, Entry]:
    return {name: tools[name] for name in names}


def _match_renamed(old: Entries, new: Entries) -> dict[str, str]:
    """Return the old name of each new tool whose definition equals that of exactly one removed tool."""
    pairs: list[tuple[str, str]] = []
    counts: Counter[str] = Counter()
    for old_name, old_entry in old.items():
        for new_name, new_entry in new.items():
            if _is_equivalent(old_entry, new_entry):
                pairs.append((old_name, new_name))
                counts.update((old_name, new_name))
    renamed: dict[str, str] = {}
    for old_name, new_name in pairs:
        if counts[old_name] == counts[new_name] == 1:
            renamed[new_name] = old_name
    return renamed


def compare_locks(pinned: Lock, running: Lock) -> list[Difference]:
    """Return every difference between two locks, sorted by the lines that they make."""
    old = pinned["tools"]
    new = running["tools"]
    differences, old_names = _compare_names(old, new)
    rendered = "RENDERED" if pinned["versions"] != running["versions"] else ""
    for name in (old.keys() & new.keys()) | old_names.keys():
        old_entry = old[old_names.get(name, name)]
        comparison = ToolComparison(name)
        comparison.compare_entries(old_entry, new[name], rendered)
        differences += comparison.differences
    old_proof = pinned.get("proof", {})
    new_proof = running.get("proof", {})
    if _has_other_digest(old_proof, new_proof, "snapshot"):
        differences.append(Difference(SNAPSHOT, "", PROOF_CHANGED))
    differences += _compare_components(pinned, running)
    return sorted(differences, key=str)


def _compare_names(
    old: Entries, new: Entries
) -> tuple[list[Difference], dict[str, str]]:
    """Return the tools that are new, gone or renamed, and the old name of each that was renamed."""
    current_names = _collect_aliases(new)
    aliases: dict[str, str] = {}
    for old_name in old.keys() - new.keys():
        if old_name in current_names:
            aliases[old_name] = current_names[old_name]
    gone = old.keys() - new.keys()
    added = new.keys() - old.keys()
    removed = gone - aliases.keys()
    added -= set(aliases.values())
    removed_tools = _pick_tools(old, removed)
    added_tools = _pick_tools(new, added)
    renamed = _match_renamed(removed_tools, added_tools)
    differences: list[Difference] = []
    for new_name, old_name in renamed.items():
        differences.append(Difference(old_name, "RENAMED", f"is {new_name} now"))
    for name in removed - set(renamed.values()):
        differences.append(Difference(name, "BREAKING", "is gone"))
    former_names = _collect_aliases(old).keys() - current_names.keys()
    for name in former_names - new.keys():
        differences.append(Difference(name, "BREAKING", "no longer answers"))
    for old_name, new_name in aliases.items():
        text = f"is {new_name} now, and still answers"
        differences.append(Difference(old_name, "RENAMED", text))
        if new_name not in old:
            renamed[new_name] = old_name
    for name in added - renamed.keys():
        differences.append(Difference(name, "", NEW))
    return differences, renamed


def _is_equivalent(old: Entry, new: Entry) -> bool:
    """Return whether two entries differ in texts at most."""
    for key in ("behavior", "hints", "gated", "scopes"):
        if old[key] != new[key]:
            return False
    for side in SIDES:
        is_wider = covers(old[side], new[side])
        if not is_wider or not covers(new[side], old[side]):
            return False
    return True


class ToolComparison:
    """The differences of one tool between two locks."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        self.differences: list[Difference] = []

    def _add(self, text: str, label: str = "") -> None:
        difference = Difference(self.tool, label, text)
        self.differences.append(difference)

    def _relax(self, text: str) -> None:
        self._add(text, "RELAXED")

    def _break(self, text: str) -> None:
        self._add(text, "BREAKING")

    def compare_entries(self, old: Entry, new: Entry, rendered: str) -> None:
        """Compare the entries of the tool.

        Args:
            old: Its entry in the older lock.
            new: Its entry in the newer lock.
            rendered: The label of schemas that are only written differently.
        """
        self._compare_hints(old["hints"], new["hints"])
        if new["gated"] and not old["gated"]:
            self._break("gate gained")
        elif old["gated"] and not new["gated"]:
            self._relax("gate lost")
        if old.get("probed") and not new["probed"]:
            self._relax("it was proven by its probe, and is unprobed now")
        old_proof = old.get("proof", {})
        new_proof = new.get("proof", {})
        if old_proof and new_proof:
            self._compare_proofs(old_proof, new_proof)
        old_scopes = set(old["scopes"])
        new_scopes = set(new["scopes"])
        for scope in new_scopes - old_scopes:
            self._break(f"gained scope {scope}")
        for scope in old_scopes - new_scopes:
            self._relax(f"lost scope {scope}")
        self._compare_texts(old, new)
        for side in SIDES:
            self._compare_schemas(side, old[side], new[side], rendered)

    def _compare_hints(self, old: Schema, new: Schema) -> None:
        for hint, relaxed_value in RELAXED.items():
            old_value = old.get(hint)
            new_value = new.get(hint)
            if old_value is new_value:
                continue
            text = f"{hint} {_format_step(old_value, new_value)}"
            was_destructive = hint == "destructiveHint" and old_value is True
            if new_value is relaxed_value or was_destructive:
                self._relax(text)
            else:
                self._add(text)

    def _compare_texts(self, old: Entry, new: Entry) -> None:
        """Compare the texts; a new waiver, or a denied effect, is RELAXED."""
        for key in (*TEXTS, *RARE):
            old_value = old.get(key)
            new_value = new.get(key)
            if old_value == new_value:
                continue
            text = f"{key} {_format_step(old_value, new_value)}"
            has_waivers = key == "waivers" and bool(new_value)
            is_denied = key in TEXTS and new_value is False
            if has_waivers or is_denied:
                self._relax(text)
            else:
                self._add(text)

    def _compare_proofs(self, old: Schema, new: Schema) -> None:
        """Compare two records of a probe; one that proves less is RELAXED."""
        old_reason = old.get("unprobed")
        new_reason = new.get("unprobed")
        if old_reason != new_reason:
            self._add(f"unprobed {_format_step(old_reason, new_reason)}")
        elif "unprobed" not in new:
            self._compare_cases(old.get("cases", 0), new.get("cases", 0))
            self.compare_exclusions(EXCLUSIONS, old, new)
        if _has_other_digest(old, new, "code"):
            self._add(PROOF_CHANGED)

    def _compare_cases(self, old: int, new: int) -> None:
        """Compare the numbers of cases; 0 is a computed number."""
        if old == new or max(old, new) <= 1:
            return
        label = "RELAXED" if new < old else ""
        self._add(f"cases {old} -> {new}", label)

    def compare_exclusions(
        self, parts: Iterable[str], old: Schema, new: Schema
    ) -> None:
        """Compare what two proofs exclude.

        Args:
            parts: The kinds of exclusions.
            old: The older proof; each of its parts has keys, with their reasons where these are known.
            new: The newer proof.
        """
        for part in parts:
            old_reasons = _index_reasons(old.get(part))
            new_reasons = _index_reasons(new.get(part))
            for key in sorted(new_reasons.keys() | old_reasons.keys()):
                self._compare_exclusion(part, key, old_reasons, new_reasons)

    def _compare_exclusion(self, part: str, key: str, old: Schema, new: Schema) -> None:
        """Compare one excluded key, by the reasons of all."""
        if key not in new:
            self._add(f"{part} lost {key}")
        elif key not in old:
            reason = f" ({new[key]})" if new[key] else ""
            self._relax(f"{part} gained {key}{reason}")
        elif old[key] != new[key]:
            self._add(f"{part} {key} {_format_step(old[key], new[key])}")

    def _compare_schemas(
        self,
        side: str,
        old: Schema,
        new: Schema,
        rendered: str,
    ) -> None:
        """Compare an input or an output; inputs may become wider, outputs narrower."""
        is_wider = covers(new, old)
        is_narrower = covers(old, new)
        is_compatible = is_wider if side == "input" else is_narrower
        label = "" if is_compatible else "BREAKING"
        if is_wider and is_narrower:
            label = rendered
        for is_wording, text in _list_steps(old, new, side):
            self._add(text, "" if is_wording else label)


def _compare_components(pinned: Lock, running: Lock) -> list[Difference]:
    """Return what is excluded from the proof of resources and prompts now, and was not before."""
    old = pinned.get("proof", {})
    new = running.get("proof", {})
    comparison = ToolComparison(COMPONENTS)
    comparison.compare_exclusions(
        ("unprobed", *EXCLUSIONS),
        old.get("components", {}),
        new.get("components", {}),
    )
    return comparison.differences


def _has_other_digest(old: Schema, new: Schema, key: str) -> bool:
    """Return whether two digests differ; an earlier release recorded none."""
    digest = old.get(key)
    return bool(digest) and digest != new.get(key)


def _index_reasons(exclusions: Any) -> Schema:
    """Return the reason of each excluded key; a list of keys, or nothing, has no reasons."""
    if isinstance(exclusions, Mapping):
        return exclusions
    return dict.fromkeys(exclusions or ())


def _list_steps(
    old: Any,
    new: Any,
    place: str,
    has_names: bool = False,
) -> Iterator[tuple[bool, str]]:
    """Yield each difference of two schemas: whether it is wording only, and its text.

    Args:
        old: The older schema, or a mapping of names to schemas.
        new: The newer one.
        place: The place of both in the tool's definition.
        has_names: Whether the keys are names of properties, not keywords.
    """
    for key in sorted(old.keys() | new.keys()):
        old_value = old.get(key)
        new_value = new.get(key)
        is_wording = key in WORDS and not has_names
        is_named = key in NAMED and not has_names
        path = place if is_named else f"{place}.{key}"
        are_mappings = isinstance(old_value, Mapping) and isinstance(new_value, Mapping)
        if are_mappings and not is_wording:
            yield from _list_steps(old_value, new_value, path, is_named)
        elif old_value == new_value:
            continue
        elif path.endswith(".required") and not has_names:  # which ones, in any case
            yield False, f"{path} {_format_step(old_value or [], new_value or [])}"
        elif key not in old or key not in new:
            yield is_wording, f"{path} is {'new' if key in new else 'gone'}"
        else:
            yield is_wording, f"{path} {_format_step(old_value, new_value)}"


def _format_step(old: Any, new: Any) -> str:
    return f"{_format_value(old)} -> {_format_value(new)}"


def _format_value(value: Any) -> str:
    if value is None:
        return "absent"
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= LONGEST:
        return text
    return text[: LONGEST - 1] + "…"
