"""The lock: every tool's whole definition as shipped, pinned in annotations.lock.json and compared.

Managed by the template. The same file, byte for byte, is in copier-fastmcp and in the suite of
every generated project; the lock itself is its owner's, and pinning writes it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .rules import Tool

FILE = "annotations.lock.json"
MEND = "restore it from git, or delete it and run `uv run tests/policy/pin.py`"
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
RELAXED = dict(zip(HINTS, (True, False, True, False), strict=True))
NAMED = ("properties", "patternProperties", "dependentSchemas")
WORDS = ("default", "deprecated", "description", "examples")
AT_LEAST = ("exclusiveMinimum", "minimum", "minItems", "minLength")
AT_MOST = ("exclusiveMaximum", "maximum", "maxItems", "maxLength")
TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
SIDES = ("input", "output")
TEXTS = ("behavior", "title", "description", "why", "effect", "exceptions")
ENTRY = ("hints", "gated", "scopes", *TEXTS, *SIDES)
Lock = dict[str, Any]
Schema = Mapping[str, Any]


def entry(tool: Tool) -> dict[str, Any]:
    """What the lock holds of one tool; one that nothing declared has no behavior."""
    wire, facts = dict(tool.wire), tool.declared or {}
    served = json.dumps(wire, ensure_ascii=False, separators=(",", ":"))
    return {
        "behavior": facts.get("behavior"),
        "hints": {hint: tool.annotations[hint] for hint in RELAXED if hint in tool.annotations},
        "gated": bool(facts.get("gated")),
        "scopes": sorted(facts.get("scopes", ())),
        "title": wire.get("title"),
        "description": wire.get("description"),
        "input": normal(wire.get("inputSchema") or {}),
        "output": normal(wire.get("outputSchema") or {}),
        "why": facts.get("why"),
        "effect": bool(facts.get("public_effect", True)),
        "exceptions": [dict(exception) for exception in facts.get("exceptions", ())],
        "bytes": len(served.encode()),
    }


def lock_of(tools: Iterable[Tool], versions: Mapping[str, str]) -> Lock:
    """The lock of a server's tools; `versions` are those of the libraries that render schemas."""
    return {"versions": dict(versions), "tools": {tool.name: entry(tool) for tool in tools}}


