"""A clock that is ahead, for the code of a project alone: what expires shows only later."""

import contextlib
import datetime
import sqlite3
import time
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from ..changes import AHEAD
from .databases import find_connections, sqlite_ahead

Modules = list[ModuleType]
_AHEAD_NS = int(AHEAD * 10**9)
_DELTA = datetime.timedelta(seconds=AHEAD)


def _time() -> float:
    return time.time() + AHEAD


def _time_ns() -> int:
    return time.time_ns() + _AHEAD_NS


def _monotonic() -> float:
    return time.monotonic() + AHEAD


def _monotonic_ns() -> int:
    return time.monotonic_ns() + _AHEAD_NS


def _perf_counter() -> float:
    return time.perf_counter() + AHEAD


def _perf_counter_ns() -> int:
    return time.perf_counter_ns() + _AHEAD_NS


def _gmtime(seconds: float | None = None) -> time.struct_time:
    return time.gmtime(_time() if seconds is None else seconds)


def _localtime(seconds: float | None = None) -> time.struct_time:
    return time.localtime(_time() if seconds is None else seconds)


def _strftime(pattern: str, moment: Any = None) -> str:
    return time.strftime(pattern, _localtime() if moment is None else moment)


def _ctime(seconds: float | None = None) -> str:
    return time.ctime(_time() if seconds is None else seconds)


def _asctime(moment: Any = None) -> str:
    return time.asctime(_localtime() if moment is None else moment)


class _DateLike(type):
    """The class of the two classes below, of which values of the real ones are instances."""

    real: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.real)


class _Datetime(datetime.datetime, metaclass=_DateLike):
    real = datetime.datetime

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        return datetime.datetime(*arguments, **options)

    @classmethod
    def now(cls, tz: Any = None) -> Any:
        return datetime.datetime.now(tz) + _DELTA

    @classmethod
    def today(cls) -> Any:
        return datetime.datetime.today() + _DELTA

    @classmethod
    def utcnow(cls) -> Any:
        return datetime.datetime.now(datetime.UTC).replace(tzinfo=None) + _DELTA

    @classmethod
    def fromisoformat(cls, text: str) -> Any:
        return datetime.datetime.fromisoformat(text)

    @classmethod
    def fromtimestamp(cls, timestamp: float, tz: Any = None) -> Any:
        return datetime.datetime.fromtimestamp(timestamp, tz)

    @classmethod
    def strptime(cls, text: str, pattern: str) -> Any:
        return datetime.datetime.strptime(text, pattern)

    @classmethod
    def combine(cls, *arguments: Any, **options: Any) -> Any:
        return datetime.datetime.combine(*arguments, **options)


class _Date(datetime.date, metaclass=_DateLike):
    real = datetime.date

    def __new__(cls, *arguments: Any, **options: Any) -> Any:
        return datetime.date(*arguments, **options)

    @classmethod
    def today(cls) -> Any:
        return datetime.date.today() + _DELTA

    @classmethod
    def fromisoformat(cls, text: str) -> Any:
        return datetime.date.fromisoformat(text)

    @classmethod
    def fromtimestamp(cls, timestamp: float) -> Any:
        return datetime.date.fromtimestamp(timestamp)


def _copy_module(module: ModuleType, **changed: Any) -> ModuleType:
    copied = ModuleType(module.__name__)
    vars(copied).update(vars(module))
    vars(copied).update(changed)
    return copied


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "asctime": _asctime,
    "ctime": _ctime,
    "gmtime": _gmtime,
    "localtime": _localtime,
    "monotonic": _monotonic,
    "monotonic_ns": _monotonic_ns,
    "perf_counter": _perf_counter,
    "perf_counter_ns": _perf_counter_ns,
    "strftime": _strftime,
    "time": _time,
    "time_ns": _time_ns,
}
_TIME = _copy_module(time, **_FUNCTIONS)
_DATETIME = _copy_module(datetime, datetime=_Datetime, date=_Date)
# What is replaced, by identity
_REPLACED: list[tuple[Any, Any]] = [
    (time, _TIME),
    (datetime, _DATETIME),
    (datetime.datetime, _Datetime),
    (datetime.date, _Date),
]
_REPLACED += [(getattr(time, name), ahead) for name, ahead in _FUNCTIONS.items()]


@contextlib.contextmanager
def clock_ahead(modules: Modules, client: object = None) -> Iterator[None]:
    """Let the code of some modules see a later time in the block, also in SQL.

    Args:
        modules: The modules.
        client: The backend, which may hold connections to SQLite.
    """
    connections = [*find_connections(client, *modules).values()]

    def connect(*arguments: Any, **options: Any) -> sqlite3.Connection:
        connection: sqlite3.Connection = sqlite3.connect(*arguments, **options)
        stack.enter_context(sqlite_ahead([connection], AHEAD))
        return connection

    replaced = [
        *_REPLACED,
        (sqlite3, _copy_module(sqlite3, connect=connect)),
        (sqlite3.connect, connect),
    ]
    with contextlib.ExitStack() as stack:
        stack.enter_context(sqlite_ahead(connections, AHEAD))
        stack.callback(_restore, _replace(modules, replaced))
        yield


def _replace(
    modules: Modules, replaced: list[tuple[Any, Any]]
) -> list[tuple[Any, str, Any]]:
    """Replace what modules and their classes hold; return what was there."""
    by_identity = {id(real): ahead for real, ahead in replaced}
    originals = []
    for holder in _list_holders(modules):
        for name, value in list(vars(holder).items()):
            function = value.__func__ if isinstance(value, staticmethod) else value
            ahead = by_identity.get(id(function))
            if ahead is not None:
                originals.append((holder, name, value))
                is_method = isinstance(holder, type) and callable(ahead)
                setattr(holder, name, staticmethod(ahead) if is_method else ahead)
    return originals


def _restore(originals: list[tuple[Any, str, Any]]) -> None:
    for holder, name, value in originals:
        setattr(holder, name, value)


def _list_holders(modules: Modules) -> list[Any]:
    """Return modules, and the classes that they define."""
    holders: list[Any] = []
    for module in modules:
        holders.append(module)
        for value in list(vars(module).values()):
            if isinstance(value, type) and value.__module__ == module.__name__:
                holders.append(value)
    return holders
