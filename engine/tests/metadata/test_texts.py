"""A metadata file can override every text of a server and no hint; an invalid file stops the start."""

import json
import os
import re
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client, FastMCP

from copier_fastmcp_engine.errors import StartError
from copier_fastmcp_engine.metadata import overrides as metadata
from engine.tests.engine_support.notes.server import NotesSettings as Settings
from engine.tests.engine_support.notes.server import create_server

SETTINGS = Settings(database=":memory:", state="memory", metadata=Path("none"))
SERVER = create_server(SETTINGS)
TOOL = "get_note"


@pytest.fixture(params=["legacy", "2026-07-28"])
def era(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def create_overridden_server(path: Path, texts: object, mode: int = 0o600) -> FastMCP:
    written = texts if isinstance(texts, str) else json.dumps(texts)
    path.write_text(written, encoding="utf-8")
    path.chmod(mode)
    return create_server(SETTINGS.model_copy(update={"metadata": path}))


async def read_texts(mcp: FastMCP, era: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return each client-facing text in the form of a metadata file, and the hints by tool."""
    texts: dict[str, Any] = {"tools": {}, "resources": {}, "resource_templates": {}}
    async with Client(mcp, mode=era) as client:
        tools = await client.list_tools()
        resources = await client.list_resources()
        templates = await client.list_resource_templates()
    for resource in resources:
        fields = {"name": resource.name, "description": resource.description}
        texts["resources"][str(resource.uri)] = fields
    for template in templates:
        fields = {"name": template.name, "description": template.description}
        texts["resource_templates"][template.uri_template] = fields
    hints = {}
    for tool in tools:
        arguments = {}
        for name, schema in tool.input_schema["properties"].items():
            arguments[name] = {"description": schema.get("description")}
        texts["tools"][tool.name] = {
            "title": tool.title,
            "description": tool.description,
            "arguments": arguments,
        }
        hints[tool.name] = dict(tool.annotations or {})
        assert hints[tool.name].pop("title") == tool.title
    return texts, hints


@pytest.mark.anyio
async def test_every_text_can_be_overridden_and_no_hint_moves(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # For servers with hundreds of tools
    monkeypatch.setattr(metadata, "MOST_BYTES", 2**24)
    before, hints = await read_texts(SERVER, era)
    numbers = count()

    def number_texts(texts: Any) -> Any:
        if not isinstance(texts, dict):
            return f"Text {next(numbers)}"
        return {key: number_texts(text) for key, text in texts.items()}

    texts = number_texts(before)
    assert await read_texts(
        create_overridden_server(tmp_path / "texts.yaml", texts), era
    ) == (texts, hints)


FAULTS = {  # what a file must not say, and what the one line that stops the start says of it
    '{"tools": {"no_such_tool": {"title": "T"}}}': "Unknown tool: no_such_tool",
    '{"tools": {"TOOL": {"arguments": {"none": {}}}}}': "has no argument 'none'",
    '{"tools": {"TOOL": {"readOnlyHint": true}}}': "change words, never hints",
    '{"tools": {"TOOL": {"titel": "T"}}}': "did you mean 'title'",
    '{"tools": {"TOOL": {"title": ""}}}': "one line of text",
    '{"tools": {"TOOL": {"title": " "}}}': "not be blank",
    '{"tools": {"TOOL": {"title": "e\\u0301"}}}': "form NFC",
    '{"tools": {"TOOL": {"title": "a\\u202eb"}}}': "U+202E",
    '{"tools": {"TOOL": {"title": "%s"}}}' % ("a" * 101): "at most 100",
    '{"tools": {"TOOL": {"icons": ["javascript:x"]}}}': "https:// or data:image/",
    '{"tools": {"TOOL": {"title": "A", "title": "B"}}}': "appears twice",
    '{"tools": {"TOOL": {"title": on}}}': "not text to every YAML reader",
    '{"tools": {"TOOL": &a {"title": "T"}}}': "anchors, aliases",
    '{"version": 2}': "version 2 is not supported",
    '{"version": 1}\n---\n{"version": 1}': "second document",
    "# \u200b": "hidden character",
    "#" * 65_537: "the limit is 65536",
}


@pytest.mark.parametrize(("text", "line"), FAULTS.items(), ids=FAULTS.values())
def test_a_file_that_is_wrong_stops_the_start(
    tmp_path: Path, text: str, line: str
) -> None:
    with pytest.raises(StartError, match=re.escape(line)):
        create_overridden_server(tmp_path / "texts.yaml", text.replace("TOOL", TOOL))


@pytest.mark.skipif(os.name != "posix", reason="needs file modes")
def test_a_file_that_others_can_change_stops_the_start(tmp_path: Path) -> None:
    for file, folder in ((0o666, 0o700), (0o600, 0o777)):
        tmp_path.chmod(folder)
        with pytest.raises(StartError, match="by others"):
            create_overridden_server(tmp_path / "texts.yaml", "version: 1", file)


@pytest.mark.anyio
async def test_a_layer_replaces_single_fields_and_takes_a_tool_away(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upper, lower = tmp_path / "upper.yaml", tmp_path / "lower.yaml"
    create_overridden_server(
        lower, {"tools": {TOOL: {"title": "A", "description": "Kept"}}}
    )
    monkeypatch.setattr(metadata, "packaged_file", lambda policy: lower)
    mixed = create_overridden_server(
        upper, {"strict": False, "tools": {"none": {}, TOOL: {"title": "B"}}}
    )
    about = (await read_texts(mixed, era))[0]["tools"][TOOL]
    assert (about["title"], about["description"]) == ("B", "Kept")
    disabled = create_overridden_server(upper, {"tools": {TOOL: {"enabled": False}}})
    assert TOOL not in (await read_texts(disabled, era))[0]["tools"]
    assert await disabled.get_tool(TOOL) is None
