"""The lock: every tool's whole definition as shipped, pinned in annotations.lock.json and compared.

Managed by the template; copier-fastmcp and the suite of every project have the same file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .rules import Tool

FILE = "annotations.lock.json"
MEND = "restore it from git, or delete it and run `uv run tests/policy/pin.py`"
HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")
RELAXED = dict(zip(HINTS, (True, False, True, False), strict=True))
TEXTS = ("behavior", "title", "description", "why", "effect", "exceptions")
RARE = (
    "deprecated",
    "formerly",
    "waivers",
)  # what an entry has only where there is any
SIDES = ("input", "output")
READ = ("name", "description", "inputSchema")  # what hosts give to a model
NULL = {"type": "null"}
FORM = "2"  # of the schemas that the policy writes
NEW = "is new"
UNRELEASED = "once somebody calls these tools, run pin.py --released"
SHOWN = 6  # names of tools in a summary
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


def entry(tool: Tool) -> dict[str, Any]:
    """What the lock holds of one tool; one that nothing declared has no behavior."""
    wire, facts = dict(tool.wire), tool.declared or {}
    rare = {**facts, "waivers": [*tool.waivers]}
    read = {key: wire[key] for key in READ if key in wire}
    return {key: rare[key] for key in RARE if rare.get(key)} | {
        "behavior": facts.get("behavior"),
        "hints": {
            hint: tool.annotations[hint] for hint in HINTS if hint in tool.annotations
        },
        "gated": facts.get("gated", False),
        "probed": bool(tool.probed),
        "scopes": sorted(facts.get("scopes", ())),
        "title": wire.get("title"),
        "description": wire.get("description"),
        "input": normal(wire.get("inputSchema") or {}),
        "output": normal(wire.get("outputSchema") or {}),
        "why": facts.get("why"),
        "effect": facts.get("public_effect", True),
        "exceptions": facts.get("exceptions", []),
        "bytes": {"model": size_of(read), "rest": size_of(wire) - size_of(read)},
    }


def size_of(value: object) -> int:
    """The bytes of JSON without spaces."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def lock_of(
    tools: Iterable[Tool], versions: Mapping[str, str], *, released: bool = False
) -> Lock:
    """Return the lock of a server's tools.

    Args:
        tools: The tools.
        versions: The versions of the libraries that render schemas.
        released: Whether somebody calls these tools already.
    """
    return {
        "released": released,
        "versions": {"schemas": FORM, **versions},
        "tools": {tool.name: entry(tool) for tool in tools},
    }


def text_of(lock: Lock) -> str:
    """The lock as its file."""
    return json.dumps(lock, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def read(path: Path) -> Lock:
    """The lock that a file holds; ValueError names the file and the mend where it holds none."""
    try:
        lock: Lock = json.loads(path.read_text(encoding="utf-8"))
        for name, pin in lock["tools"].items():
            if missing := {"hints", "gated", "scopes", *TEXTS, *SIDES} - pin.keys():
                raise ValueError(f"{name} has no {min(missing)}")
        return {
            "released": lock.get("released") is True,
            "versions": dict(lock["versions"]),
            "tools": lock["tools"],
        }
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"{path}: not a lock ({type(error).__name__}: {reason}); {MEND}"
        ) from None


def normal(
    schema: Any, defs: Schema | None = None, within: tuple[str, ...] = ()
) -> Any:
    """A JSON Schema sorted, with `$ref` in place (but for recursion), without titles and `x-...`."""
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
            found[key] = {
                name: normal(of, defs, within) for name, of in sorted(value.items())
            }
        elif key in ("required", "type", "enum") and isinstance(value, list):
            found[key] = sorted(value, key=json.dumps)
        elif key not in ("$defs", "title") and not key.startswith("x-"):
            found[key] = (
                value if key in (*WORDS, "const") else normal(value, defs, within)
            )
    return found


def covers(wide: Any, narrow: Any) -> bool:
    """Whether one schema accepts all that another one accepts; in doubt it does not."""
    if not (isinstance(wide, Mapping) and isinstance(narrow, Mapping)):
        return (
            wide is True
            or (wide, narrow) == ("number", "integer")
            or bool(wide == narrow)
        )
    return all(
        any(_fits(one, other) for one in _choices(wide)) for other in _choices(narrow)
    )


