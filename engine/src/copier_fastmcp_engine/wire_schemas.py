"""The definition of a tool on the wire: what a model reads, and little else; calls are checked by the whole."""

import re
from collections.abc import Mapping
from typing import Any

from fastmcp.tools import Tool
from mcp_types import Tool as WireTool
from pydantic import PrivateAttr

Schema = Mapping[str, Any]
NULL = {"type": "null"}
FILLERS = {"a", "an", "is", "it", "its", "number", "of", "one", "the", "whether"}
SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("$defs", "patternProperties", "properties")
# What may say of null what it says of the rest
ALIKE = {*SEVERAL, "$ref", "const", "if", "not"}


class Slim(Tool):
    """A tool whose definition on the wire says nothing twice."""

    _slim: tuple[Any, ...] = PrivateAttr(default=(None, None, {}))

    def to_mcp_tool(self, **overrides: Any) -> WireTool:
        """The tool on the wire."""
        inputs, output, fields = self._slim
        if inputs is not self.parameters or output is not self.output_schema:
            fields = {"inputSchema": slim(self.parameters)}
            fields["outputSchema"] = slim(self.output_schema, words(self.name))
            self._slim = self.parameters, self.output_schema, fields
        meta = {key: it for key, it in self.get_meta().items() if it != {"tags": []}}
        return super().to_mcp_tool(**{"_meta": meta or None, **fields, **overrides})


def words(text: str) -> set[str]:
    """The words of a name or a text that say something, in the singular."""
    said = re.findall(r"[^\W_]+", text.lower())
    return {word.removesuffix("s") for word in said if word not in FILLERS}


def slim(
    schema: Any, known: set[str] | None = None, name: str = "", absent: bool = False
) -> Any:
    """A JSON Schema in fewer words; one of results where the words of its tool's name are `known`.

    An argument that may be left out, which is as good as null, is not also said to be null. A result is sent with its
    defaults, so these go, and so does a description with no other words than its name and its tool's have.
    `absent`: the object around it need not have it.
    """
    if not isinstance(schema, dict):
        return schema
    found, required = dict(schema), schema.get("required", ())
    for key, value in schema.items():
        if key in NAMED:
            of = {
                each: slim(it, known, each, each not in required)
                for each, it in value.items()
            }
            found[key] = of
        elif key in SEVERAL:
            found[key] = [slim(each, known) for each in value]
        elif key in ("additionalProperties", "items"):
            found[key] = slim(value, known)
    others = [each for each in found.get("anyOf", ()) if each != NULL]
    nullable = len(others) < len(found.get("anyOf", ()))
    if known is None:
        if not (nullable and absent and found.get("default", ...) is None):
            return found
        del found["default"]
        return _instead(found, others[0] if len(others) == 1 else {"anyOf": others})
    if words(str(found.get("description", ""))) <= known | words(name) | {"result"}:
        found.pop("description", None)
    said = {"default", "type"} if "enum" in found else {"default"}
    found = {key: it for key, it in found.items() if key not in said}
    if found.get("additionalProperties") is True:
        del found["additionalProperties"]
    other = others[0] if nullable and len(others) == 1 else True
    if not isinstance(other, dict) or not ALIKE.isdisjoint(other):
        return found
    if (
        "enum" in other
    ):  # values have their types; a list of types is more than some readers take
        other = {key: it for key, it in other.items() if key != "type"}
        return _instead(found, other | {"enum": [*other["enum"], None]})
    return found


def _instead(schema: Schema, of: Schema) -> dict[str, Any]:
    """A schema with another one instead of its union."""
    return {**of, **{key: it for key, it in schema.items() if key != "anyOf"}}
