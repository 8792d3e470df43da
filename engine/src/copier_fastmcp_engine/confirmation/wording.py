"""The words of a confirmation: the question, its arguments, and what would happen."""

import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from ..declarations import Declaration
from ..texts import cut, join_lines, shorten_value

PARAMETER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
MAX_VALUE = 2000  # characters of one value in a message
MAX_DETAILS = 50  # lines of a preview
MASK = "**********"


def _defaults(schema: Mapping[str, Any]) -> dict[str, object]:
    """Return the default values of the parameters that have one."""
    defaults = {}
    for name, parameter in schema.get("properties", {}).items():
        if parameter is not True and "default" in parameter:
            defaults[name] = parameter["default"]
    return defaults


def _secret_names(schema: Mapping[str, Any]) -> list[str]:
    """Return the parameters whose values must not be shown, as Pydantic marks them in a schema."""
    has_secret_definition = _holds(schema.get("$defs", {}), "writeOnly")
    names = []
    for name, parameter in schema.get("properties", {}).items():
        is_secret = _holds(parameter, "writeOnly")
        if is_secret or (has_secret_definition and _holds(parameter, "$ref")):
            names.append(name)
    return names


def _holds(schema: object, keyword: str) -> bool:
    """Tell whether a schema, or a part of it, has a keyword that is true or a text; a property of that name is neither."""
    if isinstance(schema, Mapping):
        value = schema.get(keyword)
        if value is True or isinstance(value, str):
            return True
        return _holds([*schema.values()], keyword)
    if isinstance(schema, list):
        return any(_holds(part, keyword) for part in schema)
    return False


def filled_arguments(
    arguments: Mapping[str, object], schema: Mapping[str, Any]
) -> dict[str, object]:
    """Return the arguments as the client sent them, with the defaults of the others, and secrets masked."""
    masked = dict.fromkeys(_secret_names(schema), MASK)
    return {**_defaults(schema), **arguments, **masked}


def changed_arguments(
    arguments: Mapping[str, object],
    schema: Mapping[str, Any],
    values: Mapping[str, object],
) -> dict[str, object]:
    """Return the sent arguments that differ from their defaults; true is not 1.

    Args:
        arguments: The arguments as the client sent them.
        schema: The schema of the arguments.
        values: The arguments as they may be shown, from `filled_arguments`.
    """
    defaults = _defaults(schema)
    changed = {}
    for name, value in arguments.items():
        if name not in defaults or _canonical(defaults[name]) != _canonical(value):
            changed[name] = values[name]
    return changed


def _canonical(value: object) -> str:
    return json.dumps(to_jsonable_python(value, fallback=str), sort_keys=True)


def format_question(declaration: Declaration, values: Mapping[str, object]) -> str:
    """Return the author's question with the values filled in, or the title's."""

    def fill(match: re.Match[str]) -> str:
        value = values.get(match[1], match[0])
        return "none" if value is None else shorten_value(value)

    if isinstance(declaration.confirm, str):
        return PARAMETER.sub(fill, declaration.confirm)
    return f"{declaration.title}?"


def format_message(
    server: str,
    question: str,
    arguments: Mapping[str, object],
    details: object,
) -> str:
    """Return what a person reads: who asks, the question, each argument, and what would happen."""
    count = f" ({len(question):,} characters)"
    lines = [f"{server} asks: " + join_lines(cut(question, MAX_VALUE, count))]
    for name, value in arguments.items():
        lines.append(f"{shorten_value(name)}: {shorten_value(value, MAX_VALUE)}")
    if isinstance(details, Mapping):
        for name, value in list(details.items())[:MAX_DETAILS]:
            lines.append(f"{shorten_value(name)}: {shorten_value(value, MAX_VALUE)}")
        if len(details) > MAX_DETAILS:
            lines.append(f"… ({len(details)} lines)")
    elif details is not None:
        lines.append(shorten_value(details, MAX_VALUE))
    return "\n".join(lines)