def _choices(schema: Schema) -> list[dict[str, Any]]:
    plain = {key: value for key, value in schema.items() if key not in WORDS}
    for several in ("anyOf", "oneOf", "allOf"):
        if several in plain and (several != "allOf" or len(plain[several]) == 1):
            parts = plain.pop(several)
            return [choice for part in parts for choice in _choices(plain | part)]
    if values := [plain["const"]] if "const" in plain else plain.get("enum"):
        parts = [{"enum": [value], "type": TYPES.get(type(value))} for value in values]
    else:
        kinds = plain.get("type")
        parts = (
            [plain | {"type": it} for it in kinds]
            if isinstance(kinds, list)
            else [plain]
        )
    return [NULL if part.get("type") == "null" else part for part in parts]


def _fits(wide: Schema, narrow: Schema) -> bool:
    outer, inner = (schema.get("properties", {}) for schema in (wide, narrow))
    unknown = (
        narrow.get("additionalProperties") is not False and outer.keys() - inner.keys()
    )
    if unknown or (
        wide.get("additionalProperties") is False and inner.keys() - outer.keys()
    ):
        return False

    def fits(key: str, limit: Any, other: Any) -> bool:
        if key == "properties":
            return all(
                covers(outer[name], inner[name]) for name in outer.keys() & inner.keys()
            )
        if key == "required":
            return set(limit) <= set(other or ())
        if key in AT_LEAST or key in AT_MOST:
            return other is not None and bool(
                limit <= other if key in AT_LEAST else limit >= other
            )
        return covers(limit, other)

    return all(fits(key, limit, narrow.get(key)) for key, limit in wide.items())


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


def differences(pinned: Lock, running: Lock) -> list[str]:
    """What changed since a lock was written, a line each: `NAME: LABEL: what`.

    RELAXED: a client may do more without asking. BREAKING: a call may fail now, or its result differs.
    RENAMED: the same tool under another name. RENDERED: other library versions, or another policy, write
    the same schema otherwise. No label: new tools, stricter hints, words.
    """
    return [str(difference) for difference in compare_locks(pinned, running)]


def report_differences(pinned: Lock, running: Lock) -> list[str]:
    """Return the lines that an author reads after a change.

    Before the first release there are no callers to break: only what is relaxed is listed, and the rest is one line.

    Args:
        pinned: The lock that was written before.
        running: The lock of the running server.
    """
    found = compare_locks(pinned, running)
    if pinned["released"] or running["released"]:
        return [str(difference) for difference in found]
    lines = [str(difference) for difference in found if difference.label == "RELAXED"]
    if summary := _summarize(found, pinned, running):
        lines.insert(0, f"changed since the scaffold: {summary}; {UNRELEASED}")
    return lines


def _summarize(found: Iterable[Difference], pinned: Lock, running: Lock) -> str:
    """Return which tools are new, gone, renamed and changed; RENDERED is no change."""
    groups: dict[str, list[str]] = {"new": [], "gone": [], "renamed": [], "changed": []}
    for difference in found:
        group = "changed"
        if difference.label == "RENAMED":
            group = "renamed"
        elif difference.tool not in pinned["tools"] and difference.text == NEW:
            group = "new"
        elif difference.tool not in running["tools"]:
            group = "gone"
        if difference.label != "RENDERED" and difference.tool not in groups[group]:
            groups[group].append(difference.tool)
    parts = []
    for group, names in groups.items():
        if names:
            shown = ", ".join(names[:SHOWN])
            rest = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
            parts.append(f"{len(names)} {group} ({shown}{rest})")
    return ", ".join(parts)


