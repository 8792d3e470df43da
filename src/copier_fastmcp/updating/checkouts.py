"""One checkout brought to a release: on a branch of its own, or left as it was."""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml

from .. import lock
from ..errors import RefusedError, UnableError, one_line, tell
from ..project import answers, copying
from ..project.pinning import PIN, TABLE, renewed
from ..project.repository import changed, git, setting
from . import behind
from .branches import MOVED, begun, keep, leave, make_sure_it_is_free, pick_up, undone
from .guard import ORIGINAL

HALF = "and it could not be put back; see git status"
PASSED = "passed"
SECONDS = 600
OWN = "own"
OWN_CHECKS = {  # in a server that was made, and in one that was adopted
    "scripts/check": "uv run python scripts/check",
    "tests/policy/check.py": "uv run tests/policy/check.py",
}


@dataclass
class Result:
    """What became of a checkout: clean, up to date, conflict (its files), failed (the reason)."""

    project: str
    outcome: str
    detail: list[str] = field(default_factory=list)
    seconds: float = 0.0
    branch: str | None = None  # where the update stands
    answers: dict[str, list[Any]] = field(default_factory=dict)  # that changed: before, after
    files: dict[str, str] = field(default_factory=dict)  # new, changed or removed
    tools: list[str] = field(default_factory=list)  # what changed for clients, from the lock
    check: list[str] = field(default_factory=list)  # what the check said before and after
    behind: list[str] = field(
        default_factory=list
    )  # tools whose answers changed, and whose files stay
    differs: list[str] = field(default_factory=list)  # policy files that are not as the release's


@dataclass(frozen=True)
class Release:
    """What a checkout is brought to, and how.

    Attributes:
        ref: The version; None is the newest.
        check: A command that must pass; `own` is that of each server.
        trust: Whether the template may run its code.
        pin: Whether to renew lock and tool table.
        keep: Whether a conflict stays, on its branch.
        template: The template's address, where it is another one now.
        data: Answers that replace recorded ones.
        told: The code of templates that was named already.
    """

    ref: str | None
    check: str | None
    trust: bool
    pin: bool = False
    keep: bool = False
    template: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
    told: list[str] = field(default_factory=list)


def version(project: Path) -> str:
    """The template version that a checkout records.

    Raises:
        UnableError: It is none of the template's.
    """
    return _recorded(answers.read(project / answers.ANSWERS), "_commit")


def _recorded(known: dict[str, Any], name: str) -> str:
    if name not in known:
        raise UnableError(f"{answers.ANSWERS} has no {name}")
    return str(known[name])


def _conflicts(project: Path) -> list[str]:
    """The files that a person must look at."""
    names = []
    for name, letters in changed(project).items():
        path = project / name
        rejected = "U" in letters or path.suffix == ".rej"
        if rejected or (path.is_file() and copying.CONFLICT.encode() in path.read_bytes()):
            names.append(name)
    return names


def _check(project: Path, check: str) -> str:
    """The command of a check; `own` is the one that the server brings.

    Raises:
        UnableError: It brings none.
    """
    if check != OWN:
        return check
    for path, command in OWN_CHECKS.items():
        if (project / path).is_file():
            return command
    paths = " and no ".join(OWN_CHECKS)
    raise UnableError(f"--check own: there is no {paths}; name a command")


