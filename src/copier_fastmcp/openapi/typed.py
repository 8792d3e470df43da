"""A JSON Schema as the tool language says it: a type, choices and limits."""

import math
import operator
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .document import Document
from .schemas import merged
from .texts import clean

FORMATS = {"date": "date", "date-time": "datetime", "uuid": "uuid"}
SIMPLE = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "object": "dict",
}
COMPARISONS = {
    "ge": operator.ge,
    "le": operator.le,
    "gt": operator.gt,
    "lt": operator.lt,
}
MOST_CHOICES = 60
LONGEST_PATTERN, MOST_REPEATS, LONGEST_MATCHED = 100, 5, 60
LIMITS = {
    "number": (
        ("ge", "minimum"),
        ("le", "maximum"),
        ("gt", "exclusiveMinimum"),
        ("lt", "exclusiveMaximum"),
    ),
    "str": (("min_length", "minLength"), ("max_length", "maxLength")),
    "list": (("min_items", "minItems"), ("max_items", "maxItems")),
}
PLAIN_PATTERN = re.compile(
    r"\^?([A-Za-z0-9_ :/@#%=,;!~&-]|\\[dws.]"
    r"|\[\^?([A-Za-z0-9]-[A-Za-z0-9]|[A-Za-z0-9_ :/@#.]|\\[dws.])+-?\]"
    r"|[+*?]|\{\d{1,2}(,\d{1,2})?\})*\$?"
)


@dataclass
class Typed:
    """A type with its limits, as keys of a parameter; `notes` say what could not be kept."""

    keys: dict[str, Any]
    nullable: bool = False
    description: str = ""
    default: Any = None
    has_default: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def type(self) -> str:
        return str(self.keys.get("type", "str"))


def typed(document: Document, schema: Any, depth: int = 0) -> Typed:
    """A schema as a type of the tool language.

    Raises:
        UnresolvedError: A reference leads nowhere or in a circle.
    """
    plain = merged(document, schema, depth)
    result = Typed(
        {}, plain.get("nullable") is True, clean(plain.get("description"), 900)
    )
    kind = plain.get("type")
    values = [plain["const"]] if "const" in plain else plain.get("enum")
    if isinstance(values, list) and None in values:
        result.nullable = True
    if isinstance(values, list) and (choices := _choices(values)):
        result.keys["choices"] = choices
    elif kind == "array":
        result.keys["type"] = _listed(document, plain, result, depth)
    elif plain.get("format") == "binary":
        result.keys["type"] = "str"
        result.notes.append("a file is sent as text")
    else:
        form = FORMATS.get(str(plain.get("format"))) if kind == "string" else None
        result.keys["type"] = form or SIMPLE.get(str(kind), "any")
        if plain.get("variants") and result.type in ("any", "dict"):
            result.notes.append(
                f"one of {plain['variants']} forms cannot be recognized"
            )
    if isinstance(values, list) and "choices" not in result.keys and values:
        options = []
        for option in values[:12]:
            options.append(clean(option, 40) or repr(option)[:20])
        text = f"{result.description} One of: {', '.join(options)}."
        result.description = clean(text.strip(), 900)
    _limit(plain, result)
    if "default" in plain:
        _default(plain["default"], result)
    return result


def _choices(values: list[Any]) -> list[Any]:
    """The choices of an enum that all fit; none where one does not."""
    choices = [value for value in values if value is not None]
    if not 0 < len(choices) <= MOST_CHOICES or not all(map(_is_choice, choices)):
        return []
    is_single_type = len(set(map(type, choices))) == 1
    is_unique = len(set(choices)) == len(choices)
    return choices if is_single_type and is_unique else []


def _is_choice(value: Any) -> bool:
    """Whether the tool language takes a value as a choice."""
    if isinstance(value, int):
        return abs(value) < 2**53
    if not isinstance(value, str):
        return False
    return 0 < len(value) <= 36 and clean(value, 36) == value


def _listed(
    document: Document, plain: Mapping[str, Any], result: Typed, depth: int
) -> str:
    inner = typed(document, plain.get("items") or {}, depth + 1)
    if inner.nullable:  # [text, null] has no other form
        return "list[any]"
    if choices := inner.keys.get("choices"):
        item_types = ", ".join(str(option) for option in choices[:12])
        result.description = clean(
            f"{result.description} Each one of: {item_types}.".strip(), 900
        )
        return (
            "list[int]"
            if isinstance(choices[0], int) and not isinstance(choices[0], bool)
            else "list[str]"
        )
    kind = inner.type if not inner.type.startswith("list[") else "any"
    return f"list[{kind}]"


