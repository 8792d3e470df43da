"""A clock that is ahead, for the code of a project alone: what expires shows only later."""

import contextlib
import datetime
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from ..changes import AHEAD

Modules = list[ModuleType]
_AHEAD_NS = int(AHEAD * 10**9)
_DELTA = datetime.timedelta(seconds=AHEAD)


def _time() -> float:
    return time.time() + AHEAD


def _time_ns() -> int:
    return time.time_ns() + _AHEAD_NS


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


_TIME = _copy_module(time, time=_time, time_ns=_time_ns)
_DATETIME = _copy_module(datetime, datetime=_Datetime, date=_Date)
# What is replaced, by identity
_REPLACED = [
    (time, _TIME),
    (datetime, _DATETIME),
    (time.time, _time),
    (time.time_ns, _time_ns),
    (datetime.datetime, _Datetime),
    (datetime.date, _Date),
]


@contextlib.contextmanager
def clock_ahead(modules: Modules) -> Iterator[None]:
    """Let the code of some modules see a later time in the block."""
    restored = []
    for module in modules:
        for name, value in list(vars(module).items()):
            for real, ahead in _REPLACED:
                if value is real:
                    restored.append((module, name, value))
                    setattr(module, name, ahead)
    try:
        yield
    finally:
        for module, name, value in restored:
            setattr(module, name, value)
