"""A shortened definition accepts the same values, and clients that validate results accept each result."""

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
from fastmcp import Client

from copier_fastmcp_engine.wire_schemas import (
    shorten_input_schema,
    shorten_output_schema,
)
from engine.tests.engine_support.composing import YES, call_tool, each_era
from engine.tests.engine_support.notes.server import create_server
from engine.tests.engine_support.raw import ELICITS, Message, connect
from engine.tests.engine_support.targets import SETTINGS

pytestmark = pytest.mark.anyio
NULL, TEXT = {"type": "null"}, {"type": "string"}
NESTED = {
    "type": "object",
    "properties": {"a": {"anyOf": [TEXT, NULL], "default": None}},
}
VALUES: list[Any] = [
    None,
    "x",
    "y",
    1,
    True,
    [],
    ["x"],
    {},
    {"a": None},
    {"a": "x"},
    {"a": 1},
]
PARTS: list[tuple[Any, Any]] = [
    ({"anyOf": [TEXT, NULL], "default": None}, {"anyOf": [TEXT, NULL]}),
    ({"anyOf": [{"enum": ["x"], "type": "string"}, NULL]}, {"enum": ["x", None]}),
    ({"anyOf": [{"const": "x", "type": "string"}, NULL]}, None),
    ({"anyOf": [TEXT, {"type": "integer"}, NULL]}, None),
    ({"anyOf": [{"type": "object", "allOf": [{"type": "object"}]}, NULL]}, None),
    ({"anyOf": [True, NULL]}, None),
    ({"anyOf": [{"type": ["string", "integer"]}, NULL]}, None),
    ({"type": "object", "additionalProperties": True}, {"type": "object"}),
    ({"type": "object", "additionalProperties": False}, None),
    (
        {"anyOf": [{"type": "array", "items": {"anyOf": [TEXT, NULL]}}, NULL]},
        None,
    ),
    ({"type": "string", "default": "x"}, TEXT),
    ({"type": "string", "description": "The part of a note."}, TEXT),
    ({"type": "string", "description": "The part that is new."}, None),
    ({"type": "string", "description": "Часть."}, None),
    (
        {"anyOf": [NESTED, NULL], "description": "The part."},
        {
            "anyOf": [
                {"type": "object", "properties": {"a": {"anyOf": [TEXT, NULL]}}},
                NULL,
            ]
        },
    ),
]


@pytest.mark.parametrize(("part", "shorter"), PARTS, ids=str)
def test_a_shortened_output_schema_accepts_the_same_values(
    part: Any, shorter: Any
) -> None:
    before = {"type": "object", "properties": {"part": part}, "required": ["part"]}
    after = shorten_output_schema(before, {"get", "note"})
    assert after["properties"]["part"] == (part if shorter is None else shorter)
    old = jsonschema.Draft202012Validator(before)
    new = jsonschema.Draft202012Validator(after)
    for value in VALUES:
        result = {"part": value}
        assert old.is_valid(result) == new.is_valid(result), value


ARGUMENTS: list[tuple[Any, Any]] = [
    ({"anyOf": [TEXT, NULL], "default": None, "description": "The part."}, {**TEXT, "description": "The part."}),
    ({"anyOf": [TEXT, {"type": "integer"}, NULL], "default": None}, {"anyOf": [TEXT, {"type": "integer"}]}),
    ({"anyOf": [TEXT, NULL], "default": "x"}, None),
    ({"anyOf": [TEXT, NULL]}, None),
    ({"type": "object", "additionalProperties": True, "default": {}}, None),
    (NESTED, {"type": "object", "properties": {"a": TEXT}}),
]  # fmt: skip


@pytest.mark.parametrize(("part", "shorter"), ARGUMENTS, ids=str)
def test_an_argument_that_may_be_left_out_is_not_also_null(
    part: Any, shorter: Any
) -> None:
    schema = {"type": "object", "properties": {"part": part}}
    assert shorten_input_schema(schema)["properties"]["part"] == (
        part if shorter is None else shorter
    )
    needed = {**schema, "required": ["part"]}
    assert shorten_input_schema(needed)["properties"]["part"] == (
        part if part is not NESTED else shorter
    )


@each_era
async def test_a_client_that_validates_results_accepts_every_result(era: str) -> None:
    async with Client(create_server(SETTINGS), mode=era) as client:
        note = {"title": "a", "content": "b"}
        created = (await client.call_tool("create_note", note)).data
        page = await client.call_tool("search_notes", {"query": "a", "cursor": None})
        assert page.data.next_cursor is None
        assert page.data.items[0].title == "a"
        gated = {"note_id": created.id}
        first = await client.call_tool("delete_note", gated, raise_on_error=False)
        assert (first.data.outcome, first.data.result) == ("preview", None)
        confirmed = {**gated, "confirm": True}
        done = (await client.call_tool("delete_note", confirmed)).data
        assert (done.outcome, done.approved_by) == ("applied", "client")
        assert done.result.deleted is True


@each_era
async def test_no_definition_has_redundant_metadata(era: str) -> None:
    async with connect(create_server(SETTINGS), era, can=ELICITS) as raw:
        message = await raw.receive(await raw.send("tools/list"))
    tools: dict[str, Message] = {}
    for tool in message["result"]["tools"]:
        assert "_meta" not in tool
        assert '"default": null' not in json.dumps(tool)
        tools[tool["name"]] = tool
    properties = tools["update_note"]["inputSchema"]["properties"]
    assert properties["title"]["type"] == "string"
    message = await call_tool(
        create_server(SETTINGS),
        era,
        "update_note",
        YES,
        note_id=1,
        etag="x",
        title=None,
    )
    assert "stale" in str(message) or "not" in str(message), message
