"""Whole servers over three releases: is anything of an owner's lost?

usage: uv run tests/survival/run.py [--engine package] [SERVER...]

Thirteen servers, edited in more than seventy ways, are brought forward with plain `copier update`. What is lost is told
by a second hand: fresh renders before and after, git's own three-way merge, and the bytes on the disk. Nothing of the
guard's code is asked. A refusal is answered as it says; a conflict must be one for git, too.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import yaml
from lifecycle import commit, load_answers
from support import clone_template, git
from survival.edits import EDITS, LATIN
from survival.servers import NOTES, SERVERS, releases

OWNED = re.compile(
    r"src/[^/]+/((tools|resources)/.+|(backend|settings|extend)\.py|metadata\.yaml)"
    r"|tests/(tools/.+|conftest\.py)|annotations\.lock\.json|docs/tools\.md"
)
START, END = "<<<<<<< before updating", ">>>>>>> after updating"


@dataclass
class Life:
    """What became of a server."""

    name: str
    edits: int = 0
    updates: int = 0
    refused: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


def copier(verb: str, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Copier as a person runs it."""
    command = [sys.executable, "-m", "copier", verb, "--quiet", "--defaults", *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )


def fresh(template: Path, to: Path, answers: dict[str, Any]) -> Path:
    """A render of the answers that a server keeps, at the version that it keeps."""
    data = to.with_suffix(".yml")
    given = {name: value for name, value in answers.items() if not name.startswith("_")}
    data.write_text(yaml.safe_dump(given), encoding="utf-8")
    words = ["--skip-tasks", "--data-file", str(data), "--vcs-ref", answers["_commit"]]
    done = copier("copy", *words, str(template), str(to), folder=to.parent)
    assert done.returncode == 0, done.stderr
    return to


def disk(project: Path) -> dict[str, bytes]:
    """Every file on the disk, ignored ones as well, but for git's own."""
    files = (path for path in project.rglob("*") if path.is_file() or path.is_symlink())
    return {
        path.relative_to(project).as_posix(): (
            os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
        )
        for path in files
        if ".git" not in path.relative_to(project).parts
    }


def lines(text: bytes) -> Counter[bytes]:
    """The lines of a file, without what only moves them."""
    return Counter(line.rstrip(b"\r") for line in text.split(b"\n"))


def content(place: Path, name: str) -> bytes:
    """A file of a render; empty where it has none."""
    return (place / name).read_bytes() if (place / name).is_file() else b""


