"""Side by side with `create-mcp` 0.2.0: from nothing to the first tools/list, what is on the wire, what tests catch.

Both make a server of notes on SQLite with three tools (add, list, get) and install it; interleaved runs with a warm
package cache, asked by the same raw client. Then the same mistakes are made in both, one at a time, and each project's
own emitted suite runs. usage: python benchmarks/beside.py [RUNS]
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
UV = subprocess.run(
    [ROOT / "scripts/_uv"], capture_output=True, text=True, check=True
).stdout.strip()
OURS, THEIRS = "copier-fastmcp", "create-mcp 0.2.0"
HINTS = {"readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"}
CALL = 'await backend().create("note", {"title": "x", "content": "y"})'
INSERT = """conn.execute("INSERT INTO notes (title, body) VALUES ('x', 'y')"); conn.commit()"""
# The mistake -> (file of ours, text, its replacement), (text, replacement in their tools.py)
MISTAKES: dict[str, tuple[tuple[str, str, str], tuple[str, str]]] = {
    "a reading tool adds a record": (
        ("list_notes", "    return List", f"    {CALL}\n    return List"),
        ("            return [Note", f"            {INSERT}\n            return [Note"),
    ),
    "a reading tool deletes what it read": (
        (
            "get_note",
            "    return Get",
            '    await backend().delete("note", note_id)\n    return Get',
        ),
        (
            "            return Note(**dict(row))\n        finally:\n            conn.close()\n",
            '            conn.execute("DELETE FROM notes"); conn.commit()\n'
            "            return Note(**dict(row))\n        finally:\n            conn.close()\n",
        ),
    ),
    "adding overwrites what was there": (
        (
            "add_note",
            "    result =",
            '    for old in (await backend().search("note", "")).items:\n'
            '        await backend().put("note", old.id, {"title": "gone"})\n    result =',
        ),
        (
            "            cursor =",
            "            conn.execute(\"UPDATE notes SET title = 'gone'\")\n            cursor =",
        ),
    ),
    "adding the same twice adds one": (
        (
            "add_note",
            "    result = await backend().create(",
            "    result = await backend().ensure(",
        ),
        (
            "            cursor =",
            '            row = conn.execute("SELECT * FROM notes WHERE title = ?", (title,)).fetchone()\n'
            "            if row:\n                return Note(**dict(row))\n            cursor =",
        ),
    ),
    "adding stores nothing": (
        (
            "add_note",
            "    return Add",
            '    await backend().delete("note", result.id)\n    return Add',
        ),
        (
            "            conn.commit()\n            row",
            "            row",
        ),
    ),
    "a missing record is made up": (
        (
            "get_note",
            '    result = await backend().get("note", note_id)',
            '    if not (await backend().search("note", "")).total:\n'
            '        return GetNoteResult(id=note_id, etag="0")\n'
            '    result = await backend().get("note", note_id)',
        ),
        (
            'raise ValueError(f"Note {note_id} not found")',
            'return Note(id=note_id, title="", body="")',
        ),
    ),
    "the list is empty": (
        ("list_notes", "items=[", "items=[] and ["),
        ("return [Note(**dict(row)) for row in rows]", "return []"),
    ),
    "a tool's description is empty": (
        ("get_note", '    """Get a note."""\n', '    """ """\n'),
        ('"""Fetch a single note by id (errors if it does not exist)."""', '""" """'),
    ),
    "a tool that deletes everything comes along, undeclared": (
        (
            "wipe",
            "",
            '"""Wipe."""\n\n\nasync def wipe() -> None:\n    """Delete everything."""\n',
        ),
        (
            "    @mcp.tool\n    def get_note",
            '    @mcp.tool\n    def wipe() -> None:\n        """Delete everything."""\n'
            '        conn = _connect()\n        conn.execute("DELETE FROM notes")\n        conn.commit()\n\n'
            "    @mcp.tool\n    def get_note",
        ),
    ),
}


def run(*words: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in an environment of its own."""
    clean = {k: v for k, v in os.environ.items() if k not in ("VIRTUAL_ENV", "PYTHONPATH")}
    clean["PATH"] = f"{Path(UV).parent}{os.pathsep}{clean['PATH']}"
    return subprocess.run(
        list(map(str, words)), cwd=folder, env=clean, capture_output=True, text=True, check=False
    )


def made(name: str, folder: Path) -> Path:
    """A project of one of the two, installed, from nothing."""
    if name == OURS:
        copy = ["tool", "run", "--quiet", "--from", "copier>=9.18,!=9.19.0", "copier", "copy"]
        asked = ["--defaults", "--skip-tasks", "--quiet", "--vcs-ref", "HEAD"]
        asked += ["-d", "tools=add_note, list_notes, get_note", ROOT, folder / "notes"]
        steps = [[UV, *copy, *asked], [UV, "sync", "--quiet", "--directory", folder / "notes"]]
    else:
        start = ["tool", "run", "--quiet", "--from", "create-mcp==0.2.0", "create-mcp", "notes"]
        asked = ["-p", "db", "-t", "stdio", "--no-precommit", "--no-git", "-y"]
        steps = [[UV, *start, *asked]]
    for step in steps:
        done = run(*step, folder=folder)
        assert done.returncode == 0, done.stdout + done.stderr
    return folder / "notes"


