"""A boolean is never a number, nor a number a boolean; a number and the text that spells it stand for each other."""

import json
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from copier_fastmcp_engine.api.settings import ApiSettings
from copier_fastmcp_engine.declarations import Exemption, create, delete
from copier_fastmcp_engine.guard import guard_of
from engine.tests.engine_support.raw import (
    LEGACY,
    MODERN,
    Message,
    Raw,
    connect,
    outcome,
)
from engine.tests.engine_support.targets import (
    DONE,
    build_policy_tool,
    make_target_server,
)

YES: Message = {"action": "accept", "content": {"confirm": True}}


async def call_tool(raw: Raw, name: str, arguments: Message) -> Message:
    """Call a tool, and return its response."""
    number = await raw.send("tools/call", name=name, arguments=arguments)
    return await raw.receive(number)


class Line(BaseModel):
    """One line of an order."""

    item: int
    gift: bool = False
    parts: "list[Line]" = Field(default_factory=list)


Number = Annotated[int, Field(description="Which one.")]


@delete(title="Drop", confirm=True)
async def zz_drop(
    order: Number,
    lines: Annotated[list[Line] | None, Field(description="Of what.")] = None,
    prices: Annotated[dict[str, float] | None, Field(description="For what.")] = None,
    pair: Annotated[tuple[int, bool] | None, Field(description="Both.")] = None,
    loud: Annotated[bool | None, Field(description="Or not.")] = None,
    either: Annotated[bool | int, Field(description="Or a number.")] = 1,
    whatever: Annotated[object, Field(description="Anything.")] = None,
) -> None:
    """Drop an order."""
    DONE.append(str(order))


OWN = Exemption(hint="confirm", value=False, why="It asks nobody.")


@create(title="Add", confirm=False, exceptions=[OWN])
async def zz_add(order: Number) -> None:
    """Add an order without a gate."""
    DONE.append(str(order))


@dataclass(frozen=True)
class Row:
    """One call of `zz_drop`.

    Attributes:
        arguments: What is sent next to `order`, or in its place.
        error: The error that it causes; empty where the call is applied.
    """

    arguments: Message
    error: str = ""


SENT = {
    "number": Row(arguments={"order": 7}),
    "text-of-a-number": Row(arguments={"order": "7"}),
    "boolean-for-a-number": Row(
        arguments={"order": True},
        error="order: true is not of type integer",
    ),
    "in-a-list-of-models": Row(
        arguments={"lines": [{"item": 1}, {"item": True}]},
        error="lines.1.item: true is not of type integer",
    ),
    "in-a-model-of-itself": Row(
        arguments={"lines": [{"item": 1, "parts": [{"item": 1, "gift": 1}]}]},
        error="lines.0.parts.0.gift: 1 is not of type boolean",
    ),
    "in-a-mapping": Row(
        arguments={"prices": {"a": 1.5, "b": False}},
        error="prices.b: false is not of type number",
    ),
    "in-a-tuple": Row(
        arguments={"pair": [True, True]},
        error="pair.0: true is not of type integer",
    ),
    "number-in-a-tuple": Row(
        arguments={"pair": [1, 1]},
        error="pair.1: 1 is not of type boolean",
    ),
    "number-for-a-boolean": Row(
        arguments={"loud": 1},
        error="loud: 1 is not of type boolean or null",
    ),
    "fraction-for-a-boolean": Row(
        arguments={"loud": 0.0},
        error="loud: 0.0 is not of type boolean or null",
    ),
    "boolean-for-a-boolean": Row(arguments={"loud": True}),
    "nothing-for-a-boolean": Row(arguments={"loud": None}),
    "either-is-either": Row(arguments={"either": True}),
    "anything-is-anything": Row(arguments={"whatever": [True, 1]}),
}


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.parametrize("name", SENT)
async def test_a_boolean_is_no_number_and_a_number_no_boolean(
    name: str, era: str
) -> None:
    row = SENT[name]
    server = make_target_server()
    server.add_tool(build_policy_tool(zz_drop))
    async with connect(server, era, YES) as raw:
        message = await call_tool(raw, "zz_drop", {"order": 7} | row.arguments)
    if row.error:
        assert outcome(message) == "error", message
        assert row.error in str(message)
        assert DONE == []
        assert not raw.questions
    else:
        assert outcome(message) == "applied", message
        assert DONE == ["7"]


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_boolean_is_no_number_in_a_tool_without_a_gate(era: str) -> None:
    server = make_target_server()
    server.add_tool(build_policy_tool(zz_add))
    async with connect(server, era) as raw:
        for order in (True, "7"):
            await call_tool(raw, "zz_add", {"order": order})
    assert DONE == ["7"]


class Label(BaseModel):
    """A label of a note."""

    key: str
    size: int | str = 0


@delete(title="Drop Note", confirm="Drop {note}?")
async def zz_drop_note(
    note: Annotated[str, Field(description="Its ID, a text.")],
    labels: Annotated[list[Label] | None, Field(description="Labels.")] = None,
    names: Annotated[dict[str, str] | None, Field(description="Names.")] = None,
    either: Annotated[str | float, Field(description="Text or number.")] = "",
    choice: Annotated[Literal["1", "2"], Field(description="One of two.")] = "1",
) -> None:
    """Drop a note."""
    values = [item.model_dump() for item in labels or ()]
    DONE.append(json.dumps([note, values, names, either, choice]))


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_number_is_the_text_that_spells_it_where_only_text_is_accepted(
    era: str,
) -> None:
    """An API whose responses have numbers as IDs, and whose document calls the same IDs text."""
    server = make_target_server()
    assert ApiSettings.spells_numbers
    guard_of(server).spells_numbers = True
    server.add_tool(build_policy_tool(zz_drop_note))
    arguments = {
        "note": 7,
        "labels": [{"key": 1.0, "size": 2}],
        "names": {"a": 3, "b": "4"},
        "either": 5,
        "choice": 2,
    }
    async with connect(server, era, YES) as raw:
        message = await call_tool(raw, "zz_drop_note", arguments)
    assert outcome(message) == "applied", message
    (line,) = DONE
    assert json.loads(line) == [
        "7",
        [{"key": "1", "size": 2}],
        {"a": "3", "b": "4"},
        5,
        "2",
    ]
    assert "Drop 7?" in str(raw.questions)


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_number_is_no_text_in_a_server_without_an_api(era: str) -> None:
    server = make_target_server()
    server.add_tool(build_policy_tool(zz_drop_note))
    async with connect(server, era, YES) as raw:
        message = await call_tool(raw, "zz_drop_note", {"note": 7})
    assert "note: Input should be a valid string" in str(message)
    assert DONE == []


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_boolean_is_no_text(era: str) -> None:
    server = make_target_server()
    guard_of(server).spells_numbers = True
    server.add_tool(build_policy_tool(zz_drop_note))
    async with connect(server, era, YES) as raw:
        message = await call_tool(raw, "zz_drop_note", {"note": True})
    assert "note: true is not of type string" in str(message)
    assert DONE == []
