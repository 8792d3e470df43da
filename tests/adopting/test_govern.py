"""`govern` covers each registered tool exactly once; `policy.tool` declares tools in a loop."""

import tomllib
from pathlib import Path

from adopting.test_adopt import create_server
from support import git, python

from copier_fastmcp.cli import main
from copier_fastmcp.project.engine_requirement import pin_engine

PROGRAM = """
import asyncio
import json
import os
from functools import wraps
from fastmcp import Client, FastMCP
from fastmcp.client.elicitation import ElicitResult
import policy
from policy.settings import PolicySettings

os.environ[PolicySettings.model_config["env_prefix"] + "AUDIT"] = "trail.jsonl"
GONE, SEEN = [], []
mcp, child = FastMCP("parent"), FastMCP("child")


class Store:
    def __init__(self, app):
        app.tool(self.drop, name="drop_it")

    @policy.delete(title="Drop")
    def drop(self, name: str) -> str:
        GONE.append(name)
        return name


@child.tool
@policy.delete(title="Wipe")
def wipe(name: str) -> str:
    GONE.append(name)
    return name


def register(app):
    @app.tool
    @policy.read(title="Peek")
    async def peek() -> int:
        return 1


async def looks(name: str) -> dict:
    return {"looks": name}


@mcp.tool
@policy.delete(title="Burn", preview=looks)
def burn(name: str, confirm: bool) -> str:
    assert confirm
    GONE.append(name)
    return name


for word in ("one", "two"):
    def made(number: int) -> int:
        return number
    policy.tool(mcp, made, name=f"get_{word}", behavior="read")

governed = policy.govern(mcp)
assert governed is mcp and policy.govern(mcp) is mcp
policy.govern(child)
mcp.mount(child, namespace="kid")
register(mcp)
Store(mcp)


async def person(message, *more):
    SEEN.append(message)
    return ElicitResult(action="accept", content={"confirm": True})


async def main():
    async with Client(mcp, elicitation_handler=person) as client:
        tools = {t.name: t for t in await client.list_tools()}
        assert set(tools) == {"burn", "get_one", "get_two", "peek", "drop_it", "kid_wipe"}, set(tools)
        for name in ("burn", "drop_it", "kid_wipe"):
            assert tools[name].annotations.destructive_hint is True, name
            assert "confirm" in tools[name].input_schema["properties"], name
            answer = await client.call_tool(name, {"name": name})
            assert answer.structured_content["outcome"] == "applied", answer
        assert GONE == ["burn", "drop_it", "kid_wipe"], GONE
        assert len(SEEN) == 3, SEEN
        for name in ("peek", "get_one", "get_two"):
            assert tools[name].annotations.read_only_hint is True
        assert (await client.call_tool("get_two", {"number": 2})).data == 2
        answer = await client.call_tool("get_three", {}, raise_on_error=False)
        assert "Unknown tool" in str(answer.content), answer
    async with Client(mcp) as client:
        answer = await client.call_tool("burn", {"name": "a"})
        assert answer.structured_content["preview"]["details"] == {"looks": "a"}, answer
        assert len(GONE) == 3
    try:
        policy.tool(mcp, made, name="x", behavior="destroy")
    except TypeError as error:
        assert "use one of" in str(error)
    else:
        raise AssertionError

asyncio.run(main())
lines = [json.loads(line) for line in open("trail.jsonl")]
came = [(line["tool"], line["behavior"], line["outcome"]) for line in lines]
gated = [(name, "delete", end) for name in ("burn", "drop_it", "wipe") for end in ("asked", "applied")]
assert came == [*gated, ("burn", "delete", "preview")], came
print("fine")
"""


def test_every_way_of_registering_is_covered_once(
    template: Path, tmp_path: Path
) -> None:
    folder = create_server(tmp_path / "it")
    words = [
        "adopt",
        str(folder),
        "--unattended",
        "--raise",
        "--template",
        str(template),
        "--ref",
        "v99.0.0",
    ]
    assert main(words) == 0
    (folder / "program.py").write_text(PROGRAM)
    done = python(folder, "program.py", PYTHONPATH=str(folder))
    assert done.stdout.endswith("fine\n"), done.stderr


def test_a_server_starts_with_a_destructive_tool_that_nobody_declared(
    template: Path, tmp_path: Path
) -> None:
    folder = create_server(tmp_path / "it")
    words = [
        "adopt",
        str(folder),
        "--unattended",
        "--raise",
        "--template",
        str(template),
        "--ref",
        "v99.0.0",
    ]
    assert main(words) == 0
    text = (folder / "server.py").read_text()
    late = '@mcp.tool(annotations={"destructiveHint": True})\ndef zap() -> None: ...\n\n\nif __name__'
    (folder / "server.py").write_text(text.replace("if __name__", late))
    start = "import server; server.mcp.http_app()"
    done = python(folder, "-c", start, PYTHONPATH=str(folder))
    assert done.returncode == 0, done.stderr
    assert "a person is asked before undeclared zap" in done.stderr


def test_an_engine_of_the_authors_keeps_its_name(
    template: Path, tmp_path: Path
) -> None:
    folder = create_server(tmp_path / "it")
    (folder / "engine.py").write_text("POWER = 1\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message=engine")
    words = [
        "adopt",
        str(folder),
        "--unattended",
        "--raise",
        "--template",
        str(template),
        "--ref",
        "v99.0.0",
    ]
    assert main(words) == 0
    assert (folder / "policy_engine/guard.py").exists()
    assert "engine: policy_engine" in (folder / ".copier-answers.yml").read_text()
    assert (
        "from policy_engine.facade import"
        in (folder / "policy/__init__.py").read_text()
    )
    code = "import policy, engine; from policy import delete, govern; print(engine.POWER, policy.POLICY.confirm)"
    done = python(folder, "-c", code, PYTHONPATH=str(folder))
    assert (done.returncode, done.stdout) == (0, "1 deletes\n"), done.stderr


def test_adopting_with_the_engine_as_a_dependency(
    template: Path, tmp_path: Path
) -> None:
    folder = create_server(tmp_path / "it")
    words = [
        "adopt",
        str(folder),
        "--unattended",
        "--raise",
        "--template",
        str(template),
        "--ref",
        "v99.0.0",
    ]
    assert main([*words, "--engine", "package"]) == 0
    assert not (folder / "engine").exists()
    assert (
        "from copier_fastmcp_engine.facade"
        in (folder / "policy/__init__.py").read_text()
    )
    text = (folder / "pyproject.toml").read_text()
    project = tomllib.loads(text)
    pins = []
    for requirement in project["project"]["dependencies"]:
        if "engine" in requirement:
            pins.append(requirement)
    assert len(pins) == 1
    assert pins[0].startswith("copier-fastmcp-engine==")
    source = project["tool"]["uv"]["sources"]["copier-fastmcp-engine"]
    assert source["rev"] == git(template, "rev-parse", "v99.0.0").strip()
    engine_table = (folder / "tests/policy/engine.toml").read_text()
    assert pin_engine(text, engine_table) == text, "writing it again changes nothing"
    assert "copier-fastmcp-engine" not in pin_engine(text, "")
