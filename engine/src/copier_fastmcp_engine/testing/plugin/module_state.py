"""The data that a project's modules hold themselves: globals, attributes of classes and functions, mutable defaults."""

import asyncio
import contextlib
import datetime
import functools
import gc
import inspect
import io
import operator
import os
import queue
import re
import sys
import threading
import uuid
import warnings
from array import array
from collections import UserList, deque
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePath
from types import (
    FunctionType,
    GeneratorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any

CACHE = re.compile("cache|memo", re.IGNORECASE)
DEEPEST = 6
LARGEST = 10_000  # elements of a container that are compared one by one
PLAIN = (bool, int, float, complex, str, bytes)
# Values of Python's library that never change, and are compared by their text
FIXED = (
    datetime.date,
    datetime.time,
    datetime.timedelta,
    Decimal,
    Fraction,
    PurePath,
    range,
    uuid.UUID,
)
COLLECTIONS = (Mapping, list, tuple, set, frozenset, deque, UserList)
ITERATORS = ("builtins", "itertools")  # modules whose iterators show their state
OBJECT = "object"  # stands for a value whose content is not compared
State = dict[str, Any]


class ModuleState:
    """Reads the data in the modules below a folder."""

    def __init__(self, source: Path, left_out: tuple[Path, ...] = ()) -> None:
        """Take where the modules are.

        Args:
            source: The folder of the project's code.
            left_out: Folders below it that are not the author's.
        """
        self.source = source
        self._left_out = tuple(f"{folder}{os.sep}" for folder in left_out)
        self._modules: list[ModuleType] = []
        self._count = 0

    def read(self) -> State:
        """Return all data, by the dotted name of what holds it."""
        state: State = {}
        for module in self.list_modules():
            for name, value in _iterate_data(module):
                state[f"{module.__name__}.{name}"] = value
        return state

    def list_modules(self) -> list[ModuleType]:
        """Return the author's modules; they are looked up again when others were imported."""
        if self._count != len(sys.modules):
            self._count = len(sys.modules)
            self._modules = []
            for _, module in sorted(sys.modules.items()):
                if isinstance(module, ModuleType) and self._is_own(module):
                    self._modules.append(module)
        return self._modules

    def _is_own(self, module: ModuleType) -> bool:
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or "site-packages" in file:
            return False
        if not file.startswith(f"{self.source}{os.sep}"):
            return False
        return not file.startswith(self._left_out)


def _iterate_data(module: ModuleType) -> Iterator[tuple[str, Any]]:
    """Yield the data of one module with its names; imported functions and classes are of their own modules."""
    for name, value in list(vars(module).items()):
        if name.startswith("__") or isinstance(value, ModuleType):
            continue
        if isinstance(value, type):
            if value.__module__ == module.__name__:
                yield from _iterate_class(name, value)
        elif isinstance(value, FunctionType):
            if value.__module__ == module.__name__:
                yield from _iterate_function(name, value)
        elif not hasattr(value, "snapshot"):  # the backend, whose data snapshot() shows
            yield name, _freeze(value)


def _iterate_class(owner: str, cls: type) -> Iterator[tuple[str, Any]]:
    is_model = hasattr(cls, "__pydantic_fields__")  # whose attributes pydantic makes
    class_variables = getattr(cls, "__class_vars__", ())
    for name, value in list(vars(cls).items()):
        if is_model and name not in class_variables:
            continue
        if name.startswith("_abc") or (name.startswith("__") and name.endswith("__")):
            continue
        if isinstance(value, FunctionType):
            yield from _iterate_function(f"{owner}.{name}", value)
        elif isinstance(value, (*PLAIN, *COLLECTIONS)):
            yield f"{owner}.{name}", _freeze(value)


def _iterate_function(owner: str, function: FunctionType) -> Iterator[tuple[str, Any]]:
    yield from _iterate_closures(owner, function)
    function = inspect.unwrap(function)
    for name, value in list(vars(function).items()):
        if not name.startswith("__"):
            yield f"{owner}.{name}", _freeze(value)
    defaults = [*(function.__defaults__ or ())]
    defaults += (function.__kwdefaults__ or {}).values()
    for default in defaults:
        if isinstance(default, (list, dict, set, deque)):
            yield f"{owner}()", _freeze(default)


def _iterate_closures(owner: str, function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Yield the variables of enclosing functions that a function, and what it wraps, refers to."""
    wrapped: Any = function
    while isinstance(wrapped, FunctionType):
        cells = wrapped.__closure__ or ()
        if not _is_library(wrapped.__code__.co_filename):
            for name, cell in zip(wrapped.__code__.co_freevars, cells, strict=True):
                with contextlib.suppress(ValueError):  # it has no value yet
                    yield f"{owner}.{name}", _freeze(cell.cell_contents)
        wrapped = getattr(wrapped, "__wrapped__", None)


def _freeze(value: Any, depth: int = 0) -> Any:
    """Return a value that can be compared later, whatever happens to the original."""
    if value is None or isinstance(value, PLAIN):
        return value
    if isinstance(value, FIXED):
        return f"{type(value).__name__} {value!r}"
    if depth >= DEEPEST:
        return OBJECT
    if isinstance(value, COLLECTIONS):
        return _freeze_items(value, depth + 1)
    if _is_data_object(value):
        attributes = _read_attributes(value)
        return (OBJECT, type(value).__name__, _freeze(attributes, depth + 1))
    return _freeze_library_object(value, depth + 1)


def _freeze_library_object(value: Any, depth: int) -> Any:
    """Return the content of what holds data in Python's own classes; of anything else nothing."""
    content: Any = OBJECT
    match value:
        case SimpleNamespace():
            content = _freeze(vars(value), depth)
        case bytearray() | array():
            content = bytes(value)
        case io.StringIO() | io.BytesIO():
            content = "" if value.closed else value.getvalue()
        case io.IOBase():
            content = _measure_file(value)
        case queue.Queue():
            content = _freeze_items(value.queue, depth)
        case asyncio.Queue():
            content = value.qsize()
        case threading.Event() | asyncio.Event():
            content = value.is_set()
        case _:
            content = _freeze_holder(value, depth)
    return content


def _freeze_holder(value: Any, depth: int) -> Any:
    """Return the content of what holds data in a function, a method or an iterator; of anything else nothing."""
    content: Any = OBJECT
    match value:
        case threading.local():
            content = _freeze(vars(value), depth)
        case MethodType():
            content = _freeze(value.__self__, depth)
        case functools.partial():
            content = _freeze([value.func, value.args, value.keywords], depth)
        case FunctionType():
            content = _freeze_function(value, depth)
        case Iterator():
            content = _freeze_iterator(value, depth)
    return content


def _freeze_function(function: FunctionType, depth: int) -> Any:
    """Return the data that a function holds which is no global of a module: its closure, attributes and defaults."""
    if _is_library(function.__code__.co_filename):
        return OBJECT
    data = {}
    for name, value in _iterate_function("", function):
        if not CACHE.search(name):
            data[name] = value
    return _freeze(data, depth) if data else OBJECT


def _freeze_iterator(value: Any, depth: int) -> Any:
    """Return how far an iterator has come, without a step."""
    if isinstance(value, GeneratorType):
        frame = value.gi_frame
        if frame is None:
            return "ended"
        return [frame.f_lasti, _freeze(dict(frame.f_locals), depth)]
    if type(value).__module__ not in ITERATORS:
        return operator.length_hint(value)
    with contextlib.suppress(Exception), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python 3.14 removes it from itertools
        parts = value.__reduce__()
        return _freeze([part for part in parts if not callable(part)], depth)
    # count() shows its number, and the others hold iterators that show how far they have come
    return [repr(value), _freeze(gc.get_referents(value), depth)]


def _measure_file(file: Any) -> Any:
    """Return the size of a file that is open for writing, with what is not yet written."""
    try:
        if file.closed or not file.writable() or file.isatty():
            return OBJECT
        return file.tell()
    except (OSError, ValueError):  # a pipe or a socket
        return OBJECT


def _read_attributes(value: object) -> dict[str, Any]:
    """Return the attributes of an object, those in slots too."""
    attributes = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name):
                attributes[name] = getattr(value, name)
    return attributes


def _freeze_items(collection: Any, depth: int) -> Any:
    """Return the items of a collection, those of a mapping and of a set in a fixed order; of a large one the size."""
    if len(collection) > LARGEST:
        return (OBJECT, len(collection))
    if isinstance(collection, (set, frozenset)):
        return sorted(map(repr, collection))
    if not isinstance(collection, Mapping):
        return [_freeze(item, depth) for item in list(collection)]
    pairs = []
    for key, item in list(collection.items()):
        pairs.append((repr(key), _freeze(item, depth)))
    return sorted(pairs, key=operator.itemgetter(0))


def _is_data_object(value: object) -> bool:
    """Tell whether an object is of a class of the same project: others may change by themselves."""
    module = sys.modules.get(type(value).__module__)
    file = getattr(module, "__file__", None) or "site-packages"
    return not _is_library(file) and not hasattr(value, "snapshot")


def _is_library(file: str) -> bool:
    """Tell whether a file is part of Python, of a library, or of no file at all."""
    return "site-packages" in file or file.startswith((sys.base_prefix, "<frozen"))


def find_changed(before: State, after: State, final: State) -> list[str]:
    """Return the names of data that a call changed.

    A cache may be filled by the first call, and an object may be made by it.

    Args:
        before: The state before the first call.
        after: The state after it.
        final: The state after the last call.
    """
    changed = []
    for name, new in final.items():
        old = before.get(name)
        if old == new and type(old) is type(new):
            continue
        kind = new[0] if isinstance(new, tuple) else new
        is_made = old is None and kind == OBJECT
        is_cached = CACHE.search(name.rpartition(".")[2]) and after.get(name) == new
        if not is_made and not is_cached:
            changed.append(name)
    return changed


def read_attributes(client: object) -> State:
    """Return the attributes of a backend; the data that snapshot() shows is among them."""
    state: State = {}
    for name, value in list(getattr(client, "__dict__", {}).items()):
        if not CACHE.search(name):
            state[name] = (type(value), _freeze(value))
    return state


def find_changed_attributes(before: State, after: State, final: State) -> list[str]:
    """Return the names of attributes that calls changed; what the first call prepares for the next ones is none.

    Args:
        before: The state before the first call.
        after: The state after it.
        final: The state after the last call.
    """
    changed = []
    for name, (kind, new) in final.items():
        old_kind, old = before.get(name, (type(None), None))
        if old == new and old_kind is kind:
            continue
        is_prepared = old in (None, False, "", []) or kind in (dict, object)
        is_stable = after.get(name) == (kind, new) and kind is not set
        if not (is_prepared and is_stable):
            changed.append(name)
    return changed
