"""The definition of a tool as its source shows it: name, texts and parameters."""

import ast
import re
from collections.abc import Iterable
from typing import Any

from ..analysis.statements import join_text
from ..auditing.verbs import split_name
from ..sources.low_level import read_listed_parameters
from ..sources.modules import (
    index_defaults,
    index_keywords,
    list_caller_parameters,
)
from ..sources.registrations import SourceTool

BOOLEAN = re.compile(
    r"(?:(?:\w+\.)?(?:Annotated|Optional)\[)*(?:builtins\.)?bool\b(?!\w)"
)
# Parameters of a tool that replaces a part of a text.
OLD = {
    "old",
    "old_string",
    "old_str",
    "old_text",
    "find",
    "find_text",
    "search_text",
    "search",
}
NEW = {
    "new",
    "new_string",
    "new_str",
    "new_text",
    "replace",
    "replace_text",
    "replacement",
    "replace_with",
}


def build_definition(tool: SourceTool) -> dict[str, Any]:
    """Build the part of a tool's definition that its source shows."""
    if tool.low_level:
        listed_schema = {"type": "object", "properties": read_listed_parameters(tool)}
        return {
            "name": tool.name,
            "description": tool.docstring,
            "inputSchema": listed_schema,
        }
    properties: dict[str, Any] = {}
    defaults = index_defaults(tool.function)
    for name, annotation in list_caller_parameters(tool.function):
        schema: dict[str, Any] = {}
        if annotation is not None and _is_boolean(annotation):
            schema["type"] = "boolean"
        description = _find_description((annotation, defaults.get(name)))
        if description:
            schema["description"] = description
        for node in ast.walk(annotation) if annotation else ():
            if not isinstance(node, ast.Subscript):
                continue
            if ast.unparse(node.value).endswith("Literal"):
                schema["enum"] = _list_constants(node.slice)
        properties[name] = schema
    schema = {"type": "object", "properties": properties}
    return {"name": tool.name, "description": tool.docstring, "inputSchema": schema}


def _is_boolean(annotation: ast.expr) -> bool:
    """Whether an annotation is `bool`, also as `bool | None` or in `Annotated[bool, ...]`."""
    text = ast.unparse(annotation)
    return BOOLEAN.match(text) is not None


def _find_description(expressions: Iterable[ast.expr | None]) -> str:
    """The text of `Field(description=...)` in an annotation or a default; empty if there is none."""
    for expression in expressions:
        for node in ast.walk(expression) if expression else ():
            if not isinstance(node, ast.Call):
                continue
            value = index_keywords(node).get("description")
            if value is not None:
                return join_text(value)
    return ""


def _list_constants(expression: ast.expr) -> list[Any]:
    """The constants in an expression."""
    constants: list[Any] = []
    for node in ast.walk(expression):
        if isinstance(node, ast.Constant):
            constants.append(node.value)
    return constants


def edits_a_part(tool: SourceTool) -> bool:
    """Whether the parameters select a part to edit: a second call changes more, or fails."""
    properties = build_definition(tool)["inputSchema"]["properties"]
    words = {"_".join(split_name(name)) for name in properties}
    adds = False
    for name, schema in properties.items():
        if not isinstance(schema, dict):
            continue
        is_switch = name == "append" and schema.get("type") == "boolean"
        is_mode = "append" in map(str, schema.get("enum", ()))
        adds = adds or is_switch or is_mode
    return adds or bool(words & OLD and words & NEW)
