"""Work that somebody saves while a verb runs is there afterwards: at twenty moments of each verb."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from adopting.test_adopt import create_server
from calling import call, environment, uv_settings
from command.test_import_changes import parcels, with_prefix
from command.test_interrupted_writes import list_recovery_commands
from command.test_sync import write_document
from lifecycle import SRC, bytes_of, commit, uncommitted
from support import ROOT, clone_template, git, nightly_but

DOCUMENT = str(ROOT / "examples/documents/parcels.yaml")

MOMENTS = 20
MANY_MOMENTS, MOST_MOMENTS = 200, 400  # of a verb on a busy machine
FIRST_PAUSE, PAUSE, LONGEST_PAUSE = 0.01, 0.1, 1.0  # seconds; some verbs are short
KILLS = int(os.environ.get("KILLS", "4"))
SEED = 20261123
SECONDS = 6.0  # about as long as a verb takes
TRACKED = (
    "README.md",
    SRC + "tools/get_note.py",
    SRC + "policy/profile.py",
    "pyproject.toml",
)


class Author(threading.Thread):
    """Somebody who saves files all the time: new, ignored and tracked ones, by rewriting or replacing them."""

    def __init__(
        self, project: Path, tracked: tuple[str, ...], delay: float = 0.0
    ) -> None:
        """Work in a project, on new files and on some tracked ones, after some seconds."""
        super().__init__()
        self.project = project
        self.tracked = tracked
        self.delay = delay
        self.saved: dict[str, bytes] = {}
        self.is_over = threading.Event()

    def run(self) -> None:
        if self.is_over.wait(self.delay):
            return
        for moment in range(MOST_MOMENTS):
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
            if self.is_over.wait(find_pause(moment)):
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

    def count_moments(self) -> int:
        return sum(name.startswith("work-") for name in self.saved)


def find_pause(moment: int) -> float:
    """Return the seconds until the next moment: short verbs get many moments, and long ones too."""
    if moment < MOMENTS:
        return FIRST_PAUSE
    return PAUSE if moment < MANY_MOMENTS else LONGEST_PAUSE


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
def saving(
    project: Path, tracked: tuple[str, ...], delay: float = 0.0
) -> Iterator[Author]:
    """An author who works for as long as the block runs."""
    author = Author(project, tracked, delay)
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
    "update --merge": [
        "update",
        "--trust",
        "--unattended",
        "--merge",
        "--from",
        "more.yml",
    ],
    "add": ["add", "--trust", "archive_note=put"],
    "add --from": ["add", "--trust", "--from", "more.yml"],
    "export": ["export", "openai"],
    "audit": ["audit"],
    "import": ["import", DOCUMENT, "--unattended", "--out", "answers.yml"],
    "drift": ["drift"],
    "restore": ["restore", SRC + "policy/profile.py", "--force"],
}
EVERY_RUN = ("add",)
IN_THE_WAY = {  # what a verb prints that does not go on while files change
    "update that fails": "the check already fails before the update",
    "update --here": "first, since the change goes into the tree",
    "rename --here": "",
    "restore": "profile.py was changed meanwhile; nothing was written, try again",
    "drift": "profile.py: edited",
    "annotate": "commit server.py first, so that git can undo it",
    "add to an adopted server": "commit server.py first, since the change goes into the tree",
    "adopt": "first, so that git can undo what adopt writes",
}


def words_of(project: Path, words: list[str]) -> list[str]:
    return [str(project) if word == "." else word for word in words]


def record_template(project: Path, template: Path) -> None:
    """Record the template that has a second release."""
    answers = project / ".copier-answers.yml"
    text = answers.read_text()
    answers.write_text(re.sub("(?m)^_src_path: .*$", f"_src_path: {template}", text))


def edit_policy(project: Path) -> None:
    """Commit an edit of a policy file, for `restore` to undo."""
    with (project / VERBS["restore"][1]).open("a") as file:
        file.write("\n# edited\n")
    commit(project)


@pytest.mark.parametrize("verb", nightly_but(EVERY_RUN, VERBS))
def test_work_that_is_saved_meanwhile_is_kept(
    mine: Path, repository: Path, verb: str
) -> None:
    record_template(mine, repository)
    (mine / "more.yml").write_text("tools: [count_notes, shelve_note=put]\n")
    commit(mine)
    output = assert_saved_work_is_kept(mine, VERBS[verb], TRACKED)
    assert_outcome(verb, output)


FOREIGN_TRACKED = ("server.py", "pyproject.toml")
FOREIGN = {
    "annotate": ["annotate", "--unattended"],
    "adopt": ["adopt", "--unattended", "--raise", "--template", "TEMPLATE"],
    "add to an adopted server": ["add", "archive_note=put"],
    "new": ["new", ".", "--unattended", "--tools", "get_note", "--conflicts", "keep"],
}


@pytest.mark.nightly
@pytest.mark.parametrize("verb", FOREIGN)
def test_work_on_a_server_of_its_author_is_kept(
    repository: Path, tmp_path: Path, verb: str
) -> None:
    project = create_server(tmp_path / "mine")
    words = [word.replace("TEMPLATE", str(repository)) for word in FOREIGN[verb]]
    if verb == "add to an adopted server":
        adopt = [word.replace("TEMPLATE", str(repository)) for word in FOREIGN["adopt"]]
        assert call(project, *adopt).returncode == 0
        commit(project)
    if verb == "new":
        words += ["--template", str(repository)]
    output = assert_saved_work_is_kept(project, words, FOREIGN_TRACKED)
    assert_outcome(verb, output)


@pytest.mark.nightly
def test_work_is_kept_while_a_document_is_applied(tmp_path: Path) -> None:
    template = clone_template(tmp_path / "template", tag="v1.0.0")
    document = write_document(tmp_path / "parcels.json", parcels())
    words = ("--from", document, "--unattended", "--template", template)
    project = tmp_path / "p"
    assert call(tmp_path, "new", project, *words).returncode == 0
    git(project, "init", "--quiet")
    commit(project)
    later = write_document(tmp_path / "later.json", with_prefix(parcels(), "/v2"))
    tracked = ("README.md", "pyproject.toml", "src/parcels_mcp/tools/get_parcel.py")
    sync = ["sync", str(later), "--trust", "--unattended"]
    assert_outcome("sync", assert_saved_work_is_kept(project, sync, tracked))


def assert_outcome(verb: str, output: str) -> None:
    """Assert that a verb went through, or printed why it does not go on while files change."""
    code = 1 if verb in IN_THE_WAY else 0
    assert output.startswith(f"exit {code}\n"), output
    assert IN_THE_WAY.get(verb, "") in output


def run_verb(project: Path, words: list[str]) -> str:
    """Run a verb and return its exit code and everything that it prints."""
    done = subprocess.run(
        [sys.executable, "-P", "-m", "copier_fastmcp", *words_of(project, words)],
        cwd=project,
        env=environment(COLUMNS="400", **uv_settings(project)),
        capture_output=True,
        text=True,
        check=False,
    )
    output = f"exit {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in output
    return output


def assert_saved_work_is_kept(
    project: Path, words: list[str], tracked: tuple[str, ...]
) -> str:
    """Run a verb while its author saves files; all of them are there, and nothing else of git's has changed.

    Returns:
        What the verb printed when it first ran.
    """
    refs = git(project, "rev-parse", "HEAD"), (project / ".git/HEAD").read_text()
    outputs: list[str] = []
    with saving(project, tracked) as author:
        while not outputs or author.count_moments() < MOMENTS:
            outputs.append(run_verb(project, words))
    assert lost(author) == [], outputs
    assert (
        git(project, "rev-parse", "HEAD"),
        (project / ".git/HEAD").read_text(),
    ) == refs
    assert git(project, "stash", "list") == ""
    assert git(project, "worktree", "list").count("\n") == 1
    assert git(project, "diff", "--cached", "--name-only") == ""
    return outputs[0]


INTO_THE_TREE = ("add", "restore", "update --here", "rename --here")


@pytest.mark.nightly
@pytest.mark.parametrize("verb", INTO_THE_TREE)
def test_work_that_begins_while_a_verb_runs(
    mine: Path, repository: Path, verb: str, tmp_path: Path
) -> None:
    record_template(mine, repository)
    edit_policy(mine)
    assert_work_that_begins_late_is_kept(mine, VERBS[verb], TRACKED, tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("verb", ["annotate", "adopt", "new"])
def test_work_that_begins_while_a_server_is_adopted(
    repository: Path, verb: str, tmp_path: Path
) -> None:
    project = create_server(tmp_path / "mine")
    words = [word.replace("TEMPLATE", str(repository)) for word in FOREIGN[verb]]
    if verb == "new":
        words += ["--template", str(repository)]
    assert_work_that_begins_late_is_kept(project, words, FOREIGN_TRACKED, tmp_path)


def assert_work_that_begins_late_is_kept(
    project: Path, words: list[str], tracked: tuple[str, ...], folder: Path
) -> None:
    """Begin to save at twenty moments of a verb that needs a clean tree: it is kept, whether the verb goes on or not."""
    quiet = shutil.copytree(project, folder / "quiet")
    started = time.monotonic()
    assert run_verb(quiet, words).startswith("exit 0\n")
    assert uncommitted(quiet), "it writes into the tree"
    seconds = time.monotonic() - started
    codes = []
    for moment in range(MOMENTS):
        copy = shutil.copytree(project, folder / f"moment {moment}")
        with saving(copy, tracked, seconds * moment / MOMENTS) as author:
            output = run_verb(copy, words)
        assert lost(author) == [], output
        assert git(copy, "worktree", "list").count("\n") == 1
        assert git(copy, "diff", "--cached", "--name-only") == ""
        codes.append(output.split()[1])
        if codes[-1] != "0":
            assert uncommitted(copy) <= author.saved.keys(), output
        shutil.rmtree(copy)
    print(f"{words[0]}: {seconds:.1f} s; exit codes {' '.join(codes)}")


def stopped(project: Path, words: list[str], seconds: float, name: str) -> bool:
    """Run the verb and stop it with all its children after some seconds; whether it was still running."""
    running = subprocess.Popen(
        [sys.executable, "-P", "-m", "copier_fastmcp", *words],
        cwd=project,
        env=environment(**uv_settings(project)),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        running.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, getattr(signal, name))
        running.wait()
        return True
    return False


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform == "win32", reason="needs process groups")
@pytest.mark.parametrize("signal_name", ["SIGKILL", "SIGINT"])
@pytest.mark.parametrize(
    "verb", ["rename", "remove", "add", "restore", "update --here"]
)
def test_interrupted_at_random_moments(
    mine: Path, repository: Path, verb: str, signal_name: str
) -> None:
    """The tree is as it was, or as the next run's message puts it back; then the verb succeeds."""
    words = VERBS[verb]
    record_template(mine, repository)
    edit_policy(mine)
    chance = random.Random(SEED)
    before = bytes_of(mine)
    longest, count = SECONDS, 0
    while count < KILLS:
        was_stopped = stopped(mine, words, chance.uniform(0, longest), signal_name)
        count += was_stopped
        if not was_stopped:
            longest /= 2
        if commands := list_recovery_commands(mine):
            subprocess.run(["sh", "-c", commands], check=True)
            assert bytes_of(mine) == before
        elif bytes_of(mine) != before:
            assert not was_stopped or is_done(mine, verb)
        git(mine, "restore", "--source=HEAD", "--staged", "--worktree", ".")
        git(mine, "clean", "-fdq")
        for branch in git(mine, "branch", "--list", "re*-*").split():
            git(mine, "branch", "-D", branch)
    assert run_verb(mine, words).startswith("exit 0\n")
    assert git(mine, "worktree", "list").count("\n") == 1
    assert not list((mine / ".git").glob("copier-fastmcp*/*"))


def is_done(project: Path, verb: str) -> bool:
    """Whether every file of a verb's change is written, and nothing else."""
    names = uncommitted(project)
    if any(name.endswith(".tmp") for name in names):
        return False
    last = {"add": "annotations.lock.json", "restore": VERBS["restore"][1]}
    return last.get(verb, ".copier-answers.yml") in names
