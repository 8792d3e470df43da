"""Each template is compiled once for a run of the tests, however often Copier renders it: a third of what a render costs.

In this process, and in those of Copier that it starts: they find `tests/site/sitecustomize.py`, which calls `once`.
"""

import hashlib
import marshal
import os
import tempfile
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

import jinja2
from jinja2 import Environment, nodes

SITE = Path(__file__).parent / "site"
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
    key = (str(type(self)), settings, *sorted(self.extensions), source, name)
    if key not in _codes:
        _codes[key] = _kept(key) or _keep(key, _compile(self, source, name, *rest))
    self.preprocess(source, name)  # where Copier's `yield` forgets the template before
    return _codes[key]


def _path(key: tuple[object, ...]) -> Path:
    """The file that holds a code for the other processes."""
    name = hashlib.sha256(repr((jinja2.__version__, key)).encode()).hexdigest()
    return Path(os.environ["COMPILED_TEMPLATES"], name)


def _kept(key: tuple[object, ...]) -> CodeType | None:
    """What another process compiled."""
    try:
        code: CodeType = marshal.loads(_path(key).read_bytes())
    except (OSError, ValueError, EOFError, KeyError):
        return None
    return code


def _keep(key: tuple[object, ...], code: CodeType) -> CodeType:
    """Write a code for the other processes, whole or not at all."""
    if "COMPILED_TEMPLATES" in os.environ:
        path = _path(key)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(marshal.dumps(code))
        Path(file.name).replace(path)
    return code


@cache
def once() -> None:
    """Begin to keep them."""
    Environment.compile = _once  # type: ignore[method-assign]


def shared(folder: Path) -> None:
    """Share them with every process that is started from now on and that keeps PYTHONPATH."""
    os.environ["COMPILED_TEMPLATES"] = str(folder)
    paths = [str(SITE), *filter(None, [os.environ.get("PYTHONPATH")])]
    os.environ["PYTHONPATH"] = os.pathsep.join(paths)
