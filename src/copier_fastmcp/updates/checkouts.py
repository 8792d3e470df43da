"""One checkout brought to a release: in a worktree, and from there to a branch or, on request, to its tree."""

import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from threading import Event
from typing import Any

import yaml

from ..errors import RefusedError, UnableError, one_line, print_message
from ..project import answers, copier_process
from ..project.engine_requirement import ENGINE_PIN, pin_adopted_engine
from ..project.formatting import find_style_violations
from ..project.guarded_writes import (
    Change,
    delete_empty_folders,
    read_content,
    require_clean,
    write_changes,
)
from ..project.ownership import find_edited_engine_files, load_engine_digests
from ..project.pinning import PIN, PINNED, project_environment, renew_lock
from ..project.repository import git, list_changes
from .conflicts import conflicting_files, describe_conflicts
from .file_merges import merge_changed_answers
from .guard import find_harmful_settings
from .policy_changes import (
    Consequences,
    describe_consequences,
    find_consequences,
    load_release_tables,
)
from .tool_differences import find_outdated_files, find_unmatched_tools
from .worktrees import Worktree, is_merged, project_prefix, shorten

# Begins the subject of the commit that records a new address
MOVED = "The template is at "
PASSED = "passed"
INTERRUPTED = "stopped"
SECONDS = 600
OWN = "own"
OWN_CHECKS = {  # of a generated server, and of an adopted one
    "scripts/check": "uv run python scripts/check",
    "tests/policy/check.py": "uv run tests/policy/check.py",
}
TOOL_ANSWERS = {"tools", "description", "api", "api_auth"}
CLEAN, RELAXED, CONFLICT, CURRENT, FAILED = (
    "clean",
    "relaxed",
    "conflict",
    "up to date",
    "failed",
)
DELIVERED = (CLEAN, RELAXED, CONFLICT)  # outcomes with a change to deliver


class Delivery(Enum):
    """Where a change goes: nowhere, to a branch, or into the author's tree."""

    NONE = "none"
    BRANCH = "branch"
    TREE = "tree"


@dataclass
class Result:
    """The outcome for a checkout.

    Attributes:
        project: The checkout.
        outcome: clean, relaxed, up to date, conflict or failed.
        detail: The versions, the files with a conflict, or the reason of a failure.
        seconds: The time that it took.
        branch: The branch with the change.
        answers: Each answer that changed, before and after.
        files: Each file that is new, changed or removed.
        tools: What changed for clients, from the lock.
        check: What the check printed last, before and after.
        behind: Tools whose answers changed, and whose files stay as they are.
        merged: Files of the author that have the change of their answers.
        differs: Policy files that are not as the release has them.
        conflicts: What the release changes in each file with a conflict.
        notes: What the author should know before merging.
        rules: Rules that the release changes, with what follows for this server's tools.
        consequences: The same as data.
        commit: The checkout's commit at that time.
    """

    project: str
    outcome: str
    detail: list[str] = field(default_factory=list)
    seconds: float = 0.0
    branch: str | None = None
    answers: dict[str, list[Any]] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    tools: list[str] = field(default_factory=list)
    check: list[str] = field(default_factory=list)
    behind: list[str] = field(default_factory=list)
    merged: list[str] = field(default_factory=list)
    differs: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    consequences: dict[str, Any] = field(default_factory=dict)
    commit: str = ""


