"""Runs pytest many times, each in a fork that has the slow imports behind it; needs a system that can fork.

The argument is a JSON file: `package` is what each job imports anew from its own folder, `imports` are
modules that are the same for all, `jobs` are rows of a folder, pytest's words and a file for its output,
in which the last line is `exit` and a code.
"""

import json
import os
import signal
import sys
from importlib import import_module
from pathlib import Path
from typing import NoReturn

import anyio.pytest_plugin  # noqa: F401
import fastmcp.client  # noqa: F401
import pytest

LONGEST = 240  # seconds; a gate without its guard may never end


def run(folder: str, words: list[str], output: str) -> NoReturn:
    """Run pytest in a child."""
    signal.alarm(LONGEST)
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.chdir(folder)
    sys.path.insert(0, f"{folder}/src")
    code = pytest.main(words)
    print("exit", int(code), flush=True)
    os._exit(0)


def main(path: str) -> None:
    """Run every job of a file, as many at once as there are processors."""
    order = json.loads(Path(path).read_text(encoding="utf-8"))
    package = order["package"]
    for module in (f"{package}.server", *order["imports"]):
        import_module(module)
    for name in [name for name in sys.modules if name.split(".")[0] == package]:
        del sys.modules[name]
    sys.path[:] = [entry for entry in sys.path if Path(entry).name != "src"]
    running = 0
    for folder, words, output in order["jobs"]:
        if running >= (os.cpu_count() or 1):
            os.wait()
            running -= 1
        running += 1
        if os.fork() == 0:
            run(folder, words, output)
    while running:
        os.wait()
        running -= 1


if __name__ == "__main__":
    main(sys.argv[1])
