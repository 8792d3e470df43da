"""The signature of a tool's function: resolved, and with the fields of one Pydantic model flat."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, get_type_hints

import anyio.to_thread
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field, ValidationError

from .arguments import describe_errors

Function = Callable[..., Any]
Arguments = dict[str, Any]
KEYWORD = inspect.Parameter.KEYWORD_ONLY
MISSING = inspect.Parameter.empty


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
        value = (
            MISSING
            if field.is_required()
            else field.get_default(call_default_factory=True)
        )
        words = Field(description=field.description, alias=field.alias)
        kind: Any = Annotated[field.rebuild_annotation(), words]
        fields.append(inspect.Parameter(name, KEYWORD, default=value, annotation=kind))

    def bound(arguments: Arguments) -> Arguments:
        rest = {
            each.name: arguments[each.name] for each in others if each.name in arguments
        }
        values = {name: value for name, value in arguments.items() if name not in rest}
        try:
            return rest | {
                request: model.model_validate(values, by_alias=False, by_name=True)
            }
        except ValidationError as error:
            raise ToolError(describe_errors(error)) from error

    keywords = [each.replace(kind=KEYWORD) for each in others]
    return signature.replace(parameters=fields + keywords), bound
