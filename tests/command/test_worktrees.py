"""The worktree primitive by itself, in repositories without a server."""

import ast
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from calling import environment
from lifecycle import bytes_of, commit
from support import ROOT, git

from copier_fastmcp.errors import RefusedError, UnableError
from copier_fastmcp.project.answers import resolve_template
from copier_fastmcp.project.guarded_writes import (
    Change,
    Content,
    write_changes,
    write_files,
)
from copier_fastmcp.project.repository import isolated_environment
from copier_fastmcp.updates.checkouts import put_into_tree
from copier_fastmcp.updates.worktrees import REGISTRY, Worktree, remove_leftovers

HOLD = """
import sys, time
from pathlib import Path
from copier_fastmcp.updates.worktrees import Worktree
with Worktree(Path(sys.argv[1])) as worktree:
    print(worktree.root, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a file, a folder and work in no commit."""
    for name, value in environment().items():
        monkeypatch.setenv(name, value)
    project = tmp_path / "my notes"
    (project / "servers/one").mkdir(parents=True)
    git(project, "init", "--quiet", "--initial-branch=main")
    (project / "a.txt").write_text("a\n")
    (project / "servers/one/b.txt").write_text("b\n")
    (project / ".gitignore").write_text("secret.txt\n")
    commit(project)
    (project / "a.txt").write_text("a, changed\n")
    (project / "staged.txt").write_text("staged\n")
    git(project, "add", "staged.txt")
    (project / "untracked.txt").write_text("untracked\n")
    (project / "secret.txt").write_text("secret\n")
    return project


def change(worktree: Worktree, name: str = "new.txt", text: str = "new\n") -> None:
    (worktree.root / name).parent.mkdir(parents=True, exist_ok=True)
    (worktree.root / name).write_text(text)
    worktree.stage()
    worktree.commit("Change")


def capture_state(project: Path) -> tuple[object, ...]:
    """Capture what must not change: the tree, the index, the stash, HEAD."""
    stash = git(project, "stash", "list")
    head = (project / ".git/HEAD").read_text() + git(project, "rev-parse", "HEAD")
    return bytes_of(project), (project / ".git/index").read_bytes(), stash, head


def test_only_a_branch_reaches_a_dirty_checkout(mine: Path) -> None:
    before = capture_state(mine)
    with Worktree(mine) as worktree:
        assert (worktree.root / "a.txt").read_text() == "a\n", "the last commit"
        assert not (worktree.root / "untracked.txt").exists()
        change(worktree)
        worktree.publish("ours")
        folder = worktree.root
    assert capture_state(mine) == before
    assert not folder.exists()
    assert git(mine, "worktree", "list").count("\n") == 1
    assert list((mine / ".git" / REGISTRY).iterdir()) == []
    assert git(mine, "show", "ours:new.txt") == "new\n"
    assert git(mine, "rev-parse", "ours~1") == git(mine, "rev-parse", "HEAD")


def test_a_folder_of_a_repository(mine: Path) -> None:
    with Worktree(mine / "servers/one") as worktree:
        assert worktree.prefix == "servers/one"
        assert (worktree.project / "b.txt").read_text() == "b\n"
    (mine / "servers/two").mkdir()
    (mine / "servers/two/c.txt").write_text("c\n")
    with pytest.raises(UnableError, match="is not in the last commit; commit it first"):
        Worktree(mine / "servers/two").__enter__()
    assert git(mine, "worktree", "list").count("\n") == 1


def test_no_hook_runs(mine: Path, tmp_path: Path) -> None:
    for name in (
        "post-checkout",
        "pre-commit",
        "commit-msg",
        "post-commit",
        "reference-transaction",
    ):
        hook = mine / ".git/hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> '{tmp_path}/ran'\nexit 1\n")
        hook.chmod(0o755)
    with Worktree(mine) as worktree:
        change(worktree)
        worktree.publish("ours")
    assert git(mine, "show", "ours:new.txt") == "new\n"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "name", ["untracked.txt", "secret.txt", "staged.txt", "untracked.txt/x"]
)
def test_a_file_in_no_commit_is_not_overwritten(mine: Path, name: str) -> None:
    with Worktree(mine) as worktree:
        change(worktree, name)
        with pytest.raises(
            RefusedError, match="in no commit, and the change adds it; move it"
        ):
            worktree.publish("ours")
    assert git(mine, "branch", "--list", "ours") == ""


