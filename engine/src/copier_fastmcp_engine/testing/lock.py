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


def build_entry(tool: Tool) -> dict[str, Any]:
    """Return the lock's entry for a tool; an undeclared tool has no behavior."""
    wire = dict(tool.wire)
    declared = tool.declared or {}
    hints = {}
    for hint in HINTS:
        if hint in tool.annotations:
            hints[hint] = tool.annotations[hint]
    model_facing = {key: wire[key] for key in READ if key in wire}
    model_bytes = count_bytes(model_facing)
    optional = {**declared, "waivers": list(tool.waivers)}
    entry = {key: optional[key] for key in RARE if optional.get(key)}
    if tool.proof:
        entry["proof"] = dict(tool.proof)
    entry |= {
        "behavior": declared.get("behavior"),
        "hints": hints,
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


def count_bytes(value: object) -> int:
    """Return the size of a value as JSON without spaces."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


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
    return {
        "released": released,
        "proof": {"snapshot": snapshot} if snapshot else {},
        "versions": {"schemas": FORM, **versions},
        "tools": {tool.name: build_entry(tool) for tool in tools},
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
            if missing := REQUIRED - entry.keys():
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
    target = str(schema.get("$ref", "")).removeprefix("#/$defs/")
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


def _normalize_keyword(
    key: str, value: Any, defs: Schema, within: tuple[str, ...]
) -> Any:
    """Return the value of one keyword of a schema, as `normalize_schema` does."""
    if key in NAMED:
        named = {}
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
    constraints = {key: value for key, value in schema.items() if key not in WORDS}
    for keyword in ("anyOf", "oneOf", "allOf"):
        if keyword not in constraints:
            continue
        if keyword == "allOf" and len(constraints[keyword]) != 1:
            continue
        choices = []
        for part in constraints.pop(keyword):
            choices += _list_choices(constraints | part)
        return choices
    choices = _split_values(constraints)
    return [NULL if choice.get("type") == "null" else choice for choice in choices]


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
    wide_properties = wide.get("properties", {})
    narrow_properties = narrow.get("properties", {})
    # A property that only one schema restricts: the other one must not allow it.
    if not _is_closed(narrow) and wide_properties.keys() - narrow_properties.keys():
        return False
    if _is_closed(wide) and narrow_properties.keys() - wide_properties.keys():
        return False
    for key, limit in wide.items():
        if key == "properties":
            for name in wide_properties.keys() & narrow_properties.keys():
                if not covers(wide_properties[name], narrow_properties[name]):
                    return False
        elif not _covers_limit(key, limit, narrow.get(key)):
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
        return [str(difference) for difference in differences]
    lines = []
    for difference in differences:
        if difference.label == "RELAXED":
            lines.append(str(difference))
    if summary := _summarize(differences, pinned, running):
        lines.insert(0, f"changed since the scaffold: {summary}; {UNRELEASED}")
    return lines


def _summarize(differences: Iterable[Difference], pinned: Lock, running: Lock) -> str:
    """Return which tools are new, gone, renamed and changed; RENDERED is no change."""
    groups: dict[str, list[str]] = {"new": [], "gone": [], "renamed": [], "changed": []}
    for difference in differences:
        group = "changed"
        if difference.label == "RENAMED":
            group = "renamed"
        elif difference.tool in (SNAPSHOT, COMPONENTS):
            group = "changed"
        elif difference.tool not in pinned["tools"] and difference.text == NEW:
            group = "new"
        elif difference.tool not in running["tools"]:
            group = "gone"
        if difference.label != "RENDERED" and difference.tool not in groups[group]:
            groups[group].append(difference.tool)
    parts = []
    for group, names in groups.items():
        if names:
            listed = ", ".join(names[:SHOWN])
            if len(names) > SHOWN:
                listed += f" and {len(names) - SHOWN} more"
            parts.append(f"{len(names)} {group} ({listed})")
    return ", ".join(parts)


def _collect_aliases(tools: Mapping[str, Schema]) -> dict[str, str]:
    """Return the present name of each former name."""
    aliases = {}
    for name, entry in tools.items():
        for former_name in entry.get("formerly", ()):
            aliases[former_name] = name
    return aliases


def _pick_tools(tools: Mapping[str, Schema], names: Set[str]) -> dict[str, Schema]:
    return {name: tools[name] for name in names}


def _match_renamed(
    old: Mapping[str, Schema], new: Mapping[str, Schema]
) -> dict[str, str]:
    """Return the old name of each new tool whose definition equals that of exactly one removed tool."""
    pairs = []
    for old_name, old_entry in old.items():
        for new_name, new_entry in new.items():
            if _is_equivalent(old_entry, new_entry):
                pairs.append((old_name, new_name))
    counts = Counter(name for pair in pairs for name in pair)
    renamed = {}
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
    if _has_other_digest(pinned.get("proof", {}), running.get("proof", {}), "snapshot"):
        differences.append(Difference(SNAPSHOT, "", PROOF_CHANGED))
    differences += _compare_components(pinned, running)
    return sorted(differences, key=str)


def _compare_names(
    old: Mapping[str, Schema], new: Mapping[str, Schema]
) -> tuple[list[Difference], dict[str, str]]:
    """Return the tools that are new, gone or renamed, and the old name of each that was renamed."""
    current_names = _collect_aliases(new)
    aliases = {}
    for old_name in old.keys() - new.keys():
        if old_name in current_names:
            aliases[old_name] = current_names[old_name]
    removed = old.keys() - new.keys() - aliases.keys()
    added = new.keys() - old.keys() - set(aliases.values())
    renamed = _match_renamed(_pick_tools(old, removed), _pick_tools(new, added))
    differences = []
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


def _is_equivalent(old: Schema, new: Schema) -> bool:
    """Return whether two entries differ in texts at most."""
    for key in ("behavior", "hints", "gated", "scopes"):
        if old[key] != new[key]:
            return False
    for side in SIDES:
        if not covers(old[side], new[side]) or not covers(new[side], old[side]):
            return False
    return True


def _compare_entries(
    tool: str, old: Schema, new: Schema, rendered: str
) -> Iterator[Difference]:
    """Yield the differences of one tool.

    Args:
        tool: Its name.
        old: Its entry in the older lock.
        new: Its entry in the newer lock.
        rendered: The label of schemas that are only written differently.
    """
    yield from _compare_hints(tool, old["hints"], new["hints"])
    if old["gated"] != new["gated"]:
        label = "BREAKING" if new["gated"] else "RELAXED"
        yield Difference(tool, label, f"gate {'gained' if new['gated'] else 'lost'}")
    if old.get("probed") and not new["probed"]:
        text = "it was proven by its probe, and is unprobed now"
        yield Difference(tool, "RELAXED", text)
    yield from _compare_proofs(tool, old.get("proof", {}), new.get("proof", {}))
    for scope in set(old["scopes"]) ^ set(new["scopes"]):
        if scope in new["scopes"]:
            yield Difference(tool, "BREAKING", f"gained scope {scope}")
        else:
            yield Difference(tool, "RELAXED", f"lost scope {scope}")
    for key in (*TEXTS, *RARE):
        old_value = old.get(key)
        new_value = new.get(key)
        if old_value == new_value:
            continue
        has_waivers = key == "waivers" and bool(new_value)
        is_denied = key in TEXTS and new_value is False
        label = "RELAXED" if has_waivers or is_denied else ""
        yield Difference(tool, label, f"{key} {_format_step(old_value, new_value)}")
    for side in SIDES:
        yield from _compare_schemas(tool, side, old[side], new[side], rendered)


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
            yield from _compare_exclusions(
                tool, part, old.get(part, ()), new.get(part, ())
            )
    if _has_other_digest(old, new, "code"):
        yield Difference(tool, "", PROOF_CHANGED)


def _compare_components(pinned: Lock, running: Lock) -> Iterator[Difference]:
    """Yield what is excluded from the proof of resources and prompts now, and was not before."""
    old = pinned.get("proof", {}).get("components", {})
    new = running.get("proof", {}).get("components", {})
    for part in ("unprobed", *EXCLUSIONS):
        yield from _compare_exclusions(
            COMPONENTS, part, old.get(part, ()), new.get(part, ())
        )


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
    old_reasons = old if isinstance(old, Mapping) else dict.fromkeys(old)
    new_reasons = new if isinstance(new, Mapping) else dict.fromkeys(new)
    for key in sorted(new_reasons.keys() - old_reasons.keys()):
        reason = new_reasons[key]
        text = f"{part} gained {key}" + (f" ({reason})" if reason else "")
        yield Difference(tool, "RELAXED", text)
    for key in sorted(old_reasons.keys() - new_reasons.keys()):
        yield Difference(tool, "", f"{part} lost {key}")
    for key in sorted(old_reasons.keys() & new_reasons.keys()):
        if old_reasons[key] != new_reasons[key]:
            step = _format_step(old_reasons[key], new_reasons[key])
            yield Difference(tool, "", f"{part} {key} {step}")


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
        yield Difference(tool, label, f"{hint} {_format_step(old_value, new_value)}")


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
    text = "absent" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"
