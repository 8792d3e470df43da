"""`fleet`: a release of the template for many checkouts, in parallel."""

import hashlib
import json
import os
import re
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, replace
from pathlib import Path
from threading import Event, current_thread, main_thread
from typing import Annotated, TypeVar

from cyclopts import Parameter

from .errors import UnableError, format_count, one_line, print_message
from .project.answers import resolve_template
from .project.repository import git
from .updates.checkouts import (
    CLEAN,
    CURRENT,
    FAILED,
    INTERRUPTED,
    Delivery,
    Release,
    Result,
    is_delivered,
    update_checkout,
)
from .updates.fleet_plan import (
    Plan,
    make_plan,
    plan_as_json,
    plan_as_markdown,
    plan_as_text,
)
from .updates.policy_changes import Consequences
from .updates.reports import require_writable, wrap_line, write_report

DONE = {CLEAN, CURRENT}
STOPPED = 130
SSH_ADDRESS = re.compile(r"[\w.-]+@[\w.-]+:")
ADDRESS_KEYS = ("clone_url", "ssh_url", "sshUrl", "url")
Outcome = TypeVar("Outcome")


def _read_results(path: Path, key: str | None) -> list[Result]:
    """Return the results in a state file; none where it is for another release.

    Raises:
        UnableError: The file was not written by `fleet`.
    """
    if not path.exists():
        return []
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
        results = [Result(**entry) for entry in state["results"]]
        for result in results:
            Path(result.project), Consequences.from_json(result.consequences)
        return results if state["ref"] == key else []
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        problem = f"--state: {path} holds no results of an earlier run; delete it"
        raise UnableError(problem) from error


def _load_state(path: Path, ref: str | None, release: Release) -> dict[str, Result]:
    """Return the results of an earlier run for the same release that are still valid."""
    results = {}
    for result in _read_results(path, ref):
        if result.outcome in DONE and is_delivered(result, release):
            results[result.project] = result
    return results


def _save_state(path: Path, ref: str | None, results: Iterable[Result]) -> None:
    """Write the results so far, for the next run; the file is replaced as a whole."""
    state = {"ref": ref, "results": [asdict(result) for result in results]}
    new = path.with_name(path.name + ".new")
    try:
        new.write_text(json.dumps(state, indent=2) + "\n", encoding="utf-8")
        os.replace(new, path)
    except OSError as error:
        raise UnableError(f"--state: {error}") from error


def list_projects(words: Sequence[str]) -> list[str]:
    """Return the projects that are named, those in files among them.

    Raises:
        UnableError: A file cannot be read, or no project is named.
    """
    names: list[str] = []
    for word in words:
        if not word.startswith("@"):
            names.append(word)
            continue
        try:
            text = Path(word[1:]).read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "not UTF-8"
            raise UnableError(f"{word}: {reason}") from error
        if text.lstrip().startswith("["):
            names += _list_repositories(word, text)
            continue
        for line in map(str.strip, text.splitlines()):
            if line and not line.startswith("#"):
                names.append(line)
    if not names:
        raise UnableError(
            "no project is named; name checkouts, or @FILE with one on each line"
        )
    return names


def _list_repositories(word: str, text: str) -> list[str]:
    """Return the addresses in GitHub's listing of repositories; archived ones are left out.

    Raises:
        UnableError: It is not such a listing.
    """
    addresses = []
    try:
        for row in json.loads(text):
            if row.get("archived") or row.get("isArchived"):
                continue
            keys = [key for key in ADDRESS_KEYS if row.get(key)]
            addresses.append(str(row[keys[0]]))
    except (ValueError, AttributeError, IndexError, TypeError) as error:
        problem = (
            "not a listing of repositories; each row has a clone_url, ssh_url or url"
        )
        raise UnableError(f"{word}: {problem}") from error
    return addresses


def is_address(name: str) -> bool:
    """Return whether a name is the address of a repository, not a folder."""
    return "://" in name or bool(SSH_ADDRESS.match(name))


def _resolve(name: str) -> str:
    return str(Path(name).expanduser().resolve())


def run_in_parallel(
    names: list[str],
    jobs: int,
    run: Callable[[str], Outcome],
    done: Callable[[str, Outcome], None],
    stop: Event,
) -> None:
    """Run a function for each name, several at a time.

    Args:
        names: The names; each runs once.
        jobs: How many run at a time.
        run: The function, called in a thread.
        done: Called in this thread with each result as it arrives, so that an interrupt loses none.
        stop: Set at an interrupt; what runs ends soon after.
    """
    pool = ThreadPoolExecutor(jobs)
    futures = {pool.submit(run, name): name for name in dict.fromkeys(names)}
    reported = set()
    try:
        for future in as_completed(futures):
            reported.add(future)
            done(futures[future], future.result())
    except BaseException as error:
        stop.set()
        if isinstance(error, KeyboardInterrupt):
            _ignore_signals()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        for future, name in futures.items():
            if future not in reported and not future.cancelled():
                done(name, future.result())