def test_what_a_check_or_a_program_leaves_is_not_staged(mine: Path) -> None:
    """Of the files that git ignores, those that a release brings are; uv.lock and the like are not."""
    with Worktree(mine) as worktree:
        (worktree.root / "a.txt").write_text("spoiled by the check\n")
        (worktree.root / "left.txt").write_text("left by the check\n")
        (worktree.root / "secret.txt").write_text("left by the check\n")
        worktree.restore()
        (worktree.root / "servers/secret.txt").write_text("the release's\n")
        worktree.stage()
        assert worktree.files() == {"servers/secret.txt": "new"}
        (worktree.root / "uv.lock").write_text("left by uv\n")
        (worktree.root / "lock.json").write_text("pinned\n")
        worktree.stage_files(["lock.json", "missing.md"])
        assert worktree.files() == {"lock.json": "new", "servers/secret.txt": "new"}
        worktree.restore()
        assert worktree.files() == {}
        assert not (worktree.root / "uv.lock").exists()


def test_a_template_is_found_from_every_worktree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "template").mkdir()
    monkeypatch.chdir(tmp_path)
    assert resolve_template("template") == str((tmp_path / "template").resolve())
    for address in (None, "missing", "https://git.example.com/t.git"):
        assert resolve_template(address) == address


def test_a_branch_with_other_work_is_kept(mine: Path) -> None:
    git(mine, "branch", "merged")
    git(mine, "worktree", "add", "--quiet", str(mine.parent / "theirs"), "-b", "used")
    commit(mine.parent / "theirs", "theirs")
    git(mine, "branch", "other", "used")
    git(mine, "worktree", "add", "--quiet", str(mine.parent / "more"), "-b", "open")
    refs = git(mine, "for-each-ref")
    reasons = {
        "other": "the branch other is there; merge it or delete it",
        "used": "the branch used is there",
        "open": "the branch open is checked out in",
        "main": "the branch main is checked out in",
        "a..b": "'a..b' is not a name for a branch",
    }
    with Worktree(mine) as worktree:
        change(worktree)
        for branch, reason in reasons.items():
            with pytest.raises(RefusedError, match=reason):
                worktree.publish(branch)
        assert git(mine, "for-each-ref") == refs
        worktree.publish("merged")


def shallow(mine: Path, to: Path) -> Path:
    commit(mine, "second")
    git(to.parent, "clone", "--quiet", "--depth=1", mine.as_uri(), str(to))
    return to


def with_submodule(mine: Path, to: Path) -> Path:
    allow = ("-c", "protocol.file.allow=always")
    git(to.parent, "init", "--quiet", str(to))
    git(to, *allow, "submodule", "--quiet", "add", str(mine), "inner")
    commit(to)
    return to


def as_submodule(mine: Path, to: Path) -> Path:
    return with_submodule(mine, to) / "inner"


def sparse(mine: Path, to: Path) -> Path:
    git(to.parent, "clone", "--quiet", str(mine), str(to))
    git(to, "sparse-checkout", "set", "servers")
    git(to, "config", "user.name", "Somebody")
    return to


def linked(mine: Path, to: Path) -> Path:
    git(mine, "worktree", "add", "--quiet", "-b", "linked", str(to))
    return to


def sha256(mine: Path, to: Path) -> Path:
    git(to.parent, "init", "--quiet", "--object-format=sha256", str(to))
    (to / "a.txt").write_text("a\n")
    commit(to)
    return to


KINDS = [shallow, with_submodule, as_submodule, sparse, linked, sha256]


@pytest.mark.parametrize("make", KINDS, ids=lambda make: make.__name__)
def test_kinds_of_repositories(
    mine: Path, tmp_path: Path, make: Callable[[Path, Path], Path]
) -> None:
    project = make(mine, tmp_path / "kind")
    before, status = bytes_of(project), git(project, "status", "--porcelain")
    with Worktree(project) as worktree:
        assert (worktree.root / "a.txt").is_file() or (worktree.root / "inner").is_dir()
        change(worktree)
        assert worktree.files() == {"new.txt": "new"}
        worktree.publish("ours")
    assert git(project, "show", "ours:new.txt") == "new\n"
    assert (bytes_of(project), git(project, "status", "--porcelain")) == (
        before,
        status,
    )
    assert git(project, "fsck", "--no-dangling") == ""


