"""Imports of the process that programs fork from (tests/forked.py), and running a program in the fork.

A suite starts Python in rendered projects more than a thousand times, and each would spend two seconds on importing
FastMCP and pytest.
"""

import atexit
import gc
import importlib
import os
import runpy
import sys
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

import compiled

SHARED = [
    "anyio._backends._asyncio",
    "anyio.pytest_plugin",
    "authlib.integrations.httpx_client",
    "cyclopts",
    "fastmcp.apps.app",
    "fastmcp.client.transports",
    "fastmcp.server.auth.providers.jwt",
    "fastmcp.server.middleware.dereference",
    "fastmcp.server.providers.prefab_synthesis",
    "fastmcp.server.providers.proxy",
    "fastmcp.server.sessions",
    "fastmcp.server.transforms.catalog",
    "griffe",
    "hypothesis",
    "key_value.aio.stores.filetree",
    "key_value.aio.stores.memory",
    "keyring.backends.fail",
    "mcp.server.request_state",
    "mcp.server.streamable_http_manager",
    "mcp_types.version",
    "oidc_provider_mock",
    "opentelemetry.metrics",
    "platformdirs",
    "pydantic_settings",
    "pytest",
    "rich.console",
    "rich.table",
    "sqlite3",
    "starlette.testclient",
    "uvicorn",
    "yaml",
]
# Names of variables that a module reads when it is imported: a program that is given one starts by itself.
READ_AT_IMPORT = ("FASTMCP_", "PYTHON")


def can_fork(words: Sequence[str], environ: Mapping[str, str]) -> bool:
    """Tell whether a program may fork from a process with the imports behind it.

    Args:
        words: What follows `python` in its command line.
        environ: Its variables: one that a module reads at import would come too late.
    """
    late = any(
        name.startswith(READ_AT_IMPORT)
        and name != "PYTHONPATH"
        and value != os.environ.get(name)
        for name, value in environ.items()
    )
    is_other = words[0][:1] == "-" and words[0] not in ("-m", "-c")
    return hasattr(os, "fork") and not late and not is_other


def clean_environment() -> dict[str, str]:
    """Return the variables of this process without the settings of FastMCP and pytest."""
    variables = {}
    for name, value in os.environ.items():
        if not name.startswith(("FASTMCP_", "PYTEST_")):
            variables[name] = value
    return variables


def environment() -> dict[str, str]:
    """Return the variables that apply during the imports."""
    return clean_environment() | {"NO_COLOR": "1", "HOME": os.devnull}


def import_shared(*modules: str) -> None:
    """Import the modules that programs share."""
    plugins = importlib.import_module("_pytest.config").default_plugins
    for name in (*SHARED, *modules, *(f"_pytest.{plugin}" for plugin in plugins)):
        importlib.import_module(name)
    for name, module in [*sys.modules.items()]:
        if (
            "." not in name
        ):  # imported before pytest could rewrite them, and it need not
            module.__doc__ = f"{module.__doc__ or ''}\nPYTEST_DONT_REWRITE"
    compiled.modules()
    compiled.load_certificates_once()
    gc.freeze()  # else each fork copies what it looks through
    gc.set_threshold(20_000)  # a program ends before most of it is worth a search


def set_import_path(words: list[str]) -> list[str]:
    """Set the import path that a program with this command line has, and return the command line."""
    safe = words[0] == "-P"
    words = words[safe:]
    script = not words[0].startswith("-")
    first = str(Path(words[0]).resolve().parent) if script else os.getcwd()
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [*([] if safe else [first]), *filter(None, path)]
    sys.argv = words if script else ["-c", *words[2:]]
    return words


def run_program(words: Sequence[str]) -> int:
    """Run the program and return its exit code."""
    try:
        if words[0] == "-m":
            sys.argv[0] = words[1]
            runpy.run_module(words[1], run_name="__main__", alter_sys=True)
        elif words[0] == "-c":
            exec(compile(words[1], "<string>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_path(words[0], run_name="__main__")
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        print(end.code, file=sys.stderr)
        return 1
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def end_process(code: int) -> None:
    """End this process without the second that the teardown of the imported modules takes."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 255)
