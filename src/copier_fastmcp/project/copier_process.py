"""Everything that asks Copier: what a version renders, what code it would run, an update.

No other module touches Copier. It runs in a process of its own, because it changes folders, prints
and ends as it likes; only what its command line cannot say is read through its modules, and late.
"""

import shlex
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import yaml

from ..errors import AnswersError, RefusedError, UnableError, one_line
from . import origin
from .answers import ANSWERS, read_answers, strip_copier_keys
from .repository import isolated_environment

if TYPE_CHECKING:
    from copier._template import Template

SECONDS = 600
REFUSED_ANSWERS = (
    "ValueError: Validation error for question ",
    "ValueError: Invalid choice for ",
)
REFUSAL, LOST = (
    "not updated: ",
    "lost: ",
)  # what the guard's lines begin with, before and after
DIFFERS = (
    "differs: "  # and those of policy files that an update did not bring to its release
)
# Copier records a commit that is nowhere else for a template with uncommitted changes.
LOST_VERSION = "Unknown revision: "
VERSION_REMEDY = "name a commit or tag of the template: as _commit in .copier-answers.yml where the recorded one is gone, else with --ref"
EVERY_ERROR = (
    "_every_error"  # with it, validators return each error, not only the first
)
CHECKED = "COPIER_FASTMCP_CHECKED"  # set, the guard trusts that somebody has looked
# Set, the guard accepts a switch of `engine` in an adopted server: the caller writes the requirement.
PINS_ENGINE = "COPIER_FASTMCP_PINS_ENGINE"
PYTHON, SOURCE = "{{ _copier_python }}", "{{ _copier_conf.src_path }}/"
WHEN = {"{{ _copier_operation == 'copy' }}": "in a new project only"}
FORMAT_HOOK = "hooks/polish.py"
CONFLICT = "<<<<<<< before updating"
_ONE_THREAD = RLock()


def _run_copier(
    verb: str,
    *words: str,
    data: dict[str, Any] | None = None,
    folder: Path,
    **environ: str,
) -> str:
    """Run Copier without questions; what it said on stderr.

    Raises:
        RefusedError: An answer is refused; the validator's own sentence says why.
        UnableError: It did not end in time, or failed; its own last line says why.
    """
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "data.yml"
        file.write_text(
            yaml.safe_dump(data or {}, allow_unicode=True), encoding="utf-8"
        )
        options = ["--quiet", "--defaults", "--data-file", str(file)]
        # -P: nothing that lies in the project is imported.
        command = [sys.executable, "-P", "-m", "copier", verb, *options, *words]
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                env=isolated_environment() | environ,
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired as error:
            raise UnableError(f"Copier did not end within {SECONDS} seconds") from error
    if done.returncode:
        output = (done.stdout + done.stderr).strip() or f"exit code {done.returncode}"
        reason = subprocess.CalledProcessError(done.returncode, command, output)
        raise _parse_failure(output) from reason
    return done.stderr


def _parse_failure(output: str) -> Exception:
    """What a run of Copier that ended badly comes to: refused, or unable."""
    for prefix in (REFUSAL, LOST):
        lines = _list_marked_lines(output, prefix)
        if lines:
            return RefusedError("; ".join(lines))
    for words in REFUSED_ANSWERS:
        _, refused, sentence = output.rpartition(words)
        if refused:
            question, _, reasons = sentence.strip().partition(": ")
            name = question.strip("'")
            lines = []
            for line in reasons.splitlines():
                reason = one_line(line)
                lines.append(reason if name in reasons else f"{name}: {reason}")
            return AnswersError(lines)
    reason = _find_last_error(output)
    if LOST_VERSION in reason:
        reason = f"{reason}; {VERSION_REMEDY}"
    return UnableError(reason)


def _list_marked_lines(output: str, prefix: str) -> list[str]:
    """The lines of an output that begin with a prefix, without it."""
    lines = []
    for line in output.splitlines():
        if line.startswith(prefix):
            lines.append(line.removeprefix(prefix))
    return lines


