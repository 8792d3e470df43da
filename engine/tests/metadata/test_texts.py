"""A metadata file can override every text of a server and no hint; an invalid file stops the start."""

import json
import os
import re
from itertools import count
from pathlib import Path
from typing import Annotated, Any

import pytest
from fastmcp import Client, FastMCP
from pydantic import Field

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
    texts: dict[str, Any] = {
        "tools": {},
        "resources": {},
        "resource_templates": {},
    }
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
    overridden = create_overridden_server(tmp_path / "texts.yaml", texts)
    served_texts, served_hints = await read_texts(overridden, era)
    assert served_texts == texts
    assert served_hints == hints


FAULTS = {  # what a file must not say, and what the one line that stops the start says of it
    '{"tools": {"no_such_tool": {"title": "T"}}}': "Unknown tool: no_such_tool",
    '{"strict": true, "tools": {"a_tool": {}}}': "Unknown tool: a_tool",
    '{"tools": {"hints": 1}}': "tools.hints: Input should be ",
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
    '{"tools": {"TOOL": !!map {"title": "T"}}}': "tags and deep nesting",
    "[" * 9 + "]" * 9: "deep nesting are",
    '{"a": ' * 9 + "1" + "}" * 9: "and deep nesting",
    "{? " + "[" * 9 + "]" * 9 + " : 1}": "deep nesting are not",
    "{? " * 9 + "a" + " : 1}" * 9: "deep nesting are not allowed",
    '{"tools": {1: {}}}': "the key 1 is not text",
    '{"tools": {"TOOL": {"title": }}}': "a value is missing",
    '{"tools": {"TOOL": {"title": ~}}}': ": ~ is not text",
    '{"version": 0x1}': "0x1",
    "on": ": on is not text",
    "[]": "the file: ",
    '{"tolls": {}}': "Unknown field 'tolls', did you mean 'tools'",
    '{"tools": {"TOOL": {"arguments": {"a": {"describe": "A"}}}}}': (
        "'describe', did you mean 'description'"
    ),
    '{"resources": {"a://b": {"usewhen": "A"}}}': "did you mean 'use_when'",
    "\n\n# \u200b": "texts.yaml:3: ",
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


@pytest.mark.skipif(os.name != "posix", reason="needs file modes")
def test_a_folder_that_is_mounted_read_only_may_have_any_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "texts.yaml"
    path.write_text("version: 1", encoding="utf-8")
    tmp_path.chmod(0o777)
    monkeypatch.setattr(os, "access", lambda folder, mode: folder != tmp_path)
    assert metadata.read_text(path) == "version: 1"


def test_a_folder_in_place_of_a_file_stops_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match="is not a regular file"):
        metadata.read_text(tmp_path)


@pytest.mark.anyio
async def test_a_layer_replaces_single_fields_and_takes_a_tool_away(
    tmp_path: Path, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    upper = tmp_path / "upper.yaml"
    lower = tmp_path / "lower.yaml"
    lower_tools = {TOOL: {"title": "A", "description": "Kept"}}
    create_overridden_server(lower, {"tools": lower_tools})
    monkeypatch.setattr(metadata, "packaged_file", lambda policy: lower)
    upper_tools = {"none": {}, TOOL: {"title": "B"}}
    upper_texts = {"strict": False, "tools": upper_tools}
    mixed = create_overridden_server(upper, upper_texts)
    texts, _ = await read_texts(mixed, era)
    assert texts["tools"][TOOL]["title"] == "B"
    assert texts["tools"][TOOL]["description"] == "Kept"
    disabled_tools = {TOOL: {"enabled": False}}
    disabled = create_overridden_server(upper, {"tools": disabled_tools})
    texts, _ = await read_texts(disabled, era)
    assert TOOL not in texts["tools"]
    assert await disabled.get_tool(TOOL) is None


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", "~", "#" * 65_536],
    ids=["empty", "comment", "~", "long"],
)
def test_a_file_may_say_nothing(tmp_path: Path, text: str) -> None:
    create_overridden_server(tmp_path / "texts.yaml", text)


