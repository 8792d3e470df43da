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
    """The outcome for a server."""

    name: str
    edits: int = 0
    updates: int = 0
    refused: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)


def copier(verb: str, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run Copier as a user does."""
    command = [sys.executable, "-m", "copier", verb, "--quiet", "--defaults", *words]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )


def render_fresh(template: Path, to: Path, answers: dict[str, Any]) -> Path:
    """Render the recorded answers of a server at its recorded version."""
    data = to.with_suffix(".yml")
    public_answers = {}
    for name, value in answers.items():
        if not name.startswith("_"):
            public_answers[name] = value
    data.write_text(yaml.safe_dump(public_answers), encoding="utf-8")
    words = ["--skip-tasks", "--data-file", str(data), "--vcs-ref", answers["_commit"]]
    done = copier("copy", *words, str(template), str(to), folder=to.parent)
    assert done.returncode == 0, done.stderr
    return to


def read_disk(project: Path) -> dict[str, bytes]:
    """Return every file on the disk, including ignored files, except git's own."""
    contents = {}
    for path in project.rglob("*"):
        relative = path.relative_to(project)
        if ".git" in relative.parts:
            continue
        if path.is_symlink():
            contents[relative.as_posix()] = os.readlink(path).encode()
        elif path.is_file():
            contents[relative.as_posix()] = path.read_bytes()
    return contents


def count_lines(text: bytes) -> Counter[bytes]:
    """Count the lines of a file, ignoring line endings."""
    return Counter(line.rstrip(b"\r") for line in text.split(b"\n"))


def read_content(place: Path, name: str) -> bytes:
    """Read a file of a render; empty if it does not exist."""
    return (place / name).read_bytes() if (place / name).is_file() else b""


def git_conflicts(mine: bytes, old: bytes, new: bytes) -> bool:
    """Whether git's own three-way merge has a conflict."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name in ("mine", "old", "new"):
            paths.append(Path(folder) / name)
        for path, text in zip(paths, (mine, old, new), strict=True):
            path.write_bytes(text)
        done = subprocess.run(
            ["git", "merge-file", "-p", *map(str, paths)],
            capture_output=True,
            check=False,
        )
    return done.returncode != 0


def find_losses(
    before: dict[str, bytes], after: dict[str, bytes], old: Path, new: Path
) -> list[str]:
    """Find lost edits and unnecessary conflicts of an update."""
    problems = []
    for name, mine in before.items():
        old_bytes, new_bytes = read_content(old, name), read_content(new, name)
        rendered = (old / name).is_file() or (new / name).is_file()
        if name == ".copier-answers.yml":
            continue
        if OWNED.fullmatch(name) or not rendered:
            if after.get(name) != mine:
                problems.append(f"{name}: not as its owner left it")
            continue
        if mine in (old_bytes, new_bytes):
            if after.get(name) not in (new_bytes, None) or (
                name not in after and new_bytes
            ):
                problems.append(
                    f"{name}: nobody edited it, and it is not as the release has it"
                )
            continue
        current = after.get(name, b"")
        if missing := count_lines(mine) - count_lines(old_bytes) - count_lines(current):
            problems.append(
                f"{name}: {missing.total()} lines are gone, {next(iter(missing))!r}"
            )
        if START.encode() in current and not git_conflicts(mine, old_bytes, new_bytes):
            problems.append(f"{name}: a conflict, where git has none")
    return problems


def resolve_conflicts(project: Path) -> list[str]:
    """Keep both sides of each conflict, and return the affected files."""
    names = []
    for name, text in read_disk(project).items():
        if START.encode() in text and not (project / name).is_symlink():
            marks = (START.encode(), END.encode(), b"=======", b"||||||| last update")
            text_lines = []
            for line in text.split(b"\n"):
                if not line.startswith(marks):
                    text_lines.append(line)
            (project / name).write_bytes(b"\n".join(text_lines))
            names.append(name)
    return names


def apply_advice(project: Path, line: str) -> None:
    """Follow the advice of a refusal."""
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


def update_server(
    life: Life, project: Path, template: Path, tag: str, place: Path
) -> None:
    """Update a server to one release."""
    words = ["--trust", "--vcs-ref", tag]
    before, answers = read_disk(project), load_answers(project)
    old = render_fresh(template, place / f"{tag}-old", answers)
    done = copier("update", *words, folder=project)
    if refused := extract_refusals(done.stderr):
        life.refused += refused
        if read_disk(project) != before or git(project, "status", "--porcelain"):
            life.losses.append(f"{tag}: refused, and not as it was")
        for line in refused:
            apply_advice(project, line)
        commit(project, "as it said")
        before = read_disk(project)
        done = copier("update", *words, folder=project)
    if done.returncode:
        life.losses.append(f"{tag}: {done.stderr.strip().splitlines()[-3:]}")
        return
    life.updates += 1
    answers_after = load_answers(project)
    new = render_fresh(template, place / f"{tag}-new", answers_after)
    for loss in find_losses(before, read_disk(project), old, new):
        life.losses.append(f"{tag}: {loss}")
    if lost_answers := find_lost_answers(answers, answers_after):
        life.losses.append(f"{tag}: answers are gone: {lost_answers}")
    for name in resolve_conflicts(project):
        life.conflicts.append(f"{tag} {name}")
    commit(project, tag)


def extract_refusals(output: str) -> list[str]:
    """Extract the refusals from the output of an update."""
    refused = []
    for line in output.splitlines():
        if line.startswith("not updated: "):
            refused.append(line.removeprefix("not updated: "))
    return refused


def find_lost_answers(answers: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """Find the values of answers that no answer has after an update."""
    lost_answers = set()
    for key, value in map(_plain, answers.items()):
        if key[0] != "_":
            lost_answers.add(value)
    for _, value in map(_plain, after.items()):
        lost_answers.discard(value)
    return lost_answers


def _plain(item: tuple[str, Any]) -> tuple[str, str]:
    return item[0], yaml.safe_dump(item[1], sort_keys=True)


def run_life(
    template: Path, tags: list[str], place: Path, engine: str, job: tuple[int, str]
) -> Life:
    """Create a server at v1, edit it, and update it through every release."""
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
        update_server(life, project, template, tag, folder)
    return life


def main() -> int:
    """Run all servers; return 0 when nothing is lost."""
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
            bring_up = partial(run_life, template, tags, place, options.engine)
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