@dataclass(frozen=True)
class Release:
    """What a checkout is brought to, and how.

    Attributes:
        ref: The version; None is the newest.
        check: A command that must pass; `own` is that of each server.
        trust: Whether the template may run its code.
        pin: Whether to renew lock and tool table.
        keep_conflicts: Whether a conflict goes to the branch, too.
        template: The template's address, where it has moved.
        data: Answers that replace recorded ones.
        typed: Names of these that somebody typed.
        branch: The branch's name; None is template-VERSION.
        merge: Whether changed answers are also applied to the author's files.
        files: Further texts of the change, by their paths in the project.
        subject: The subject of the commit; None names the version.
        announced: The code of templates that was printed already.
        is_preview: Whether the guard runs only where the update shows a sign of a loss; nothing is delivered.
        stop: Set when the user interrupts: what runs ends at its next step, and delivers nothing.
    """

    ref: str | None
    check: str | None = None
    trust: bool = False
    pin: bool = False
    keep_conflicts: bool = False
    template: str | None = None
    data: dict[str, Any] = field(default_factory=dict)
    typed: tuple[str, ...] = ()
    branch: str | None = None
    merge: bool = False
    files: dict[str, str] = field(default_factory=dict)
    subject: str | None = None
    announced: list[str] = field(default_factory=list)
    is_preview: bool = False
    stop: Event = field(default_factory=Event)

    def require_running(self) -> None:
        """Refuse to go on after an interrupt.

        Raises:
            UnableError: The user has interrupted.
        """
        if self.stop.is_set():
            raise UnableError(INTERRUPTED)

    def branch_for(self, version: str, prefix: str) -> str:
        """Return the name of the branch for a version.

        Args:
            version: The version.
            prefix: The project's path in its repository, where one repository has several servers.
        """
        if self.branch:
            return self.branch
        name = f"template-{version}"
        return f"{name}-{prefix.replace('/', '-')}" if prefix else name


def recorded_version(project: Path) -> str:
    """Return the template version that a checkout records.

    Raises:
        UnableError: It was not made from a template.
    """
    return _require_answer(answers.read_answers(project / answers.ANSWERS), "_commit")


def _require_answer(recorded: dict[str, Any], name: str) -> str:
    if name not in recorded:
        raise UnableError(f"{answers.ANSWERS} has no {name}")
    return str(recorded[name])


def check_command(project: Path, check: str) -> str:
    """Return the command of a check; `own` is the one that the server brings.

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


def run_check(project: Path, check: str) -> str:
    """Run a command that has to pass.

    Returns:
        `passed`, or the last line of its output with its cause.

    Raises:
        UnableError: It cannot be run, or does not end in time.
    """
    try:
        done = subprocess.run(
            ["sh", "-c", check_command(project, check)],
            cwd=project,
            env=project_environment(project, in_worktree=True),
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UnableError(f"sh: {error}") from error
    if not done.returncode:
        return PASSED
    lines = (done.stdout + done.stderr).strip().splitlines() or [
        f"exit code {done.returncode}"
    ]
    has_cause = re.match(r"\s*(caused by|cause):", lines[-1], re.IGNORECASE)
    last = lines[-2:] if has_cause else lines[-1:]
    return one_line(" ".join(line.strip() for line in last))


def update_checkout(
    project: Path,
    release: Release,
    delivery: Delivery = Delivery.BRANCH,
    agree: Callable[[Result], bool] = lambda result: True,
) -> Result:
    """Bring a release to a checkout.

    Args:
        project: A generated project, the root of its repository or a folder of it.
        release: The release.
        delivery: Where the change goes.
        agree: Called with the result before anything is delivered; False delivers nothing.

    Returns:
        The result; a failure is one, too, and leaves nothing behind.
    """
    started = time.monotonic()
    result = Result(str(project), FAILED)
    try:
        if not project.is_dir():
            raise UnableError(f"{project} is not a folder; name a checkout")
        with Worktree(project) as worktree:
            release.require_running()
            result.commit = worktree.start
            bring_release(worktree, release, result, delivery)
            if result.outcome in DELIVERED and agree(result):
                _deliver(worktree, release, result, delivery)
    except (RefusedError, UnableError, OSError) as error:
        result.outcome = FAILED
        result.branch = None
        result.detail = [one_line(error)]
    result.seconds = round(time.monotonic() - started, 1)
    return result


def _deliver(
    worktree: Worktree, release: Release, result: Result, delivery: Delivery
) -> None:
    """Create the branch, or change the author's tree."""
    if result.outcome == CONFLICT and not release.keep_conflicts:
        return
    if delivery is Delivery.TREE and result.outcome != CONFLICT:
        put_into_tree(worktree)
    elif delivery is not Delivery.NONE:
        branch = release.branch_for(recorded_version(worktree.project), worktree.prefix)
        worktree.publish(branch)
        result.branch = branch


