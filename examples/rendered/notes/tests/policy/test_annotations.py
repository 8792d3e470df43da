"""The annotation policy, asked through a real client in both protocol eras and once over stdio."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from notes_mcp.policy import catalog, lock
from notes_mcp.policy.behaviors import WIRE_NAMES
from notes_mcp.policy.rules import RULES, Subject, examine

from .conftest import BY_TOOL, ERAS, SERVER, WIRE

ROOT = Path(__file__).parent.parent.parent
each_tool = pytest.mark.parametrize("tool", BY_TOOL)


def findings(tool: Subject, *rules: str) -> list[str]:
    """What the named rules, or all, say of one tool."""
    return [
        f"{f.tool}: {f.message}; {f.mend} ({f.rule})"
        for f in examine([tool])
        if not rules or f.rule in rules
    ]


@pytest.mark.parametrize("rule", [name for name, of in RULES.items() if "policy" in of.profiles])
@pytest.mark.parametrize("era", ERAS)
def test_every_tool_keeps_the_rule(rule: str, era: str) -> None:
    found = [f for f in examine(WIRE[era]) if f.rule == rule]
    assert not found, "\n".join(f"{f.tool}: {f.message}; {f.mend}" for f in found)


@each_tool
def test_every_registered_tool_has_annotations(tool: Subject) -> None:
    assert not findings(
        tool, "annotations-present", "hints-known", "hints-boolean", "hints-complete"
    )


@each_tool
def test_tool_read_only_hint_matches_policy(tool: Subject) -> None:
    assert tool.declaration, f"{tool.name} is not declared with a decorator of the policy"
    wanted = tool.declaration.hints()
    assert {h: tool.annotations[h] for h in WIRE_NAMES.values() if h in tool.annotations} == wanted


@each_tool
def test_destructive_hint_implies_not_read_only(tool: Subject) -> None:
    assert not findings(tool, "read-only-excludes-destructive")


@each_tool
def test_all_tools_have_titles(tool: Subject) -> None:
    assert not findings(tool, "title-written", "titles-equal", "title-not-name")
    assert tool.wire["title"] == tool.annotations["title"]


@each_tool
def test_all_parameters_have_descriptions(tool: Subject) -> None:
    assert not findings(tool, "parameters-described")


def test_the_lock_pins_every_hint_and_gate() -> None:
    pinned, running = lock.read(ROOT / lock.FILE), lock.lock_of(catalog.rows(SERVER))
    changed = list(lock.differences(pinned, running))
    assert not changed, "review, then run `policy lock`:\n" + "\n".join(changed)


def test_only_the_pinned_tools_are_marked_destructive() -> None:
    pinned = lock.read(ROOT / lock.FILE)
    marked = {t.name for t in WIRE[ERAS[0]] if t.annotations.get("destructiveHint")}
    assert marked == {name for name, of in pinned.items() if of["hints"].get("destructiveHint")}


def test_the_tool_table_is_up_to_date() -> None:
    written = (ROOT / "docs/tools.md").read_text(encoding="utf-8")
    assert written == catalog.markdown(catalog.rows(SERVER)), "run `tools table --write`"


@pytest.mark.anyio
async def test_stdio_serves_the_same_tools() -> None:
    command = "from notes_mcp.cli import main; main()"
    environment = dict(os.environ, NOTES_MCP_DATABASE=":memory:")
    transport = StdioTransport(sys.executable, ["-c", command, "run"], env=environment)
    async with Client(transport) as client:
        listed = {tool.name: tool.annotations for tool in await client.list_tools()}
    assert {n: a.model_dump(by_alias=True, exclude_none=True) for n, a in listed.items() if a} == {
        tool.name: tool.annotations for tool in WIRE[ERAS[1]]
    }


def test_the_command_line_finds_nothing() -> None:
    command = "from notes_mcp.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", command, "policy", "check", "--json"],
        env=dict(os.environ, NOTES_MCP_DATABASE=":memory:"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, json.loads(done.stdout or "null")) == (0, []), done.stderr