def _find_last_error(output: str) -> str:
    """The line that says what went wrong: git's own, else the last one."""
    lines = [line.strip(" |") for line in output.splitlines() if line.strip(" |")]
    fatal = (line for line in lines if line.startswith("fatal: "))
    return one_line(next(fatal, lines[-1] if lines else output))


@contextmanager
def render_project(answers: dict[str, Any]) -> Iterator[Path]:
    """A fresh render of answers at the version they name, in a folder that goes away.

    It runs no code of the template, so it needs no trust.

    Raises:
        RefusedError: The template refuses an answer.
        UnableError: The template or the version cannot be reached.
    """
    with tempfile.TemporaryDirectory() as place:
        project = Path(place) / "project"
        arguments = [
            "--vcs-ref",
            answers["_commit"],
            answers["_src_path"],
            str(project),
        ]
        _run_copier(
            "copy",
            "--skip-tasks",
            *arguments,
            data={**strip_copier_keys(answers), EVERY_ERROR: True},
            folder=Path(place),
        )
        yield project


@contextmanager
def render_both(
    first_answers: dict[str, Any], second_answers: dict[str, Any]
) -> Iterator[tuple[Path, Path]]:
    """Two renders, made at the same time; as `rendered`."""
    with ExitStack() as stack, ThreadPoolExecutor(2) as pool:
        first, second = pool.map(
            stack.enter_context, map(render_project, (first_answers, second_answers))
        )
        yield first, second


def update(
    project: Path,
    ref: str | None,
    data: dict[str, Any] | None = None,
    *,
    trust: bool,
    guarded: bool = True,
) -> list[str]:
    """Run `copier update` in a project.

    Args:
        project: Its folder, without uncommitted changes.
        ref: The version to come to; None is the newest.
        data: Answers that replace recorded ones.
        trust: Whether the template may run its code.
        guarded: Whether the template looks for what would be lost; a caller may know it.

    Returns:
        The policy files that are not as the release has them, a line each.

    Raises:
        RefusedError: The template refuses an answer, or something would be lost.
        UnableError: Copier failed; the project may be half updated.
    """
    version = ["--vcs-ref", ref] if ref else []
    trust_option = ["--trust"] if trust else []
    environ = {PINS_ENGINE: "1"}
    if not guarded:
        environ[CHECKED] = "1"
    output = _run_copier(
        "update", *trust_option, *version, ".", data=data, folder=project, **environ
    )
    return _list_marked_lines(output, DIFFERS)


@contextmanager
def _open_template(source: str, ref: str | None) -> Iterator["Template"]:
    """A template at a version as Copier finds it, cloned into a folder that goes away.

    Only one thread at a time: Copier changes the current folder of the whole process.
    """
    from copier._template import Template

    template = Template(source, ref)
    try:
        with _ONE_THREAD, warnings.catch_warnings(action="ignore"):
            yield template
    except Exception as error:  # git's, plumbum's, YAML's and Copier's own
        reason = (
            _find_last_error(f"{getattr(error, 'stderr', '') or error}")
            or type(error).__name__
        )
        prefix = "" if source in reason else f"the template {source}: "
        remedy = (
            "" if "--template" in reason else "; name another with --template"
        )  # told by another
        if LOST_VERSION in reason and VERSION_REMEDY not in reason:
            remedy += f", or {VERSION_REMEDY}"
        raise UnableError(f"{prefix}{reason}{remedy}") from error
    finally:
        template._cleanup()


@cache
def read_template_file(source: str, ref: str | None, patterns: tuple[str, ...]) -> str:
    """Return a file of a template at a version; no code of it runs.

    Args:
        source: The template's address.
        ref: The version; None is the newest.
        patterns: Glob patterns; the first file that matches counts.

    Returns:
        The text; empty where no file matches.

    Raises:
        UnableError: The template or the version cannot be reached.
    """
    with _open_template(source, ref) as template:
        folder = Path(template.local_abspath)
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)):
                return path.read_text(encoding="utf-8")
    return ""


