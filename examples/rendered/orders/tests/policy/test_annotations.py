"""The annotation policy, asked through a real client in both protocol eras and once over stdio."""

import json
import os
import re
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from statuspro_mcp.policy import metadata
from statuspro_mcp.server import create_server

from . import lock
from .cases import said_in
from .conftest import LOCK, NOTES, SERVER, TABLE, TOOLS, insist
from .pin import OWN, PAGE, PIN, PROBES, ROOT, SETTINGS, TABLES, listed, pinned
from .rules import Finding, Tool, amiss, early, examine

ANSWERS = ROOT / ".copier-answers.yml"
SAID = ANSWERS.read_text(encoding="utf-8") if ANSWERS.exists() else ""
RELEASE = "".join(re.findall(r"(?m)^_commit: (\S+)$", SAID)[:1])
TODAY = datetime.now(UTC).date().isoformat()
TABLES["today"] = TODAY
WAIVERS = {(t.name, w["rule"]): w for t in TOOLS for w in t.waivers if not amiss(w, TABLES)}
OTHERS = [id for id, rule in TABLES["rules"].items() if "policy" in rule["profiles"]]
MARKED = {tool.name for tool in TOOLS if tool.annotations.get("destructiveHint") is True}
try:
    PINNED, UNREADABLE = pinned(), ""
except ValueError as error:
    PINNED, UNREADABLE = None, str(error)
ENTRIES = PINNED["tools"].items() if PINNED else ()
DESTRUCTIVE = {name for name, pin in ENTRIES if pin["hints"].get("destructiveHint")}
each_tool = pytest.mark.parametrize("tool", [pytest.param(tool, id=tool.name) for tool in TOOLS])
unpinned = not PINNED and not UNREADABLE
compared = pytest.mark.skipif(unpinned, reason=f"nothing was ever pinned; {PIN} pins")


def counts(found: Finding) -> bool:
    """Whether a finding fails; one that only warns yet, or that its owner waived, is noted."""
    rule, waiver = TABLES["rules"][found.rule], WAIVERS.get((found.tool, found.rule))
    why = f"waived until {waiver['until']}: {waiver['why']}" if waiver else ""
    if early(rule.get("fails", ""), TODAY, RELEASE):
        why = f"a warning since {rule['warns']}, fails from {rule['fails']}"
    if why:
        NOTES[f"{found.tool}: {found.message}; {found.mend} ({found.rule}, {why})"] = None
    return not why


FINDINGS = [found for found in examine(TOOLS, TABLES) if counts(found)]


def keeps(tool: str | None, *rules: str) -> None:
    found = [f for f in FINDINGS if f.rule in rules and tool in (None, f.tool)]
    insist(not found, "\n".join(f"{f.tool}: {f.message}; {f.mend} ({f.rule})" for f in found))


def each_keeps(*rules: str) -> Any:
    """A test that every tool keeps some rules, with a result for each tool."""
    for rule in rules:
        OTHERS.remove(rule)

    @each_tool
    def test(tool: Tool) -> None:
        keeps(tool.name, *rules)

    return test


HINTS = ("annotations-present", "hints-known", "hints-boolean", "hints-complete")
test_every_registered_tool_has_annotations = each_keeps(*HINTS)
test_destructive_hint_implies_not_read_only = each_keeps("read-only-excludes-destructive")
test_all_tools_have_titles = each_keeps("title-written", "titles-equal", "title-not-name")
test_all_parameters_have_descriptions = each_keeps("parameters-described")


@each_tool
def test_tool_read_only_hint_matches_policy(tool: Tool) -> None:
    mend = "declare it with @read, @put, ... in tools/, or with declare() in extend.py"
    insist(tool.declared is not None, f"{tool.name}: {mend}")
    keeps(tool.name, "hints-match-behavior")


@pytest.mark.parametrize("rule", OTHERS)
def test_every_tool_keeps_the_rule(rule: str) -> None:
    keeps(None, rule)


BUDGET = {"tool-bytes": 8_000, "server-bytes": 60_000}  # name, description and input


