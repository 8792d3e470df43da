"""Methods and functions of a backend that a probe replaced: a tool that gets another backend changes nothing in snapshot()."""

import inspect
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakKeyDictionary

_methods_of: WeakKeyDictionary[type, dict[str, Any]] = WeakKeyDictionary()
_functions_of: WeakKeyDictionary[ModuleType, dict[str, Any]] = WeakKeyDictionary()


def remember_methods(client: object) -> None:
    """Keep the methods of a backend's class, as they are when a backend of it is first connected."""
    owner = type(client)
    if owner not in _methods_of:
        _methods_of[owner] = _read_methods(owner)


def find_replaced(client: object) -> list[str]:
    """Return the names of methods that are others now, of the object itself or of its class."""
    owner = type(client)
    methods = _methods_of.get(owner, {})
    current_methods = _read_methods(owner)
    replaced = [
        name
        for name, method in methods.items()
        if current_methods.get(name) is not method
    ]
    for name, value in getattr(client, "__dict__", {}).items():
        if callable(value) and name in methods and name not in replaced:
            replaced.append(name)
    return replaced


def remember_functions(client: object, modules: Iterable[ModuleType]) -> None:
    """Keep the functions that modules have from the module of a backend, as they are before the first probe."""
    origins = {owner.__module__ for owner in type(client).__mro__}
    for module in modules:
        if module in _functions_of:
            continue
        functions = {}
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__ in origins:
                functions[name] = value
        _functions_of[module] = functions


def find_replaced_functions(modules: Iterable[ModuleType]) -> list[str]:
    """Return the names of functions of the backend that are others in a module now."""
    replaced = []
    for module in modules:
        for name, function in _functions_of.get(module, {}).items():
            if vars(module).get(name) is not function and name not in replaced:
                replaced.append(name)
    return replaced


def _read_methods(owner: type) -> dict[str, Any]:
    methods = {}
    for name in dir(owner):
        method = inspect.getattr_static(owner, name, None)
        if inspect.isfunction(method):
            methods[name] = method
    return methods