def compare_locks(pinned: Lock, running: Lock) -> list[Difference]:
    """Return every difference between two locks, sorted by the lines that they make."""
    old, new = pinned["tools"], running["tools"]
    answers = {was: now for now, pin in new.items() for was in pin.get("formerly", ())}
    aliases = {was: answers[was] for was in old.keys() - new.keys() if was in answers}
    gone, fresh = old.keys() - new.keys() - aliases.keys(), new.keys() - old.keys()
    fresh -= {*aliases.values()}
    pairs = [(was, now) for was in gone for now in fresh if _alike(old[was], new[now])]
    counts = Counter(name for pair in pairs for name in pair)
    renamed = {now: was for was, now in pairs if counts[was] == counts[now] == 1}
    found = []
    for now, was in renamed.items():
        found.append(Difference(was, "RENAMED", f"is {now} now"))
    for was, now in aliases.items():
        found.append(Difference(was, "RENAMED", f"is {now} now, and still answers"))
    for name in gone - {*renamed.values()}:
        found.append(Difference(name, "BREAKING", "is gone"))
    former = {was for pin in old.values() for was in pin.get("formerly", ())}
    for was in former - answers.keys() - new.keys():
        found.append(Difference(was, "BREAKING", "no longer answers"))
    renamed |= {now: was for was, now in aliases.items() if now not in old}
    for name in fresh - renamed.keys():
        found.append(Difference(name, "", NEW))
    rendered = "RENDERED" if pinned["versions"] != running["versions"] else ""
    for name in (old.keys() & new.keys()) | renamed.keys():
        found += _changes(name, old[renamed.get(name, name)], new[name], rendered)
    return sorted(found, key=str)


def _alike(old: Schema, new: Schema) -> bool:
    same = all(old[key] == new[key] for key in ("behavior", "hints", "gated", "scopes"))
    return same and all(
        covers(old[s], new[s]) and covers(new[s], old[s]) for s in SIDES
    )


def _changes(
    tool: str, old: Schema, new: Schema, rendered: str
) -> Iterator[Difference]:
    for key, relaxed in RELAXED.items():
        if (was := old["hints"].get(key)) is not (now := new["hints"].get(key)):
            looser = now is relaxed or (key == "destructiveHint" and was is True)
            label = "RELAXED" if looser else ""
            yield Difference(tool, label, f"{key} {_shown(was)} -> {_shown(now)}")
    if old["gated"] != new["gated"]:
        label = "BREAKING" if new["gated"] else "RELAXED"
        yield Difference(tool, label, f"gate {'gained' if new['gated'] else 'lost'}")
    if old.get("probed") and not new["probed"]:
        text = "it was proven by its probe, and is unprobed now"
        yield Difference(tool, "RELAXED", text)
    for scope in {*old["scopes"]} ^ {*new["scopes"]}:
        if scope in new["scopes"]:
            yield Difference(tool, "BREAKING", f"gained scope {scope}")
        else:
            yield Difference(tool, "RELAXED", f"lost scope {scope}")
    for key in TEXTS:
        if (was := old[key]) != (now := new[key]):
            label = "RELAXED" if now is False else ""
            yield Difference(tool, label, f"{key} {_shown(was)} -> {_shown(now)}")
    for key in RARE:
        if (was := old.get(key)) != (now := new.get(key)):
            label = "RELAXED" if key == "waivers" and now else ""
            yield Difference(tool, label, f"{key} {_shown(was)} -> {_shown(now)}")
    for side in SIDES:
        more, less = covers(new[side], old[side]), covers(old[side], new[side])
        fine = more if side == "input" else less
        label = "" if fine else "BREAKING"
        if more and less:
            label = rendered
        for is_word, step in _steps(old[side], new[side], side):
            yield Difference(tool, "" if is_word else label, step)


def _steps(
    old: Any, new: Any, place: str, named: bool = False
) -> Iterator[tuple[bool, str]]:
    for key in sorted(old.keys() | new.keys()):
        was, now = old.get(key), new.get(key)
        word, names = key in WORDS and not named, key in NAMED and not named
        here = place if names else f"{place}.{key}"
        if isinstance(was, Mapping) and isinstance(now, Mapping) and not word:
            yield from _steps(was, now, here, names)
        elif key not in old or key not in new:
            yield word, f"{here} is {'new' if key in new else 'gone'}"
        elif was != now:
            yield word, f"{here} {_shown(was)} -> {_shown(now)}"


def _shown(value: Any) -> str:
    text = "absent" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 80 else text[:79] + "…"
