"""For what tests start: it runs where tests/forked.py says; else, once Jinja is imported, tests/compiled.py is asked."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any


class Finder:
    """Finds `jinja2` as usual, and has its import followed by that of tests/compiled.py."""

    def find_spec(self, name: str, *_: Any) -> ModuleSpec | None:
        """Stand aside, find the module, and come after it."""
        if name != "jinja2":
            return None
        import importlib.util  # not above: most programs are handed on, without it

        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def after(module: ModuleType) -> None:
                execute(module)
                path = os.path.join(os.path.dirname(__file__), os.pardir, "compiled.py")
                spec = importlib.util.spec_from_file_location(
                    "compiled_templates", path
                )
                assert spec
                assert spec.loader
                compiled = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(compiled)
                compiled.compile_once()

            spec.loader.exec_module = after  # type: ignore[method-assign]
        return spec


if FORKS := os.environ.get("FORKS"):
    import relay

    if relay.can_relay(sys.orig_argv[1:]):
        relay.hand_on(FORKS, sys.orig_argv[1:])
if "COMPILED_TEMPLATES" in os.environ:
    sys.meta_path.insert(0, Finder())