@pytest.mark.skipif(os.name != "posix", reason="needs file modes")
@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755])
def test_a_file_that_only_its_owner_changes_is_read(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "texts.yaml"
    path.write_text("version: 1", encoding="utf-8")
    path.chmod(mode)
    assert metadata.read_text(path) == "version: 1"
    path.chmod(mode | 0o002)
    with pytest.raises(StartError, match="written by others"):
        metadata.read_text(path)
    tmp_path.chmod(0o777)
    assert metadata.read_text(path, trusted=True) == "version: 1"


@pytest.mark.skipif(os.name != "posix", reason="needs file modes")
def test_the_file_that_comes_with_the_server_may_have_any_mode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "texts.yaml"
    path.write_text("version: 1", encoding="utf-8")
    path.chmod(0o666)
    monkeypatch.setattr(metadata, "packaged_file", lambda policy: path)
    layers = metadata.layers(SETTINGS.policy, Path("none"))
    assert list(layers) == [(path, {"version": 1})]


def test_the_file_of_a_setting_and_that_of_the_home_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    policy = SETTINGS.policy
    at_home = tmp_path / f".{policy.server_name}" / "metadata.yaml"
    assert metadata.user_file(policy, None) == at_home
    assert metadata.user_file(policy, Path()) == at_home
    assert metadata.user_file(policy, Path("none")) is None
    assert metadata.user_file(policy, Path("~/a.yaml")) == tmp_path / "a.yaml"


def make_plain_server() -> FastMCP:
    """Return a server of FastMCP with a tool and a resource."""
    server: FastMCP = FastMCP("plain")

    @server.tool(annotations={"destructiveHint": False})
    def look(
        place: str, other: Annotated[str, Field(description="Which one.")] = ""
    ) -> str:
        """Look."""
        return place

    @server.resource("shelf://all", description="All of it.")
    def shelf() -> str:
        return "all"

    return server


async def override_plain_server(tmp_path: Path, texts: object) -> tuple[Any, Any]:
    """Return the tool and the resource of that server below a file."""
    path = tmp_path / "texts.yaml"
    path.write_text(json.dumps(texts), encoding="utf-8")
    path.chmod(0o600)
    server = make_plain_server()
    metadata.override(SETTINGS.policy, server, path, {"peek": "look"}, ["none"])
    async with Client(server, mode="legacy") as client:
        (tool,) = await client.list_tools()
        (resource,) = await client.list_resources()
    return tool, resource


@pytest.mark.anyio
async def test_each_field_of_a_tool_reaches_the_client(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    icon = "https://example.com/a.png"
    words = {
        "title": "Title",
        "icons": [icon],
        "arguments": {
            "place": {"description": "Where."},
            "other": {},
        },
    }
    tool, _ = await override_plain_server(tmp_path, {"tools": {"look": words}})
    assert tool.title == "Title"
    assert tool.annotations.title == "Title"
    assert tool.annotations.destructive_hint is False
    assert tool.description == "Look."
    assert [image.src for image in tool.icons] == [icon]
    properties = tool.input_schema["properties"]
    assert properties["place"]["description"] == "Where."
    assert properties["other"]["description"] == "Which one."
    assert properties.keys() == {"place", "other"}
    assert not caplog.messages


@pytest.mark.anyio
async def test_an_empty_text_is_absent_on_the_wire(tmp_path: Path) -> None:
    words = {"icons": [], "arguments": {"other": {"description": ""}}}
    tool, _ = await override_plain_server(tmp_path, {"tools": {"look": words}})
    assert tool.icons is None
    assert "description" not in tool.input_schema["properties"]["other"]


@pytest.mark.anyio
async def test_a_tool_that_is_added_later_keeps_its_texts(tmp_path: Path) -> None:
    path = tmp_path / "texts.yaml"
    texts = {"strict": False, "tools": {"late": {"title": "Title"}}}
    path.write_text(json.dumps(texts), encoding="utf-8")
    path.chmod(0o600)
    server = make_plain_server()
    metadata.override(SETTINGS.policy, server, path)
    server.tool(lambda: "", name="late")
    tool = await server.get_tool("late")
    assert tool is not None
    assert tool.title is None


@pytest.mark.anyio
async def test_a_tool_without_hints_gets_a_title(tmp_path: Path) -> None:
    path = tmp_path / "texts.yaml"
    path.write_text('{"tools": {"bare": {"title": "Title"}}}', encoding="utf-8")
    path.chmod(0o600)
    server: FastMCP = FastMCP("plain")
    server.tool(lambda: "", name="bare")
    metadata.override(SETTINGS.policy, server, path)
    tool = await server.get_tool("bare")
    assert tool is not None
    assert tool.title == "Title"


@pytest.mark.anyio
async def test_a_tool_is_replaced_once(tmp_path: Path) -> None:
    path = tmp_path / "texts.yaml"
    path.write_text('{"tools": {"look": {"title": "Title"}}}', encoding="utf-8")
    path.chmod(0o600)
    server = make_plain_server()
    metadata.override(SETTINGS.policy, server, path)
    first = await server.get_tool("look")
    assert first is not None
    assert await server.get_tool("look") is first


@pytest.mark.anyio
async def test_the_argument_confirm_of_a_gated_tool_may_be_described(
    tmp_path: Path,
) -> None:
    path = tmp_path / "texts.yaml"
    words = {"arguments": {"confirm": {"description": "Whether to go on."}}}
    path.write_text(json.dumps({"tools": {"look": words}}), encoding="utf-8")
    path.chmod(0o600)
    server = make_plain_server()
    texts = metadata.override(SETTINGS.policy, server, path, gated=["look"])
    assert texts["look"] == words
    with pytest.raises(StartError, match="has no argument 'confirm'"):
        metadata.override(SETTINGS.policy, make_plain_server(), path)


@pytest.mark.anyio
async def test_a_tool_below_a_file_is_called_and_an_unknown_one_is_not_found(
    tmp_path: Path, era: str
) -> None:
    path = tmp_path / "texts.yaml"
    path.write_text('{"tools": {"look": {"title": "Title"}}}', encoding="utf-8")
    path.chmod(0o600)
    server = make_plain_server()
    metadata.override(SETTINGS.policy, server, path)
    async with Client(server, mode=era) as client:
        result = await client.call_tool("look", {"place": "here"})
        assert result.data == "here"
        (resource,) = await client.read_resource("shelf://all")
        assert getattr(resource, "text", "") == "all"
        unknown = await client.call_tool("none", {}, raise_on_error=False)
    (block,) = unknown.content
    assert "none" in getattr(block, "text", "")


@pytest.mark.anyio
async def test_an_unknown_argument_is_skipped_where_a_file_is_not_strict(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    arguments = {
        "none": {"description": "A"},
        "place": {"description": "Where."},
    }
    texts = {"strict": False, "tools": {"look": {"arguments": arguments}}}
    tool, _ = await override_plain_server(tmp_path, texts)
    properties = tool.input_schema["properties"]
    assert properties.keys() == {"place", "other"}
    assert properties["place"]["description"] == "Where."
    assert any("'none' (skipped)" in line for line in caplog.messages)


@pytest.mark.anyio
async def test_each_field_of_a_resource_reaches_the_client(tmp_path: Path) -> None:
    words = {"name": "Shelf", "use_when": "Often.", "example": "Once."}
    _, resource = await override_plain_server(
        tmp_path, {"resources": {"shelf://all": words}}
    )
    assert resource.name == "Shelf"
    assert resource.description == ("All of it.\n\nWhen to use: Often.\nExample: Once.")


@pytest.mark.anyio
async def test_a_description_that_is_taken_away_is_absent_and_warned_about(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    empty = {"description": ""}
    tool, resource = await override_plain_server(
        tmp_path, {"tools": {"look": empty}, "resources": {"shelf://all": empty}}
    )
    assert tool.description is None
    assert resource.description is None
    warned = [line for line in caplog.messages if "without a description" in line]
    assert len(warned) == 2


@pytest.mark.anyio
async def test_a_former_name_overrides_unless_the_present_one_does(
    tmp_path: Path,
) -> None:
    former = {"title": "Former"}
    present = {"title": "Present"}
    tool, _ = await override_plain_server(tmp_path, {"tools": {"peek": former}})
    assert tool.title == "Former"
    for tools in (
        {"peek": former, "look": present},
        {"look": present, "peek": former},
    ):
        tool, _ = await override_plain_server(tmp_path, {"tools": tools})
        assert tool.title == "Present"


def test_a_file_that_is_missing_is_warned_about_where_a_setting_names_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    metadata.override(SETTINGS.policy, make_plain_server(), None)
    assert "no such file" not in caplog.text
    missing = tmp_path / "missing.yaml"
    metadata.override(SETTINGS.policy, make_plain_server(), missing)
    (line,) = [text for text in caplog.messages if "no such file" in text]
    assert str(missing) in line


def test_the_tools_that_files_name_are_known_before_they_are_loaded(
    tmp_path: Path,
) -> None:
    path = tmp_path / "texts.yaml"
    path.write_text('{"tools": {"a": {}, "b": {}}}', encoding="utf-8")
    path.chmod(0o600)
    assert metadata.overridden_tools(SETTINGS.policy, path) == {"a", "b"}
    assert metadata.overridden_tools(SETTINGS.policy, Path("none")) == set()


@pytest.mark.parametrize(
    ("text", "place", "is_yaml"),
    [("strict: true\ntools: a: b", "2:9", False), ("{}\n---\n{}", "2:1", True)],
    ids=["no YAML", "a second document"],
)
def test_an_error_of_the_form_names_its_line_and_column(
    text: str, place: str, is_yaml: bool
) -> None:
    """Counted from one; a document that is YAML is not called anything else."""
    with pytest.raises(StartError) as caught:
        metadata.parse(Path("texts.yaml"), text)
    message = str(caught.value)
    assert message.startswith(f"texts.yaml:{place}: ")
    assert ("not YAML" in message) is not is_yaml


def test_a_text_that_is_left_empty_is_warned_of_and_not_skipped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    config = {"tools": {"look": {"description": ""}}}
    texts: Any = {"tools": {"look": {"title": "Look", "description": "Look."}}}
    metadata.check(SETTINGS.policy, Path("texts.yaml"), config, texts)
    (line,) = caplog.messages
    assert line.endswith("is left without a description")
