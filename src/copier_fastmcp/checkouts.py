"""One checkout brought to a release: on a branch of its own, or left as it was."""

import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from . import copying
from .errors import RefusedError, UnableError, one_line, tell
from .repository import changed, git

MARKER = b"<<<<<<< before updating"
HALF = "and it could not be put back; see git status"
SECONDS = 600


@dataclass
class Result:
    """What became of a checkout: clean, up to date, conflict (its files), failed (the reason)."""

    project: str
    outcome: str
    detail: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Release:
    """What a checkout is brought to, and how."""

    ref: str | None
    check: str | None
    trust: bool


def version(project: Path) -> str:
    """The template version that a checkout records.

    Raises:
        UnableError: It is none of the template's.
    """
    return _recorded(project, "_commit")


def _recorded(project: Path, name: str) -> str:
    answers = project / ".copier-answers.yml"
    if not answers.is_file():
        raise UnableError("no .copier-answers.yml here")
    lines = answers.read_text(encoding="utf-8", errors="replace").splitlines()
    values = [line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:")]
    if not values:
        raise UnableError(f".copier-answers.yml has no {name}")
    return values[0].strip("'\"")


def taken(project: Path, branch: str) -> bool:
    """Whether a branch holds work that is not merged here."""
    if not git(project, "branch", "--list", branch):
        return False
    try:
        git(project, "merge-base", "--is-ancestor", branch, "HEAD")
    except UnableError:
        return True
    return False


def _conflicts(project: Path) -> list[str]:
    """The files that a person must look at."""
    names = []
    for name, letters in changed(project).items():
        path = project / name
        rejected = "U" in letters or path.suffix == ".rej"
        if rejected or (path.is_file() and MARKER in path.read_bytes()):
            names.append(name)
    return names


def _undo(project: Path, steps: list[tuple[str, ...]]) -> bool:
    """Put a checkout back; whether that went well."""
    try:
        for words in steps:
            git(project, *words)
    except UnableError:
        return False
    return True


def _passes(project: Path, check: str) -> None:
    """Run a command that has to pass.

    Raises:
        UnableError: It does not; its own last line says why.
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
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        raise UnableError(f"sh: {one_line(lines[-1] if lines else f'exit code {done.returncode}')}")


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
    if ref and taken(project, f"template-{ref}"):
        raise UnableError(f"the branch template-{ref} is there; merge it or delete it")
    return before


def update(project: Path, release: Release) -> Result:
    """Update one clean checkout on a new branch; all or nothing."""
    name = str(project)
    restore: list[tuple[str, ...]] = []
    try:
        before = _ready(project, release.ref)
        code = copying.allowed(
            _recorded(project, "_src_path"), before, release.ref, trust=release.trust
        )
        if code:
            tell(code)
        branch = git(project, "rev-parse", "--abbrev-ref", "HEAD").strip()
        start = git(project, "rev-parse", "HEAD").strip()
        restore = [("reset", "--hard", "--quiet", start), ("clean", "-fdq")]
        copying.update(project, release.ref, trust=bool(code))
        if files := _conflicts(project):
            result = Result(name, "conflict", files)
        elif not changed(project):
            return Result(name, "up to date", [before])
        else:
            after = version(project)
            target = f"template-{after}"
            if taken(project, target):
                raise UnableError(f"the branch {target} is there; merge it or delete it")
            git(project, "add", "--all")  # before the check, which may leave files behind
            if release.check:
                _passes(project, release.check)
            git(project, "switch", "--quiet", "--force-create", target)
            back = ("--detach", start) if branch == "HEAD" else (branch,)
            restore += [("switch", "--quiet", *back), ("branch", "-D", target)]
            git(project, "commit", "--quiet", "-m", f"Update the template to {after}")
            _undo(project, [("reset", "--hard", "--quiet"), ("clean", "-fdq")])
            return Result(name, "clean", [f"{before} -> {after}"])
    except (RefusedError, UnableError, OSError) as error:
        result = Result(name, "failed", [one_line(error)])
    except KeyboardInterrupt:
        if not _undo(project, restore):
            print(f"{project}: stopped, {HALF}", file=sys.stderr)
        raise
    return result if _undo(project, restore) else Result(name, "failed", [*result.detail, HALF])


def rehearse(project: Path, release: Release) -> Result:
    """The same in a clone that goes away."""
    with tempfile.TemporaryDirectory() as folder:
        clone = (Path(folder) / project.name).resolve()
        try:
            _ready(project, release.ref)
            git(project, "clone", "--quiet", ".", str(clone))
            for key in ("user.name", "user.email"):
                value = git(project, "config", "--default", "", key).strip()
                if value:
                    git(clone, "config", key, value)
        except (UnableError, OSError) as error:
            return Result(str(project), "failed", [one_line(error)])
        result = update(clone, release)
        result.project = str(project)
        return result
