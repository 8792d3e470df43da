"""Each template is compiled once in a process, however often Copier renders it: a third of what a render costs."""

from functools import cache
from types import CodeType
from typing import Any

from jinja2 import Environment, nodes

_compile = Environment.compile
_codes: dict[tuple[object, ...], CodeType] = {}


def _once(
    self: Environment,
    source: str | nodes.Template,
    name: str | None = None,
    *rest: Any,
    **more: Any,
) -> Any:
    """What Jinja makes of a source; what else it depends on are the class and the settings, and these are in the key.

    Copier's `yield` remembers what was parsed, so that is compiled each time.
    """
    if not isinstance(source, str) or more or any(rest[1:]) or "{% yield" in source:
        return _compile(self, source, name, *rest, **more)
    settings = (self.autoescape, self.optimized, self.trim_blocks, self.keep_trailing_newline)
    key = (type(self), settings, *sorted(self.extensions), source, name)
    if key not in _codes:
        _codes[key] = _compile(self, source, name, *rest)
    else:
        self.preprocess(source, name)  # where Copier's `yield` forgets the template before
    return _codes[key]


@cache
def once() -> None:
    """Begin to keep them."""
    Environment.compile = _once  # type: ignore[method-assign]
