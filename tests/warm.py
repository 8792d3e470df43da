"""Python programs started from a process that has the slow imports behind it, where the system can fork.

A suite starts Python in rendered projects more than a thousand times, and each would spend two seconds on importing
FastMCP and pytest. `run` keeps a process that has imported what the projects do not change, and that forks for each
program. What the tests see is the same: a process of its own, with its own folder, variables and output.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

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
_idle: list[
    subprocess.Popen[str]
] = []  # one for each program that ran at the same time
servers: list[subprocess.Popen[str]] = []  # all of them, also while a program runs


def run(
    words: Sequence[str], folder: Path, environ: Mapping[str, str], seconds: int
) -> subprocess.CompletedProcess[str] | None:
    """Run Python with `words` in a folder; several threads may.

    Returns:
        What it printed and its exit code, or None where it has to start by itself: a variable would come too
        late, or this system cannot fork.
    """
    late = any(
        name.startswith(READ_AT_IMPORT)
        and name != "PYTHONPATH"
        and value != os.environ.get(name)
        for name, value in environ.items()
    )
    is_other = words[0][:1] == "-" and words[0] not in ("-m", "-c")
    if late or is_other or not hasattr(os, "fork"):
        return None
    with tempfile.TemporaryDirectory() as kept:
        out, err = Path(kept, "out"), Path(kept, "err")
        order = {
            "words": [*words],
            "folder": str(folder),
            "environ": {**environ},
            "output": [str(out), str(err)],
            "seconds": seconds,
        }
        try:
            server = _idle.pop()
        except IndexError:
            server = _started()
        assert server.stdin
        assert server.stdout
        server.stdin.write(json.dumps(order) + "\n")
        server.stdin.flush()
        code = int(server.stdout.readline())
        _idle.append(server)
        said = out.read_text("utf-8"), err.read_text("utf-8")
    if code == -signal.SIGALRM:
        raise subprocess.TimeoutExpired([*words], seconds, *said)
    return subprocess.CompletedProcess([sys.executable, *words], code, *said)


def environment() -> dict[str, str]:
    """The variables with which the imports are done."""
    clean = {
        k: v for k, v in os.environ.items() if not k.startswith(("FASTMCP_", "PYTEST_"))
    }
    return clean | {"NO_COLOR": "1", "HOME": os.devnull}


def _started() -> subprocess.Popen[str]:
    """A process that forks; it ends with this one."""
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    servers.append(process)
    return process


def _serve() -> list[str]:
    """Fork for each order on standard input, and answer with its exit code; in a child, come back with its words."""
    own = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what an import prints is not an answer
    imported()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            own.close()
            return _become(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), file=own, flush=True)
    return []


def imported(*more: str) -> None:
    """Import what programs share."""
    plugins = importlib.import_module("_pytest.config").default_plugins
    for name in (*SHARED, *more, *(f"_pytest.{plugin}" for plugin in plugins)):
        importlib.import_module(name)
    for name, module in [*sys.modules.items()]:
        if (
            "." not in name
        ):  # imported before pytest could rewrite them, and it need not
            module.__doc__ = f"{module.__doc__ or ''}\nPYTEST_DONT_REWRITE"
    compiled.modules()
    # Each client would read a hundred certificates anew, and none here asks over TLS.
    network: Any = importlib.import_module("httpcore2")
    network.default_ssl_context = functools.cache(network.default_ssl_context)
    gc.freeze()  # else each fork copies what it looks through


def _become(order: dict[str, Any]) -> list[str]:
    """Take on the folder, the variables and the output of a program; the words that it is started with."""
    signal.alarm(order["seconds"])
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environ"])
    for number, name in enumerate([os.devnull, *order["output"]]):
        file = os.open(name, os.O_RDWR | os.O_CREAT)
        os.dup2(file, number)
        os.close(file)
    return settled(order["words"])


def settled(words: list[str]) -> list[str]:
    """Look for modules where a program that is started with these words looks for them; the words."""
    safe = words[0] == "-P"
    words = words[safe:]
    script = not words[0].startswith("-")
    first = str(Path(words[0]).resolve().parent) if script else os.getcwd()
    path = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [*([] if safe else [first]), *filter(None, path)]
    sys.argv = words if script else ["-c", *words[2:]]
    return words


def play(words: Sequence[str]) -> int:
    """Run the program; what it would exit with."""
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


def leave(code: int) -> None:
    """End this process; to take down what was imported costs a second."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 255)


if __name__ == "__main__":
    sys.path.remove(
        str(Path(__file__).parent)
    )  # no program finds what is beside this file
    if program := _serve():
        leave(play(program))
