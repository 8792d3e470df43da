"""The definition of a tool on the wire: what a model needs, and little else; calls are checked by the whole."""

import re
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any

from fastmcp.tools import Tool
from mcp_types import Tool as WireTool
from pydantic import PrivateAttr

Schema = dict[str, Any]
NULL = {"type": "null"}
NO_TAGS: dict[str, Any] = {"tags": []}  # what FastMCP sends for a tool without tags
# Words that tell nothing beyond the name of what they describe
FILLERS = {"a", "an", "is", "it", "its", "number", "of", "one", "the", "whether"}
# Keywords with a list of schemas, with schemas by name, and with one schema. The lock (`testing/lock.py`) has a list of
# its own: it normalizes every keyword that it does not know, and the suite is not in the wheel of a server.
LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
MAPPINGS = ("$defs", "patternProperties", "properties")
SINGLE = ("additionalProperties", "items")
# Keywords that may constrain null as they do any other value
CONSTRAIN_NULL = {*LISTS, "$ref", "const", "if", "not"}


@dataclass(frozen=True)
class WireFields:
    """The schemas of a tool on the wire, and those that they were made from."""

    parameters: Any = None
    output_schema: Any = None
    shortened: Any = None


class CompactTool(Tool):
    """A tool whose definition on the wire repeats nothing."""

    _wire_fields: WireFields = PrivateAttr(default=WireFields())

    def to_mcp_tool(self, **overrides: Any) -> WireTool:
        """Return the tool on the wire."""
        meta = {}
        for key, value in self.get_meta().items():
            if value != NO_TAGS:
                meta[key] = value
        shortened = self._shortened_schemas()
        fields = {"_meta": meta or None, **shortened, **overrides}
        # FastMCP 4.2 hands over the schema of results: the tool's own, or one that older protocols accept
        schema = overrides.get("outputSchema")
        if schema is self.output_schema:
            fields["outputSchema"] = shortened["outputSchema"]
        elif schema is not None:
            words = significant_words(self.name)
            fields["outputSchema"] = shorten_output_schema(schema, words)
        return super().to_mcp_tool(**fields)

    def _shortened_schemas(self) -> dict[str, Any]:
        """Return both schemas as they are sent, computed once for each pair."""
        fields = self._wire_fields
        is_same_input = fields.parameters is self.parameters
        is_same_output = fields.output_schema is self.output_schema
        if fields.shortened is None or not is_same_input or not is_same_output:
            words = significant_words(self.name)
            shortened = {
                "inputSchema": shorten_input_schema(self.parameters),
                "outputSchema": shorten_output_schema(self.output_schema, words),
            }
            fields = WireFields(self.parameters, self.output_schema, shortened)
            self._wire_fields = fields
        return dict(fields.shortened)


def significant_words(text: str) -> set[str]:
    """Return the significant words of a name or a text, without a final `s`.

    The words are only compared with each other, so an incorrect singular does no harm.
    """
    significant: set[str] = set()
    for word in re.findall(r"[^\W_]+", text.lower()):
        if word not in FILLERS:
            significant.add(word.removesuffix("s"))
    return significant


def shorten_input_schema(schema: Any, *, is_optional: bool = False) -> Any:
    """Return the schema of arguments in fewer words.

    An argument that may be left out, which is as good as null, is not also described as null.

    Args:
        schema: The schema.
        is_optional: Whether the object around it need not have it.
    """
    if not isinstance(schema, dict):
        return schema

    def shorten(part: Any, name: str, is_optional: bool) -> Any:
        return shorten_input_schema(part, is_optional=is_optional)

    shortened = _map_parts(schema, shorten)
    if not is_optional or shortened.get("default", ...) is not None:
        return shortened
    members = shortened.get("anyOf", [])
    non_null = _exclude_null(members)
    if len(non_null) == len(members):
        return shortened
    del shortened["default"]
    union = non_null[0] if len(non_null) == 1 else {"anyOf": non_null}
    return _replace_union(shortened, union)


def shorten_output_schema(schema: Any, tool_words: Set[str], name: str = "") -> Any:
    """Return the schema of results in fewer words.

    A result is sent with its defaults, so these go, and so does a description with no other words than its name and its
    tool's have.

    Args:
        schema: The schema.
        tool_words: The words of the tool's name.
        name: The name of the property that it is of.
    """
    if not isinstance(schema, dict):
        return schema

    def shorten(part: Any, name: str, is_optional: bool) -> Any:
        return shorten_output_schema(part, tool_words, name)

    shortened = _map_parts(schema, shorten)
    description = significant_words(str(shortened.get("description", "")))
    if description <= tool_words | significant_words(name) | {"result"}:
        shortened.pop("description", None)
    shortened.pop("default", None)
    if "enum" in shortened:
        shortened.pop("type", None)
    if shortened.get("additionalProperties") is True:
        del shortened["additionalProperties"]
    return _join_null(shortened)


def _exclude_null(members: list[Any]) -> list[Any]:
    return [member for member in members if member != NULL]


def _join_null(schema: Schema) -> Schema:
    """Return a schema with null among its values instead of in a union with them."""
    members = schema.get("anyOf", [])
    non_null = _exclude_null(members)
    if len(non_null) != 1 or len(non_null) == len(members):
        return schema
    (only_member,) = non_null
    if not isinstance(only_member, dict) or not CONSTRAIN_NULL.isdisjoint(only_member):
        return schema
    # Values have their types; a list of types is more than some readers accept
    if "enum" not in only_member:
        return schema
    values = dict(only_member)
    values.pop("type", None)
    values["enum"] = [*only_member["enum"], None]
    return _replace_union(schema, values)


def _map_parts(schema: Schema, shorten: Callable[[Any, str, bool], Any]) -> Schema:
    """Return a schema with its parts shortened.

    Args:
        schema: The schema.
        shorten: Shortens a part, by its name and whether it may be left out.
    """
    required = schema.get("required", ())
    mapped = dict(schema)
    for key, value in schema.items():
        if key in MAPPINGS:
            mapped[key] = {}
            for name, part in value.items():
                mapped[key][name] = shorten(part, name, name not in required)
        elif key in LISTS:
            mapped[key] = [shorten(part, "", False) for part in value]
        elif key in SINGLE:
            mapped[key] = shorten(value, "", False)
    return mapped


def _replace_union(schema: Schema, replacement: Schema) -> Schema:
    """Return a schema with another one instead of its union."""
    fields = dict(schema)
    fields.pop("anyOf", None)
    return {**replacement, **fields}