def test_what_git_cannot_give_is_refused_by_name(mine: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    git(empty, "init", "--quiet")
    with pytest.raises(UnableError, match="has no commit; commit first"):
        Worktree(empty)
    (empty / "crlf.txt").write_bytes(b"a\r\n")
    commit(empty)
    (empty / ".gitattributes").write_text("*.txt text\n")
    git(empty, "add", ".gitattributes")
    git(empty, "commit", "--quiet", "--message=attributes")
    with pytest.raises(
        UnableError, match=r"crlf.txt: differ from the commit as soon as git checks"
    ):
        Worktree(empty).__enter__()
    assert git(empty, "worktree", "list").count("\n") == 1


def test_a_killed_run_is_cleaned_up_by_the_next_and_a_living_one_is_not(
    mine: Path,
) -> None:
    command = [sys.executable, "-c", HOLD, str(mine)]
    runs = []
    for _ in range(2):
        runs.append(
            subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, env=environment()
            )
        )
    roots = []
    for run in runs:
        if run.stdout:
            roots.append(Path(run.stdout.readline().strip()))
    assert remove_leftovers(mine) == []
    runs[0].kill()
    runs[0].wait()
    assert roots[0].is_dir()
    before = capture_state(mine)
    assert remove_leftovers(mine) == [roots[0].parent]
    assert [root.parent.exists() for root in roots] == [False, True]
    assert git(mine, "worktree", "list").count("\n") == 2
    runs[1].send_signal(signal.SIGTERM)
    runs[1].wait()
    with Worktree(mine):
        pass
    assert not roots[1].parent.exists()
    assert git(mine, "worktree", "list").count("\n") == 1
    assert capture_state(mine) == before


def test_a_leftover_whose_folder_is_gone(mine: Path) -> None:
    """For example since the machine was started again."""
    command = [sys.executable, "-c", HOLD, str(mine)]
    run = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment()
    )
    assert run.stdout
    root = Path(run.stdout.readline().strip())
    run.kill()
    run.wait()
    subprocess.run(["rm", "-r", str(root.parent)], check=True)
    remove_leftovers(mine)
    assert git(mine, "worktree", "list").count("\n") == 1


def test_runs_at_the_same_time(mine: Path) -> None:
    errors: list[Exception] = []

    def run(number: int) -> None:
        try:
            with Worktree(mine) as worktree:
                change(worktree, f"new-{number}.txt")
                worktree.publish(f"ours-{number}")
        except Exception as error:  # it is raised in a thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert git(mine, "branch", "--list", "ours-*").count("\n") == 8


@pytest.mark.parametrize("moment", range(20))
def test_what_is_saved_while_files_are_written_is_kept(
    tmp_path: Path, moment: int
) -> None:
    """A change of forty files, while somebody saves twenty of them, half of these by replacing the file."""
    paths = [tmp_path / f"{number}.txt" for number in range(40)]
    changes = {}
    for path in paths:
        path.write_bytes(b"old\n")
        changes[path] = Change(Content(b"old\n"), Content(b"ours\n"))
    saved: dict[Path, bytes] = {}
    started = threading.Event()

    def save() -> None:
        started.wait()
        time.sleep(moment / 5000)
        for number, path in enumerate(paths[moment : moment + 20]):
            data = f"saved {number}\n".encode()
            if number % 2:
                path.with_suffix(".new").write_bytes(data)
                os.replace(path.with_suffix(".new"), path)
            else:
                path.write_bytes(data)
            saved[path] = data

    thread = threading.Thread(target=save)
    thread.start()
    started.set()
    refused = False
    try:
        write_changes(changes)
    except RefusedError as error:
        refused = "changed meanwhile" in str(error) or "saved meanwhile" in str(error)
    thread.join()
    for path in paths:
        held = []
        for file in (path, path.with_name(f"{path.name}.yours")):
            if file.exists():
                held.append(file.read_bytes())
        expected = saved.get(path, b"old\n" if refused else b"ours\n")
        assert expected in held, (path, refused, held)


def test_a_change_that_fails_in_the_middle_is_undone(tmp_path: Path) -> None:
    old = tmp_path / "old.txt"
    old.write_text("old\n")
    old.chmod(0o755)
    (tmp_path / "file").write_text("a file\n")
    before = bytes_of(tmp_path)
    new = {
        old: b"new\n",
        tmp_path / "folder/new.txt": b"new\n",
        tmp_path / "file/x": b"new\n",
    }
    with pytest.raises(OSError, match="Not a directory"):
        write_files(new)
    assert bytes_of(tmp_path) == before
    assert not (tmp_path / "folder").exists()
    write_files({old: b"new\n"})
    assert old.read_text() == "new\n"
    assert os.access(old, os.X_OK)
    with pytest.raises(
        RefusedError, match="was changed meanwhile; nothing was written"
    ):
        write_files({old: b"newer\n"}, {old: b"as it was shown\n"})