def put_into_tree(worktree: Worktree, names: list[str] | None = None) -> None:
    """Write the change of a worktree into the author's tree; nothing is staged.

    Args:
        worktree: The worktree; its change is staged or committed.
        names: Where only these files, as paths in the repository, have to be without uncommitted changes.

    Raises:
        RefusedError: The tree is not clean, has another commit by now, or changes meanwhile.
    """
    files = worktree.files()
    repository = worktree.repository
    worktree.refuse_clashes()
    before = {name: read_content(repository / name) for name in files}
    require_clean(repository, "since the change goes into the tree", names or ())
    if git(repository, "rev-parse", "HEAD").strip() != worktree.start:
        raise RefusedError(
            "HEAD is another commit by now; nothing was written, try again"
        )
    changes = {}
    for name in files:
        after = read_content(worktree.root / name)
        changes[repository / name] = Change(before[name], after)
    write_changes(changes)
    deleted = [path for path, change in changes.items() if change.after is None]
    delete_empty_folders(repository, deleted)


def bring_release(
    worktree: Worktree, release: Release, result: Result, delivery: Delivery
) -> None:
    """Run the update in a worktree and commit it there; the result tells what came of it.

    Raises:
        RefusedError: Something would be lost, or nobody trusts the template's code.
        UnableError: Copier, git or the check fails.
    """
    project = worktree.project
    recorded = _read_committed_answers(worktree)
    before = _require_answer(recorded, "_commit")
    source = _resolve_source(recorded, release)
    if delivery is Delivery.TREE:
        require_clean(worktree.repository, "since the change goes into the tree")
    elif release.ref or release.branch:
        worktree.require_free(release.branch_for(release.ref or "", worktree.prefix))
    is_trusted = _require_trust(source, before, release)
    if release.check:
        result.check.append(run_check(project, release.check))
        worktree.restore()
    release.require_running()
    if source != recorded["_src_path"]:
        _record_template(worktree, source)
    # The guard looks for what a release or other answers would lose; these answers alone lose nothing.
    is_same_version = release.ref == before and release.data.keys() <= TOOL_ANSWERS
    conflicts = _run_copier(
        worktree,
        release,
        recorded,
        result,
        is_trusted=is_trusted,
        is_same_version=is_same_version,
    )
    fresh = answers.read_answers(project / answers.ANSWERS)
    answers.require_questions(release.typed, fresh)
    if release.merge:
        conflicts += _merge_into_files(worktree, recorded, fresh, result)
    else:
        result.behind = find_outdated_files(project, recorded, fresh)
    for name, text in release.files.items():
        (project / name).write_text(text, encoding="utf-8", newline="\n")
    worktree.stage()
    result.files = worktree.files()
    if not result.files:
        result.outcome = CURRENT
        result.detail = [before]
        return
    result.answers = _changed_answers(recorded, fresh)
    result.notes = _describe_delivery(worktree, result, delivery)
    result.notes += find_unmatched_tools(project, fresh)
    consequences = Consequences()
    if not is_same_version:
        consequences = _compute_consequences(
            project, source, release.ref, recorded, fresh
        )
    result.consequences = consequences.as_json()
    result.rules = describe_consequences(consequences)
    worktree.refuse_clashes()
    _commit_update(worktree, release, result, before, conflicts)
    if result.outcome == CLEAN and _has_relaxations(consequences, result):
        result.outcome = RELAXED


def _read_committed_answers(worktree: Worktree) -> dict[str, Any]:
    """Return the answers in the last commit.

    Raises:
        UnableError: The answers file is in no commit.
    """
    committed = worktree.project / answers.ANSWERS
    if not committed.is_file() and (worktree.checkout / answers.ANSWERS).is_file():
        raise UnableError(f"{answers.ANSWERS} is in no commit; commit it first")
    return answers.read_answers(committed, shown_folder=worktree.checkout)


def _resolve_source(recorded: dict[str, Any], release: Release) -> str:
    """Return the template's address.

    Raises:
        UnableError: It depends on the current folder.
    """
    source = release.template or _require_answer(recorded, "_src_path")
    if not answers.is_absolute(source):
        raise UnableError(
            answers.describe_relative_template(source, bool(release.template))
        )
    return source


def _require_trust(source: str, before: str, release: Release) -> bool:
    """Name the code of the template that would run, once for all checkouts; whether there is any.

    Raises:
        RefusedError: There is code, and nobody trusts it.
    """
    code = copier_process.require_trust(
        source, before, release.ref, trust=release.trust
    )
    if code and code not in release.announced:
        release.announced.append(code)
        print_message(code)
    return bool(code)


