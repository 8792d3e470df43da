"""The embedded store of a generated server, when its process is killed and when two share its file."""

import os
import signal
import subprocess
from pathlib import Path

import forked
from support import python

STORE = str(Path(__file__).parent / "authors/store.py")


def writer(project: Path, verb: str, path: Path) -> subprocess.Popen[str]:
    """A process that writes to the store."""
    return subprocess.Popen(
        forked.python([STORE, verb, str(path)]),
        env=dict(os.environ, PYTHONPATH=str(project / "src")),
        stdout=subprocess.PIPE,
        text=True,
    )


def keys(project: Path, path: Path) -> set[str]:
    """The keys of all records."""
    done = python(project, STORE, "keys", str(path))
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_nothing_acknowledged_is_lost_when_the_process_is_killed(
    project: Path, tmp_path: Path
) -> None:
    path = tmp_path / "notes.db"
    for _ in range(3):
        process = writer(project, "write", path)
        assert process.stdout
        lines = [process.stdout.readline() for _ in range(20)]
        process.send_signal(signal.SIGKILL)
        lines += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        acknowledged = set()
        for line in lines:
            if line.endswith("\n"):
                acknowledged.add(f"note/{line.strip()}")
        assert len(acknowledged) >= 20
        assert acknowledged <= keys(project, path)


def test_two_processes_share_one_file(project: Path, tmp_path: Path) -> None:
    path = tmp_path / "notes.db"
    writers = [writer(project, "many", path) for _ in range(2)]
    assert [process.wait() for process in writers] == [0, 0]
    assert len(keys(project, path)) == 100
