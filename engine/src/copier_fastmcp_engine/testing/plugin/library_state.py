"""Attributes of libraries that a project's code replaces or adds: a patched function, a value stored in a module."""

import sys
from collections.abc import Iterable, Iterator, Mapping
from types import ModuleType
from typing import Any

from .module_state import COLLECTIONS, FIXED, PLAIN

DATA = (*PLAIN, *FIXED, *COLLECTIONS)
ABSENT = object()
PYTEST = ("_pytest", "pytest", "pluggy", "xdist", "anyio.pytest_plugin")
BY_PYTHON = ("last_exc", "last_traceback", "last_type", "last_value")  # in sys
Attributes = dict[str, Any]


class LibraryState:
    """Compares the modules of libraries, and those of their classes that a project uses, with an earlier moment."""

    def __init__(self, left_out: Iterable[str]) -> None:
        """Take the packages that are not libraries.

        Args:
            left_out: The names of packages: the project, its tests, the engine.
        """
        self._left_out = {*left_out, *PYTEST, "__main__", "__mp_main__"}
        self._below = tuple(f"{name}." for name in self._left_out)
        self._kept: dict[str, Attributes] = {}

    def update(self, modules: Iterable[ModuleType]) -> list[str]:
        """Return the names of what was replaced or stored since the last update.

        Args:
            modules: The modules of the project.
        """
        changed = []
        for name, module in list(sys.modules.items()):
            if isinstance(module, ModuleType) and not self._is_left_out(name):
                changed += self._compare(name, vars(module))
        for owner in _list_classes(modules):
            if not self._is_left_out(owner.__module__):
                name = f"{owner.__module__}.{owner.__qualname__}"
                changed += self._compare(f"class {name}", vars(owner))
        return changed

    def _is_left_out(self, name: str) -> bool:
        return name in self._left_out or name.startswith(self._below)

    def _compare(self, name: str, attributes: Mapping[str, Any]) -> list[str]:
        """Return the names of attributes that were replaced or added, and keep them."""
        kept = self._kept.get(name)
        if kept is None:
            self._kept[name] = dict(attributes)
            return []
        if len(kept) == len(attributes) and _is_equal(kept, attributes):
            return []
        self._kept[name] = dict(attributes)
        owner = name.removeprefix("class ")
        changed = []
        for key, value in self._kept[name].items():
            old = kept.get(key, ABSENT)
            if old is not value and _is_stored(key, old, value):
                changed.append(f"{owner}.{key}")
        return changed


def _is_equal(kept: Attributes, attributes: Mapping[str, Any]) -> bool:
    try:
        return bool(kept == attributes)
    except Exception:  # of values that cannot be compared
        return False


def _is_stored(key: str, old: Any, new: Any) -> bool:
    """Tell whether somebody else stored an attribute; libraries make some of their own when they are first needed."""
    if key.startswith("__") or key in BY_PYTHON or isinstance(new, ModuleType):
        return False
    if old is ABSENT:
        return not key.startswith("_") and isinstance(new, DATA)
    if callable(old):
        return True
    is_plain = isinstance(old, PLAIN) and isinstance(new, PLAIN)
    return is_plain and not key.startswith("_")


def _list_classes(modules: Iterable[ModuleType]) -> Iterator[type]:
    """Yield the classes of libraries that modules import by name."""
    for module in modules:
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ != module.__name__:
                yield value
