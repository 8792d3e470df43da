"""The annotation policy, asked through a real client in both protocol eras and once over stdio.

Managed by the template. `suite`, `era` and the tools are fixtures of its pytest plugin.
"""

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from .cases import Suite, Tool

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "tests/policy/engine.json"


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    return "asyncio"


def test_every_registered_tool_has_annotations(suite: Suite, tool: Tool) -> None:
    rules = ("annotations-present", "hints-known", "hints-boolean", "hints-complete")
    suite.check_rules(rules, tool.name)


def test_destructive_hint_implies_not_read_only(suite: Suite, tool: Tool) -> None:
    suite.check_rules(["read-only-excludes-destructive"], tool.name)


def test_all_tools_have_titles(suite: Suite, tool: Tool) -> None:
    suite.check_rules(["title-written", "titles-equal", "title-not-name"], tool.name)


def test_all_parameters_have_descriptions(suite: Suite, tool: Tool) -> None:
    suite.check_rules(["parameters-described"], tool.name)


def test_tool_read_only_hint_matches_policy(suite: Suite, tool: Tool) -> None:
    suite.check_declared(tool)
    suite.check_rules(["hints-match-behavior"], tool.name)


def test_every_tool_keeps_the_rule(suite: Suite, rule: str) -> None:
    suite.check_rules([rule])


def test_what_a_model_reads_of_the_tools_keeps_its_budget(suite: Suite) -> None:
    suite.check_budget()


def test_the_lock_pins_every_hint_and_gate(suite: Suite) -> None:
    suite.check_lock()


def test_the_tool_table_is_up_to_date(suite: Suite) -> None:
    suite.check_table()


def test_only_the_pinned_tools_are_marked_destructive(suite: Suite) -> None:
    suite.check_destructive()


def test_no_tool_currently_marked_destructive(suite: Suite) -> None:
    suite.check_destructive()  # collected instead of the one above, where the lock has none


def test_every_probe_has_its_tool(suite: Suite) -> None:
    suite.check_probe_files()


def test_no_engine_file_is_edited() -> None:
    recorded = json.loads(ENGINE.read_text(encoding="utf-8"))
    edited = []
    for name, digest in recorded["files"].items():
        path = ROOT / name
        content = path.read_bytes().replace(b"\r\n", b"\n") if path.is_file() else b""
        if hashlib.sha256(content).hexdigest() != digest:
            edited.append(name)
    if edited:
        names = ", ".join(edited)
        remedy = "an update refuses that; `copier-fastmcp restore` puts it back"
        pytest.fail(f"{names}: not as engine {recorded['version']} has it; {remedy}", pytrace=False)


@pytest.mark.anyio
async def test_both_eras_serve_the_same_tools(suite: Suite, era: str) -> None:
    tools = await suite.list_tools(Client(suite.server, mode=era))
    assert tools == [tool.wire for tool in suite.tools]


@pytest.mark.anyio
async def test_stdio_serves_the_same_tools(suite: Suite) -> None:
    command = ["-c", "from nextcloud_login_mcp.cli import main; main()", "run"]
    environ = os.environ | suite.environment()
    transport = StdioTransport(sys.executable, command, environ, keep_alive=False)
    tools = await suite.list_tools(Client(transport))
    assert tools == [tool.wire for tool in suite.tools]


@pytest.mark.anyio
async def test_a_metadata_file_changes_every_text_and_no_hint(
    suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    # for servers with hundreds of tools
    monkeypatch.setattr(suite.engine("metadata.overrides"), "MOST_BYTES", 2**24)
    metadata: dict[str, Any] = {}
    expected = []
    for tool in suite.tools:
        if not tool.declared:
            continue
        wire = json.loads(json.dumps(tool.wire))
        name, schemas = wire["name"], wire["inputSchema"]["properties"]
        texts = {"title": f"Title of {name}", "description": f"What {name} is for"}
        arguments = {}
        for parameter, schema in schemas.items():
            arguments[parameter] = {"description": f"{parameter} of {name}"}
            schema.update(arguments[parameter])
        metadata[name] = {**texts, "arguments": arguments}
        wire.update(texts)
        wire["annotations"]["title"] = texts["title"]
        expected.append(wire)
    path = tmp_path / "metadata.yaml"
    path.write_text(json.dumps({"tools": metadata}), encoding="utf-8")
    path.chmod(0o600)
    server = suite.create_server(metadata=path)
    tools = await suite.list_tools(Client(server, mode=era))
    assert [tool for tool in tools if tool["name"] in metadata] == expected
