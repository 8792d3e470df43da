"""Run pytest many times after one import of what is slow, each run in a fork.

The one argument is a JSON file: `imports`, the modules to import once, and `runs`, where each run has the `folder` to run
in, the `source` that stands first on its path, and the `words` for pytest. A run leaves `exit` and `out` in
its own `result` folder.
"""

import contextlib
import importlib
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

LONGEST = 240  # seconds; a server without its guard may never end


def run(job: dict[str, Any]) -> int:
    """Run pytest in this process as a job says; comes back with its exit code."""
    signal.alarm(LONGEST)
    out = os.open(Path(job["result"]) / "out", os.O_WRONLY | os.O_CREAT)
    for stream in (1, 2):
        os.dup2(out, stream)
    os.chdir(job["folder"])
    os.environ["PYTHONPATH"] = os.pathsep.join([job["source"], os.environ["PYTHONPATH"]])
    sys.path.insert(0, job["source"])
    return int(pytest.main(job["words"]))


def main(path: str) -> None:
    """Run the jobs of a file, as many at once as there are processors."""
    plan = json.loads(Path(path).read_text(encoding="utf-8"))
    before = set(sys.modules)
    for module in plan["imports"]:
        importlib.import_module(module)
    for module in {*sys.modules} - before:  # what a job replaces must be imported anew
        if module.split(".")[0] in plan["replaced"]:
            del sys.modules[module]
    running: dict[int, Path] = {}

    def wait() -> None:
        pid, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        (running.pop(pid) / "exit").write_text(str(code), encoding="utf-8")

    for job in plan["runs"]:
        while len(running) >= (os.cpu_count() or 1):
            wait()
        if (pid := os.fork()) == 0:
            code = 70
            with contextlib.suppress(BaseException):
                code = run(job)
            sys.stdout.flush()
            os._exit(code)
        running[pid] = Path(job["result"])
    while running:
        wait()


if __name__ == "__main__":
    main(sys.argv[1])
