"""Results of tools: the API's response unchanged, under a model that only describes it."""

from collections.abc import Mapping
from typing import Any, Self, cast

from fastmcp.exceptions import ToolError
from fastmcp.tools import ToolResult
from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, to_jsonable_python

from .responses import ApiResponse, BodyKind

# The keywords that describe a value without constraining it.
DESCRIBING = ("title", "description")
UNDOCUMENTED = "What the API sends, where that is not an object."
STRUCTURE = ("properties", "items", "additionalProperties", "prefixItems")


class ApiItem(BaseModel):
    """A part of a response. Its fields describe what the API documents; nothing else is refused or dropped."""

    model_config = ConfigDict(
        extra="allow", serialize_by_alias=True, protected_namespaces=()
    )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema without types and requirements: clients drop results that do not fit."""
        schema = handler.resolve_ref_schema(handler(core_schema))
        opened = _open(schema)
        schema.clear()
        schema.update(opened)
        return schema


class ApiResult(ApiItem):
    """The response of an API as the result of a tool: an object as it is, anything else as `result`."""

    _body: dict[str, Any] | None = PrivateAttr(default=None)

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        """Return the schema of any object, with the documented fields described."""
        schema = super().__get_pydantic_json_schema__(core_schema, handler)
        schema["type"] = "object"
        schema["additionalProperties"] = True
        if not schema.get("properties"):
            schema["properties"] = {"result": {"description": UNDOCUMENTED}}
        return schema

    @model_serializer(mode="wrap")
    def _serialize(self, handler: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]
        """Serialize the response as received; without one, the fields that were set.

        An annotation of the result would replace the schema of the fields.
        """
        if self._body is not None:
            return self._body
        fields = cast("dict[str, Any]", handler(self))
        aliases = {
            field.alias or name for name, field in type(self).model_fields.items()
        }
        written = {
            type(self).model_fields[name].alias or name
            for name in self.model_fields_set & type(self).model_fields.keys()
        }
        return {
            name: value
            for name, value in fields.items()
            if name in written or name not in aliases
        }

    def __setattr__(self, name: str, value: Any) -> None:
        """Set a field, in the response too."""
        super().__setattr__(name, value)
        field = type(self).model_fields.get(name)
        if field is not None and self._body is not None:
            self._body = {**self._body, field.alias or name: to_jsonable_python(value)}

    @classmethod
    def from_response(cls, response: ApiResponse, cursor: str = "") -> Self:
        """Return a response as the result of a tool, unchanged.

        Args:
            response: What the API answered.
            cursor: The parameter that asks for another page; its next value is added as `next_cursor` where the API
                sent a link to the next page.

        Returns:
            The result. A response that is empty, text, a file or cut is a FastMCP `ToolResult` with the same
            structured content, since it has content of its own.

        Raises:
            ToolError: The response is a web page where an object is documented: the address is wrong.
        """
        documented = cls.model_fields.keys()
        if documented and _is_page(response) and response.wrong_address:
            raise ToolError(response.wrong_address.format(answered="text/html"))
        body = dict(response.structured())
        _fill_from_headers(body, response, documented)
        next_cursor = response.next_cursor(cursor) if cursor else None
        if next_cursor and "next_cursor" not in body:
            body["next_cursor"] = next_cursor
        if response.cut:
            body["response_cut"] = response.cut
        if response.kind is not BodyKind.JSON or response.cut:
            content = response.content()
            return cast("Self", ToolResult(content=content, structured_content=body))
        result = cls._build(body, response)
        result._body = body
        return result

    @classmethod
    def _build(cls, body: dict[str, Any], response: ApiResponse) -> Self:
        """Return an instance with the fields of a body; one log line where they do not fit."""
        try:
            return cls.model_validate(body)
        except ValidationError as error:
            first = error.errors(
                include_input=False, include_url=False, include_context=False
            )[0]
            place = ".".join(str(part) for part in first["loc"])
            mistake = "".join(filter(str.isprintable, f"{place}: {first['msg']}"))[:200]
            response.logger.warning(
                "%s: the response does not fit %s (%s); returned as received",
                response.request,
                cls.__name__,
                mistake,
            )
        result = cast("Self", cls.model_construct())
        for name, field in cls.model_fields.items():
            wire = field.alias or name
            if wire in body:
                result.__dict__[name] = body[wire]
                result.model_fields_set.add(name)
        return result


def _is_page(response: ApiResponse) -> bool:
    """Tell whether a response is a web page; PHP calls any text `text/html` by default."""
    is_html = response.kind is BodyKind.TEXT and response.media_type == "text/html"
    return is_html and response.body.lstrip().startswith("<")


def _fill_from_headers(
    body: dict[str, Any],
    response: ApiResponse,
    documented: Mapping[str, Any] | Any,
) -> None:
    """Add the version and the ID that the API sent in headers, where the tool documents them."""
    place = response.headers.get("location", "")
    sent = {
        "etag": response.headers.get("etag", ""),
        "id": place.rstrip("/").rpartition("/")[2].partition("?")[0],
    }
    for name, value in sent.items():
        if name in documented and value:
            if response.kind is BodyKind.EMPTY:
                body.pop("result", None)
            body.setdefault(name, value)


def _open(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema that describes and constrains nothing.

    `wire_schemas` only shortens: it keeps every constraint, and so cannot be used here.

    Args:
        schema: A schema of Pydantic's, whose references lead to other models.
    """
    opened = {name: schema[name] for name in DESCRIBING if name in schema}
    source = _find_structural_schema(schema)
    if "$ref" in source:
        opened["$ref"] = source["$ref"]
    for name in STRUCTURE:
        inner = source.get(name)
        if name == "properties" and isinstance(inner, dict):
            opened[name] = {field: _open(part) for field, part in inner.items()}
        elif isinstance(inner, dict):
            opened[name] = _open(inner)
    return {
        name: value
        for name, value in opened.items()
        if value != {} or name == "properties"
    }


def _find_structural_schema(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the one alternative of a schema that has parts, else the schema itself."""
    alternatives = []
    for part in schema.get("anyOf", ()):
        if "$ref" in part or any(name in part for name in STRUCTURE):
            alternatives.append(part)
    return alternatives[0] if len(alternatives) == 1 else schema