def _format_command(kind: str, command: object, when: object) -> str:
    """A command of a template, and when it runs: a script of its own by its path, else as copier.yml has it."""
    words = [str(word) for word in _as_list(command)]
    if len(words) > 1 and words[0] == PYTHON and words[1].startswith(SOURCE):
        text = words[1].removeprefix(SOURCE)
    else:
        text = command if isinstance(command, str) else shlex.join(words)
    if when in (True, "true"):
        return f"{kind} {text}"
    return f"{kind} {text} {WHEN.get(str(when), f'when {when}')}"


def _format_tasks(template: "Template") -> list[str]:
    tasks = []
    for task in template.tasks:
        tasks.append(_format_command("task", task.cmd, task.condition))
    return tasks


def _as_list(command: object) -> list[object]:
    return list(command) if isinstance(command, (list, tuple)) else [command]


@cache
def describe_template_code(source: str, before: str, ref: str | None) -> str:
    """Which code of a template an update would run, in one line; empty when it has none.

    Args:
        source: The template's address.
        before: The version that the project records; an update renders it, too.
        ref: The version to come to; None is the newest.

    Raises:
        UnableError: The template or a version cannot be reached.
    """
    with _open_template(source, before) as old, _open_template(source, ref) as new:
        old_tasks = _format_tasks(old)
        tasks = _format_tasks(new)
        migrations = []
        for stage in ("before", "after"):
            for command in new.migration_tasks(stage, old):
                migrations.append(
                    _format_command("migration", command.cmd, command.condition)
                )
        extensions = {*old.jinja_extensions, *new.jinja_extensions}
        loaded = [f"Jinja extension {name}" for name in sorted(extensions)]
        commit = (new.commit_hash or "no commit")[:12]
        version = f"{new.commit} ({commit})" if new.commit else commit
    run = list(dict.fromkeys([*loaded, *migrations, *tasks, *old_tasks]))
    return one_line(f"{source} at {version} may run: {'; '.join(run)}") if run else ""


def require_trust(source: str, before: str, ref: str | None, *, trust: bool) -> str:
    """The code that an update would run, when the user trusts the template.

    They do when they say so, when Copier's own settings do, or when it is the template that this
    command itself comes from: its code runs already.

    Args:
        source: The template's address.
        before: The version that the project records.
        ref: The version to come to; None is the newest.
        trust: Whether they said so.

    Returns:
        One line that names the code, for them to read; empty when there is none.

    Raises:
        RefusedError: There is code, and nobody trusts it.
        UnableError: The template or a version cannot be reached.
    """
    runs = describe_template_code(source, before, ref)
    if runs and not (trust or _is_trusted_by_copier(source)):
        raise RefusedError(f"{runs}; read it, then say --trust")
    return runs


def run_format_hook(project: Path) -> str:
    """Run the template's format and lint hook in a fresh render.

    Args:
        project: The render; nobody else writes in it.

    Returns:
        The hook's line; empty where its code is not trusted, or the template has none.

    Raises:
        UnableError: The template cannot be reached.
    """
    answers = read_answers(project / ANSWERS)
    source, version = str(answers["_src_path"]), str(answers["_commit"])
    if not _is_trusted_by_copier(source):
        return ""
    script = read_template_file(source, version, (FORMAT_HOOK,))
    if not script:
        return ""
    done = subprocess.run(
        [sys.executable, "-P", "-c", script],
        cwd=project,
        env=isolated_environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    return _find_last_error(done.stdout + done.stderr)


def _is_trusted_by_copier(source: str) -> bool:
    """Whether a template is one that was trusted before."""
    from copier import load_settings
    from copier._settings import is_trusted_repository

    if is_trusted_repository(load_settings().trust, source) or origin.is_own(source):
        return True
    with _open_template(source, None) as template:
        return origin.is_own(template.url_expanded)
