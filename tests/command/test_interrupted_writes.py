"""A run that is killed while it writes into the tree: nothing is lost, and the next run explains the way back."""

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from calling import environment
from lifecycle import bytes_of, commit
from support import git

from copier_fastmcp.errors import RefusedError
from copier_fastmcp.project import interrupted_writes
from copier_fastmcp.project.guarded_writes import Change, Content, write_changes
from copier_fastmcp.project.interrupted_writes import refuse_interrupted_write
from copier_fastmcp.updates.worktrees import Worktree

MOMENTS = 30
CALLS = ("link", "replace", "unlink")  # the steps by which a file gets its new contents
COMMANDS = re.compile(r"to undo it: (.*); to keep the files as they are: rm ")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with five files."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    folder = tmp_path / "it's mine"
    (folder / "sub [1]").mkdir(parents=True)
    for name in ("a.txt", "b.txt", "sub [1]/c.txt", "d.txt", "gone.txt"):
        (folder / name).write_text(f"{name}, mine\n")
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def plan_changes(tree: Path) -> dict[Path, Change]:
    """A change of four files, one of them executable, two new ones and a removed one."""
    changes = {}
    for name in ("a.txt", "b.txt", "sub [1]/c.txt", "d.txt"):
        old = Content(f"{name}, mine\n".encode())
        changes[tree / name] = Change(old, Content(b"ours\n", is_executable=True))
    for name in ("new/e.txt", "f.txt"):
        changes[tree / name] = Change(None, Content(b"ours\n"))
    changes[tree / "gone.txt"] = Change(Content(b"gone.txt, mine\n"), None)
    return changes


def die_at(moment: int) -> None:
    """Kill this process at its nth step of writing."""
    count = 0

    def count_step(step: Callable[..., object]) -> Callable[..., object]:
        def run(*arguments: object, **options: object) -> object:
            nonlocal count
            count += 1
            if count == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            return step(*arguments, **options)

        return run

    for name in CALLS:
        setattr(os, name, count_step(getattr(os, name)))


def write_in_child(changes: dict[Path, Change], moment: int) -> bool:
    """Write in a forked process that is killed at a moment; whether it lived until then."""
    child = os.fork()
    if child == 0:
        die_at(moment)
        write_changes(changes)
        os._exit(0)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def list_recovery_commands(tree: Path) -> str:
    """List the commands with which the next run explains the way back; empty where nothing is in its way."""
    message = ""
    try:
        refuse_interrupted_write(tree)
    except RefusedError as error:
        message = str(error)
    match = COMMANDS.search(message)
    assert bool(match) == bool(message), message
    return match[1] if match else ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
@pytest.mark.parametrize("moment", range(1, MOMENTS + 1))
def test_killed_in_the_middle_of_a_write(tree: Path, moment: int) -> None:
    before = bytes_of(tree)
    changes = plan_changes(tree)
    was_killed = write_in_child(changes, moment)
    journals = list((tree / ".git").glob(f"{interrupted_writes.PREFIX}*"))
    assert was_killed == bool(journals)
    if commands := list_recovery_commands(tree):
        verbs: list[Callable[[], object]] = [
            lambda: write_changes(changes),
            Worktree(tree).__enter__,
        ]
        for verb in verbs:
            with pytest.raises(RefusedError, match="a run was killed while it wrote"):
                verb()
        subprocess.run(["sh", "-c", commands], check=True)
        refuse_interrupted_write(tree)
        assert bytes_of(tree) == before
    held = bytes_of(tree)
    if held != before:
        names = {path.relative_to(tree).as_posix() for path in changes}
        assert held.keys() == before.keys() - {"gone.txt"} | names - {"gone.txt"}
        for path, change in changes.items():
            expected = change.after.data if change.after else None
            assert (path.read_bytes() if path.exists() else None) == expected
    assert not list((tree / ".git").glob(f"{interrupted_writes.PREFIX}*"))


def test_a_write_that_is_under_way_and_a_decision_to_keep(tree: Path) -> None:
    assert write_in_child(plan_changes(tree), 8)
    (journal,) = (tree / ".git").glob(f"{interrupted_writes.PREFIX}*")
    with journal.open("rb+") as file:
        assert interrupted_writes.try_lock(file)
        refuse_interrupted_write(tree)  # that process lives
    with pytest.raises(RefusedError, match="to keep the files as they are"):
        refuse_interrupted_write(tree)
    journal.unlink()
    refuse_interrupted_write(tree)
