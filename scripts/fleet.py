"""Bring a release of the template to many checkouts, one after the other, and say what became of each.

A checkout is updated on a branch of its own (`template-<version>`) and committed there, ready to push and review.
A conflict or a failure leaves it as it was. Exit codes: 0 all clean or up to date, 1 some not, 2 wrong usage.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

DONE = {"clean", "up to date"}
_COUNT = int(os.environ.get("GIT_CONFIG_COUNT", "0"))
CALM = os.environ | {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_CONFIG_COUNT": str(_COUNT + 1),
    f"GIT_CONFIG_KEY_{_COUNT}": "status.showUntrackedFiles",  # what git does not show is deleted
    f"GIT_CONFIG_VALUE_{_COUNT}": "all",
}
MARKER = "<<<<<<< before updating"
HALF = "and it could not be put back; see git status"


@dataclass
class Result:
    """What became of one checkout: clean, up to date, conflict (with its files) or failed (with the reason)."""

    project: str
    outcome: str
    detail: list[str] = field(default_factory=list)
    seconds: float = 0.0


class StepError(Exception):
    """A step went wrong; the message is its last line."""


def run(project: Path, *words: str) -> str:
    """What a command prints.

    Raises:
        StepError: It failed, or did not end within ten minutes.
    """
    try:
        done = subprocess.run(
            words,
            cwd=project,
            env=CALM,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise StepError(f"{words[0]}: {error}") from error
    if done.returncode:
        said = (done.stdout + done.stderr).strip().splitlines() or [f"exit code {done.returncode}"]
        raise StepError(f"{Path(words[0]).name}: {said[-1].strip()}")
    return done.stdout


def version(project: Path) -> str:
    """The template version that a checkout records.

    Raises:
        StepError: It is none of the template's.
    """
    answers = project / ".copier-answers.yml"
    if not answers.is_file():
        raise StepError("no .copier-answers.yml here")
    lines = answers.read_text(encoding="utf-8", errors="replace").splitlines()
    found = [line.removeprefix("_commit:").strip() for line in lines if line.startswith("_commit:")]
    if not found:
        raise StepError(".copier-answers.yml has no _commit")
    return found[0].strip("'\"")


def conflicts(project: Path) -> list[str]:
    """The files that a person must look at."""
    changed = run(project, "git", "status", "--porcelain", "-z").split("\0")
    found = []
    for line in filter(None, changed):
        path = project / line[3:]
        rejected = line.startswith("U") or line[1:2] == "U" or path.suffix == ".rej"
        if rejected or (path.is_file() and MARKER.encode() in path.read_bytes()):
            found.append(line[3:])
    return found


def undo(project: Path, steps: list[tuple[str, ...]]) -> bool:
    """Put a checkout back; whether that went well."""
    try:
        for words in steps:
            run(project, *words)
    except StepError:
        return False
    return True


def taken(project: Path, branch: str) -> bool:
    """Whether a branch holds work that is not merged here."""
    if not run(project, "git", "branch", "--list", branch):
        return False
    try:
        run(project, "git", "merge-base", "--is-ancestor", branch, "HEAD")
    except StepError:
        return True
    return False


def ready(project: Path, ref: str | None) -> str:
    """The version that a checkout records, once nothing stands in the way of an update.

    Raises:
        StepError: Something does.
    """
    before = version(project)
    if Path(run(project, "git", "rev-parse", "--show-toplevel").strip()).resolve() != project:
        raise StepError("not the root of its repository; run `copier update` in it by hand")
    if run(project, "git", "status", "--porcelain"):
        raise StepError("uncommitted changes; commit or stash them")
    if ref and taken(project, f"template-{ref}"):
        raise StepError(f"the branch template-{ref} is there; merge it or delete it")
    return before


def update(project: Path, ref: str | None, check: str | None) -> Result:
    """Update one clean checkout on a new branch; all or nothing."""
    name = str(project)
    restore: list[tuple[str, ...]] = []
    try:
        before = ready(project, ref)
        branch = run(project, "git", "rev-parse", "--abbrev-ref", "HEAD").strip()
        start = run(project, "git", "rev-parse", "HEAD").strip()
        restore = [("git", "reset", "--hard", "--quiet", start), ("git", "clean", "-fdq")]
        wanted = ["--vcs-ref", ref] if ref else []
        command = [sys.executable, "-m", "copier", "update", "--quiet", "--defaults", "--trust"]
        run(project, *command, *wanted, ".")
        if found := conflicts(project):
            result = Result(name, "conflict", found)
        elif not run(project, "git", "status", "--porcelain"):
            return Result(name, "up to date", [before])
        else:
            after = version(project)
            target = f"template-{after}"
            if taken(project, target):
                raise StepError(f"the branch {target} is there; merge it or delete it")
            run(project, "git", "add", "--all")  # before the check, which may leave files behind
            if check:
                run(project, "sh", "-c", check)
            run(project, "git", "switch", "--quiet", "--force-create", target)
            back = ("--detach", start) if branch == "HEAD" else (branch,)
            restore += [("git", "switch", "--quiet", *back), ("git", "branch", "-D", target)]
            run(project, "git", "commit", "--quiet", "-m", f"Update the template to {after}")
            undo(project, [("git", "reset", "--hard", "--quiet"), ("git", "clean", "-fdq")])
            return Result(name, "clean", [f"{before} -> {after}"])
    except (StepError, OSError) as error:
        result = Result(name, "failed", [str(error)])
    except KeyboardInterrupt:
        if not undo(project, restore):
            print(f"{project}: stopped, {HALF}", file=sys.stderr)
        raise
    return result if undo(project, restore) else Result(name, "failed", [*result.detail, HALF])


def rehearsed(project: Path, ref: str | None, check: str | None) -> Result:
    """The same in a clone that goes away."""
    with tempfile.TemporaryDirectory() as folder:
        clone = (Path(folder) / project.name).resolve()
        try:
            ready(project, ref)
            run(project, "git", "clone", "--quiet", ".", str(clone))
            for key in ("user.name", "user.email"):
                value = run(project, "git", "config", "--default", "", key).strip()
                if value:
                    run(clone, "git", "config", key, value)
        except (StepError, OSError) as error:
            return Result(str(project), "failed", [str(error)])
        result = update(clone, ref, check)
        result.project = str(project)
        return result


def holds(result: Result) -> bool:
    """Whether what an earlier run did is still there: merged, or on the branch that waits."""
    project, after = Path(result.project), result.detail[-1].rpartition(" ")[2]
    try:
        return version(project) == after or taken(project, f"template-{after}")
    except (StepError, OSError):
        return False


def remembered(path: Path, ref: str | None) -> dict[str, Result]:
    """The results of an earlier run for the same release that need no second one.

    Raises:
        ValueError: The file is none of ours.
    """
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        said = [Result(**entry) for entry in kept["results"] if kept["ref"] == ref]
        return {one.project: one for one in said if one.outcome in DONE and holds(one)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise ValueError(f"{path} holds no results of an earlier run; delete it") from error


def keep(path: Path, ref: str | None, results: Iterable[Result]) -> None:
    """Write what is known so far, for the next run."""
    kept = {"ref": ref, "results": [asdict(one) for one in results]}
    path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def main() -> int:
    """Read the command line, update each checkout, print the table."""
    parser = argparse.ArgumentParser(prog="scripts/fleet", description=__doc__)
    parser.add_argument("projects", nargs="+", help="checkouts, or @FILE with one on each line")
    parser.add_argument("--ref", help="the release, as v2.0.0; else the newest")
    parser.add_argument("--dry-run", action="store_true", help="try it in clones, change nothing")
    parser.add_argument("--check", help="a command that must pass before the commit: scripts/check")
    parser.add_argument("--state", type=Path, help="keep results here, and go on where it stopped")
    asked = parser.parse_args()
    names: list[str] = []
    for word in asked.projects:
        if word.startswith("@"):
            try:
                listed = Path(word[1:]).read_text(encoding="utf-8").splitlines()
            except (OSError, ValueError) as error:
                parser.error(f"{word}: {getattr(error, 'strerror', None) or 'not UTF-8'}")
            names += [line.strip() for line in listed if line.strip() and line[0] != "#"]
        else:
            names.append(word)
    if asked.state and asked.dry_run:
        parser.error("--state keeps what was done; with --dry-run nothing is")
    if asked.state and not asked.ref:
        parser.error("--state goes with --ref: without it a newer release would look done")
    if not names:
        parser.error("no project is named")
    try:
        known = remembered(asked.state, asked.ref) if asked.state else {}
        if asked.state:
            keep(asked.state, asked.ref, known.values())
    except (OSError, ValueError) as error:
        parser.error(f"--state: {error}")
    results: list[Result] = []
    for number, name in enumerate(names, 1):
        project = Path(name).expanduser().resolve()
        started = time.monotonic()
        result = known.get(str(project))
        if result is None:
            print(f"[{number}/{len(names)}] {project}", file=sys.stderr)
            result = (rehearsed if asked.dry_run else update)(project, asked.ref, asked.check)
            result.seconds = round(time.monotonic() - started, 1)
        results.append(result)
        if asked.state:
            all_known = known | {one.project: one for one in results}
            keep(asked.state, asked.ref, all_known.values())
    width = max(len(result.project) for result in results)
    for result in results:
        said = f"{result.project:{width}}  {result.outcome:10}  {result.seconds:5.1f} s"
        print(f"{said}  {', '.join(result.detail)}")
    counts = {one: sum(r.outcome == one for r in results) for one in ("clean", "up to date")}
    bad = len(results) - sum(counts.values())
    spread = ", ".join(f"{count} {what}" for what, count in counts.items())
    print(f"{len(results)} projects: {spread}, {bad} to look at")
    return 1 if bad else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