def _ignore_signals() -> None:
    """Let what runs remove its worktree, however often somebody stops the command."""
    if current_thread() is main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)


def _plan(
    names: list[str],
    release: Release,
    state: Path | None,
    jobs: int | None,
    accepted: list[str],
    report: Path | None,
    *,
    json_output: bool,
) -> int:
    """Report what a release does to servers; an interrupt reports what is known by then."""
    results = _load_plan(state, release) if state else {}
    waiting = [name for name in names if name not in results]

    def run(name: str) -> Result:
        return plan_server(name, release)

    def record_result(name: str, result: Result) -> None:
        results[name] = result
        relaxed = Consequences.from_json(result.consequences).relaxations()
        relaxations = f", {'; '.join(relaxed)}" if relaxed else ""
        line = f"[{len(results)}/{len(names)}] {name}: {result.outcome}{relaxations}"
        print("\n".join(wrap_line(one_line(line))), file=sys.stderr)
        if state:
            _save_state(state, _plan_key(release), results.values())

    code = 0
    try:
        run_in_parallel(
            waiting, jobs or os.cpu_count() or 1, run, record_result, release.stop
        )
    except KeyboardInterrupt:
        code = STOPPED
    listed = _list_planned(names, results)
    if code:
        count = len({*names})
        remaining = count - len(listed)
        print_message(f"stopped: {remaining} of {format_count(count, 'server')} remain")
    plan = make_plan(listed, accepted)
    for name in sorted({*accepted} - {rule.name for rule in plan.rules}):
        problem = "the release changes no such rule"
        if plan.compares_no_rules():
            problem = "unknown, since every server is blocked"
        print_message(f"--accept {name}: {problem}")
    if report:
        _write_plan(report, plan)
    if json_output:
        print(json.dumps(plan_as_json(plan), indent=2, ensure_ascii=False))
    else:
        print(plan_as_text(plan))
    return code or (1 if plan.needs_a_decision() else 0)


def _list_planned(names: list[str], results: dict[str, Result]) -> list[Result]:
    """Return the results in the order of the names, without those that an interrupt stopped."""
    listed = []
    for name in dict.fromkeys(names):
        if name in results and results[name].detail != [INTERRUPTED]:
            listed.append(results[name])
    return listed


def _write_plan(path: Path, plan: Plan) -> None:
    """Write a plan to a file, in JSON or Markdown by its name."""
    text = plan_as_markdown(plan)
    if path.suffix == ".json":
        text = json.dumps(plan_as_json(plan), indent=2, ensure_ascii=False) + "\n"
    path.write_text(text, encoding="utf-8", newline="\n")


def plan_server(name: str, release: Release) -> Result:
    """Return what a release does to a server: a checkout, or the address of a repository."""
    if not is_address(name):
        result = update_checkout(Path(name), release, Delivery.NONE)
        return replace(result, project=name)
    with tempfile.TemporaryDirectory() as folder:
        checkout = Path(folder).resolve() / "checkout"
        try:
            git(
                Path(folder), "clone", "--quiet", "--depth=1", "--", name, str(checkout)
            )
        except UnableError as error:
            return Result(name, FAILED, [str(error)])
        return replace(update_checkout(checkout, release, Delivery.NONE), project=name)


def _plan_key(release: Release) -> str:
    """Return what the results of a plan are valid for: the release, and the template's state if it is a folder."""
    parts = [str(release.ref), str(release.template), str(release.pin)]
    folder = Path(release.template or "")
    if release.template and folder.is_dir():
        for words in (
            ("rev-parse", f"{release.ref or 'HEAD'}^{{commit}}"),
            ("diff", "HEAD"),
        ):
            parts.append(
                hashlib.sha256(git(folder, *words).encode(errors="replace")).hexdigest()
            )
    return " ".join(parts)


def _load_plan(path: Path, release: Release) -> dict[str, Result]:
    """Return the results of an interrupted plan whose servers have no new commit.

    Raises:
        UnableError: The file was not written by `fleet --plan`.
    """
    results = {}
    for result in _read_results(path, _plan_key(release)):
        is_same = (
            is_address(result.project) or _commit_of(result.project) == result.commit
        )
        if result.outcome != FAILED and is_same:
            results[result.project] = result
    return results


def _commit_of(project: str) -> str:
    try:
        return git(Path(project), "rev-parse", "HEAD").strip()
    except UnableError:
        return ""


def _resolve_projects(words: Sequence[str]) -> list[str]:
    """Return addresses as they are, and checkouts as whole paths."""
    names = []
    for name in list_projects(words):
        names.append(name if is_address(name) else _resolve(name))
    return names


