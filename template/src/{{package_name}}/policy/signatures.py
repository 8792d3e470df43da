"""The signature of a served tool: resolved, flattened, with the gate's parameter. Managed by the template."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, get_type_hints

import anyio.to_thread
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field, ValidationError

from .envelope import Envelope

Function = Callable[..., Any]
Arguments = dict[str, Any]
KEYWORD = inspect.Parameter.KEYWORD_ONLY
CONFIRM = Annotated[bool, Field(description="True applies what an earlier call previewed.")]


def resolved(function: Function) -> inspect.Signature:
    """The signature with its annotations resolved, so that a wrapper can carry it elsewhere."""
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=hints.get(name, parameter.annotation))
        for name, parameter in signature.parameters.items()
    ]
    answer = hints.get("return", signature.return_annotation)
    return signature.replace(parameters=parameters, return_annotation=answer)


def wearing(wrapper: Function, signature: inspect.Signature) -> Function:
    """The wrapper with another function's signature, all of it keywords."""
    parameters = [each.replace(kind=KEYWORD) for each in signature.parameters.values()]
    vars(wrapper)["__signature__"] = signature.replace(parameters=parameters)
    wrapper.__annotations__ = {each.name: each.annotation for each in parameters}
    wrapper.__annotations__["return"] = signature.return_annotation
    return wrapper


def awaited(function: Function) -> Callable[..., Awaitable[Any]]:
    """The function to be awaited: a plain `def` runs in a thread, and what it returns may be awaitable."""
    if inspect.iscoroutinefunction(function):
        return function

    async def run(*args: Any, **arguments: Any) -> Any:
        value = await anyio.to_thread.run_sync(functools.partial(function, *args, **arguments))
        return await value if inspect.isawaitable(value) else value

    return run


def flattened(
    function: Function,
) -> tuple[inspect.Signature, Callable[[Arguments], Arguments] | None]:
    """The signature with the fields of its one Pydantic model flat, and the way back to the model.

    Returns:
        The signature as the wire has it, and a function from wire arguments to the author's; None
        where they are the same. It raises ToolError when the model refuses.
    """
    signature = resolved(function)
    models = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if inspect.isclass(parameter.annotation) and issubclass(parameter.annotation, BaseModel)
    }
    if len(models) != 1:
        return signature, None
    ((request, model),) = models.items()
    fields = [
        inspect.Parameter(
            name,
            KEYWORD,
            default=inspect.Parameter.empty
            if field.is_required()
            else field.get_default(call_default_factory=True),
            annotation=Annotated[
                field.rebuild_annotation(), Field(description=field.description, alias=field.alias)
            ],
        )
        for name, field in model.model_fields.items()
    ]
    others = [
        parameter.replace(kind=KEYWORD)
        for name, parameter in signature.parameters.items()
        if name != request
    ]

    def bound(arguments: Arguments) -> Arguments:
        rest = {each.name: arguments[each.name] for each in others if each.name in arguments}
        values = {name: value for name, value in arguments.items() if name not in rest}
        try:
            return rest | {request: model.model_validate(values, by_alias=False, by_name=True)}
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"]) or "arguments"
            raise ToolError(f"{where}: {first['msg']}") from error

    return signature.replace(parameters=fields + others), bound


def gated(signature: inspect.Signature) -> tuple[inspect.Signature, bool]:
    """The signature behind the gate: `confirm` last, the envelope around the result.

    Returns:
        The signature, and whether the author had a `confirm` parameter, which becomes the gate's.
    """
    parameters = dict(signature.parameters)
    own = parameters.pop("confirm", None)
    annotation = own.annotation if own else CONFIRM
    confirm = inspect.Parameter("confirm", KEYWORD, default=False, annotation=annotation)
    result = signature.return_annotation
    answer = Envelope.__class_getitem__(Any if result is inspect.Signature.empty else result)
    keywords = [each.replace(kind=KEYWORD) for each in parameters.values()]
    changed = signature.replace(parameters=[*keywords, confirm], return_annotation=answer)
    return changed, own is not None


def wire_name(parameter: inspect.Parameter) -> str:
    """The name of a parameter on the wire: its alias, or its own."""
    for extra in getattr(parameter.annotation, "__metadata__", ()):
        if isinstance(alias := getattr(extra, "alias", None), str):
            return alias
    return parameter.name
