"""The signature of a served function: resolved, and with the fields of its one model flat. Managed by the template."""

import functools
import inspect
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Annotated, Any, get_type_hints

import anyio.to_thread
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field, ValidationError

Function = Callable[..., Any]
Arguments = dict[str, Any]
Schema = Mapping[str, Any]
KEYWORD, MISSING = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.empty


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
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "arguments"
            raise ToolError(f"{where}: {first['msg']}") from error

    keywords = [each.replace(kind=KEYWORD) for each in others]
    return signature.replace(parameters=fields + keywords), bound


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
