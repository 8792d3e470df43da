"""The end of `new`: conflicts with existing files, then the files, the installation, and the next steps."""

import difflib
import json
import sys
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

from ..errors import (
    BackError,
    RefusedError,
    UnableError,
    escape_controls,
    format_count,
    one_line,
    print_message,
)
from ..project.answers import ANSWERS, read_answers
from ..project.copier_process import run_format_hook
from ..project.ownership import load_engine_digests
from ..project.pinning import pin, uv
from ..project.proofs import Proofs, run_proofs
from ..terminal.text_tables import print_table
from ..tools_answer import parse_entries
from ..wrapping import print_text
from .destination import Placement, compare_files, place_files
from .tool_preview import HEADS, build_rows

SHOWN_NAMES = 8
SHOWN_LINES = 60
CONFLICTS = [
    ("keep yours", "only new files are added", "keep"),
    ("replace them", "the new files replace yours", "replace"),
    ("show them", "as a diff", "show"),
]
JSON_KEYS = ("tool", "behavior", "hints", "asks", "source")


@dataclass
class Plan:
    """The decisions about a rendered server.

    Attributes:
        dest: The folder that was named.
        conflicts: The option for files that differ: keep or replace.
        asking: Whether there is a user to ask.
        install: Whether the server is installed and pinned.
        json_output: Whether a program reads the output.
        placement: Its files, compared with those in the destination.
        replace: Whether files that differ are replaced.
    """

    dest: Path | None
    conflicts: str | None
    asking: bool
    install: bool
    json_output: bool
    placement: Placement = field(default_factory=Placement)
    replace: bool = False

    def destination(self, project: Path) -> Path:
        """Return the named folder, else one with the server's name."""
        if self.dest:
            return self.dest
        answers = read_answers(project / ANSWERS)
        return Path(str(answers["server_name"]))


def settle_plan(plan: Plan, project: Path) -> None:
    """Make all remaining decisions; nothing is written yet.

    Raises:
        BackError: The user wants to see the table again.
        KeyboardInterrupt: The user left.
        RefusedError: An existing file prevents the plan, and there is nobody to ask.
    """
    destination = plan.destination(project)
    if not plan.asking:
        _settle_conflicts(plan, project, destination)
        return
    from ..terminal import prompts

    try:
        _settle_conflicts(plan, project, destination)
    except RefusedError as error:
        prompts.print_mistake(error)
        raise BackError from error
    if not plan.install:
        count = len(plan.placement.new)
        prompts.print_line(f"{count} files will be written to {destination}.")
        plan.install = prompts.ask_yes_no(
            "Install it, pin its tools and prove their hints?"
        )


def _settle_conflicts(plan: Plan, project: Path, destination: Path) -> None:
    """Compare the files with existing ones, and decide whether to keep those that differ."""
    placement = compare_files(project, destination)
    plan.placement = placement
    counts = _describe_counts(placement)
    if not placement.differ:
        is_empty = not destination.is_dir() or not any(destination.iterdir())
        if placement.same or not is_empty:
            print_message(
                f"{destination} is not empty: {counts}; your files do not change"
            )
        return
    names = ", ".join(placement.differ[:SHOWN_NAMES])
    hidden = len(placement.differ) - SHOWN_NAMES
    if hidden > 0:
        names += f" and {hidden} more"
    line = one_line(f"{destination} is not empty: {counts}: {names}")
    if plan.conflicts:
        plan.replace = plan.conflicts != "keep"
        outcome = "they are replaced" if plan.replace else "they are kept"
        print_message(f"{line}; {outcome}")
        return
    if not plan.asking:
        raise RefusedError(f"{line}; use --conflicts keep or --conflicts replace")
    from ..terminal import prompts

    prompts.print_line(line)
    plan.replace = _ask_about_conflicts(plan, project, destination) == "replace"


def _ask_about_conflicts(plan: Plan, project: Path, destination: Path) -> str:
    from ..terminal import prompts

    question = "What should happen to the files that differ?"
    while True:
        choice = str(prompts.ask_choice(question, CONFLICTS))
        if choice != "show":
            return choice
        for name in plan.placement.differ:
            _print_diff(destination / name, project / name, name)


def _count_files(count: int, singular: str, plural: str) -> str:
    return f"1 file {singular}" if count == 1 else f"{count} files {plural}"


def _describe_counts(placement: Placement) -> str:
    parts = [_count_files(len(placement.new), "is new", "are new")]
    same = len(placement.same)
    if same:
        parts.append(_count_files(same, "is there already", "are there already"))
    differing = len(placement.differ)
    if differing:
        parts.append(_count_files(differing, "differs from yours", "differ from yours"))
    return ", ".join(parts)


def _print_diff(old_file: Path, new_file: Path, name: str) -> None:
    old = old_file.read_text("utf-8", errors="replace").splitlines()
    new = new_file.read_text("utf-8", errors="replace").splitlines()
    diff = difflib.unified_diff(old, new, f"yours/{name}", f"new/{name}", lineterm="")
    lines = list(diff)
    for line in lines[:SHOWN_LINES]:
        print(escape_controls(line.expandtabs(4)))
    hidden = len(lines) - SHOWN_LINES
    if hidden > 0:
        print(f"... and {hidden} lines more")