def git_conflicts(mine: bytes, old: bytes, new: bytes) -> bool:
    """Whether git's own merge of the three has a conflict."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("mine", "old", "new")]
        for path, text in zip(paths, (mine, old, new), strict=True):
            path.write_bytes(text)
        done = subprocess.run(
            ["git", "merge-file", "-p", *map(str, paths)],
            capture_output=True,
            check=False,
        )
    return done.returncode != 0


def losses(
    before: dict[str, bytes], after: dict[str, bytes], old: Path, new: Path
) -> list[str]:
    """What an update took from an owner, and where it made a conflict that was none."""
    found = []
    for name, mine in before.items():
        was, now = content(old, name), content(new, name)
        ours = (old / name).is_file() or (new / name).is_file()
        if name == ".copier-answers.yml":
            continue
        if OWNED.fullmatch(name) or not ours:
            if after.get(name) != mine:
                found.append(f"{name}: not as its owner left it")
            continue
        if mine in (was, now):
            if after.get(name) not in (now, None) or (name not in after and now):
                found.append(
                    f"{name}: nobody edited it, and it is not as the release has it"
                )
            continue
        got = after.get(name, b"")
        if missing := lines(mine) - lines(was) - lines(got):
            found.append(
                f"{name}: {missing.total()} lines are gone, {next(iter(missing))!r}"
            )
        if START.encode() in got and not git_conflicts(mine, was, now):
            found.append(f"{name}: a conflict, where git has none")
    return found


def resolved(project: Path) -> list[str]:
    """Both sides of each conflict are kept; the files that had one."""
    names = []
    for name, text in disk(project).items():
        if START.encode() in text and not (project / name).is_symlink():
            marks = (START.encode(), END.encode(), b"=======", b"||||||| last update")
            kept = [line for line in text.split(b"\n") if not line.startswith(marks)]
            (project / name).write_bytes(b"\n".join(kept))
            names.append(name)
    return names


def obey(project: Path, line: str) -> None:
    """Do what a refusal says."""
    name = line.partition(": ")[0]
    path = project / name
    if f"git rm {name}" in line:
        keep = project / "kept" / Path(name).name
        keep.parent.mkdir(exist_ok=True)
        keep.write_bytes(path.read_bytes())
        git(project, "rm", "--quiet", name)
    elif f"git add --force {name}" in line:
        git(project, "add", "--force", name)
    elif "not UTF-8" in line:
        path.write_bytes(path.read_bytes().replace(LATIN, "café".encode()))
    else:
        raise AssertionError(line)


def bring(life: Life, project: Path, template: Path, tag: str, place: Path) -> None:
    """One release for one server."""
    words = ["--trust", "--vcs-ref", tag]
    before, answers = disk(project), load_answers(project)
    old = fresh(template, place / f"{tag}-old", answers)
    done = copier("update", *words, folder=project)
    refused = [
        line.removeprefix("not updated: ")
        for line in done.stderr.splitlines()
        if line.startswith("not updated: ")
    ]
    if refused:
        life.refused += refused
        if disk(project) != before or git(project, "status", "--porcelain"):
            life.losses.append(f"{tag}: refused, and not as it was")
        for line in refused:
            obey(project, line)
        commit(project, "as it said")
        before = disk(project)
        done = copier("update", *words, folder=project)
    if done.returncode:
        life.losses.append(f"{tag}: {done.stderr.strip().splitlines()[-3:]}")
        return
    life.updates += 1
    now = load_answers(project)
    new = fresh(template, place / f"{tag}-new", now)
    life.losses += [
        f"{tag}: {loss}" for loss in losses(before, disk(project), old, new)
    ]
    kept = {v for k, v in map(_plain, answers.items()) if k[0] != "_"}
    if lost := kept - {v for _, v in map(_plain, now.items())}:
        life.losses.append(f"{tag}: answers are gone: {lost}")
    life.conflicts += [f"{tag} {name}" for name in resolved(project)]
    commit(project, tag)


def _plain(item: tuple[str, Any]) -> tuple[str, str]:
    return item[0], yaml.safe_dump(item[1], sort_keys=True)


def live(
    template: Path, tags: list[str], place: Path, engine: str, job: tuple[int, str]
) -> Life:
    """A server from v1 on: made, edited, brought through every release."""
    number, name = job
    life = Life(name)
    folder = place / name
    folder.mkdir()
    project = folder / "server"
    data = folder / "answers.yml"
    answers = {"tools": NOTES, "engine": engine, **SERVERS[name]}
    data.write_text(yaml.safe_dump(answers), encoding="utf-8")
    words = ["--skip-tasks", "--data-file", str(data), "--vcs-ref", "v1.0.0"]
    done = copier("copy", *words, str(template), str(project), folder=folder)
    assert done.returncode == 0, done.stderr
    git(project, "init", "--quiet")
    commit(project, "start")
    src = next((project / "src").iterdir())
    for at, work in enumerate(EDITS.values()):
        if (at + number) % 4:  # three of four, other ones in each server
            work(project, src)
            life.edits += 1
    commit(project)
    for tag in tags:
        bring(life, project, template, tag, folder)
    return life


def main() -> int:
    """Let all of them live; 0 when nothing is lost."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", default="vendored", choices=["vendored", "package"])
    parser.add_argument("servers", nargs="*")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder).resolve()
        (place / "template").mkdir()
        template = clone_template(place / "template", tag="v1.0.0")
        tags = releases(template)
        names = options.servers or list(SERVERS)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            bring_up = partial(live, template, tags, place, options.engine)
            lives = list(pool.map(bring_up, enumerate(names)))
    for life in lives:
        print(f"{life.name}: {life.edits} edits, {life.updates} updates")
        for title in ("refused", "conflicts", "losses"):
            for line in getattr(life, title):
                print(f"  {title}: {line}")
    lost = sum(len(life.losses) for life in lives)
    updates = sum(life.updates for life in lives)
    minutes = (time.monotonic() - started) / 60
    print(
        f"{len(lives)} servers, {len(EDITS)} kinds of edits, {updates} updates: {lost} lost, "
        f"{sum(len(life.conflicts) for life in lives)} conflicts, "
        f"{sum(len(life.refused) for life in lives)} refused by name, in {minutes:.1f} minutes"
    )
    return 1 if lost or updates < len(lives) * len(tags) else 0


if __name__ == "__main__":
    sys.exit(main())
