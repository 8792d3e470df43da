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
MEND = f"restore it from git, or delete it and run {COMMAND}"
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
        raise ValueError(format_finding(text, MEND, READABLE)) from None


def normalize_schema(
    schema: Any, defs: Schema | None = None, within: tuple[str, ...] = ()
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
    key: str, value: Any, defs: Schema, within: tuple[str, ...]
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
    # A property that only one schema restricts: the other one must not allow it.
    if not _is_closed(narrow) and wide_properties.keys() - narrow_properties.keys():
        return False
    if _is_closed(wide) and narrow_properties.keys() - wide_properties.keys():
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
    groups: dict[str, list[str]] = {"new": [], "gone": [], "renamed": [], "changed": []}
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
        differences += _compare_entries(name, old_entry, new[name], rendered)
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
    removed = old.keys() - new.keys() - aliases.keys()
    added = new.keys() - old.keys() - set(aliases.values())
    removed_tools = _pick_tools(old, removed)
    added_tools = _pick_tools(new, added)
    renamed = _match_renamed(removed_tools, added_tools)
    differences: list[Difference] = []
    for new_name, old_name in renamed.items():
        differences.append(Difference(old_name, "RENAMED", f"is {new_name} now"))
    for name in removed - set(renamed.values()):
        differences.append(Difference(name, "BREAKING", "is gone"))
    for name in _collect_aliases(old).keys() - current_names.keys() - new.keys():
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


def _compare_entries(
    tool: str, old: Entry, new: Entry, rendered: str
) -> Iterator[Difference]:
    """Yield the differences of one tool.

    Args:
        tool: Its name.
        old: Its entry in the older lock.
        new: Its entry in the newer lock.
        rendered: The label of schemas that are only written differently.
    """
    yield from _compare_hints(tool, old["hints"], new["hints"])
    if new["gated"] and not old["gated"]:
        yield Difference(tool, "BREAKING", "gate gained")
    elif old["gated"] and not new["gated"]:
        yield Difference(tool, "RELAXED", "gate lost")
    if old.get("probed") and not new["probed"]:
        text = "it was proven by its probe, and is unprobed now"
        yield Difference(tool, "RELAXED", text)
    yield from _compare_proofs(tool, old.get("proof", {}), new.get("proof", {}))
    for scope in set(old["scopes"]) ^ set(new["scopes"]):
        if scope in new["scopes"]:
            yield Difference(tool, "BREAKING", f"gained scope {scope}")
        else:
            yield Difference(tool, "RELAXED", f"lost scope {scope}")
    yield from _compare_texts(tool, old, new)
    for side in SIDES:
        yield from _compare_schemas(tool, side, old[side], new[side], rendered)


def _compare_texts(tool: str, old: Entry, new: Entry) -> Iterator[Difference]:
    """Yield the changed texts of a tool; a new waiver, or a denied effect, is RELAXED."""
    for key in (*TEXTS, *RARE):
        old_value = old.get(key)
        new_value = new.get(key)
        if old_value == new_value:
            continue
        has_waivers = key == "waivers" and bool(new_value)
        is_denied = key in TEXTS and new_value is False
        label = "RELAXED" if has_waivers or is_denied else ""
        step = _format_step(old_value, new_value)
        yield Difference(tool, label, f"{key} {step}")


def _has_other_digest(old: Schema, new: Schema, key: str) -> bool:
    """Return whether two digests differ; an earlier release recorded none."""
    return bool(old.get(key)) and old[key] != new.get(key)


def _compare_proofs(tool: str, old: Schema, new: Schema) -> Iterator[Difference]:
    """Yield the differences between two records of a probe; one that proves less is RELAXED."""
    if not old or not new:
        return
    if old.get("unprobed") != new.get("unprobed"):
        step = _format_step(old.get("unprobed"), new.get("unprobed"))
        yield Difference(tool, "", f"unprobed {step}")
    elif "unprobed" not in new:
        yield from _compare_cases(tool, old.get("cases", 0), new.get("cases", 0))
        for part in EXCLUSIONS:
            yield from _compare_exclusions(tool, part, old.get(part), new.get(part))
    if _has_other_digest(old, new, "code"):
        yield Difference(tool, "", PROOF_CHANGED)


def _compare_components(pinned: Lock, running: Lock) -> Iterator[Difference]:
    """Yield what is excluded from the proof of resources and prompts now, and was not before."""
    old = pinned.get("proof", {}).get("components", {})
    new = running.get("proof", {}).get("components", {})
    for part in ("unprobed", *EXCLUSIONS):
        yield from _compare_exclusions(COMPONENTS, part, old.get(part), new.get(part))


def _compare_cases(tool: str, old: int, new: int) -> Iterator[Difference]:
    """Yield a changed number of cases; 0 is one that is computed."""
    if old != new and (old > 1 or new > 1):
        label = "RELAXED" if new < old else ""
        yield Difference(tool, label, f"cases {old} -> {new}")


def _compare_exclusions(
    tool: str, part: str, old: Any, new: Any
) -> Iterator[Difference]:
    """Yield the keys that a proof excludes now, and those that it excluded before.

    Args:
        tool: The name of the tool.
        part: Which exclusions these are.
        old: The older keys, with their reasons where these are known.
        new: The newer ones.
    """
    old_reasons = _index_reasons(old)
    new_reasons = _index_reasons(new)
    for key in sorted(new_reasons.keys() - old_reasons.keys()):
        text = f"{part} gained {key}"
        reason = new_reasons[key]
        if reason:
            text += f" ({reason})"
        yield Difference(tool, "RELAXED", text)
    for key in sorted(old_reasons.keys() - new_reasons.keys()):
        yield Difference(tool, "", f"{part} lost {key}")
    for key in sorted(old_reasons.keys() & new_reasons.keys()):
        if old_reasons[key] != new_reasons[key]:
            step = _format_step(old_reasons[key], new_reasons[key])
            yield Difference(tool, "", f"{part} {key} {step}")


def _index_reasons(exclusions: Any) -> Mapping[str, Any]:
    """Return the reason of each excluded key; a list of keys, or nothing, has no reasons."""
    if isinstance(exclusions, Mapping):
        return exclusions
    return dict.fromkeys(exclusions or ())


def _compare_hints(tool: str, old: Schema, new: Schema) -> Iterator[Difference]:
    for hint, relaxed_value in RELAXED.items():
        old_value = old.get(hint)
        new_value = new.get(hint)
        if old_value is new_value:
            continue
        is_relaxed = new_value is relaxed_value
        if hint == "destructiveHint" and old_value is True:
            is_relaxed = True
        label = "RELAXED" if is_relaxed else ""
        step = _format_step(old_value, new_value)
        yield Difference(tool, label, f"{hint} {step}")


def _compare_schemas(
    tool: str, side: str, old: Schema, new: Schema, rendered: str
) -> Iterator[Difference]:
    """Yield the differences of a tool's input or output; inputs may become wider, outputs narrower."""
    is_wider = covers(new, old)
    is_narrower = covers(old, new)
    is_compatible = is_wider if side == "input" else is_narrower
    label = "" if is_compatible else "BREAKING"
    if is_wider and is_narrower:
        label = rendered
    for is_wording, text in _list_steps(old, new, side):
        yield Difference(tool, "" if is_wording else label, text)


def _list_steps(
    old: Any, new: Any, place: str, has_names: bool = False
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
