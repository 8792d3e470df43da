"""What is registered while the server starts is found, or reported as registered at run time."""

from pathlib import Path

import pytest
from adopting.test_annotate import create_project
from adopting.test_reading import survey_files
from adopting.test_traps import HEAD

from copier_fastmcp.cli import main

FUNCTIONS = '''from fastmcp import FastMCP

mcp = FastMCP("it")


def get_it():
    """Get it."""
    return 1


def drop_it():
    """Drop it."""
    return 2


'''
# The registrations, and the names in the report.
REGISTERED = {
    "a decorator that is chosen": (
        '@(mcp.tool if DEBUG else plain)\ndef get_note():\n    """Get a note."""\n',
        ["get_note"],
    ),
    "two loops with a variable of one name": (
        "for item in (get_it, drop_it):\n    mcp.tool(item)\nfor item in load():\n    mcp.tool(item)\n",
        ["drop_it", "get_it", "item"],
    ),
    "a loop over pairs after a loop over functions": (
        "for item in (get_it,):\n    mcp.tool(item)\nfor name, item in load().items():\n    mcp.tool(name=name)(item)\n",
        ["get_it", "item"],
    ),
}


@pytest.mark.parametrize(("text", "names"), REGISTERED.values(), ids=REGISTERED)
def test_what_is_registered_at_run_time_is_reported(
    text: str, names: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **{"server.py": FUNCTIONS + text})
    assert main(["annotate", str(folder), "--unattended"]) == 1
    by_hand = set()
    for line in capsys.readouterr().err.splitlines():
        if line.startswith("by hand "):
            by_hand.add(line.removeprefix("by hand ").partition(":")[0])
    assert sorted(by_hand) == names


LISTED = """from mcp import types
from mcp.server.lowlevel import Server

app = Server("low")
KNOWN = [types.Tool(name="get_it", inputSchema={{}})]


@app.list_tools()
async def list_tools():
    {}
"""
PARTLY = {
    "a sum": "return KNOWN + [tool.definition for tool in REGISTRY]",
    "a list that is spread": "return [*KNOWN, *load()]",
    "an extended list": "tools = list(KNOWN)\n    tools.extend(load())\n    return tools",
    "a call": "return load()",
}
WHOLLY = {
    "a constant": "return KNOWN",
    "a sum of lists": "return KNOWN + [types.Tool(name='drop_it', inputSchema={})]",
    "appended tools": "tools = []\n    tools.append(KNOWN[0])\n    return tools",
    "a result of the protocol": "return types.ListToolsResult(tools=KNOWN)",
}


@pytest.mark.parametrize("body", PARTLY.values(), ids=PARTLY)
def test_a_list_that_is_partly_made_at_run_time_is_reported(
    body: str, tmp_path: Path
) -> None:
    survey = survey_files(tmp_path, **{"server.py": LISTED.format(body)})
    names = [tool.name for tool in survey.left]
    names += [proposal.tool.name for proposal in survey.proposals]
    assert sorted(names) == ["*", "get_it"]


@pytest.mark.parametrize("body", WHOLLY.values(), ids=WHOLLY)
def test_a_list_of_tools_that_the_source_shows_is_not(
    body: str, tmp_path: Path
) -> None:
    survey = survey_files(tmp_path, **{"server.py": LISTED.format(body)})
    names = [tool.name for tool in survey.left]
    assert "*" not in names


@pytest.mark.parametrize("name", ["a", "w", "tab", "rax+"])
def test_a_file_of_a_short_name_is_read(name: str, tmp_path: Path) -> None:
    tool = f'@mcp.tool\ndef get_it() -> str:\n    """Get it."""\n    return open("{name}").read()\n'
    (proposal,) = survey_files(tmp_path, **{"server.py": f"{HEAD}\n{tool}"}).proposals
    assert (proposal.behavior, proposal.asked) == ("read", "")
