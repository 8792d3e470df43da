"""The signature of a tool's function: resolved, and with the fields of one Pydantic model flat."""

import functools
import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Annotated, Any, get_type_hints

import anyio.to_thread
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field, ValidationError

from .arguments import describe_errors

Function = Callable[..., Any]
Arguments = dict[str, Any]
KEYWORD = inspect.Parameter.KEYWORD_ONLY
MISSING = inspect.Parameter.empty


def make_async(function: Function) -> Callable[..., Awaitable[Any]]:
    """Return the function to be awaited: a plain `def` runs in a thread, and its result may be awaitable."""
    if inspect.iscoroutinefunction(function):
        return function

    async def run(**arguments: Any) -> Any:
        value = await anyio.to_thread.run_sync(functools.partial(function, **arguments))
        return await value if inspect.isawaitable(value) else value

    return run


def with_signature(wrapper: Function, signature: inspect.Signature) -> Function:
    """Return the wrapper with another signature, whose parameters are all keywords."""
    parameters = []
    wrapper.__annotations__ = {}
    for parameter in signature.parameters.values():
        parameters.append(parameter.replace(kind=KEYWORD))
        wrapper.__annotations__[parameter.name] = parameter.annotation
    wrapper.__annotations__["return"] = signature.return_annotation
    vars(wrapper)["__signature__"] = signature.replace(parameters=parameters)
    return wrapper


def without_plain_docstring(function: Function) -> Function:
    """Return a copy of the function without its docstring where that describes no parameter, else the function itself.

    FastMCP takes the descriptions of parameters from docstrings in three formats, with a parser that takes a
    twentieth of a server's start. It loads it for any function with a docstring.
    """
    docstring = function.__doc__
    if not isinstance(function, FunctionType) or not docstring:
        return function
    lines = docstring.splitlines()
    # Google and Sphinx mark a section with a colon, NumPy underlines its name
    if ":" in docstring or any(set(line.strip()) == {"-"} for line in lines):
        return function
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    functools.update_wrapper(copy, function)
    # Python 3.14 copies only annotations that were not set by hand
    copy.__annotations__ = dict(function.__annotations__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__doc__ = None
    return copy


def resolve_signature(function: Function) -> inspect.Signature:
    """Return the signature with its annotations resolved, so that a wrapper can carry it elsewhere."""
    hints = get_type_hints(function, include_extras=True)
    signature = inspect.signature(function)
    parameters = []
    for name, parameter in signature.parameters.items():
        annotation = hints.get(name, parameter.annotation)
        parameters.append(parameter.replace(annotation=annotation))
    result_type = hints.get("return", signature.return_annotation)
    return signature.replace(parameters=parameters, return_annotation=result_type)


@dataclass(frozen=True)
class WireSignature:
    """The signature of a function on the wire.

    Attributes:
        signature: The signature.
        bind: Makes the function's own arguments of those on the wire; None where they are the same. It raises
            ToolError when the model refuses them.
    """

    signature: inspect.Signature
    bind: Callable[[Arguments], Arguments] | None = None


def flatten_model(function: Function) -> WireSignature:
    """Return the signature on the wire, in which the fields of the one Pydantic model are parameters."""
    signature = resolve_signature(function)
    models: dict[str, type[BaseModel]] = {}
    for name, parameter in signature.parameters.items():
        kind = parameter.annotation
        if inspect.isclass(kind) and issubclass(kind, BaseModel):
            models[name] = kind
    if len(models) != 1:
        return WireSignature(signature)
    ((request, model),) = models.items()
    parameters = _field_parameters(model)
    own_names = []
    for name, parameter in signature.parameters.items():
        if name != request:
            own_names.append(name)
            parameters.append(parameter.replace(kind=KEYWORD))

    def bind(arguments: Arguments) -> Arguments:
        own_arguments: Arguments = {}
        fields: Arguments = {}
        for name, value in arguments.items():
            target = own_arguments if name in own_names else fields
            target[name] = value
        try:
            instance = model.model_validate(fields, by_alias=False, by_name=True)
        except ValidationError as error:
            raise ToolError(describe_errors(error)) from error
        return {**own_arguments, request: instance}

    return WireSignature(signature.replace(parameters=parameters), bind)


def _field_parameters(model: type[BaseModel]) -> list[inspect.Parameter]:
    """Return a parameter for each field of a model."""
    parameters = []
    for name, field in model.model_fields.items():
        default: Any = MISSING
        if not field.is_required():
            default = field.get_default(call_default_factory=True)
        metadata = Field(description=field.description, alias=field.alias)
        kind: Any = Annotated[field.rebuild_annotation(), metadata]
        parameter = inspect.Parameter(name, KEYWORD, default=default, annotation=kind)
        parameters.append(parameter)
    return parameters
