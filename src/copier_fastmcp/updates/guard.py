"""What an update would lose without a word: named before anything is written, and looked for after.

Copier runs this in the project, before it changes a file and once it has: the last entry of
`_migrations` in copier.yml, through `hooks/guard.py`, in Copier's own interpreter. So plain `copier
update` is guarded, too. Before, it renders what the project came from and what it would come to,
and compares both with what is there. After, it looks for every file and line of the owner's again.
"""

import hashlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from ..errors import RefusedError, UnableError, one_line
from ..project.answers import ANSWERS, read_answers
from ..project.copier_process import (
    CHECKED,
    CONFLICT,
    DIFFERS,
    LOST,
    PINS_ENGINE,
    REFUSAL,
    render_both,
)
from ..project.engine_requirement import ENGINE_PIN
from ..project.ownership import (
    OWNERS,
    find_edited_engine_files,
    is_same_text,
    list_files,
    list_policy_files,
    load_engine_digests,
    read_text,
)
from ..project.repository import git, list_changes, read_setting
from .tool_differences import find_outdated_files, find_unmatched_tools

SEEN = "copier-fastmcp-update.json"  # in .git, from before an update until after it
# Under these, git hides a rejected edit from Copier, or changes or refuses its lines.
HARMFUL = {
    "status.showUntrackedFiles": {"no", "false"},
    "apply.whitespace": {"fix", "strip", "error", "error-all"},
}
AGAIN = "commit, and update again"
Answers = dict[str, Any]


@dataclass(frozen=True)
class Update:
    """An update that is about to happen.

    Attributes:
        project: The folder whose files would be written.
        recorded: The answers that it keeps.
        wanted: The same after the release's migrations.
        new_answers: Answers that the caller gives for this update.
        release: The version that it comes to.
    """

    project: Path
    recorded: Answers
    wanted: Answers
    new_answers: Answers
    release: str


def find_losses(update: Update, old: Path, new: Path, questions: set[str]) -> list[str]:
    """What would be lost, a line each: what, why, and the way on.

    Args:
        update: The update.
        old: A render of the project's version and answers.
        new: A render of what it would come to.
        questions: The names of the release's questions.

    Raises:
        UnableError: Git cannot be asked, or a render has no answers.
    """
    fresh = read_answers(new / ANSWERS)
    old_package, new_package = (
        update.recorded.get("package_name"),
        fresh.get("package_name"),
    )
    if old_package != new_package:
        move = f"rename src/{old_package}, its imports and the answer by hand"
        return [
            f"package_name: {old_package} cannot become {new_package} at an update; {move}, {AGAIN}"
        ]
    answers = _find_lost_answers(update, fresh, questions)
    engine = _find_engine_losses(update, fresh, old, new)
    return [
        *find_harmful_settings(update.project),
        *answers,
        *engine,
        *_find_file_losses(update, old, new),
    ]


def _find_engine_losses(
    update: Update, fresh: Answers, old: Path, new: Path
) -> Iterator[str]:
    """Name edited files of the engine, which a release replaces as a whole, and a switch that Copier cannot make."""
    recorded_mode = update.recorded.get("engine", "vendored")
    is_switched = fresh.get("engine", "vendored") != recorded_mode
    if (
        is_switched
        and update.recorded.get("adopted")
        and not os.environ.get(PINS_ENGINE)
    ):
        problem = "the engine's requirement is in your own pyproject.toml, which Copier does not write"
        yield f"engine: {recorded_mode} stays; {problem}; use copier-fastmcp update for the switch"
    digests = load_engine_digests(old)
    released = load_engine_digests(new)
    for name in find_edited_engine_files(update.project, digests):
        held = hashlib.sha256(read_text(update.project / name)).hexdigest()
        if held != released.get(name):
            remedy = f"copier-fastmcp restore {name} puts it back, {AGAIN}"
            yield f"{name}: edited here, and the engine is replaced as a whole; {remedy}"


def _find_lost_answers(
    update: Update, fresh: Answers, questions: set[str]
) -> Iterator[str]:
    """Answers that the release would drop or change, though nobody said so."""
    for name, value in update.wanted.items():
        if name.startswith("_") or name in update.new_answers:
            continue
        if name not in questions:
            remedy = f"if it may go, take it out of .copier-answers.yml, {AGAIN}"
            yield f"{name}: {update.release} asks no such question, and drops {value!r}; {remedy}"
        elif name in fresh and _as_plain_data(fresh[name]) != _as_plain_data(value):
            remedy = f"say what it should be: --data {name}=..."
            yield f"{name}: {value!r} would become {fresh[name]!r}; {remedy}"
        elif name not in fresh and not update.new_answers:
            yield f"{name}: {value!r} would be dropped; say it anew: --data {name}=..."


