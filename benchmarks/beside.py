"""Ours beside `create-mcp` 0.2.0: from nothing to the first tools/list, what is on the wire, what the suites notice.

Both make a server of notes on SQLite with three tools (add, list, get) and install it as their READMEs say, with a
warm package cache, in turns, and the same raw client asks. Then the same mistakes, which are our choice, are made in
both, one at a time, and each project's own emitted suite runs. usage: python -m benchmarks.beside [TURNS]
"""

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from support import clone_template

from benchmarks import ROOT, figures
from benchmarks.mistakes import MISTAKES

UV = subprocess.run(
    [ROOT / "scripts/_uv"], capture_output=True, text=True, check=True
).stdout.strip()
COPIER = "copier>=9.18,!=9.19.0"  # as the README asks for it
OURS, PEER = "copier-fastmcp", "create-mcp 0.2.0"
ON_THE_WIRE = (
    "all four hints",
    "titles",
    "parameters described",
    "closed input schemas",
)
HINTS = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}


def build_environment() -> dict[str, str]:
    """The environment without the checkout's own virtual environment."""
    environment = dict(os.environ)
    environment.pop("VIRTUAL_ENV", None)
    environment.pop("PYTHONPATH", None)
    folders = [str(Path(UV).parent), environment["PATH"]]
    environment["PATH"] = os.pathsep.join(folders)
    return environment


def run(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder."""
    return subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=build_environment(),
        capture_output=True,
        text=True,
    )


def make_project(name: str, template: Path, folder: Path) -> Path:
    """A project of one of the two, installed, from nothing, as its README says."""
    project = folder / "notes"
    if name == OURS:
        copy: list[str | Path] = [
            UV,
            "tool",
            "run",
            "--quiet",
            "--from",
            COPIER,
            "copier",
            "copy",
        ]
        copy += ["--skip-tasks", "--defaults", "--quiet"]
        steps: list[list[str | Path]] = [
            [*copy, "-d", "tools=add_note, list_notes, get_note", template, project],
            ["git", "init", "--quiet", project],
            [UV, "sync", "--quiet", "--directory", project],
        ]
    else:
        start = [UV, "tool", "run", "--quiet", "create-mcp@0.2.0", "notes"]
        steps = [
            [*start, "-p", "db", "-t", "stdio", "--no-precommit", "--no-git", "-y"]
        ]
    for step in steps:
        done = run(*step, folder=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    return project


def list_tools(name: str, project: Path) -> list[dict[str, Any]]:
    """The tools that the started server answers."""
    words = ["notes-mcp", "run"] if name == OURS else ["notes"]
    settings = {
        "NOTES_MCP_DATABASE": ":memory:",
        "MCP_DATABASE_PATH": str(project / "x.db"),
    }
    return fetch_tools([UV, "run", "--quiet", *words], project, settings)


def fetch_tools(
    command: list[str], folder: Path, settings: dict[str, str]
) -> list[dict[str, Any]]:
    """The tools that a server answers over stdio, by hand-written messages."""
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "beside", "version": "1"},
    }
    messages: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list", "params": {}},
    ]
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=build_environment() | settings,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    try:
        answer: dict[str, Any] = {}
        for message in messages:
            process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
            process.stdin.flush()
            while "id" in message and answer.get("id") != message["id"]:
                answer = json.loads(process.stdout.readline())
        tools: list[dict[str, Any]] = answer["result"]["tools"]
        return tools
    finally:
        process.terminate()
        process.wait()


def time_from_nothing(name: str, template: Path, folder: Path) -> float:
    """The seconds from an empty folder to the first tools/list; what was made stays for the next turn."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    started = time.perf_counter()
    list_tools(name, make_project(name, template, folder))
    return time.perf_counter() - started


def count_on_the_wire(tools: list[dict[str, Any]]) -> list[str]:
    """How many of the tools, or of their parameters, have each thing."""
    params: list[dict[str, Any]] = []
    hinted = titled = closed = 0
    for tool in tools:
        schema = tool["inputSchema"]
        params.extend(schema.get("properties", {}).values())
        hinted += (tool.get("annotations") or {}).keys() >= HINTS
        titled += bool(tool.get("title"))
        closed += schema.get("additionalProperties") is False
    described = sum(bool(param.get("description")) for param in params)
    return [
        f"{hinted}/{len(tools)}",
        f"{titled}/{len(tools)}",
        f"{described}/{len(params)}",
        f"{closed}/{len(tools)}",
    ]


def passes(project: Path) -> bool:
    """Whether a project's own suite passes."""
    python = project / ".venv/bin/python"
    done = run(
        python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", folder=project
    )
    return done.returncode == 0


def time_suite(project: Path) -> float:
    """The seconds of a project's own suite, which passes."""
    started = time.perf_counter()
    assert passes(project), project
    return time.perf_counter() - started


def notices_mistake(name: str, project: Path, mistake: str) -> bool:
    """Whether the suite fails when the mistake is made."""
    our_edit, other_edit = MISTAKES[mistake]
    if name == OURS:
        module, old, new = our_edit
        path = project / f"src/notes_mcp/tools/{module}.py"
    else:
        old, new = other_edit
        path = project / "src/notes/tools.py"
    before = path.read_text() if path.exists() else None
    if before is None:
        path.write_text(new)
    else:
        start, _, end = before.rpartition(old)
        path.write_text(start + new + end)
    try:
        return not passes(project)
    finally:
        path.unlink() if before is None else path.write_text(before)


def run_benchmark(turns: int) -> Iterator[figures.Answer]:
    """The figures, then the tables."""
    with tempfile.TemporaryDirectory() as place:
        template = clone_template(Path(place, "template"))
        projects: dict[str, Path] = {}
        ways: list[Callable[[], float]] = []
        for name in (OURS, PEER):
            folder = Path(place, name.split()[0])
            projects[name] = folder / "notes"
            ways.append(partial(time_from_nothing, name, template, folder))
        own_seconds, floor = figures.time_in_turns(turns, *ways)
        yield figures.Figure.of_turns(
            own_seconds,
            floor,
            what="nothing to the first tools/list",
            unit="s",
            beside=PEER,
            ratio_at_most=1.2,
        )
        pinned = run(UV, "run", "--quiet", "tests/policy/pin.py", folder=projects[OURS])
        assert pinned.returncode == 0, pinned.stderr
        suites = [partial(time_suite, project) for project in projects.values()]
        own_seconds, floor = figures.time_in_turns(2, *suites)
        yield figures.Figure.of_turns(
            own_seconds,
            floor,
            what="the emitted suite",
            unit="s",
            beside=PEER,
        )
        columns = [["on the wire", *ON_THE_WIRE]]
        for name, project in projects.items():
            counts = count_on_the_wire(list_tools(name, project))
            columns.append([name, *counts])
        yield figures.Table.of_columns(*columns)
        rows = [["mistake", *projects]]
        noticed = dict.fromkeys(projects, 0)
        for mistake in MISTAKES:
            row = [mistake]
            for name, project in projects.items():
                is_noticed = notices_mistake(name, project, mistake)
                noticed[name] += is_noticed
                row.append("noticed" if is_noticed else "missed")
            rows.append(row)
        shares = [f"{count}/{len(MISTAKES)}" for count in noticed.values()]
        rows.append(["all", *shares])
        yield figures.Table(rows)


if __name__ == "__main__":
    figures.run(run_benchmark, turns=9)