def test_into_the_tree(mine: Path) -> None:
    with Worktree(mine) as worktree:
        change(worktree)
        with pytest.raises(
            RefusedError, match=r"commit a\.txt, staged\.txt, untracked\.txt first"
        ):
            put_into_tree(worktree)
        commit(mine)
        with pytest.raises(RefusedError, match="HEAD is another commit by now"):
            put_into_tree(worktree)
    with Worktree(mine) as worktree:
        (worktree.root / "a.txt").unlink()
        (worktree.root / "servers/one/b.txt").chmod(0o755)
        (worktree.root / "link").symlink_to("untracked.txt")
        change(worktree)
        files = worktree.files()
        assert files == {
            "a.txt": "removed",
            "link": "new",
            "new.txt": "new",
            "servers/one/b.txt": "changed",
        }
        put_into_tree(worktree)
    assert not (mine / "a.txt").exists()
    assert (mine / "link").is_symlink()
    assert (mine / "new.txt").read_text() == "new\n"
    assert os.access(mine / "servers/one/b.txt", os.X_OK)
    assert git(mine, "diff", "--cached", "--name-only") == ""


def names_git(node: ast.AST) -> bool:
    """Whether a part of a module is git by name: an import, the function, or the program."""
    match node:
        case ast.alias(name=name) | ast.Name(id=name) | ast.Attribute(attr=name):
            return name.rpartition(".")[2] == "git"
        case ast.Constant(value=value):
            return value == "git"
    return False


def git_words(text: str) -> set[str]:
    """The words that a module can hand to git: those of its calls, lists and tuples; none where it never names git."""
    nodes = list(ast.walk(ast.parse(text)))
    if not any(names_git(node) for node in nodes):
        return set()
    words = set()
    for node in nodes:
        if not isinstance(node, (ast.Call, ast.List, ast.Tuple)):
            continue
        parts = node.args if isinstance(node, ast.Call) else node.elts
        constants = set()
        for part in parts:
            if isinstance(part, ast.Constant):
                constants.add(part.value)
        words |= constants
    texts = set()
    for word in words:
        if isinstance(word, str):
            texts.add(word)
    return texts


@pytest.mark.parametrize(
    "text",
    [
        'from ..project.repository import git\ngit(root, "reset")',
        'from .repository import git as run\nwords = ("reset",)\nrun(root, *words)',
        'repository.git(root, "reset")',
        'subprocess.run(["git", "reset"])',
    ],
)
def test_the_words_of_git_are_seen(text: str) -> None:
    assert "reset" in git_words(text)


def test_a_list_of_verbs_is_no_call_of_git() -> None:
    assert git_words('VERBS = frozenset(["reset", "clean"])') == set()


def test_nothing_in_the_command_resets_cleans_or_stashes() -> None:
    """A temporary checkout is restored; the author's never, but for the answers under plain Copier."""
    modules = sorted((ROOT / "src/copier_fastmcp").rglob("*.py"))
    words_by_module = {}
    for path in modules:
        words_by_module[path.name] = git_words(path.read_text("utf-8"))
    forbidden = {
        "reset",
        "--hard",
        "clean",
        "-fdq",
        "stash",
        "checkout",
        "checkout-index",
    }
    harmless = {"checkouts.py"}  # an outcome is called clean there
    for name, words in words_by_module.items():
        assert words & forbidden == (
            {"clean"} & words if name in harmless else set()
        ), name
    restoring = set()
    for name, words in words_by_module.items():
        if "--worktree" in words:
            restoring.add(name)
    assert restoring == {"worktrees.py"}


@pytest.mark.parametrize("is_isolated", [True, False])
def test_no_git_below_a_verb_tidies_up_in_the_background(
    tmp_path: Path, is_isolated: bool
) -> None:
    """Copier deletes repositories right after it commits to them, where git 2.55 would still be at work."""
    trace = tmp_path / "trace"
    settings = tmp_path / "gitconfig"
    settings.write_text("[user]\n\tname = t\n\temail = t@example.com\n")
    git(tmp_path, "init", "--quiet")
    variables = isolated_environment() if is_isolated else dict(os.environ)
    subprocess.run(
        ["git", "commit", "--quiet", "--allow-empty", "--message", "Start"],
        cwd=tmp_path,
        env=variables | {"GIT_CONFIG_GLOBAL": str(settings), "GIT_TRACE": str(trace)},
        check=True,
    )
    assert ("run_command: git maintenance" in trace.read_text()) is not is_isolated
