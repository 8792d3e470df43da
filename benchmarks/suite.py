"""The CPU time of a generated project's own test suite at 10, 100 and 400 tools; under 10 s at 100 is wanted.

The tools go through all behaviors in turn, gated ones among them. Prints user and system time, children
included, after a first run that compiled the bytecode, beside the floor of the same run: a Python that imports
FastMCP and ends. usage: python benchmarks/suite.py [COUNT ...]
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import copier

ROOT = Path(__file__).parent.parent
VERBS = "search get create ensure append update archive delete send"
PLUGINS = ["-p", "anyio", "-p", "no:cacheprovider"]
SUITE = ["-m", "pytest", *PLUGINS, "-c", "config/pytest.ini", "--rootdir", ".", "-q"]
PROOFS = ["tests/policy/test_annotations.py", "tests/policy/test_behavior.py"]


def cpu() -> float:
    """Seconds of CPU that finished children have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(folder: Path, *words: str) -> float:
    """The CPU time of a Python that succeeds, with no more of pytest's plugins than the project has."""
    before = cpu()
    own = {
        "PYTHONPATH": str(folder / "src"),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
        "PYTHONPYCACHEPREFIX": str(folder.parent / "bytecode"),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=folder, env=os.environ | own, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    return cpu() - before


def main(counts: list[int]) -> None:
    """Print a line for each number of tools."""
    kinds = VERBS.split()
    print("tools    floor  whole suite  annotations and probes  each tool beyond the first line's")
    first: tuple[int, float] | None = None
    for count in counts:
        tools = [f"{kinds[n % len(kinds)]}_thing{n // len(kinds):03}" for n in range(count)]
        with tempfile.TemporaryDirectory() as work:
            project = Path(work, "project")
            copier.run_copy(
                str(ROOT),
                project,
                data={"tools": tools},
                defaults=True,
                skip_tasks=True,
                quiet=True,
                vcs_ref="HEAD",
            )
            seconds(project, *SUITE)
            floor = seconds(project, "-c", "from fastmcp import Client, FastMCP")
            whole, proofs = seconds(project, *SUITE), seconds(project, *SUITE, *PROOFS)
        first = first or (count, whole)
        beyond = (whole - first[1]) / (count - first[0]) * 1000 if count > first[0] else 0
        print(
            f"{count:5}  {floor:5.1f} s  {whole:9.1f} s  {proofs:20.1f} s  {beyond:6.1f} ms",
            flush=True,
        )


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [10, 100, 400])
