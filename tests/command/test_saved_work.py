"""Work that somebody saves while a verb runs is there afterwards: at twenty moments of each verb."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from calling import at_hand, environment
from lifecycle import SRC, bytes_of, commit
from support import git

MOMENTS = 20
KILLS = int(os.environ.get("KILLS", "3"))
SEED = 20261123
SECONDS = 6.0  # about as long as a verb takes; the last moments may come after its end
TRACKED = (
    "README.md",
    SRC + "tools/get_note.py",
    SRC + "policy/errors.py",
    "pyproject.toml",
)


class Author(threading.Thread):
    """Somebody who saves files all the time: new, ignored and tracked ones, by rewriting or replacing them."""

    def __init__(self, project: Path, tracked: tuple[str, ...]) -> None:
        """Work in a project, on new files and on some tracked ones."""
        super().__init__()
        self.project = project
        self.tracked = tracked
        self.saved: dict[str, bytes] = {}
        self.is_over = threading.Event()

    def run(self) -> None:
        for moment in range(MOMENTS):
            self.save(f"work-{moment}.txt", b"new\n")
            self.save(f"ignored-{moment}.pyc", b"ignored\n")
            for name in self.tracked:
                path = self.project / name
                text = path.read_bytes() if path.exists() else b""
                self.save(
                    name,
                    text + f"\n# moment {moment}\n".encode(),
                    replace=bool(moment % 2),
                )
            if self.is_over.wait(SECONDS / MOMENTS):
                return

    def save(self, name: str, data: bytes, *, replace: bool = False) -> None:
        path = self.project / name
        if replace:
            new = path.with_name(f".{path.name}.swp")
            new.write_bytes(data)
            os.replace(new, path)
        else:
            path.write_bytes(data)
        self.saved[name] = data


def lost(author: Author) -> list[str]:
    """What was saved and is nowhere: neither where it was saved, nor next to it under a name that says so."""
    names = []
    for name, data in author.saved.items():
        path = author.project / name
        places = [path, path.with_name(f"{path.name}.yours")]
        if data not in [place.read_bytes() for place in places if place.exists()]:
            names.append(name)
    return names


@contextmanager
def saving(project: Path, tracked: tuple[str, ...]) -> Iterator[Author]:
    """An author who works for as long as the block runs."""
    author = Author(project, tracked)
    author.start()
    try:
        yield author
    finally:
        author.is_over.set()
        author.join()


VERBS = {
    "update": ["update", "--trust", "--ref", "v2.0.0", "--unattended"],
    "update --check": [
        "update",
        "--trust",
        "--ref",
        "v2.0.0",
        "--check",
        "sleep 1; touch left.txt",
    ],
    "update --dry-run": ["update", "--trust", "--ref", "v2.0.0", "--dry-run"],
    "update --here": ["update", "--trust", "--ref", "v2.0.0", "--here"],
    "update that fails": [
        "update",
        "--trust",
        "--ref",
        "v2.0.0",
        "--check",
        "sleep 1; exit 1",
    ],
    "fleet": ["fleet", "--trust", "--ref", "v2.0.0", ".", "--check", "true"],
    "fleet --plan": ["fleet", "--plan", "--trust", "--ref", "v2.0.0", "."],
    "rename": ["rename", "--trust", "delete_note", "scrap_note"],
    "rename --here": ["rename", "--trust", "--here", "delete_note", "scrap_note"],
    "remove": ["remove", "--trust", "delete_note"],
    "add": ["add", "--trust", "archive_note=put"],
    "drift": ["drift"],
    "restore": ["restore", SRC + "policy/errors.py", "--force"],
}
EVERY_RUN = ("add",)


def words_of(project: Path, words: list[str]) -> list[str]:
    return [str(project) if word == "." else word for word in words]


@pytest.mark.parametrize(
    "verb",
    [
        verb if verb in EVERY_RUN else pytest.param(verb, marks=pytest.mark.nightly)
        for verb in VERBS
    ],
)
def test_work_that_is_saved_meanwhile_is_kept(
    mine: Path, repository: Path, tmp_path: Path, verb: str
) -> None:
    answers = mine / ".copier-answers.yml"
    text = answers.read_text()
    source = next(line for line in text.splitlines() if line.startswith("_src_path"))
    answers.write_text(text.replace(source, f"_src_path: {repository}"))
    commit(mine)
    head, branch = git(mine, "rev-parse", "HEAD"), (mine / ".git/HEAD").read_text()
    command = [
        sys.executable,
        "-P",
        "-m",
        "copier_fastmcp",
        *words_of(mine, VERBS[verb]),
    ]
    variables = environment(**at_hand(mine))
    with saving(mine, TRACKED) as author:
        done = subprocess.run(
            command,
            cwd=mine,
            env=variables,
            capture_output=True,
            text=True,
            check=False,
        )
    output = done.stdout + done.stderr
    assert "Traceback" not in output
    assert lost(author) == [], output
    assert len([name for name in author.saved if name.startswith("work-")]) >= 3, (
        "it ran long enough"
    )
    assert (git(mine, "rev-parse", "HEAD"), (mine / ".git/HEAD").read_text()) == (
        head,
        branch,
    )
    assert git(mine, "stash", "list") == ""
    assert git(mine, "worktree", "list").count("\n") == 1
    assert git(mine, "diff", "--cached", "--name-only") == ""


def killed(project: Path, words: list[str], seconds: float) -> bool:
    """Run the verb and kill it with all its children after some seconds; whether it was still running."""
    running = subprocess.Popen(
        [sys.executable, "-P", "-m", "copier_fastmcp", *words],
        cwd=project,
        env=environment(**at_hand(project)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        running.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        return True
    return False


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")
@pytest.mark.parametrize("verb", ["rename", "add"])
def test_killed_at_random_moments(mine: Path, verb: str) -> None:
    """The tree is as it was or as it should be; the next run removes what is left, and succeeds."""
    chance = random.Random(SEED)
    before = bytes_of(mine)
    longest, count = SECONDS, 0
    while count < KILLS:
        if killed(mine, VERBS[verb], chance.uniform(0, longest)):
            count += 1
            assert bytes_of(mine) == before
        else:  # it was faster than that: everything is there
            longest /= 2
            git(mine, "restore", "--source=HEAD", "--staged", "--worktree", ".")
            git(mine, "clean", "-fdq")
            for branch in git(mine, "branch", "--list", "rename-*").split():
                git(mine, "branch", "-D", branch)
    command = [sys.executable, "-P", "-m", "copier_fastmcp", *VERBS[verb]]
    variables = environment(**at_hand(mine))
    done = subprocess.run(
        command, cwd=mine, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert git(mine, "worktree", "list").count("\n") == 1
    assert list((mine / ".git/copier-fastmcp").iterdir()) == []