def listed(name: str, project: Path) -> list[dict[str, Any]]:
    """The tools that the started server answers over stdio, by hand-written messages."""
    words = ["notes-mcp", "run"] if name == OURS else ["notes"]
    program = project / ".venv/bin" / words[0]
    hello = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "beside", "version": "1"},
    }
    asked: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": hello},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/list", "params": {}},
    ]
    own = {"NOTES_MCP_DATABASE": ":memory:", "MCP_DATABASE_PATH": str(project / "x.db")}
    process = subprocess.Popen(
        [str(program), *words[1:]],
        cwd=project,
        env=os.environ | own,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    try:
        answer: dict[str, Any] = {}
        for message in asked:
            process.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
            process.stdin.flush()
            while "id" in message and answer.get("id") != message["id"]:
                answer = json.loads(process.stdout.readline())
        tools: list[dict[str, Any]] = answer["result"]["tools"]
        return tools
    finally:
        process.terminate()
        process.wait()


def wire(tools: list[dict[str, Any]]) -> list[str]:
    """What stands on the wire, as shares."""
    params = [of for tool in tools for of in tool["inputSchema"].get("properties", {}).values()]
    hinted = sum((tool.get("annotations") or {}).keys() >= HINTS for tool in tools)
    titled = sum(bool(tool.get("title")) for tool in tools)
    described = sum(bool(of.get("description")) for of in params)
    closed = sum(tool["inputSchema"].get("additionalProperties") is False for tool in tools)
    return [
        f"{hinted}/{len(tools)}",
        f"{titled}/{len(tools)}",
        f"{described}/{len(params)}",
        f"{closed}/{len(tools)}",
    ]


def suite(name: str, project: Path) -> tuple[bool, float]:
    """Whether a project's own suite passes, and its seconds."""
    own = ["-c", "config/pytest.ini", "--rootdir", "."] if name == OURS else []
    started = time.perf_counter()
    python = project / ".venv/bin/python"
    done = run(python, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *own, folder=project)
    return done.returncode == 0, time.perf_counter() - started


def caught(name: str, project: Path, mistake: str) -> bool:
    """Whether the suite fails when the mistake is made."""
    ours, theirs = MISTAKES[mistake]
    if name == OURS:
        path, old, new = project / f"src/notes_mcp/tools/{ours[0]}.py", ours[1], ours[2]
    else:
        path, old, new = project / "src/notes/tools.py", theirs[0], theirs[1]
    before = path.read_text() if path.exists() else None
    if before is not None and old:
        assert old in before, (name, mistake)
        at = before.rindex(old)
        path.write_text(before[:at] + new + before[at + len(old) :])
    elif before is None:
        path.write_text(new)
    try:
        return not suite(name, project)[0]
    finally:
        path.unlink() if before is None else path.write_text(before)


def main(runs: int) -> None:
    """Print the tables."""
    taken: dict[str, list[float]] = {OURS: [], THEIRS: []}
    projects, tools = {}, {}
    with tempfile.TemporaryDirectory() as place:
        for turn in range(runs + 1):  # the first fills caches
            for name in taken:
                folder = Path(place) / f"{turn}-{name.split()[0]}"
                folder.mkdir()
                started = time.perf_counter()
                projects[name] = made(name, folder)
                tools[name] = listed(name, projects[name])
                if turn:
                    taken[name].append(time.perf_counter() - started)
                    if turn < runs:
                        shutil.rmtree(folder)
        print(f"{'':34}{OURS:>16}{THEIRS:>18}")
        medians = [statistics.median(of) for of in taken.values()]
        print(f"{'nothing to first tools/list, s':34}{medians[0]:16.1f}{medians[1]:18.1f}", end="")
        print(f"   ratio {medians[0] / medians[1]:.2f} ({runs} runs)")
        rows = ["all four hints", "titles", "parameters described", "closed input schemas"]
        for row, mine, other in zip(rows, *(wire(of) for of in tools.values()), strict=True):
            print(f"{row:34}{mine:>16}{other:>18}")
        print(f"{'emitted suite':34}", end="")
        for name, width in zip(taken, (16, 18), strict=True):
            passed, seconds = suite(name, projects[name])
            assert passed, name
            print(f"{f'{seconds:.1f} s':>{width}}", end="")
        print("\n\nmistakes that the emitted suite catches")
        score = dict.fromkeys(taken, 0)
        for mistake in MISTAKES:
            print(f"{mistake:56}", end="", flush=True)
            for name in taken:
                found = caught(name, projects[name], mistake)
                score[name] += found
                print(f"{'caught' if found else 'missed':>10}", end="", flush=True)
            print()
        print(f"{'all':56}", *(f"{n}/{len(MISTAKES)}".rjust(9) for n in score.values()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
