"""`fleet`: a release of the template for many checkouts, one after the other."""

import json
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from .errors import UnableError, counted
from .updating.branches import taken
from .updating.checkouts import Release, Result, rehearse, update, version
from .updating.reports import writable, write

DONE = {"clean", "up to date"}


def _holds(result: Result) -> bool:
    """Whether what an earlier run did is still there: merged, or on the branch that waits."""
    project, after = Path(result.project), result.detail[-1].rpartition(" ")[2]
    try:
        return version(project) == after or taken(project, f"template-{after}")
    except (UnableError, OSError):
        return False


def _remembered(path: Path, ref: str | None) -> dict[str, Result]:
    """The results of an earlier run for the same release that need no second one.

    Raises:
        UnableError: The file is none of ours.
    """
    if not path.exists():
        return {}
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        results = [Result(**entry) for entry in kept["results"] if kept["ref"] == ref]
        return {one.project: one for one in results if one.outcome in DONE and _holds(one)}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        why = f"--state: {path} holds no results of an earlier run; delete it"
        raise UnableError(why) from error


def _keep(path: Path, ref: str | None, results: Iterable[Result]) -> None:
    """Write what is known so far, for the next run."""
    kept = {"ref": ref, "results": [asdict(one) for one in results]}
    try:
        path.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UnableError(f"--state: {error}") from error


def _listed(words: tuple[str, ...]) -> list[str]:
    """The projects that are named, those in files among them.

    Raises:
        UnableError: A file cannot be read, or no project is named.
    """
    names: list[str] = []
    for word in words:
        if not word.startswith("@"):
            names.append(word)
            continue
        try:
            lines = Path(word[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "not UTF-8"
            raise UnableError(f"{word}: {why}") from error
        names += [line for line in map(str.strip, lines) if line and line[0] != "#"]
    if not names:
        raise UnableError("no project is named; name checkouts, or @FILE with one on each line")
    return names


def _table(results: list[Result]) -> None:
    width = max(len(result.project) for result in results)
    for result in results:
        row = f"{result.project:{width}}  {result.outcome:10}  {result.seconds:5.1f} s"
        count = len(result.differs)
        files = f"{counted(count, 'policy file')} {'is' if count == 1 else 'are'}"
        note = f"; {files} not as it has them: copier-fastmcp drift" if count else ""
        print(f"{row}  {', '.join(result.detail)}{note}")
    counts = {one: sum(r.outcome == one for r in results) for one in ("clean", "up to date")}
    bad = len(results) - sum(counts.values())
    spread = ", ".join(f"{count} {what}" for what, count in counts.items())
    print(f"{counted(len(results), 'project')}: {spread}, {bad} to look at")


def fleet(
    *projects: str,
    ref: str | None = None,
    template: str | None = None,
    dry_run: bool = False,
    check: str | None = None,
    state: Path | None = None,
    pin: bool = False,
    keep_conflicts: bool = False,
    report: Path | None = None,
    trust: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Update many servers to a release of the template, and say what became of each.

    A checkout is updated on a branch of its own (`template-VERSION`) and committed there, ready to
    push and review. A failure leaves it as it was, and so does a conflict unless you keep it.
    Which code of the template would run is printed first; it runs when you say --trust, or
    trusted that template before.

    Args:
        projects: Checkouts, or @FILE with one on each line.
        ref: The release, as v2.0.0; else the newest.
        template: The template's address, when it has moved, as to your fork; it is recorded.
        dry_run: Try it in clones, and change nothing.
        check: A command that must pass before the commit, before and after; `own` is that of each server.
        state: Keep results in this file, and go on where an earlier run stopped.
        pin: Renew each lock and tool table, and say what changed for clients.
        keep_conflicts: Leave a conflict on its branch, with markers, for a person to resolve.
        report: Write a report in Markdown to this file.
        trust: Let the template run its tasks and migrations, with your rights.
        json_output: Print JSON.

    Returns:
        0 when all are clean or up to date, 1 when a person has to look at one.

    Raises:
        UnableError: What was asked for makes no sense, or a file cannot be used.
    """
    names = _listed(projects)
    if state and dry_run:
        raise UnableError("--state keeps what was done; with --dry-run nothing is")
    if state and not ref:
        raise UnableError("--state goes with --ref: without it a newer release would look done")
    writable(report)
    known = _remembered(state, ref) if state else {}
    if state:
        _keep(state, ref, known.values())
    release = Release(ref, check, trust, pin, keep_conflicts, template)
    results: list[Result] = []
    for number, name in enumerate(names, 1):
        project = Path(name).expanduser().resolve()
        started = time.monotonic()
        result = known.get(str(project))
        if result is None:
            print(f"[{number}/{len(names)}] {project}", file=sys.stderr)
            result = (rehearse if dry_run else update)(project, release)
            result.seconds = round(time.monotonic() - started, 1)
        results.append(result)
        if state:
            everything = known | {one.project: one for one in results}
            _keep(state, ref, everything.values())
    write(report, results)
    if json_output:
        print(json.dumps([asdict(one) for one in results], indent=2, ensure_ascii=False))
    else:
        _table(results)
    return 0 if {one.outcome for one in results} <= DONE else 1