def _run_copier(
    worktree: Worktree,
    release: Release,
    recorded: dict[str, Any],
    result: Result,
    *,
    is_trusted: bool,
    is_same_version: bool,
) -> list[str]:
    """Run Copier, for a preview without the guard unless something may be lost.

    Returns:
        The files with a conflict, as paths in the repository.
    """
    # The guard refuses edits of the engine, which a merge would hide.
    digests = load_engine_digests(worktree.project)
    has_edited_engine = bool(find_edited_engine_files(worktree.project, digests))
    is_unguarded = release.is_preview and not has_edited_engine
    is_guarded = not (is_unguarded or is_same_version)
    conflicts = _update_files(
        worktree, release, recorded, result, is_trusted, is_guarded
    )
    may_lose = is_unguarded and not is_same_version
    if may_lose and _may_lose_work(worktree, release, recorded, result.files):
        worktree.restore()
        conflicts = _update_files(worktree, release, recorded, result, is_trusted, True)
    return conflicts


def _update_files(
    worktree: Worktree,
    release: Release,
    recorded: dict[str, Any],
    result: Result,
    is_trusted: bool,
    is_guarded: bool,
) -> list[str]:
    """Run Copier once, and stage what it wrote.

    Returns:
        The files with a conflict, as paths in the repository.
    """
    result.differs = copier_process.update(
        worktree.project,
        release.ref,
        release.data,
        trust=is_trusted,
        guarded=is_guarded,
    )
    _move_engine_pin(worktree.project, recorded)
    conflicts = conflicting_files(worktree.root)
    worktree.stage()
    result.files = worktree.files()
    return conflicts


def _commit_update(
    worktree: Worktree,
    release: Release,
    result: Result,
    before: str,
    conflicts: list[str],
) -> None:
    """Commit the change: with markers where there is a conflict, else pinned and checked.

    Raises:
        UnableError: The check does not pass.
    """
    after = recorded_version(worktree.project)
    subject = release.subject or f"Update the template to {after}"
    if conflicts:
        result.outcome = CONFLICT
        result.detail = conflicts
        result.conflicts = describe_conflicts(worktree.root, conflicts)
        worktree.commit(f"{subject}, with conflicts to resolve")
        return
    release.require_running()
    _pin_and_check(worktree, release, result)
    release.require_running()
    worktree.commit(subject)
    is_same = before == after
    result.outcome = CLEAN
    result.detail = [
        f"the template stays at {after}" if is_same else f"{before} -> {after}"
    ]


def _has_relaxations(consequences: Consequences, result: Result) -> bool:
    """Return whether a client may do more than before: by the tables, or by the lock."""
    if consequences.has_relaxations():
        return True
    return any(": RELAXED: " in line for line in result.tools)


def _merge_into_files(
    worktree: Worktree, recorded: dict[str, Any], fresh: dict[str, Any], result: Result
) -> list[str]:
    """Apply changed answers to the author's files.

    Returns:
        The files with a conflict, as paths in the repository.
    """
    merges = merge_changed_answers(worktree.project, recorded, fresh)
    result.merged = merges.merged
    result.behind = merges.kept
    prefix = f"{worktree.prefix}/" if worktree.prefix else ""
    return [f"{prefix}{name}" for name in merges.conflicts]


def _move_engine_pin(project: Path, recorded: dict[str, Any]) -> None:
    """Bring the engine's requirement of an adopted server to the release that Copier has just rendered.

    Copier never writes an adopted server's pyproject.toml, which is its author's.
    """
    if not recorded.get("adopted"):
        return
    fresh = answers.read_answers(project / answers.ANSWERS)
    if "package" in (recorded.get("engine"), fresh.get("engine")):
        pin_adopted_engine(project)
        if (project / ENGINE_PIN).is_file():
            git(project, "add", "--", ENGINE_PIN)  # a conflict in it is resolved