def _number(value: Any, whole: bool) -> bool:
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or abs(value) > 2**53
    ):
        return False
    return math.isfinite(value) and (not whole or value == int(value))


def _limit(plain: Mapping[str, Any], limit: Typed) -> None:
    """The limits that go with the type and leave room."""
    kind = limit.type if "type" in limit.keys else ""
    home = (
        "number"
        if kind in ("int", "float")
        else "list"
        if kind.startswith("list[")
        else kind
    )
    whole = kind != "float"
    for key, bound in LIMITS.get(home, ()):
        value = plain.get(bound)
        if value is True and bound.startswith("exclusive"):  # OpenAPI 3.0
            exclusive = "minimum" if key == "gt" else "maximum"
            value = plain.get(exclusive)
            limit.keys.pop("ge" if key == "gt" else "le", None)
        if (
            _number(value, whole)
            and value is not None
            and (home == "number" or 0 <= value < 10**6)
        ):
            limit.keys[key] = int(value) if whole else value
    _drop_empty_ranges(limit.keys)
    if kind == "str":
        _set_pattern(plain.get("pattern"), limit)


def _drop_empty_ranges(keys: dict[str, Any]) -> None:
    """Drop limits that leave no value, and the weaker of two on one side."""
    for low, high in (
        ("ge", "le"),
        ("ge", "lt"),
        ("gt", "le"),
        ("gt", "lt"),
        ("min_length", "max_length"),
        ("min_items", "max_items"),
    ):
        if (
            low in keys
            and high in keys
            and keys[low] + (low == "gt") + (high == "lt") > keys[high]
        ):
            del keys[low], keys[high]
    if "ge" in keys and "gt" in keys:
        del keys["gt"]
    if "le" in keys and "lt" in keys:
        del keys["lt"]


def _set_pattern(pattern: Any, limit: Typed) -> None:
    """Take over the pattern of a text, where a server can check it."""
    if not isinstance(pattern, str) or not pattern:
        return
    is_short = len(pattern) <= LONGEST_PATTERN
    if is_short:  # a hyphen stands last in its brackets
        pattern = re.sub(
            r"\[(\^?)(?:-|\\-)((?:[^\]\\]|\\.)+?)-?\]", r"[\1\2-]", pattern
        )
    if is_short and PLAIN_PATTERN.fullmatch(pattern) and _compiles(pattern):
        limit.keys["pattern"] = pattern
    else:
        limit.notes.append("its pattern is not checked")


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError):
        return False
    if sum(map(int, re.findall(r"(\d+)\}", pattern))) > 150 or "~~" in pattern:
        return False  # Pydantic's engine unrolls counts, and the template refuses what grows too big
    if len(re.findall(r"[+*?]|\{\d+,\d*\}", pattern)) > MOST_REPEATS:
        return False  # it may take for ever to fail
    return not re.search(r"[+*?}][+*?{]|^[+*?{]|\^[+*?{]", pattern)


def _keeps_limits(value: float, keys: Mapping[str, Any]) -> bool:
    """Whether a number is within the limits of a parameter."""
    is_within = True
    for key, compare in COMPARISONS.items():
        if key in keys:
            is_within &= compare(value, keys[key])
    return is_within


def _default(value: Any, result: Typed) -> None:
    """A default that has the type and keeps the limits; another one is left to the API."""
    keys, kind = result.keys, result.type
    if value is None:
        result.nullable = True
        return
    if "choices" in keys:
        same_type = [item for item in keys["choices"] if type(item) is type(value)]
        fits = value in same_type
    elif kind == "bool":
        fits = isinstance(value, bool)
    elif kind in ("int", "float"):
        fits = _number(value, kind == "int") and _keeps_limits(value, keys)
        value = int(value) if fits and kind == "int" else value
    elif kind == "str":
        fits = isinstance(value, str) and clean(value, 200) == value
        fits = fits and keys.get("min_length", 0) <= len(value) <= keys.get(
            "max_length", 1000
        )
        if fits and "pattern" in keys:
            fits = 0 < len(value) <= LONGEST_MATCHED and bool(
                re.search(keys["pattern"], value)
            )
    else:
        fits = False
    if fits:
        result.default, result.has_default = value, True
