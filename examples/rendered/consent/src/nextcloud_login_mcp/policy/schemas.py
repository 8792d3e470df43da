"""The form of a tool: its function's signature, resolved and with the fields of one model flat; its schemas on the wire.

Managed by the template. Clients get all that a model reads, and little else; what is checked and asked goes by the whole.
"""

import functools
import inspect
import json
import re
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Annotated, Any, get_type_hints

import anyio.to_thread
from fastmcp.exceptions import ToolError
from fastmcp.tools import Tool
from mcp_types import Tool as OnTheWire
from pydantic import BaseModel, Field, PrivateAttr, ValidationError

Function = Callable[..., Any]
Arguments = dict[str, Any]
Schema = Mapping[str, Any]
KEYWORD, MISSING = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty
NULL = {"type": "null"}
FILLERS = {"a", "an", "is", "it", "its", "number", "of", "one", "the", "whether"}
SEVERAL = ("allOf", "anyOf", "oneOf", "prefixItems")
NAMED = ("$defs", "patternProperties", "properties")
# What may say of null what it says of the rest
ALIKE = {*SEVERAL, "$ref", "const", "if", "not"}


def awaited(function: Function) -> Callable[..., Awaitable[Any]]:
    """The function to be awaited: a plain `def` runs in a thread, and what it returns may be awaitable."""
    if inspect.iscoroutinefunction(function):
        return function

    async def run(**arguments: Any) -> Any:
        value = await anyio.to_thread.run_sync(functools.partial(function, **arguments))
        return await value if inspect.isawaitable(value) else value

    return run


def wearing(wrapper: Function, signature: inspect.Signature) -> Function:
    """The wrapper with another signature, all of it keywords."""
    parameters = [each.replace(kind=KEYWORD) for each in signature.parameters.values()]
    vars(wrapper)["__signature__"] = signature.replace(parameters=parameters)
    wrapper.__annotations__ = {each.name: each.annotation for each in parameters}
    wrapper.__annotations__["return"] = signature.return_annotation
    return wrapper


def resolved(function: Function) -> inspect.Signature:
    """The signature with its annotations resolved, so that a wrapper can carry it elsewhere."""
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    parameters = [
        each.replace(annotation=hints.get(name, each.annotation))
        for name, each in signature.parameters.items()
    ]
    answer = hints.get("return", signature.return_annotation)
    return signature.replace(parameters=parameters, return_annotation=answer)


def flattened(
    function: Function,
) -> tuple[inspect.Signature, Callable[[Arguments], Arguments] | None]:
    """The signature on the wire, where the fields of the one Pydantic model are flat.

    Returns:
        The signature, and the way from wire arguments back to the author's; None where they are the
        same. It raises ToolError when the model refuses.
    """
    signature = resolved(function)
    models = {
        name: each.annotation
        for name, each in signature.parameters.items()
        if inspect.isclass(each.annotation) and issubclass(each.annotation, BaseModel)
    }
    if len(models) != 1:
        return signature, None
    ((request, model),) = models.items()
    others = [each for name, each in signature.parameters.items() if name != request]
    fields = []
    for name, field in model.model_fields.items():
        value = MISSING if field.is_required() else field.get_default(call_default_factory=True)
        words = Field(description=field.description, alias=field.alias)
        kind: Any = Annotated[field.rebuild_annotation(), words]
        fields.append(inspect.Parameter(name, KEYWORD, default=value, annotation=kind))

    def bound(arguments: Arguments) -> Arguments:
        rest = {each.name: arguments[each.name] for each in others if each.name in arguments}
        values = {name: value for name, value in arguments.items() if name not in rest}
        try:
            return rest | {request: model.model_validate(values, by_alias=False, by_name=True)}
        except ValidationError as error:
            raise ToolError(amiss(error)) from error

    keywords = [each.replace(kind=KEYWORD) for each in others]
    return signature.replace(parameters=fields + keywords), bound


def amiss(error: ValidationError) -> str:
    """What is wrong with the arguments of a call, five things at most, on one line; no value, as one may be secret."""
    found = error.errors(include_url=False, include_input=False)[:5]
    named = (f"{'.'.join(map(str, each['loc'])) or 'arguments'}: {each['msg']}" for each in found)
    return " ".join("; ".join(named).split())


def confused(value: object, schema: Schema, root: Schema | None = None, at: str = "") -> str:
    """Which argument has a boolean for a number or text, or a number for a boolean; empty when none has.

    Pydantic takes the one for the other. Text that spells a number is welcome, models send it.
    """
    root = schema if root is None else root
    leaves = list(_leaves(schema, root))
    if isinstance(value, bool | int | float):
        kinds = {str(leaf.get("type", "any")) for leaf in leaves}
        taken = {"integer", "number", "string"} if isinstance(value, bool) else {"boolean"}
        fits = {"any", "boolean", "integer", "number", "string"} - taken
        if kinds & taken and not kinds & fits:
            return f"{at[1:]}: {json.dumps(value)} is not of type {' or '.join(sorted(kinds))}"
    parts = dict(enumerate(value)) if isinstance(value, list) else value
    for part, each in parts.items() if isinstance(parts, dict) else ():
        inside = [_inside(leaf, part) for leaf in leaves]
        known = [found for found in inside if isinstance(found, dict)]
        if known and (wrong := confused(each, {"anyOf": known}, root, f"{at}.{part}")):
            return wrong
    return ""


def _inside(leaf: Schema, part: str | int) -> object:
    """The schema of what has a name in an object, or a place in a list."""
    known = leaf.get("properties") or dict(enumerate(leaf.get("prefixItems", ())))
    return known.get(part, leaf.get("additionalProperties", leaf.get("items")))


def _leaves(schema: Schema, root: Schema) -> Iterator[Schema]:
    """The schemas of one value, out of unions and references, none of which is followed twice."""
    if not isinstance(schema, Mapping):  # true: anything
        yield {}
    elif "$ref" in schema:
        known = dict(root.get("$defs", {}))
        schema = known.pop(schema["$ref"].rpartition("/")[2], {})
        yield from _leaves(schema, {"$defs": known})
    elif unions := [schema[key] for key in ("anyOf", "oneOf", "allOf") if key in schema]:
        for each in (each for union in unions for each in union):
            yield from _leaves(each, root)
    else:
        yield schema


class Slim(Tool):
    """A tool whose definition on the wire says nothing twice."""

    _slim: tuple[Any, ...] = PrivateAttr(default=(None, None, {}))

    def to_mcp_tool(self, **overrides: Any) -> OnTheWire:
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


def slim(schema: Any, known: set[str] | None = None, name: str = "", absent: bool = False) -> Any:
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
            of = {each: slim(it, known, each, each not in required) for each, it in value.items()}
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
    if "enum" in other:  # values have their types; a list of types is more than some readers take
        other = {key: it for key, it in other.items() if key != "type"}
        return _instead(found, other | {"enum": [*other["enum"], None]})
    return found


def _instead(schema: Schema, of: Schema) -> dict[str, Any]:
    """A schema with another one instead of its union."""
    return {**of, **{key: it for key, it in schema.items() if key != "anyOf"}}