def _may_lose_work(
    worktree: Worktree,
    release: Release,
    recorded: dict[str, Any],
    files: dict[str, str],
) -> bool:
    """Return whether the guard has to look at an update: it costs as much as the update itself.

    The guard refuses what an update would lose: an edited file that the release removes, bytes that are not UTF-8,
    answers that are dropped or changed, edits under some git settings. Without any of these signs it refuses nothing.
    """
    fresh = answers.read_answers(worktree.project / answers.ANSWERS)
    changes = _changed_answers(recorded, fresh)
    if "removed" in files.values() or changes.keys() - {*release.data, "_src_path"}:
        return True
    if any(True for _ in find_harmful_settings(worktree.project)):
        return True
    for name, state in files.items():
        if state == "changed" and not worktree.is_mergeable(name):
            return True
    return False


def _compute_consequences(
    project: Path,
    source: str,
    ref: str | None,
    recorded: dict[str, Any],
    fresh: dict[str, Any],
) -> Consequences:
    """Compute what the release's rules mean for the server's tools; nothing where a version has no tables."""
    try:
        old = load_release_tables(source, str(recorded["_commit"]))
        new = load_release_tables(source, ref or str(fresh["_commit"]))
    except (UnableError, ValueError) as error:
        print_message(f"hints and gates are not computed: {error}")
        return Consequences()
    return find_consequences(project, recorded, fresh, old, new)


def _describe_delivery(
    worktree: Worktree, result: Result, delivery: Delivery
) -> list[str]:
    """Name files with uncommitted changes: the branch does not have them, and git would refuse the merge."""
    if delivery is Delivery.TREE:
        return []
    uncommitted = list_changes(worktree.repository)
    if not uncommitted:
        return []
    notes = [f"uncommitted, so not on the branch: {shorten(uncommitted)}"]
    if both := uncommitted.keys() & result.files.keys():
        notes.append(
            f"commit these before you merge, the branch changes them: {shorten(both)}"
        )
    return notes


def _record_template(worktree: Worktree, template: str) -> None:
    """Record the template's new address, in a commit of its own."""
    file = worktree.project / answers.ANSWERS
    line = yaml.safe_dump({"_src_path": template}, width=1000).strip()
    text = re.sub(
        "(?m)^_src_path:.*$", lambda _: line, file.read_text(encoding="utf-8")
    )
    file.write_text(text, encoding="utf-8", newline="\n")
    worktree.stage()
    worktree.commit(MOVED + template)


def _changed_answers(
    before: dict[str, Any], after: dict[str, Any]
) -> dict[str, list[Any]]:
    """Return the answers that differ, each before and after."""
    pairs = {}
    for name in {**before, **after}:
        pair = [before.get(name), after.get(name)]
        if name != "_commit" and pair[0] != pair[1]:
            pairs[name] = pair
    return pairs


def _pin_and_check(worktree: Worktree, release: Release, result: Result) -> None:
    """Renew the lock and run the check on an update without a conflict; what a check leaves is not committed.

    Raises:
        UnableError: The check does not pass.
    """
    if release.pin and (worktree.project / PIN).is_file():
        result.tools = renew_lock(worktree.project)
        worktree.stage_files(PINNED)
        result.files = worktree.files()
        result.notes += _check_style(worktree, result.files)
    if not release.check:
        return
    result.check.append(run_check(worktree.project, release.check))
    if result.check[-1] == PASSED:
        return
    failed_before = result.check[0] != PASSED
    when = (
        "already fails before the update" if failed_before else "fails after the update"
    )
    reason = result.check[0 if failed_before else -1]
    command = check_command(worktree.project, release.check)
    raise UnableError(f"the check {when}: {command}: {reason}")


def _check_style(worktree: Worktree, files: dict[str, str]) -> list[str]:
    """Check format and lint of the written files; an adopted server has its author's style."""
    if answers.read_answers(worktree.project / answers.ANSWERS).get("adopted"):
        return []
    prefix = f"{worktree.prefix}/" if worktree.prefix else ""
    names = [name.removeprefix(prefix) for name in files if name.startswith(prefix)]
    return find_style_violations(worktree.project, names)


def is_delivered(result: Result, release: Release) -> bool:
    """Return whether the change of an earlier run is still there: merged, or on its branch."""
    project = Path(result.project)
    version = result.detail[-1].rpartition(" ")[2]
    try:
        if recorded_version(project) == version:
            return True
        branch = release.branch_for(version, project_prefix(project))
        has_branch = git(project, "for-each-ref", f"refs/heads/{branch}")
        return bool(has_branch) and not is_merged(project, branch)
    except (UnableError, OSError):
        return False
