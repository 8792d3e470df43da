"""The annotation policy, asked through a real client in both protocol eras and once over stdio."""

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from statuspro_mcp.policy import catalog, lock
from statuspro_mcp.policy.policy_cli import app, listed
from statuspro_mcp.policy.rules import RULES, Subject, examine
from statuspro_mcp.policy.settings import SERVER_NAME

from .conftest import ERAS, SERVER, TOOLS, WIRE, insist

ROOT = Path(__file__).parent.parent.parent
FINDINGS = examine(TOOLS)
HINTS = ("annotations-present", "hints-known", "hints-boolean", "hints-complete")
TITLES = ("title-written", "titles-equal", "title-not-name")
ALONE = ("hints-match-behavior", "read-only-excludes-destructive", "parameters-described")
NAMED = {*HINTS, *TITLES, *ALONE}
OTHERS = [id for id, rule in RULES.items() if "policy" in rule.profiles.split() and id not in NAMED]
PINNED = lock.read(ROOT / lock.FILE)
DESTRUCTIVE = {name for name, of in PINNED.items() if of["hints"].get("destructiveHint")}
MARKED = {tool.name for tool in TOOLS if tool.annotations.get("destructiveHint") is True}
OWN = {
    "STATUSPRO_MCP_DATABASE": ":memory:",
    "STATUSPRO_MCP_METADATA": "none",
}
each_tool = pytest.mark.parametrize("tool", [pytest.param(tool, id=tool.name) for tool in TOOLS])


def keeps(rules: tuple[str, ...], tool: str | None = None) -> None:
    """Fail with what is wrong and how to mend it."""
    found = [f for f in FINDINGS if f.rule in rules and tool in (None, f.tool)]
    insist(not found, "\n".join(f"{f.tool}: {f.message}; {f.mend} ({f.rule})" for f in found))


@pytest.mark.parametrize("rule", OTHERS)
def test_every_tool_keeps_the_rule(rule: str) -> None:
    keeps((rule,))


@each_tool
def test_every_registered_tool_has_annotations(tool: Subject) -> None:
    keeps(HINTS, tool.name)


@each_tool
def test_tool_read_only_hint_matches_policy(tool: Subject) -> None:
    insist(tool.declaration is not None, f"{tool.name}: declare it with @read, @put, ... in tools/")
    keeps(("hints-match-behavior",), tool.name)


@each_tool
def test_destructive_hint_implies_not_read_only(tool: Subject) -> None:
    keeps(("read-only-excludes-destructive",), tool.name)


@each_tool
def test_all_tools_have_titles(tool: Subject) -> None:
    keeps(TITLES, tool.name)


@each_tool
def test_all_parameters_have_descriptions(tool: Subject) -> None:
    keeps(("parameters-described",), tool.name)


def test_the_lock_pins_every_hint_and_gate() -> None:
    changed = list(lock.differences(PINNED, lock.lock_of(catalog.rows(SERVER))))
    mend = f"review it, then run `uv run {SERVER_NAME} policy lock`"
    insist(not changed, "\n".join([*changed, mend]))


if DESTRUCTIVE:

    def test_only_the_pinned_tools_are_marked_destructive() -> None:
        odd = sorted(MARKED ^ DESTRUCTIVE)
        wrong = f"destructive here or in {lock.FILE}, not in both: {', '.join(odd)}"
        insist(not odd, f"{wrong}; review them, then run `uv run {SERVER_NAME} policy lock`")

else:

    def test_no_tool_currently_marked_destructive() -> None:
        assert not MARKED


def test_the_tool_table_is_up_to_date() -> None:
    written = (ROOT / "docs/tools.md").read_text(encoding="utf-8")
    stale = written != catalog.markdown(catalog.rows(SERVER))
    insist(not stale, f"docs/tools.md is stale; run `uv run {SERVER_NAME} tools table --write`")


def test_both_eras_serve_the_same_tools() -> None:
    handshake, modern = ([tool.wire for tool in WIRE[era]] for era in ERAS)
    assert handshake == modern


@pytest.mark.anyio
async def test_stdio_serves_the_same_tools() -> None:
    command = ["-c", "from statuspro_mcp.cli import main; main()", "run"]
    transport = StdioTransport(sys.executable, command, os.environ | OWN, keep_alive=False)
    async with Client(transport) as client:
        assert await listed(client) == [tool.wire for tool in TOOLS]


def test_the_command_line_finds_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in OWN.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit) as ended:
        app(["check", "--json"])
    assert json.loads(capsys.readouterr().out) == [asdict(finding) for finding in FINDINGS]
    assert ended.value.code == bool(FINDINGS)