def _said(project: Path, check: str) -> str:
    """What a command that has to pass comes to: passed, or its own last line, with its cause.

    Raises:
        UnableError: It cannot be run, or does not end in time.
    """
    try:
        done = subprocess.run(
            ["sh", "-c", check],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnableError(f"sh: {error}") from error
    if not done.returncode:
        return PASSED
    lines = (done.stdout + done.stderr).strip().splitlines() or [f"exit code {done.returncode}"]
    caused = re.match(r"\s*(caused by|cause):", lines[-1], re.IGNORECASE)
    return one_line(" ".join(line.strip() for line in lines[-2 if caused else -1 :]))


def _ready(project: Path, ref: str | None) -> str:
    """The version that a checkout records, once nothing stands in the way of an update.

    Raises:
        UnableError: Something does.
    """
    before = version(project)
    if Path(git(project, "rev-parse", "--show-toplevel").strip()).resolve() != project:
        raise UnableError("not the root of its repository; run `copier update` in it by hand")
    if changed(project):
        raise UnableError("uncommitted changes; commit or stash them")
    if ref:
        make_sure_it_is_free(project, f"template-{ref}")
    return before


def _moved(project: Path, template: str) -> None:
    """Record that a template is at another address now."""
    file = project / answers.ANSWERS
    line = yaml.safe_dump({"_src_path": template}, width=1000).strip()
    text = re.sub("(?m)^_src_path:.*$", lambda _: line, file.read_text(encoding="utf-8"))
    file.write_text(text, encoding="utf-8", newline="\n")
    git(project, "commit", "--quiet", "--all", "-m", MOVED + template)


def _files(project: Path, start: str) -> dict[str, str]:
    """What an update did to each file."""
    git(project, "add", "--intent-to-add", "--all")
    entries = git(project, "diff", "--name-status", "--no-renames", "-z", start).split("\0")
    words = {"A": "new", "D": "removed"}
    pairs = zip(entries[::2], entries[1::2], strict=False)
    return {name: words.get(letter, "changed") for letter, name in pairs}


def _answers(before: dict[str, Any], after: dict[str, Any]) -> dict[str, list[Any]]:
    """The answers that differ, each before and after."""
    names = [name for name in {**before, **after} if name != "_commit"]
    pairs = {name: [before.get(name), after.get(name)] for name in names}
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def update(project: Path, release: Release) -> Result:
    """Update one clean checkout on a new branch; all or nothing, but for a conflict to be kept."""
    result = Result(str(project), "failed")
    restore: list[tuple[str, ...]] = []
    mark = None
    try:
        if (project / ".git").exists():
            pick_up(project)
        before = _ready(project, release.ref)
        known = answers.read(project / answers.ANSWERS)
        source = release.template or _recorded(known, "_src_path")
        moved = release.template and release.template != known.get("_src_path")
        code = copying.trusted_code(source, before, release.ref, trust=release.trust)
        if code and code not in release.told:
            tell(code)
            release.told.append(code)
        branch = git(project, "rev-parse", "--abbrev-ref", "HEAD").strip()
        start = git(project, "rev-parse", "HEAD").strip()
        restore += [("reset", "--hard", "--quiet", start), ("clean", "-fdq")]
        mark = begun(project)
        mark.write_text(f"{branch} {start}", encoding="utf-8")
        if release.check:
            result.check.append(_said(project, _check(project, release.check)))
            undone(project, restore)
        if moved:
            _moved(project, source)
        result.differs = copying.update(project, release.ref, release.data, trust=bool(code))
        if not changed(project) and not moved:
            return replace(result, outcome="up to date", detail=[before])
        after = version(project)
        fresh = answers.read(project / answers.ANSWERS)
        result.answers = _answers(known, fresh)
        result.behind = behind.after_update(project, known, fresh)
        result.branch = f"template-{after}"
        if files := _conflicts(project):
            result.outcome, result.detail = "conflict", files
            if release.keep:
                keep(project, result.branch)
                leave(project, branch, start)
                return result
        else:
            make_sure_it_is_free(project, result.branch)
            _finish(project, release, result, start)
            git(project, "switch", "--quiet", "--force-create", result.branch)
            back = ("--detach", start) if branch == "HEAD" else (branch,)
            restore += [("switch", "--quiet", *back), ("branch", "-D", result.branch)]
            if git(project, "diff", "--cached", "--name-only"):  # nothing where it has only moved
                git(project, "commit", "--quiet", "-m", f"Update the template to {after}")
            undone(project, [("reset", "--hard", "--quiet"), ("clean", "-fdq")])
            leave(project, branch, start)
            return replace(result, outcome="clean", detail=[f"{before} -> {after}"])
    except (RefusedError, UnableError, OSError) as error:
        result.outcome, result.detail = "failed", [one_line(error)]
    except KeyboardInterrupt:
        if not undone(project, restore):
            print(f"{project}: stopped, {HALF}", file=sys.stderr)
        raise
    finally:
        if mark:
            mark.unlink(missing_ok=True)
    result.branch = None
    if undone(project, restore):
        return result
    return replace(result, outcome="failed", detail=[*result.detail, HALF])


def _finish(project: Path, release: Release, result: Result, start: str) -> None:
    """What is done with an update without a conflict before it is committed.

    Raises:
        UnableError: The check does not pass.
    """
    git(project, "add", "--all")  # before the check, which may leave files behind
    result.files = _files(project, start)
    if release.pin and (project / PIN).is_file():
        result.tools = renewed(project)
        there = [name for name in (lock.FILE, TABLE) if (project / name).is_file()]
        git(project, "add", "--", *there)
    if release.check:
        command = _check(project, release.check)
        result.check.append(_said(project, command))
        early, late = result.check[0] != PASSED, result.check[-1] != PASSED
        if late:
            when = "already fails before the update" if early else "fails after the update"
            raise UnableError(f"the check {when}: {command}: {result.check[0 if early else -1]}")


def rehearse(project: Path, release: Release) -> Result:
    """The same in a clone that goes away."""
    with tempfile.TemporaryDirectory() as folder:
        clone = (Path(folder) / project.name).resolve()
        try:
            _ready(project, release.ref)
            git(project, "clone", "--quiet", ".", str(clone))
            for key in ("user.name", "user.email"):
                if value := setting(project, key):
                    git(clone, "config", key, value)
        except (UnableError, OSError) as error:
            return Result(str(project), "failed", [one_line(error)])
        os.environ[ORIGINAL] = str(project)
        try:
            return replace(update(clone, release), project=str(project), branch=None)
        finally:
            del os.environ[ORIGINAL]