def text_of(lock: Lock) -> str:
    """The lock as its file."""
    return json.dumps(lock, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read(path: Path) -> Lock:
    """The lock that a file holds.

    Raises:
        ValueError: The file is missing or is not a lock; one line that names it and the mend.
    """
    try:
        lock = json.loads(path.read_text(encoding="utf-8"))
        for name, pinned in lock["tools"].items():
            if lost := set(ENTRY) - pinned.keys():
                raise ValueError(f"{name} has no {min(lost)}")
        return {"versions": dict(lock["versions"]), "tools": lock["tools"]}
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(f"{path}: not a lock ({type(error).__name__}: {reason}); {MEND}") from None


def normal(schema: Any, defs: Schema | None = None, within: tuple[str, ...] = ()) -> Any:
    """A JSON Schema sorted, with `$ref` in place and without what a library adds: titles, `x-...`.

    A reference to a schema that it stands in stays.
    """
    if isinstance(schema, list):
        return [normal(item, defs, within) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    defs = schema.get("$defs", {}) if defs is None else defs
    target = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    if target in defs and target not in within:
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return normal({**defs[target], **beside}, defs, (*within, target))
    found: dict[str, Any] = {}
    for key, value in sorted(schema.items()):
        if key in NAMED:
            found[key] = {name: normal(of, defs, within) for name, of in sorted(value.items())}
        elif key in ("required", "type", "enum") and isinstance(value, list):
            found[key] = sorted(value, key=json.dumps)
        elif key not in ("$defs", "title") and not key.startswith("x-"):
            found[key] = value if key in (*WORDS, "const") else normal(value, defs, within)
    return found


def covers(wide: Any, narrow: Any) -> bool:
    """Whether one schema accepts all that another one accepts; in doubt it does not."""
    if not (isinstance(wide, Mapping) and isinstance(narrow, Mapping)):
        return bool(wide == narrow)
    return all(any(_fits(one, other) for one in _choices(wide)) for other in _choices(narrow))


def _choices(schema: Schema) -> list[dict[str, Any]]:
    plain = {key: value for key, value in schema.items() if key not in WORDS}
    for several in ("anyOf", "oneOf", "allOf"):
        if several in plain and (several != "allOf" or len(plain[several]) == 1):
            parts = plain.pop(several)
            return [choice for part in parts for choice in _choices(plain | part)]
    if values := [plain["const"]] if "const" in plain else plain.get("enum"):
        return [{"enum": [value], "type": TYPES.get(type(value))} for value in values]
    if isinstance(plain.get("type"), list):
        return [plain | {"type": kind} for kind in plain["type"]]
    return [plain]


def _fits(wide: Schema, narrow: Schema) -> bool:
    outer, inner = (schema.get("properties", {}) for schema in (wide, narrow))
    unknown = narrow.get("additionalProperties") is not False and outer.keys() - inner.keys()
    if unknown or (wide.get("additionalProperties") is False and inner.keys() - outer.keys()):
        return False
    for key, limit in wide.items():
        other = narrow.get(key)
        if key == "properties":
            fine = all(covers(limit[name], inner[name]) for name in limit.keys() & inner.keys())
        elif key == "required":
            fine = set(limit) <= set(other or ())
        elif key in AT_LEAST or key in AT_MOST:
            fine = other is not None and (limit <= other if key in AT_LEAST else limit >= other)
        else:
            fine = covers(limit, other) or (limit, other) == ("number", "integer") or limit is True
        if not fine:
            return False
    return True


def differences(pinned: Lock, running: Lock) -> list[str]:
    """What changed since a lock was written, a line each: `NAME: LABEL: what`.

    RELAXED: a client may do more without asking. BREAKING: a call that worked may fail now, or its
    result is another one. RENAMED: the same tool under another name. RENDERED: other library
    versions write the same schema otherwise. No label: new tools, stricter hints, words.
    """
    old, new = pinned["tools"], running["tools"]
    gone, fresh = old.keys() - new.keys(), new.keys() - old.keys()
    pairs = [(was, now) for was in gone for now in fresh if _alike(old[was], new[now])]
    counts = Counter(name for pair in pairs for name in pair)
    renamed = {now: was for was, now in pairs if counts[was] == counts[now] == 1}
    lines = [f"{was}: RENAMED: is {now} now" for now, was in renamed.items()]
    lines += [f"{name}: BREAKING: is gone" for name in gone - {*renamed.values()}]
    lines += [f"{name}: is new" for name in fresh - renamed.keys()]
    rendered = "RENDERED: " if pinned["versions"] != running["versions"] else ""
    for name in (old.keys() & new.keys()) | renamed.keys():
        changes = _changes(old[renamed.get(name, name)], new[name], rendered)
        lines += [f"{name}: {change}" for change in changes]
    return sorted(lines)


def _alike(old: Schema, new: Schema) -> bool:
    same = all(old[key] == new[key] for key in ("behavior", "hints", "gated", "scopes"))
    return same and all(covers(old[s], new[s]) and covers(new[s], old[s]) for s in SIDES)


def _changes(old: Schema, new: Schema, rendered: str) -> Iterator[str]:
    for hint, relaxed in RELAXED.items():
        before, after = old["hints"].get(hint), new["hints"].get(hint)
        if before is not after:
            lost = hint == "destructiveHint" and before is True
            label = "RELAXED: " if lost or after is relaxed else ""
            yield f"{label}{hint} {_shown(before)} -> {_shown(after)}"
    if old["gated"] != new["gated"]:
        yield "BREAKING: gate gained" if new["gated"] else "RELAXED: gate lost"
    before, after = set(old["scopes"]), set(new["scopes"])
    yield from (f"RELAXED: scope {scope} is not asked for any more" for scope in before - after)
    yield from (f"BREAKING: scope {scope} is asked for" for scope in after - before)
    for key in TEXTS:
        if old[key] != new[key]:
            label = "RELAXED: " if key == "effect" and not new[key] else ""
            yield f"{label}{key} {_shown(old[key])} -> {_shown(new[key])}"
    for side in SIDES:
        grew, shrank = covers(new[side], old[side]), covers(old[side], new[side])
        fine = grew if side == "input" else shrank
        label = rendered if grew and shrank else "" if fine else "BREAKING: "
        for place, word, step in _steps(old[side], new[side], side):
            yield f"{'' if word else label}{place} {step}"


def _steps(old: Any, new: Any, place: str, named: bool = False) -> Iterator[tuple[str, bool, str]]:
    """Each difference of two schemas: where, whether only words differ, what."""
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key), new.get(key)
        word, names = key in WORDS and not named, key in NAMED and not named
        here = place if names else f"{place}.{key}"
        if isinstance(before, Mapping) and isinstance(after, Mapping) and not word:
            yield from _steps(before, after, here, names)
        elif key not in old or key not in new:
            yield here, word, "is new" if key in new else "is gone"
        elif before != after:
            yield here, word, f"{_shown(before)} -> {_shown(after)}"


def _shown(value: Any) -> str:
    text = "absent" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"
