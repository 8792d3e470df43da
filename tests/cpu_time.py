"""Where the CPU time of the tests goes: a pytest plugin for Linux, and the sums by file.

    CPU_TIME=/tmp/cpu uv run pytest -p cpu_time tests/command
    uv run python tests/cpu_time.py /tmp/cpu

The time of a test is user and system time of its process and of every process below it, also of those that serve several tests.
A session or module fixture counts for the test that is the first to need it.
"""

import ctypes
import json
import os
import sys
from collections import Counter
from collections.abc import Generator
from pathlib import Path

import pytest

TICKS = os.sysconf("SC_CLK_TCK")
# Of prctl(2): a process whose parent has ended stays below this one
BECOME_SUBREAPER = 36
FOLDER = os.environ.get("CPU_TIME", "")
MOST = 40


def cpu_seconds() -> float:
    """Return the CPU time of this process and of every process below it, those that have ended included."""
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path("/proc", name, "stat").read_bytes()
        except OSError:
            continue  # it has ended meanwhile
        fields = text[text.rindex(b")") + 2 :].split()
        ticks[int(name)] = sum(map(int, fields[11:15]))
        children.setdefault(int(fields[1]), []).append(int(name))
    total = 0
    pending = [os.getpid()]
    while pending:
        process = pending.pop()
        total += ticks.get(process, 0)
        pending += children.get(process, [])
    return total / TICKS


def pytest_configure() -> None:
    """Keep the processes whose parents end below this one."""
    ctypes.CDLL(None).prctl(BECOME_SUBREAPER, 1, 0, 0, 0)
    Path(FOLDER).mkdir(parents=True, exist_ok=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Write down what a test took, its fixtures included."""
    before = cpu_seconds()
    result = yield
    record = {"test": item.nodeid, "seconds": cpu_seconds() - before}
    with Path(FOLDER, f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps(record) + "\n")
    return result


def print_sums(folder: Path) -> None:
    """Print the sums of all workers: in all, by file, and the tests that took most."""
    tests: Counter[str] = Counter()
    files: Counter[str] = Counter()
    for path in folder.glob("*.jsonl"):
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            tests[record["test"]] += record["seconds"]
            files[record["test"].partition("::")[0]] += record["seconds"]
    print(f"{tests.total():8.1f} in all")
    for counter in (files, tests):
        for name, seconds in counter.most_common(MOST):
            print(f"{seconds:8.1f} {name}")


if __name__ == "__main__":
    print_sums(Path(sys.argv[1]))
