"""What the generated server does: files that cannot be served, seams, its store.

The attacks on what is served run in process, in engine/tests/guard.
"""

import asyncio
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from support import PYTEST, nightly_but, python, render, server
from wire import ERAS, agree, http, stdio

AUTHORS = Path(__file__).parent / "authors"
SEAMS = AUTHORS / "seams"


@pytest.fixture
def mine(project: Path, tmp_path: Path) -> Path:
    """A copy of the default project to write in."""
    return Path(
        shutil.copytree(
            project, tmp_path / "mine", ignore=shutil.ignore_patterns(".*cache")
        )
    )


def run_inside(project: Path, file: str) -> None:
    """Run a test of `authors/` in a project; it fails with the output of that."""
    done = python(project, *PYTEST, str(AUTHORS / file))
    if done.returncode:
        pytest.fail(done.stdout + done.stderr, pytrace=False)


def test_the_embedded_store_holds(project: Path) -> None:
    run_inside(project, "test_embedded_store.py")


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        (
            "broken",
            "import nothing_here\n",
            "broken.py:1: ModuleNotFoundError: No module named",
        ),
        ("half", "def x(:\n", "half.py: SyntaxError: "),
        ("empty", '"""Nothing."""\n', "empty.py: declares no tool; decorate one"),
        ("twice", None, "twice.py: the tool get_note is already in "),
    ],
)
def test_a_file_that_cannot_be_served_stops_the_start_with_one_line(
    mine: Path, name: str, text: str | None, reason: str
) -> None:
    tools = mine / "src/notes_mcp/tools"
    same = (tools / "get_note.py").read_text(encoding="utf-8")
    (tools / f"{name}.py").write_text(same if text is None else text, encoding="utf-8")
    done = server(mine, "tools", "list")
    assert done.returncode == 1
    assert done.stdout == ""
    assert re.fullmatch(r"notes-mcp: .*\n", done.stderr), done.stderr
    assert reason in done.stderr


def test_a_destructive_tool_without_a_decorator_stops_the_start(mine: Path) -> None:
    shutil.copy(AUTHORS / "ungated.py", mine / "src/notes_mcp/extend.py")
    done = server(mine, "run")
    assert done.returncode == 1
    assert re.fullmatch(
        r"notes-mcp: .*extend\.py: the destructive tool wipe has no gate; .*\n",
        done.stderr,
    ), done.stderr


def test_a_tool_that_comes_with_the_lifespan_is_named_by_the_suite(mine: Path) -> None:
    shutil.copy(AUTHORS / "late.py", mine / "src/notes_mcp/extend.py")
    done = python(mine, *PYTEST, "tests/policy/test_annotations.py")
    assert done.returncode == 1
    assert "late: it declares no behavior; declare it with @read" in done.stdout
    assert "KeyError" not in done.stdout
    assert python(mine, "tests/policy/pin.py").returncode == 0
    assert "| `late` | Late | ? |" in (mine / "docs/tools.md").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("transport", nightly_but(["http"], ["stdio", "http"]))
def test_what_nobody_declared_is_asked_for_over_each_transport(
    mine: Path, tmp_path: Path, transport: str, era: str
) -> None:
    shutil.copy(AUTHORS / "mounting.py", mine / "src/notes_mcp/extend.py")

    async def work(*address: Any) -> list[Any]:
        answers = []
        for person in (None, agree):
            client = stdio(mine, tmp_path, era, elicitation_handler=person)
            if address:
                client = Client(*address, mode=era, elicitation_handler=person)
            async with client:
                names = {"name": "a"}
                done = await client.call_tool(
                    "child_destroy", names, raise_on_error=False
                )
                answers += [done.is_error, (await client.call_tool("child_count")).data]
        return answers

    if transport == "stdio":
        assert asyncio.run(work()) == [True, 0, False, 1]
        return
    with http(mine, tmp_path) as address:
        assert asyncio.run(work(address)) == [True, 0, False, 1]


def test_helpers_beside_the_tools_are_no_tools(mine: Path) -> None:
    (mine / "src/notes_mcp/tools/_helper.py").write_text("VALUE = 1\n")
    assert server(mine, "tools", "list", "--json").returncode == 0


def test_the_seams_reach_lifespan_middleware_routes_prompts_settings_and_commands(
    mine: Path,
) -> None:
    for file in ("settings.py", "extend.py"):
        shutil.copy(SEAMS / file, mine / "src/notes_mcp" / file)
    run_inside(mine, "test_seams.py")
    assert server(mine, "hello").stdout == "mine\n"


def test_the_log_lines_are_on_stderr_of_a_running_server(
    project: Path, tmp_path: Path
) -> None:
    async def work() -> None:
        async with stdio(project, tmp_path, "2026-07-28") as client:
            await client.call_tool("search_notes", {"query": "secret"})

    asyncio.run(work())
    text = (tmp_path / "stderr").read_text(encoding="utf-8")
    assert text.count('"event": "tool_call"') == 1, text
    assert "secret" not in text


def test_without_a_backend_a_tool_names_the_file_to_edit(
    template: Path, tmp_path: Path
) -> None:
    project = render(template, tmp_path / "p", {"backend": "none", "tools": "get_note"})

    async def work() -> str:
        async with stdio(project, tmp_path, "2026-07-28") as client:
            answer = await client.call_tool(
                "get_note", {"note_id": 1}, raise_on_error=False
            )
            return str(answer.content[0].text)

    assert asyncio.run(work()) == (
        "get_note is not implemented yet; write its body in src/notes_mcp/tools/get_note.py"
    )
    probe = project / "tests/tools/test_get_note.py"
    probe.write_text(
        "async def arrange(backend: object) -> dict[str, object]:\n    return {'note_id': 1}\n"
    )
    proofs = ("tests/policy/test_behavior.py", "-k", "hints_are_true")
    output = python(project, *PYTEST, *proofs).stdout
    assert "write snapshot() in backend.py: without it no hint is proven" in output
    assert "passed" not in output