def _print_table(results: list[Result]) -> None:
    width = max(len(result.project) for result in results)
    for result in results:
        row = f"{result.project:{width}}  {result.outcome:10}  {result.seconds:5.1f} s"
        count = len(result.differs)
        files = f"{format_count(count, 'policy file')} {'is' if count == 1 else 'are'}"
        note = f"; {files} not as it has them: copier-fastmcp drift" if count else ""
        for line in wrap_line(f"{row}  {', '.join(result.detail)}{note}"):
            print(line)
    counts = Counter(result.outcome for result in results)
    remaining = len(results) - counts[CLEAN] - counts[CURRENT]
    outcomes = f"{counts[CLEAN]} {CLEAN}, {counts[CURRENT]} {CURRENT}"
    print(
        f"{format_count(len(results), 'project')}: {outcomes}, {remaining} to look at"
    )


def _require_checkouts(names: list[str]) -> None:
    """Refuse addresses of repositories, of which only a plan can be made.

    Raises:
        UnableError: A name is an address.
    """
    for name in names:
        if is_address(name):
            raise UnableError(f"{name} is an address; clone it first, or say --plan")


def _require_repeatable(ref: str | None, *, dry_run: bool) -> None:
    """Refuse options with which a state file makes no sense.

    Raises:
        UnableError: Nothing is done, or the release is not named.
    """
    if dry_run:
        raise UnableError("--state keeps what was done; with --dry-run nothing is")
    if not ref:
        raise UnableError(
            "--state goes with --ref: without it a newer release would look done"
        )


def fleet(
    *projects: str,
    ref: str | None = None,
    template: str | None = None,
    plan: bool = False,
    accept: list[str] | None = None,
    live: bool = False,
    dry_run: bool = False,
    check: str | None = None,
    state: Path | None = None,
    pin: bool = False,
    keep_conflicts: bool = False,
    jobs: int | None = None,
    report: Path | None = None,
    trust: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Update many servers to a release of the template, each on a branch of its own.

    Each update runs in a temporary worktree of a checkout's last commit and adds a branch
    (`template-VERSION`) to it, ready to push and review; nothing else of the checkout changes. A failure
    adds nothing, nor does a conflict unless you keep it.
    Which code of the template would run is printed first; it runs when you say --trust, or
    trusted that template before.

    With --plan nothing is added anywhere. It reports what the release does: each rule that changes, which
    tools it relaxes or tightens, which servers conflict, which are blocked and by what. Hints and gates are
    computed from each lock; no server is started.

    Args:
        projects: Checkouts, or @FILE with one on each line or GitHub's listing in JSON; with --plan also addresses.
        ref: The release, as v2.0.0; else the newest.
        template: The template's address, when it has moved, as to your fork; it is recorded.
        plan: Report what the release does to all servers, rules first; create no branch.
        accept: With --plan, a rule whose relaxations are wanted, as profiles.explicit.confirm. Repeat it for more.
        live: With --plan, also start each server, and compare with its lock.
        dry_run: Report only; create no branch.
        check: A command that must pass before the commit, before and after; `own` is that of each server.
        state: Keep results in this file, and go on where an earlier run stopped.
        pin: Renew each lock and tool table, and report what changed for clients.
        keep_conflicts: Put a conflict on its branch, with markers, for a person to resolve.
        jobs: How many servers are updated at a time; by default one per core.
        report: Write a report in Markdown to this file.
        trust: Let the template run its tasks and migrations, with your rights.
        json_output: Print JSON.

    Returns:
        0 when all are clean or up to date, 1 when a person has to look at one; with --plan also at a
        relaxation that --accept does not name.

    Raises:
        UnableError: What was asked for makes no sense, or a file cannot be used.
    """
    names = _resolve_projects(projects)
    if not plan:
        _require_checkouts(names)
    if state:
        _require_repeatable(ref, dry_run=dry_run)
    require_writable(report)
    release = Release(
        ref,
        check=check,
        trust=trust,
        pin=pin,
        keep_conflicts=keep_conflicts,
        template=resolve_template(template),
    )
    if plan:
        release = replace(release, check=None, pin=live, is_preview=not live)
        return _plan(
            names, release, state, jobs, accept or [], report, json_output=json_output
        )
    if accept or live:
        raise UnableError("--accept and --live go with --plan")
    results = _load_state(state, ref, release) if state else {}
    if state:
        _save_state(state, ref, results.values())
    delivery = Delivery.NONE if dry_run else Delivery.BRANCH
    waiting = [name for name in names if name not in results]

    def run(name: str) -> Result:
        return update_checkout(Path(name), release, delivery)

    def record_result(name: str, result: Result) -> None:
        results[name] = result
        print(
            f"[{len(results)}/{len(names)}] {name}: {result.outcome}", file=sys.stderr
        )
        if state:
            _save_state(state, ref, results.values())

    run_in_parallel(
        waiting, jobs or os.cpu_count() or 1, run, record_result, release.stop
    )
    listed = [results[name] for name in names]
    write_report(report, listed)
    if json_output:
        print(
            json.dumps(
                [asdict(result) for result in listed], indent=2, ensure_ascii=False
            )
        )
    else:
        _print_table(listed)
    return 0 if {result.outcome for result in listed} <= DONE else 1