def test_what_a_model_reads_of_the_tools_keeps_its_budget() -> None:
    path, own = ROOT / "pyproject.toml", "tool.copier-fastmcp"
    project = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    most = BUDGET | project.get("tool", {}).get("copier-fastmcp", {})
    read = {name: pin["bytes"]["model"] for name, pin in LOCK["tools"].items()}
    named = sorted(read, key=lambda name: -read[name])
    fattest = ", ".join(f"{name} ({read[name]:,})" for name in named[:3])
    fits = all(size <= most["tool-bytes"] for size in read.values())
    insist(
        fits and sum(read.values()) <= most["server-bytes"],
        f"a model reads {sum(read.values()):,} bytes of {len(read)} tools, most of {fattest}; at most "
        f"{most['tool-bytes']:,} of one and {most['server-bytes']:,} of all are set: shorten descriptions, leave "
        f"parameters out, or raise tool-bytes or server-bytes under [{own}] in pyproject.toml",
    )


@compared
def test_the_lock_pins_every_hint_and_gate() -> None:
    changed = lock.differences(PINNED, LOCK) if PINNED else [UNREADABLE]
    changed = [line for line in changed if ": RENDERED: " not in line]
    insist(not changed, "\n".join([*changed, f"review it, then run {PIN}"]))


@compared
def test_the_tool_table_is_up_to_date() -> None:
    written = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    insist(written == TABLE, f"docs/tools.md is stale; run {PIN}")


@compared
def each_is_marked_as_pinned() -> None:
    odd = sorted(MARKED ^ DESTRUCTIVE)
    wrong = f"destructive here or in {lock.FILE}, not in both: {', '.join(odd)}"
    insist(not odd, f"{wrong}; review them, then run {PIN}")


if DESTRUCTIVE:
    test_only_the_pinned_tools_are_marked_destructive = each_is_marked_as_pinned
else:
    test_no_tool_currently_marked_destructive = each_is_marked_as_pinned


def test_every_probe_has_its_tool() -> None:
    for path in {*PROBES.glob("test_*.py")} - {PROBES / f"test_{tool.name}.py" for tool in TOOLS}:
        said = {"unprobed": "it was adopted"} | said_in(path)  # which a setting may leave out
        probe = "arrange" in said or "it was adopted" not in str(said["unprobed"])
        insist(not probe, f"tests/tools/{path.name} is of no tool; delete or rename it")


@pytest.mark.anyio
async def test_both_eras_serve_the_same_tools(era: str) -> None:
    assert await listed(Client(SERVER, mode=era)) == [tool.wire for tool in TOOLS]


@pytest.mark.anyio
async def test_stdio_serves_the_same_tools() -> None:
    command = ["-c", "from statuspro_mcp.cli import main; main()", "run"]
    prefix = SETTINGS.model_config["env_prefix"]
    environ = {f"{prefix}{name}".upper(): str(value) for name, value in OWN.items()}
    transport = StdioTransport(sys.executable, command, os.environ | environ, keep_alive=False)
    assert await listed(Client(transport)) == [tool.wire for tool in TOOLS]


@pytest.mark.anyio
async def test_a_metadata_file_changes_every_text_and_no_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    monkeypatch.setattr(metadata, "MOST_BYTES", 2**24)  # for servers with hundreds of tools
    said: dict[str, Any] = {}
    wanted = [json.loads(json.dumps(tool.wire)) for tool in TOOLS if tool.declared]
    for tool in wanted:
        name, schemas = tool["name"], tool["inputSchema"]["properties"]
        texts = {"title": f"Title of {name}", "description": f"What {name} is for"}
        said[name] = texts | {"arguments": {n: {"description": f"{n} of {name}"} for n in schemas}}
        tool.update(texts)
        tool["annotations"]["title"] = texts["title"]
        for argument, words in said[name]["arguments"].items():
            schemas[argument].update(words)
    (path := tmp_path / "metadata.yaml").write_text(json.dumps({"tools": said}), encoding="utf-8")
    path.chmod(0o600)
    other = create_server(SETTINGS.model_copy(update={"metadata": path}))
    assert [t for t in await listed(Client(other, mode=era)) if t["name"] in said] == wanted
