"""Serve a rendered project over stdio before the fake of its API: served.py PROJECT.

Each call finds the API as tests/tools arranges it for that tool. PROJECT/calls.json gets the arguments that go with it,
PROJECT/records.json what the API holds after the last call.
"""

import asyncio
import importlib
import json
import sys
from pathlib import Path
from typing import Any

from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext

PROJECT = Path(sys.argv[1])
sys.path[:0] = [str(PROJECT / "src"), str(PROJECT)]
(PACKAGE,) = (path.name for path in (PROJECT / "src").iterdir() if path.is_dir())
fake = importlib.import_module("tests.policy.fake")
settings = importlib.import_module(f"{PACKAGE}.settings").Settings(
    api="http://fake.invalid", state="memory", metadata=Path("none")
)


async def arranged(tool: str) -> tuple[Any, dict[str, Any] | None]:
    """Arrange the API for a tool and return the arguments of its call, or None without a probe."""
    module, faked = (
        importlib.import_module(f"tests.tools.test_{tool}"),
        fake.connect(settings),
    )
    arguments = (
        None if hasattr(module, "unprobed") else await module.arrange(faked.client)
    )
    faked.begin(tool)
    return faked, arguments


class Arranges(Middleware):
    """Arranges the API for each call."""

    async def on_call_tool(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]
    ) -> Any:
        """Call a tool on a freshly arranged API."""
        faked, _ = await arranged(context.message.name)
        try:
            return await call_next(context)
        finally:
            records = json.dumps(await faked.snapshot())
            (PROJECT / "records.json").write_text(records, encoding="utf-8")


async def calls() -> dict[str, Any]:
    """Collect the arguments for each tool."""
    files = (PROJECT / "tests/tools").glob("test_*.py")
    names = [path.stem.removeprefix("test_") for path in files]
    return {name: (await arranged(name))[1] for name in names}


if __name__ == "__main__":
    server = importlib.import_module(f"{PACKAGE}.server").create_server(settings)
    server.add_middleware(Arranges())
    (PROJECT / "calls.json").write_text(
        json.dumps(asyncio.run(calls())), encoding="utf-8"
    )
    server.run(show_banner=False)
