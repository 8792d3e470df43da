"""Low-level servers with hand-written handlers: `annotate` supports them, `adopt` refuses them."""

from pathlib import Path

import pytest
from adopting.test_adopt import create_server
from adopting.test_annotate import create_project
from adopting.test_reading import survey_files

from copier_fastmcp.adopting.survey import survey_server
from copier_fastmcp.cli import main

SDK_1 = """import os

from mcp import types
from mcp.server.lowlevel import Server

app = Server("low")


async def remove(path):
    os.remove(path)


@app.list_tools()
async def list_tools():
    return [
        types.Tool(
            name="files.read",
            description="Read a file.",
            inputSchema={"type": "object", "properties": {"path": {"type": "string"}}},
        ),
        types.Tool(name="files.tidy", description="Tidy.", inputSchema={}),
        types.Tool(name="echo", inputSchema={}, annotations=types.ToolAnnotations(title="Echo")),
    ]


@app.call_tool()
async def call_tool(name, arguments):
    if name == "files.read":
        return open(arguments["path"]).read()
    elif name == "files.tidy":
        return await remove(arguments["path"])
    return arguments
"""
SDK_2 = """from mcp.server.lowlevel import Server
from mcp_types import ListToolsResult, Tool

NOTES = {}
TOOLS = [
    Tool(name="get_note", description="Get a note.", input_schema={"type": "object"}),
    Tool(name="drop_notes", description="Drop all notes.", input_schema={"type": "object"}),
]


async def list_tools(context, params):
    return ListToolsResult(tools=TOOLS)


def drop(arguments):
    NOTES.clear()


HANDLERS = {"get_note": lambda arguments: NOTES.get("x"), "drop_notes": drop}


async def call_tool(context, params):
    return HANDLERS[params.name](params.arguments)


server = Server("low", on_list_tools=list_tools, on_call_tool=call_tool)
"""
COMPUTED = """from mcp.server.lowlevel import Server
from mcp_types import ListToolsResult, Tool

REGISTRY = {}


async def list_tools(context, params):
    return ListToolsResult(tools=[Tool(name=name, input_schema={}) for name in REGISTRY])


server = Server("low", on_list_tools=list_tools)
"""


def test_what_the_body_of_a_branch_does_is_seen(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SDK_1)
    survey = survey_server(tmp_path, low_level=True)
    behaviors = {}
    for proposal in survey.proposals:
        behaviors[proposal.tool.name] = (proposal.behavior, bool(proposal.asked))
    assert behaviors["files.read"] == ("read", False)
    assert behaviors["files.tidy"][0] == "delete"


def test_a_table_of_handlers_is_seen(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SDK_2)
    survey = survey_server(tmp_path, low_level=True)
    behaviors = {proposal.tool.name: proposal.behavior for proposal in survey.proposals}
    assert behaviors == {"get_note": "read", "drop_notes": "delete"}


def test_listed_tools_are_annotated_in_the_form_of_their_sdk(tmp_path: Path) -> None:
    folder = create_project(tmp_path, **{"one.py": SDK_1, "two.py": SDK_2})
    main(["annotate", str(folder), "--unattended"])
    first, second = ((folder / name).read_text() for name in ("one.py", "two.py"))
    assert (
        'annotations=types.ToolAnnotations(title="Files Read", readOnlyHint=True, '
        in first
    )
    assert "from mcp.types" not in first
    assert (
        'annotations=ToolAnnotations(title="Get Note", read_only_hint=True, ' in second
    )
    assert "from mcp_types import ListToolsResult, Tool, ToolAnnotations\n" in second


def test_tools_that_are_listed_from_a_table_are_named_as_made_at_run_time(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **{"server.py": COMPUTED})
    assert main(["annotate", str(folder), "--unattended"]) == 1
    assert (
        "registered at run time: annotate by hand (server.py:8)"
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("text", [SDK_1, SDK_2, COMPUTED])
def test_adopt_refuses_it_in_one_line(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it", text)
    assert main(["adopt", str(folder), "--unattended"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "low-level server" in line
    assert "annotate" in line


MARKED = {
    "registry.py": """from fastmcp import FastMCP

TOOLS = []


def tool(name, **options):
    def decorate(function):
        function.definition = (name, options)
        TOOLS.append(function)
        return function

    return decorate


mcp = FastMCP("marked")


def register():
    for function in TOOLS:
        name, options = function.definition
        mcp.tool(name, **options)(function)
""",
    "tools.py": '''from registry import tool


@tool("lean_goal")
async def goal(path: str) -> str:
    """Get the goal."""
    return open(path).read()
''',
}


def test_tools_that_a_decorator_of_the_project_marks_are_found(tmp_path: Path) -> None:
    rows = {row["tool"]: row for row in survey_files(tmp_path, **MARKED).build_rows()}
    assert rows["lean_goal"]["file"] == "tools.py"
    assert rows["lean_goal"]["behavior"] == "read"


def test_they_are_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = create_project(tmp_path, **MARKED)
    assert main(["annotate", str(folder), "--unattended"]) == 1
    stderr = capsys.readouterr().err
    assert "by hand lean_goal: registered at run time by tool" in stderr
    assert (folder / "tools.py").read_text() == MARKED["tools.py"]