def write_server(plan: Plan, answers: Mapping[str, Any], project: Path) -> int:
    """Write the files, install the server on request, and print the next steps.

    Args:
        plan: The decisions.
        answers: The answers that the user or the options gave.
        project: The rendered project.

    Returns:
        0; 1 if a proof of the installed server fails; 2 if the files are written but could not be installed.
    """
    destination = plan.destination(project)
    hook_line = run_format_hook(project)
    failure = ""
    installed = False
    proofs: Proofs | None = None
    with place_files(
        project, destination, plan.placement, replace=plan.replace
    ) as written:
        if plan.install:
            try:
                _install(destination, verbose=plan.asking)
                installed = True
                proofs = _prove(destination, verbose=plan.asking)
            except UnableError as error:
                failure = one_line(error)
    server = str(read_answers(project / ANSWERS)["server_name"])
    if plan.json_output:
        _print_json(destination, server, written, answers, proofs, installed=installed)
    else:
        count = format_count(len(parse_entries(answers.get("tools"))), "tool")
        print(
            f"{server} is in {destination}: {count}, {_describe_files(destination, written)}"
        )
        if hook_line:
            print(hook_line)
        if not plan.asking:
            _print_tools(answers)
        for line in proofs.lines() if proofs else []:
            print_text(one_line(line))
    if failure:
        print_message(f"{failure}; the files of {destination} are written")
    if not plan.json_output:
        recorded = read_answers(destination / ANSWERS)
        _print_next_steps(destination, recorded, installed=installed)
    if failure:
        return 2
    return 1 if proofs and proofs.failed else 0


def _describe_files(destination: Path, written: Collection[str]) -> str:
    """Count the files of a server, and those of the engine apart: only the former are for its owner to read."""
    engine = load_engine_digests(destination).keys() & set(written)
    own = f"{len(written) - len(engine)} files"
    return f"{own}, and {len(engine)} of the engine" if engine else own


def _print_json(
    destination: Path,
    server: str,
    written: list[str],
    answers: Mapping[str, Any],
    proofs: Proofs | None,
    *,
    installed: bool,
) -> None:
    tools = []
    for row in build_rows(answers):
        tools.append(dict(zip(JSON_KEYS, row, strict=True)))
    result = {
        "destination": str(destination),
        "server": server,
        "files": written,
        "installed": installed,
        "proofs": asdict(proofs) if proofs else None,
        "tools": tools,
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))


def _print_tools(answers: Mapping[str, Any]) -> None:
    rows = build_rows(answers)
    if not sys.stdout.isatty():
        rows.insert(0, list(HEADS))
    print_table(HEADS, rows)


def _print_next_steps(
    destination: Path, answers: Mapping[str, Any], *, installed: bool
) -> None:
    """Print the next commands, each with its purpose."""
    server = answers["server_name"]
    folder = destination.resolve()
    is_tracked = any((parent / ".git").exists() for parent in (folder, *folder.parents))
    add = "git add -A" if is_tracked else "git init && git add -A"
    steps = []
    if not installed:
        steps.append(
            ("uv sync && uv run tests/policy/pin.py", "install it and write its lock")
        )
        steps.append(("uv run pytest", "run every tool and prove its hints"))
    if answers.get("backend") == "http":
        setting = f"{str(answers['package_name']).upper()}_API_TOKEN"
        steps.append((f"export {setting}=...", "the secret of the API, if any"))
        steps.append(("copier-fastmcp try", "compare it with the API; asks first"))
    steps.append((f"uv run {server} run", "serve over stdio; --http: over HTTP"))
    print(f"\nNow, in {destination}:\n")
    columns = get_terminal_size().columns if sys.stdout.isatty() else None
    for line in format_steps(steps, columns):
        print(f"  {line}")
    print(f'  {add} && git commit -m "Start"')


def format_steps(steps: list[tuple[str, str]], columns: int | None) -> list[str]:
    """Return commands with their purposes: behind them, or before them in a narrow terminal.

    Args:
        steps: The commands and purposes.
        columns: The width of the terminal; None if there is none.
    """
    width = max(len(command) for command, _ in steps)
    lines = [f"{command:{width}}  # {purpose}" for command, purpose in steps]
    if columns is None or max(map(len, lines)) + 2 <= columns:
        return lines
    stacked = []
    for command, purpose in steps:
        stacked += [f"# {purpose}", command]
    return stacked


def _install(destination: Path, *, verbose: bool) -> None:
    """Install a server and pin its tools.

    Raises:
        UnableError: uv is missing, or uv or the new server fails.
    """
    if verbose:
        print("  uv sync installs it; a first time takes a minute ...", flush=True)
    if reason := uv(destination, "sync", "--quiet"):
        raise UnableError(f"uv sync: {reason}")
    if verbose:
        print("  tests/policy/pin.py writes its lock and tool table ...", flush=True)
    pin(destination)


def _prove(destination: Path, *, verbose: bool) -> Proofs:
    """Run the proofs of an installed server.

    Raises:
        UnableError: They do not run.
    """
    if verbose:
        print("  pytest runs every tool once, and proves its hints ...", flush=True)
    return run_proofs(destination)
