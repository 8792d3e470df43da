"""A boolean is never a number, nor a number a boolean; a number and the text that spells it stand for each other."""

import json
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from copier_fastmcp_engine.api.settings import ApiSettings
from copier_fastmcp_engine.declarations import Exemption, create, delete
from copier_fastmcp_engine.guard import guard_of
from engine.tests.engine_support.raw import LEGACY, MODERN, Message, connect, outcome
from engine.tests.engine_support.targets import (
    DONE,
    build_policy_tool,
    make_target_server,
)

YES: Message = {"action": "accept", "content": {"confirm": True}}


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


# Arguments next to `order`, or in its place, and the error that they cause.
SENT: dict[str, tuple[Message, str]] = {
    "number": ({"order": 7}, ""),
    "text-of-a-number": ({"order": "7"}, ""),
    "boolean-for-a-number": ({"order": True}, "order: true is not of type integer"),
    "in-a-list-of-models": (
        {"lines": [{"item": 1}, {"item": True}]},
        "lines.1.item: true is not of type integer",
    ),
    "in-a-model-of-itself": (
        {"lines": [{"item": 1, "parts": [{"item": 1, "gift": 1}]}]},
        "lines.0.parts.0.gift: 1 is not of type boolean",
    ),
    "in-a-mapping": (
        {"prices": {"a": 1.5, "b": False}},
        "prices.b: false is not of type number",
    ),
    "in-a-tuple": ({"pair": [True, True]}, "pair.0: true is not of type integer"),
    "number-in-a-tuple": ({"pair": [1, 1]}, "pair.1: 1 is not of type boolean"),
    "number-for-a-boolean": ({"loud": 1}, "loud: 1 is not of type boolean or null"),
    "fraction-for-a-boolean": (
        {"loud": 0.0},
        "loud: 0.0 is not of type boolean or null",
    ),
    "boolean-for-a-boolean": ({"loud": True}, ""),
    "nothing-for-a-boolean": ({"loud": None}, ""),
    "either-is-either": ({"either": True}, ""),
    "anything-is-anything": ({"whatever": [True, 1]}, ""),
}


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
@pytest.mark.parametrize("name", SENT)
async def test_a_boolean_is_no_number_and_a_number_no_boolean(
    name: str, era: str
) -> None:
    sent, error = SENT[name]
    server = make_target_server()
    server.add_tool(build_policy_tool(zz_drop))
    async with connect(server, era, YES) as raw:
        call: Message = {"name": "zz_drop", "arguments": {"order": 7} | sent}
        message = await raw.receive(await raw.send("tools/call", **call))
    assert outcome(message) == ("error" if error else "applied"), message
    assert error in str(message)
    assert ([] if error else ["7"]) == DONE
    assert not (error and raw.questions)


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_boolean_is_no_number_in_a_tool_without_a_gate(era: str) -> None:
    server = make_target_server()
    server.add_tool(build_policy_tool(zz_add))
    async with connect(server, era) as raw:
        for order in (True, "7"):
            call: Message = {"name": "zz_add", "arguments": {"order": order}}
            await raw.receive(await raw.send("tools/call", **call))
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
        call: Message = {"name": "zz_drop_note", "arguments": arguments}
        message = await raw.receive(await raw.send("tools/call", **call))
    assert outcome(message) == "applied", message
    sent = ["7", [{"key": "1", "size": 2}], {"a": "3", "b": "4"}, 5, "2"]
    assert [json.loads(line) for line in DONE] == [sent]
    assert "Drop 7?" in str(raw.questions)


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_number_is_no_text_in_a_server_without_an_api(era: str) -> None:
    server = make_target_server()
    server.add_tool(build_policy_tool(zz_drop_note))
    async with connect(server, era, YES) as raw:
        call: Message = {"name": "zz_drop_note", "arguments": {"note": 7}}
        message = await raw.receive(await raw.send("tools/call", **call))
    assert "note: Input should be a valid string" in str(message)
    assert DONE == []


@pytest.mark.anyio
@pytest.mark.parametrize("era", [LEGACY, MODERN])
async def test_a_boolean_is_no_text(era: str) -> None:
    server = make_target_server()
    guard_of(server).spells_numbers = True
    server.add_tool(build_policy_tool(zz_drop_note))
    async with connect(server, era, YES) as raw:
        call: Message = {"name": "zz_drop_note", "arguments": {"note": True}}
        message = await raw.receive(await raw.send("tools/call", **call))
    assert "note: true is not of type string" in str(message)
    assert DONE == []
