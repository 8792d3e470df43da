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
NULL = {"type": "null"}
TEXT = {"type": "string"}
NUMBER = {"type": "integer"}
OPTIONAL = {"anyOf": [TEXT, NULL]}
OBJECT = {"type": "object"}
NESTED = {
    "type": "object",
    "properties": {"a": {**OPTIONAL, "default": None}},
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
    ({**OPTIONAL, "default": None}, OPTIONAL),
    (
        {"anyOf": [{"enum": ["x"], "type": "string"}, NULL]},
        {"enum": ["x", None]},
    ),
    ({"anyOf": [{"const": "x", "type": "string"}, NULL]}, None),
    ({"anyOf": [TEXT, NUMBER, NULL]}, None),
    ({"anyOf": [{**OBJECT, "allOf": [OBJECT]}, NULL]}, None),
    ({"anyOf": [True, NULL]}, None),
    ({"anyOf": [{"type": ["string", "integer"]}, NULL]}, None),
    ({**OBJECT, "additionalProperties": True}, OBJECT),
    ({**OBJECT, "additionalProperties": False}, None),
    (
        {"anyOf": [{"type": "array", "items": OPTIONAL}, NULL]},
        None,
    ),
    ({**TEXT, "default": "x"}, TEXT),
    ({**TEXT, "description": "The part of a note."}, TEXT),
    ({**TEXT, "description": "The part that is new."}, None),
    ({**TEXT, "description": "Часть."}, None),
    (
        {"anyOf": [NESTED, NULL], "description": "The part."},
        {
            "anyOf": [
                {**OBJECT, "properties": {"a": OPTIONAL}},
                NULL,
            ]
        },
    ),
]


@pytest.mark.parametrize(("part", "shorter"), PARTS, ids=str)
def test_a_shortened_output_schema_accepts_the_same_values(
    part: Any, shorter: Any
) -> None:
    before = {**OBJECT, "properties": {"part": part}, "required": ["part"]}
    after = shorten_output_schema(before, {"get", "note"})
    assert after["properties"]["part"] == (part if shorter is None else shorter)
    old = jsonschema.Draft202012Validator(before)
    new = jsonschema.Draft202012Validator(after)
    for value in VALUES:
        result = {"part": value}
        assert old.is_valid(result) == new.is_valid(result), value


ARGUMENTS: list[tuple[Any, Any]] = [
    (
        {**OPTIONAL, "default": None, "description": "The part."},
        {**TEXT, "description": "The part."},
    ),
    (
        {"anyOf": [TEXT, NUMBER, NULL], "default": None},
        {"anyOf": [TEXT, NUMBER]},
    ),
    ({**OPTIONAL, "default": "x"}, None),
    (OPTIONAL, None),
    ({**OBJECT, "additionalProperties": True, "default": {}}, None),
    (NESTED, {**OBJECT, "properties": {"a": TEXT}}),
]


@pytest.mark.parametrize(("part", "shorter"), ARGUMENTS, ids=str)
def test_an_argument_that_may_be_left_out_is_not_also_null(
    part: Any, shorter: Any
) -> None:
    schema = {**OBJECT, "properties": {"part": part}}
    shortened = shorten_input_schema(schema)["properties"]
    assert shortened["part"] == (part if shorter is None else shorter)
    needed = {**schema, "required": ["part"]}
    shortened = shorten_input_schema(needed)["properties"]
    assert shortened["part"] == (shorter if part is NESTED else part)


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
