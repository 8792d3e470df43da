"""The CPU time of a generated project's own test suite at 10, 100 and 400 tools; under 10 s at 100 is wanted.

The tools go through all behaviors in turn, gated ones among them. Prints the seconds of user and system time,
children included, after a first run that compiled the bytecode. usage: python benchmarks/suite.py [COUNT ...]
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
SUITE = [sys.executable, "-m", "pytest", "-c", "config/pytest.ini", "--rootdir", ".", "-q"]


def cpu() -> float:
    """Seconds of CPU that finished children have taken."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def seconds(project: Path, *words: str) -> float:
    """The CPU time of a run of the suite that passes."""
    before = cpu()
    env = os.environ | {"PYTHONPATH": str(project / "src")}
    done = subprocess.run(
        [*SUITE, "-p", "no:cacheprovider", *words],
        cwd=project,
        env=env,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    return cpu() - before


def main(counts: list[int]) -> None:
    """Print a line for each number of tools."""
    kinds = VERBS.split()
    print("tools  whole suite  annotations and probes  each tool beyond the first line's")
    first: tuple[int, float] | None = None
    for count in counts:
        tools = [f"{kinds[n % len(kinds)]}_thing{n // len(kinds):03}" for n in range(count)]
        with tempfile.TemporaryDirectory() as work:
            project = Path(work, "project")
            answers = {"tools": tools}
            copier.run_copy(
                str(ROOT),
                project,
                data=answers,
                defaults=True,
                skip_tasks=True,
                quiet=True,
                vcs_ref="HEAD",
            )
            seconds(project)
            whole = seconds(project)
            proofs = seconds(
                project, "tests/policy/test_annotations.py", "tests/policy/test_behavior.py"
            )
        first = first or (count, whole)
        beyond = (whole - first[1]) / (count - first[0]) * 1000 if count > first[0] else 0
        print(f"{count:5}  {whole:9.1f} s  {proofs:20.1f} s  {beyond:6.1f} ms", flush=True)


if __name__ == "__main__":
    main([int(word) for word in sys.argv[1:]] or [10, 100, 400])