def _as_plain_data(value: object) -> object:
    """An answer in a form in which only its meaning counts; Copier sorts a multiple choice."""
    if isinstance(value, list):
        return sorted(json.dumps(item, sort_keys=True, default=str) for item in value)
    return json.dumps(value, sort_keys=True) if isinstance(value, dict) else str(value)


def _find_file_losses(update: Update, old: Path, new: Path) -> Iterator[str]:
    """Files whose bytes would be gone, though git would show no conflict."""
    project, release = update.project, update.release
    tracked = set(git(project, "ls-files", "-z").split("\0"))
    before, after = list_files(old), list_files(new)
    engine = load_engine_digests(old)
    for name in sorted((before | after) - set(engine)):
        mine = project / name
        if OWNERS.fullmatch(name) or name.startswith(".copier-answers"):
            continue
        if not mine.is_file():
            continue
        held = mine.read_bytes()
        rendered = _read_rendered(name, old, new)
        if name in tracked:
            rendered = rendered[:1]
        if any(is_same_text(held, text) for text in rendered):
            continue
        if name not in after:
            remedy = f"keep elsewhere what you need of it, git rm {name}, {AGAIN}"
            yield f"{name}: edited here, and {release} removes it; {remedy}"
        elif name not in tracked:
            remedy = f"move it, or track it (git add --force {name}), {AGAIN}"
            yield f"{name}: git ignores it, and {release} would write over it; {remedy}"
        elif not is_mergeable(held):
            remedy = f"save it as UTF-8, {AGAIN}"
            yield f"{name}: holds bytes that are not UTF-8, and a merge drops them; {remedy}"


def _read_rendered(name: str, *renders: Path) -> list[bytes]:
    """Read a file in each render that has it."""
    texts = []
    for render in renders:
        if (render / name).is_file():
            texts.append((render / name).read_bytes())
    return texts


def is_mergeable(held: bytes) -> bool:
    """Return whether Copier can carry a file through a diff: git shows no binary, Copier only UTF-8."""
    try:
        return "\0" not in held.decode()
    except UnicodeDecodeError:
        return False


def find_harmful_settings(project: Path) -> Iterator[str]:
    """Yield a line for each git setting under which an edit vanishes in a merge."""
    for name, values in HARMFUL.items():
        if (value := read_setting(project, name)) in values:
            yield f"git config {name} is {value}, which loses edits; set it to another, update again"


def take_inventory(project: Path, old: Path, new: Path) -> dict[str, Any]:
    """What an update must leave: `kept`, the hash of each file that it has no business with; `lines`,
    those of the owner's in each file that it merges; and `policy`, the hashes of the release's own files.
    """
    hashes: dict[str, str] = {}
    lines: dict[str, list[str]] = {}
    rendered = list_files(old) | list_files(new) | {".copier-answers.yml"}
    for name in filter(None, git(project, "ls-files", "-z").split("\0")):
        mine = project / name
        if not mine.is_file() and not mine.is_symlink():
            continue
        if OWNERS.fullmatch(name) or name not in rendered:
            hashes[name] = _hash(mine)
        elif name != ".copier-answers.yml" and (
            added := _count_added_lines(mine, old / name, new / name)
        ):
            lines[name] = list(added.elements())
    # The engine's pin names the template's address, which the guard's own render has from elsewhere.
    names = [name for name in list_policy_files(new) if name != ENGINE_PIN]
    policy = {name: _digest(read_text(new / name)) for name in names}
    return {"kept": hashes, "lines": lines, "policy": policy}


def find_missing(project: Path, taken: dict[str, Any]) -> list[str]:
    """What an inventory names and the project no longer has, a line each."""
    back = "`git restore --source=HEAD"
    missing = []
    for name, digest in taken["kept"].items():
        path = project / name
        if not os.path.lexists(path) or _hash(path) != digest:
            problem = "is not as you left it"
            missing.append(f"{name}: {problem}; {back} {name}` brings it back")
    for name, lines in taken["lines"].items():
        held = _count_lines(project / name)
        if not any(line.startswith(CONFLICT) for line in held) and (
            lost := Counter(lines) - held
        ):
            missing.append(
                f"{name}: {lost.total()} lines of yours are gone; {back} {name}` has them"
            )
    return missing


def find_differing(project: Path, taken: dict[str, Any], release: str) -> list[str]:
    """Policy files that an update did not bring to its release, a line each.

    Git merges without a conflict where a file was deleted before, or where an answer was changed by hand and the
    files were not: a rule of the release may not have arrived then, and nothing else would say so.
    """
    lines = []
    for name, digest in taken["policy"].items():
        mine = project / name
        if not mine.is_file():
            lines.append(
                f"{name}: missing; `copier-fastmcp restore` brings that of {release}"
            )
        elif (
            _digest(text := read_text(mine)) != digest and CONFLICT.encode() not in text
        ):
            lines.append(
                f"{name}: edited; `copier-fastmcp restore` has that of {release}"
            )
    return lines


