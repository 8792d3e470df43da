"""The bytes of a tool that a model reads, counted as the suite of a server counts them."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from copier_fastmcp_engine.policy import Policy, mention_two_steps
from copier_fastmcp_engine.testing.lock import count_bytes

from ..behaviors import build_declaration, build_policy

# What a model reads of all tools, at most; the suite of a server has the same limit.
SERVER_BYTES = 60_000
KEYWORDS = {
    "ge": "minimum",
    "le": "maximum",
    "gt": "exclusiveMinimum",
    "lt": "exclusiveMaximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "min_items": "minItems",
    "max_items": "maxItems",
    "default": "default",
    "description": "description",
}
TYPES: dict[str, dict[str, Any]] = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "date": {"format": "date", "type": "string"},
    "datetime": {"format": "date-time", "type": "string"},
    "uuid": {"format": "uuid", "type": "string"},
    "url": {"format": "uri", "minLength": 1, "type": "string"},
    "email": {"format": "email", "type": "string"},
    "dict": {"additionalProperties": True, "type": "object"},
    "any": {},
    "file": {
        "properties": {
            "filename": {"type": "string"},
            "content_base64": {"type": "string"},
            "path": {"type": "string"},
            "content_type": {"type": "string"},
        },
        "type": "object",
    },
}
CONFIRM = {
    "default": False,
    "description": "True applies what was previewed.",
    "type": "boolean",
}
CHOICE_TYPES = {bool: "boolean", int: "integer", str: "string"}


def model_bytes(tool: Mapping[str, Any]) -> int:
    """Return the bytes of name, description and input schema of a tool, as a server lists it.

    Args:
        tool: The tool in the answers.
    """
    schema = _object_schema(tool.get("params") or ())
    description = tool.get("description", "")
    if _usual_policy().is_gated(build_declaration(tool)):
        schema["properties"]["confirm"] = CONFIRM
        description = mention_two_steps(description)
    read = {
        "name": tool["name"],
        "description": description,
        "inputSchema": schema,
    }
    return count_bytes(read)


@cache
def _usual_policy() -> Policy:
    """Return the policy of a server whose author chooses no profile."""
    return build_policy({})


def _object_schema(params: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    properties = {str(param["name"]): _schema(param) for param in params}
    required = []
    for param in params:
        is_optional = "default" in param or param.get("required") is False
        if not is_optional and param.get("in") != "nulls":
            required.append(str(param["name"]))
    schema = {"additionalProperties": False, "properties": properties, "type": "object"}
    if required:
        schema["required"] = required
    return schema


def _schema(param: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of a parameter."""
    kind = str(param.get("type", "str"))
    choices = param.get("choices")
    if param.get("in") == "nulls":
        schema = {"items": _choice_schema(choices or []), "type": "array"}
        schema["default"] = []
    elif choices:
        schema = _choice_schema(choices)
    elif kind.startswith("list["):
        item = {**param, "type": kind[len("list[") : -1]}
        schema = {"items": _type_schema(item), "type": "array"}
    else:
        schema = _type_schema(param)
    for key, keyword in KEYWORDS.items():
        if param.get(key) is not None:
            schema[keyword] = param[key]
    return schema


def _choice_schema(choices: Sequence[Any]) -> dict[str, Any]:
    kind = CHOICE_TYPES.get(type(choices[0]) if choices else str, "string")
    if len(choices) == 1:
        return {"const": choices[0], "type": kind}
    return {"enum": choices, "type": kind}


def _type_schema(param: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(param.get("type", "str"))
    if kind == "object" and param.get("fields"):
        schema = _object_schema(param["fields"])
        # The docstring of the class that a server has for it
        schema["description"] = f"The fields of {param['name']}."
        schema["additionalProperties"] = True
        return schema
    return dict(TYPES.get(kind, TYPES["dict"]))
