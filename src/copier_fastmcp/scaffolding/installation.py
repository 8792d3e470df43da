"""The end of `new`: what meets what is there, then the files, the installation, and what to do next."""

import difflib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
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
from ..project.pinning import pin, uv
from ..terminal.text_tables import print_table
from ..tools_answer import parse_entries
from .destination import Placement, compare_files, place_files
from .tool_preview import HEADS, build_rows

SHOWN, LINES = 8, 60
CONFLICTS = [
    ("keep yours", "new files are added, yours stay as they are", "keep"),
    ("replace them", "the new files replace yours", "replace"),
    ("show them", "the differences, line by line", "show"),
]


@dataclass
class Plan:
    """What becomes of a server that is rendered.

    Attributes:
        dest: The folder that was named.
        conflicts: What was said of files that differ: keep or replace.
        asking: Whether there is somebody to ask.
        install: Whether it is installed and pinned.
        json_output: Whether a program reads what is printed.
        met: How its files meet those that are there.
        replace: Whether files that differ are replaced.
    """

    dest: Path | None
    conflicts: str | None
    asking: bool
    install: bool
    json_output: bool
    met: Placement = field(default_factory=Placement)
    replace: bool = False

    def destination(self, project: Path) -> Path:
        """Where it comes to: what was named, else a folder with the server's name."""
        return self.dest or Path(str(read_answers(project / ANSWERS)["server_name"]))


def settle_plan(plan: Plan, project: Path) -> None:
    """Decide everything that is left; nothing is written yet.

    Raises:
        BackError: They want to see the table again.
        KeyboardInterrupt: They left.
        RefusedError: Something is in the way, and there is nobody to ask.
    """
    destination = plan.destination(project)
    if not plan.asking:
        _meet(plan, project, destination)
        return
    from ..terminal import prompts

    try:
        _meet(plan, project, destination)
    except RefusedError as error:
        prompts.print_mistake(error)
        raise BackError from error
    if not plan.install:
        prompts.print_line(
            f"{len(plan.met.new)} files will be written to {destination}."
        )
        plan.install = prompts.ask_yes_no(
            "Install it afterwards, and write its lock and tool table (uv sync, pin)?"
        )


def _meet(plan: Plan, project: Path, destination: Path) -> None:
    """Look at what is there; files that differ are kept or replaced as somebody says."""
    plan.met = met = compare_files(project, destination)
    if not met.differ:
        if met.same or (destination.is_dir() and any(destination.iterdir())):
            print_message(
                f"{destination} is not empty: {_counted(met)}; nothing of yours changes"
            )
        return
    names = ", ".join(met.differ[:SHOWN])
    names += f" and {len(met.differ) - SHOWN} more" if len(met.differ) > SHOWN else ""
    line = one_line(f"{destination} is not empty: {_counted(met)}: {names}")
    if plan.conflicts:
        kept = plan.conflicts == "keep"
        print_message(f"{line}; {'yours stay' if kept else 'they are replaced'}")
        plan.replace = not kept
        return
    if not plan.asking:
        raise RefusedError(f"{line}; say --conflicts keep or --conflicts replace")
    from ..terminal import prompts

    prompts.print_line(line)
    while (
        found := prompts.ask_choice(
            "What should happen to the files that differ?", CONFLICTS
        )
    ) == "show":
        for name in met.differ:
            _show(destination / name, project / name, name)
    plan.replace = found == "replace"


def _counted(met: Placement) -> str:
    def files(count: int, one: str, many: str) -> str:
        return f"1 file {one}" if count == 1 else f"{count} files {many}"

    parts = [files(len(met.new), "is new", "are new")]
    if met.same:
        parts.append(files(len(met.same), "is there already", "are there already"))
    if met.differ:
        parts.append(files(len(met.differ), "differs from yours", "differ from yours"))
    return ", ".join(parts)


def _show(mine: Path, new: Path, name: str) -> None:
    one, other = (
        path.read_text("utf-8", errors="replace").splitlines() for path in (mine, new)
    )
    lines = [
        *difflib.unified_diff(one, other, f"yours/{name}", f"new/{name}", lineterm="")
    ]
    for line in lines[:LINES]:
        print(escape_controls(line.expandtabs(4)))
    if len(lines) > LINES:
        print(f"... and {len(lines) - LINES} lines more")


def write_server(plan: Plan, known: Mapping[str, Any], project: Path) -> int:
    """Write it, install it where that is wanted, and say what to do next.

    Returns:
        0, or 2 where it is written but could not be installed.
    """
    destination = plan.destination(project)
    server = str(read_answers(project / ANSWERS)["server_name"])
    failed = ""
    with place_files(project, destination, plan.met, replace=plan.replace) as written:
        if plan.install:
            try:
                _install(destination, shown=plan.asking)
            except UnableError as error:
                failed = one_line(error)
    installed = plan.install and not failed
    if plan.json_output:
        made = {"destination": str(destination), "server": server, "files": written}
        keys = ("tool", "behavior", "hints", "asks", "source")
        tools = [dict(zip(keys, row, strict=True)) for row in build_rows(known)]
        print(
            json.dumps(
                {**made, "installed": installed, "tools": tools},
                indent=1,
                ensure_ascii=False,
            )
        )
    else:
        count = format_count(len(parse_entries(known.get("tools"))), "tool")
        print(f"{server} is in {destination}: {len(written)} files, {count}")
        if not plan.asking:
            lines = build_rows(known)
            print_table(HEADS, lines if sys.stdout.isatty() else [[*HEADS], *lines])
    if failed:
        print_message(f"{failed}; the files of {destination} are written")
    if not plan.json_output:
        _next(destination, read_answers(destination / ANSWERS), installed=installed)
    return 2 if failed else 0


def _next(destination: Path, known: Mapping[str, Any], *, installed: bool) -> None:
    """The commands that matter."""
    server, setting = (
        known["server_name"],
        f"{str(known['package_name']).upper()}_API_TOKEN",
    )
    whole = destination.resolve()
    tracked = any((folder / ".git").exists() for folder in (whole, *whole.parents))
    start = "git add -A" if tracked else "git init && git add -A"
    lines = [
        ("uv run pytest", "run every tool, prove its hints"),
        (f"uv run {server} run", "serve over stdio; --http: over HTTP"),
        (f'{start} && git commit -m "Start"', ""),
    ]
    if known.get("backend") == "http":
        lines.insert(
            1, (f"export {setting}=...", "the secret that the API wants, if any")
        )
    if not installed:
        lines.insert(
            0, ("uv sync && uv run tests/policy/pin.py", "install it, write its lock")
        )
    width = max(len(command) for command, about in lines if about)
    print(f"\nNow, in {destination}:\n")
    for command, about in lines:
        print(f"  {command:{width}}  # {about}" if about else f"  {command}")


def _install(destination: Path, *, shown: bool) -> None:
    """Install a server and pin its tools.

    Raises:
        UnableError: uv is not there, or it or the new server fails.
    """
    if shown:
        print(
            "  uv sync installs it; the first time this takes a minute ...", flush=True
        )
    if reason := uv(destination, "sync", "--quiet"):
        raise UnableError(f"uv sync: {reason}")
    if shown:
        print("  tests/policy/pin.py writes its lock and tool table ...", flush=True)
    pin(destination)