def _hash(path: Path) -> str:
    """The hash of a file, or of where a link points to."""
    return _digest(
        os.readlink(path).encode() if path.is_symlink() else path.read_bytes()
    )


def _digest(held: bytes) -> str:
    return hashlib.sha256(held).hexdigest()


def _count_lines(path: Path) -> Counter[str]:
    """The lines of a file, whatever its encoding; none where there is no file."""
    return Counter(
        path.read_bytes().decode("latin-1").splitlines() if path.is_file() else ()
    )


def _count_added_lines(mine: Path, old: Path, new: Path) -> Counter[str]:
    """The lines that an owner added to a file."""
    return (
        Counter()
        if _count_lines(mine) == _count_lines(new)
        else _count_lines(mine) - _count_lines(old)
    )


def main(template: Path, answers_file: str, data: str) -> int:
    """Guard the update of the project in the current folder.

    Args:
        template: The release, checked out.
        answers_file: The answers file that Copier was called with.
        data: Answers that the caller gives, as JSON; empty after the update, since Copier prints it.

    Returns:
        0 when nothing is lost. Else 1: before, the project is as it was; after, git has what is gone.
    """
    if os.environ.get(CHECKED):
        return 0
    place = Path(git(Path(), "rev-parse", "--git-path", SEEN).strip())
    try:
        if os.environ.get("STAGE") == "after":
            if not place.exists():
                return 0
            taken = json.loads(place.read_text(encoding="utf-8"))
            prefix, lost = LOST, find_missing(Path(), taken)
            place.unlink()
            _remove_bytecode(Path(), taken.get("engine_gone", []))
            recorded = _read_recorded(answers_file)
            answers = read_answers(Path(answers_file))
            lines = find_outdated_files(Path(), recorded, answers)
            lines += find_unmatched_tools(Path(), answers)
            for line in find_differing(Path(), taken, _read_release()):
                lines.append(DIFFERS + line)
            for line in lines:
                print(one_line(line), file=sys.stderr)
        else:
            prefix, lost = (
                REFUSAL,
                _check_before(
                    template,
                    Path(answers_file),
                    json.loads(data or "null") or {},
                    place,
                ),
            )
    except (RefusedError, UnableError, OSError, ValueError) as error:
        prefix, lost = REFUSAL, [str(error)]
    for line in lost:
        print(prefix + one_line(line), file=sys.stderr)
    # A migration has changed the answers
    if lost and prefix is REFUSAL and list_changes(Path(), "--", answers_file):
        git(Path(), "restore", "--source=HEAD", "--", answers_file)
    return 1 if lost else 0


def _remove_bytecode(project: Path, removed: list[str]) -> None:
    """Remove the compiled files of removed modules, and the folders that hold nothing else.

    Python imports such a folder as an empty package.

    Args:
        project: The project, after the update.
        removed: The engine's files that the release removed, as paths in the project.
    """
    folders = set()
    for name in removed:
        if not (project / name).exists():
            folders.add((project / name).parent)
    for name in removed:
        module = project / name
        if not module.exists():
            for compiled in (module.parent / "__pycache__").glob(
                f"{module.stem}.*.pyc"
            ):
                compiled.unlink()
    for folder in sorted(folders, key=lambda path: len(path.parts), reverse=True):
        for place in (folder / "__pycache__", folder):
            if place.is_dir() and not any(place.iterdir()):
                place.rmdir()


def _read_release() -> str:
    return os.environ.get("VERSION_TO", "the release")


def _read_recorded(answers_file: str) -> Answers:
    """The answers that the project had before the update."""
    place = Path(answers_file).as_posix()
    return dict(yaml.safe_load(git(Path(), "cat-file", "blob", f"HEAD:./{place}")))


def _check_before(
    template: Path, answers_file: Path, options: Answers, place: Path
) -> list[str]:
    """What would be lost; where nothing is, what must be found again is written to a place."""
    recorded = _read_recorded(str(answers_file))
    if Path(recorded["_src_path"]).is_dir():  # it may be relative, as seen from here
        recorded["_src_path"] = str(Path(recorded["_src_path"]).resolve())
    update = Update(
        Path(), recorded, read_answers(answers_file), options, _read_release()
    )
    source = {"_src_path": str(template), "_commit": "HEAD"}
    questions = set(
        yaml.safe_load((template / "copier.yml").read_text(encoding="utf-8"))
    )
    with render_both(recorded, update.wanted | options | source) as (old, new):
        if not (lost := find_losses(update, old, new, questions)):
            taken = take_inventory(Path(), old, new)
            taken["engine_gone"] = sorted(
                set(load_engine_digests(old)) - set(load_engine_digests(new))
            )
            taken["kept"].pop(answers_file.as_posix(), None)  # under whatever name
            place.write_text(json.dumps(taken), encoding="utf-8")
    return lost
