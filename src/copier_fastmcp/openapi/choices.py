"""An operation whose body chooses what is done, as one operation for each choice.

`{action: start | stop | delete}` in one tool is a tool of which nobody can say whether it deletes.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .document import UnresolvedError
from .evidence import find_choice_field
from .extensions import hints
from .operations import Operation
from .schemas import merged, properties_of, required_of

MOST = 12
VALUE = re.compile(r"[A-Za-z][A-Za-z0-9 _.-]{1,35}")


def parts(operation: Operation) -> list[Operation]:
    """One operation for each value of the field that chooses; the operation alone where none does, or too many."""
    name = find_choice_field(operation)
    if not name or hints(operation)[1] or operation.raw.get("deprecated") is True:
        return [operation]
    if name == "op" and operation.method == "PATCH":  # what is removed is a part of it
        return [operation]
    kind, schema = operation.json_body
    try:
        schema = merged(operation.document, schema)
        field = merged(operation.document, properties_of(schema)[name])
    except (UnresolvedError, KeyError):
        return [operation]
    values = field.get("enum")
    choices = _parse_choices(values) if isinstance(values, list) else []
    operations = []
    for choice in choices:
        operations.append(_one(operation, kind, schema, field, name, choice))
    return operations or [operation]


def _parse_choices(values: list[Any]) -> list[str]:
    """Return the values of the field that chooses; none if an operation for each cannot be distinguished from the others."""
    choices = [choice for choice in values if choice is not None]
    if not 1 < len(choices) <= MOST:
        return []
    for choice in choices:
        if not isinstance(choice, str) or not VALUE.fullmatch(choice.strip()):
            return []
    is_unique = len(set(map(str.lower, choices))) == len(choices)
    return choices if is_unique else []


def _one(
    operation: Operation,
    kind: str,
    schema: Mapping[str, Any],
    field: Mapping[str, Any],
    name: str,
    value: str,
) -> Operation:
    properties = {
        **properties_of(schema),
        name: {**field, "enum": [value], "default": value},
    }
    body = {
        **schema,
        "properties": properties,
        "required": sorted(required_of(schema) - {name}),
    }
    sent = {"required": True, "content": {kind: {"schema": body}}}
    return replace(
        operation, raw={**operation.raw, "requestBody": sent}, chosen=(name, value)
    )
