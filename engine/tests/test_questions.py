"""`ask`: the questions of a tool's own body, in both protocol eras."""

import json
import re
from collections.abc import Callable
from typing import Any, Literal

import mcp_types
import pytest
from fastmcp import Client, Context
from fastmcp.client.elicitation import ElicitResult
from fastmcp.exceptions import ToolError
from httpx2 import AsyncClient
from mcp.server.request_state import RequestStateSecurity
from mcp.shared.exceptions import MCPError
from pydantic import BaseModel

from copier_fastmcp_engine.confirmation.pending import PendingStore
from copier_fastmcp_engine.confirmation.questions import ask
from copier_fastmcp_engine.declarations import action, delete, put
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.pages import pages
from copier_fastmcp_engine.pages.routes import read_values
from engine.tests.engine_support import raw
from engine.tests.engine_support.servers import client_of, make_policy, make_server

pytestmark = pytest.mark.anyio
SHELVES = ["front", "back"]
DONE: list[Any] = []


class Address(BaseModel):
    """Where something goes."""

    street: str
    number: int
    express: bool = False
    country: Literal["DE", "FR"] = "DE"


@put(title="File Note")
async def file_note(note_id: int, ctx: Context, shelf: str | None = None) -> str:
    """File a note."""
    shelf = shelf or await ask(ctx, "Which shelf?", choices=SHELVES, parameter="shelf")
    DONE.append((note_id, shelf))
    return shelf


@action(title="Ship", destructive=False)
async def ship(ctx: Context) -> str:
    """Ship it."""
    address = await ask(ctx, "Where to?", Address)
    DONE.append(address)
    return f"{address.street} {address.number}"


@delete(title="Drop Note", confirm="Drop note {note_id}?")
async def drop_note(note_id: int, ctx: Context) -> str:
    """Drop a note."""
    reason = await ask(ctx, "Why?")
    place = await ask(ctx, "Which shelf?", choices=SHELVES)
    DONE.append((note_id, reason, place))
    return reason


@delete(title="Drop All", confirm=True)
async def drop_all(ctx: Context) -> str:
    """Drop all of them."""
    DONE.append("early")
    return await ask(ctx, "Why?")


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()


def make_user(
    *answers: dict[str, Any] | str,
) -> tuple[Callable[..., Any], list[str]]:
    """Return a user who gives these answers in turn, and the questions that they were asked."""
    questions: list[str] = []
    pending = [*answers]

    async def answer(message: str, *_: object) -> ElicitResult[Any]:
        questions.append(message)
        content = pending.pop(0)
        if isinstance(content, str):
            return ElicitResult(action=content)
        return ElicitResult(action="accept", content=content)

    return answer, questions


def connect(era: str, handler: Callable[..., Any] | None, **fields: Any) -> Client[Any]:
    tools = (file_note, ship, drop_note, drop_all)
    server = make_server(make_policy(confirm="deletes", **fields), *tools)
    return Client(server, mode=era, elicitation_handler=handler)


async def call_as_raw_client(
    era: str,
    answer: dict[str, Any] | str,
    tool: str,
    **arguments: Any,
) -> dict[str, Any]:
    """Call a tool as a client that does not check what its user fills in."""
    if isinstance(answer, str):
        reply: dict[str, Any] = {"action": answer}
    else:
        reply = {"action": "accept", "content": answer}
    tools = (file_note, ship, drop_note, drop_all)
    server = make_server(make_policy(confirm="deletes"), *tools)
    async with raw.connect(server, era, reply) as client:
        number = await client.send("tools/call", name=tool, arguments=arguments)
        return await client.receive(number)


async def test_an_accepted_form_without_content_is_no_answer(era: str) -> None:
    server = make_server(make_policy(confirm="deletes"), file_note)
    async with raw.connect(server, era, {"action": "accept"}) as client:
        number = await client.send(
            "tools/call", name="file_note", arguments={"note_id": 1}
        )
        result = (await client.receive(number))["result"]
    assert result["isError"]
    assert "'Which shelf?' is None" in result["content"][0]["text"]
    assert DONE == []


async def test_a_choice_is_asked(era: str) -> None:
    handler, questions = make_user({"answer": "back"})
    async with connect(era, handler) as client:
        result = await client.call_tool("file_note", {"note_id": 1})
    assert result.data == "back"
    assert DONE == [(1, "back")]
    assert len(questions) == 1
    assert "Which shelf?" in questions[0]
    assert "note_id: 1" in questions[0]


async def test_a_model_is_a_form(era: str) -> None:
    handler, _ = make_user({"street": "Main", "number": 5})
    async with connect(era, handler) as client:
        result = await client.call_tool("ship", {})
    assert result.data == "Main 5"
    assert [Address(street="Main", number=5)] == DONE


async def test_an_approval_and_earlier_answers_are_kept(era: str) -> None:
    answers = ({"confirm": True}, {"answer": "old"}, {"answer": "front"})
    handler, questions = make_user(*answers)
    async with connect(era, handler) as client:
        result = await client.call_tool("drop_note", {"note_id": 1})
    assert result.structured_content is not None
    assert result.structured_content["approved_by"] == "person"
    assert result.structured_content["outcome"] == "applied"
    assert DONE == [(1, "old", "front")]
    assert [text.partition("asks: ")[2].partition("\n")[0] for text in questions] == [
        "Drop note 1?",
        "Why?",
        "Which shelf?",
    ]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("decline", "The answer was no: Which shelf\\?"),
        ("cancel", "closed without an answer"),
        ({"answer": "attic"}, "is 'attic', not one of front, back"),
        ({}, "is None, not one of"),
    ],
)
async def test_without_an_answer_nothing_is_done(
    era: str, answer: Any, words: str
) -> None:
    message = await call_as_raw_client(era, answer, "file_note", note_id=1)
    assert message["result"]["isError"] is True
    assert re.search(words, message["result"]["content"][0]["text"])
    assert DONE == []


async def test_a_form_that_does_not_fit_is_refused(era: str) -> None:
    answer = {"street": "Main", "number": "x"}
    message = await call_as_raw_client(era, answer, "ship")
    assert message["result"]["isError"] is True
    text = message["result"]["content"][0]["text"]
    assert "the answer to 'Where to?': number" in text
    assert DONE == []


async def test_a_client_that_cannot_ask_learns_the_parameter(era: str) -> None:
    async with connect(era, None) as client:
        with pytest.raises(ToolError, match="call it again with shelf, one of front"):
            await client.call_tool("file_note", {"note_id": 1})
        result = await client.call_tool("file_note", {"note_id": 1, "shelf": "back"})
    assert result.data == "back"
    assert DONE == [(1, "back")]


async def test_a_missing_parameter_for_the_answer_is_reported_to_the_author(
    era: str,
) -> None:
    async with connect(era, None) as client:
        with pytest.raises(ToolError, match="give ship a parameter for the answer"):
            await client.call_tool("ship", {})


async def test_an_approval_by_two_steps_comes_before_the_question(era: str) -> None:
    """The client cannot show the question: nothing is done."""
    async with connect(era, None) as client:
        await client.call_tool("drop_note", {"note_id": 1})
        with pytest.raises(ToolError, match="asks 'Why\\?', which this client cannot"):
            await client.call_tool("drop_note", {"note_id": 1, "confirm": True})
    assert DONE == []


async def test_answers_are_not_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In 2026-07-28 earlier answers travel in the state that the SDK seals."""
    stored: list[str] = []
    put = PendingStore.put

    async def spy(self: Any, name: str, entry: Any, seconds: float = 0) -> None:
        stored.append(json.dumps(entry))
        await put(self, name, entry, seconds)

    monkeypatch.setattr(PendingStore, "put", spy)
    answers = ({"confirm": True}, {"answer": "MARKED"}, {"answer": "front"})
    handler, _ = make_user(*answers)
    async with connect("2026-07-28", handler) as client:
        await client.call_tool("drop_note", {"note_id": 1})
    assert DONE == [(1, "MARKED", "front")]
    assert len(stored) >= 3
    assert "MARKED" not in "".join(stored)


async def test_a_state_with_answers_counts_once() -> None:
    """Sent again, it is no error: the first question is asked anew."""
    answers: list[dict[str, Any]] = []
    for content in ({"confirm": True}, {"answer": "old"}, {"answer": "front"}):
        answers.append({"action": "accept", "content": content})
    server = make_server(make_policy(confirm="deletes"), drop_note)
    call = {"name": "drop_note", "arguments": {"note_id": 1}}
    async with raw.connect(server, raw.MODERN, *answers, None) as client:
        message = await client.receive(await client.send("tools/call", **call))
        assert raw.outcome(message) == "applied"
        again = {
            "requestState": client.states[-1],
            "inputResponses": {"confirmation": answers[-1]},
        }
        number = await client.send("tools/call", **call, **again)
        assert raw.outcome(await client.receive(number)) == "asked"
    assert client.questions[-1] == client.questions[0]
    assert DONE == [(1, "old", "front")]


async def test_an_answer_counts_for_its_own_arguments_only() -> None:
    """An answer that a client made up, without a question of ours, is none."""
    made_up = {
        "confirmation": mcp_types.ElicitResult(
            action="accept", content={"answer": "back"}
        )
    }
    handler, _ = make_user({"answer": "front"})
    async with connect("2026-07-28", handler) as client:
        result = await client.session.call_tool(
            "file_note",
            {"note_id": 1},
            allow_input_required=True,
            input_responses=made_up,
        )
        assert isinstance(result, mcp_types.InputRequiredResult)
        assert DONE == []
        with pytest.raises(MCPError, match="requestState"):
            await client.session.call_tool(
                "file_note",
                {"note_id": 2},
                allow_input_required=True,
                input_responses=made_up,
                request_state=result.request_state,
            )
    assert DONE == []


async def test_a_model_that_no_client_can_show_is_a_mistake(era: str) -> None:
    class Nested(BaseModel):
        address: Address

    @action(title="Move", destructive=False)
    async def move(ctx: Context) -> str:
        """Move it."""
        return str(await ask(ctx, "Where to?", Nested))

    server = make_server(make_policy(), move)
    async with client_of(server, era, agrees=True) as client:
        result = await client.call_tool("move", {}, raise_on_error=False)
    assert result.is_error


@pytest.fixture
def server_with_pages(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A server that asks on a page, at a machine at which somebody sits."""
    monkeypatch.setattr(pages, "elsewhere", lambda: False)
    monkeypatch.setattr(pages, "WAIT", 0)
    policy = make_policy(confirm="deletes", confirm_fallback="page")
    server = make_server(policy, file_note, ship, drop_note)
    gate = guard_of(server).gate
    codec: Any = RequestStateSecurity(keys=[b"k" * 32]).codec
    gate.pages = pages.Pages(gate, codec, "never", None)
    return server


async def fill_in(text: str, **fields: str) -> tuple[str, int]:
    """Open the page that an error names, and send its form."""
    address = re.findall(r"http://\S+confirm\S+?(?=,)", text)[0]
    async with AsyncClient() as browser:
        page = (await browser.get(address)).text
        hidden = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', page))
        done = await browser.post(
            address.partition("?")[0],
            data={**hidden, "answer": "approve", **fields},
            headers={"Origin": address.partition("/confirm")[0]},
        )
    return page, done.status_code


async def test_a_page_asks_where_no_form_can_be_shown(
    era: str, server_with_pages: Any
) -> None:
    async with Client(server_with_pages, mode=era) as client:
        with pytest.raises(ToolError, match="Open http") as waiting:
            await client.call_tool("ship", {})
        page, status = await fill_in(
            str(waiting.value), **{"field-street": "", "field-number": "5"}
        )
        assert status == 400
        assert '<select name="field-country">' in page
        await fill_in(
            str(waiting.value), **{"field-street": "Main", "field-number": "5"}
        )
        result = await client.call_tool("ship", {})
        assert result.data == "Main 5"
        with pytest.raises(ToolError, match="Open http"):  # asked anew
            await client.call_tool("ship", {})
    assert [Address(street="Main", number=5)] == DONE


async def test_an_approval_on_a_page_is_kept_for_the_questions_after_it(
    era: str, server_with_pages: Any
) -> None:
    async with Client(server_with_pages, mode=era) as client:

        async def call() -> dict[str, Any]:
            result = await client.call_tool("drop_note", {"note_id": 1})
            content: dict[str, Any] = result.structured_content or {}
            return content

        for fields in ({}, {"field-answer": "old"}, {"field-answer": "back"}):
            waiting = await call()
            assert waiting["outcome"] == "waiting"
            await fill_in(waiting["preview"]["next"], **fields)
        assert (await call())["outcome"] == "applied"
    assert DONE == [(1, "old", "back")]


FORM = {
    "properties": {
        "street": {"type": "string", "title": "Street"},
        "number": {"type": "integer"},
        "express": {"type": "boolean"},
        "country": {"type": "string", "enum": ["DE", "FR"]},
    },
    "required": ["street", "number"],
}


async def test_a_page_reads_its_fields_in_their_types() -> None:
    sent = {"field-street": "Main", "field-number": "5", "field-country": "FR"}
    assert read_values(FORM, sent) == {
        "street": "Main",
        "number": 5,
        "express": False,
        "country": "FR",
    }


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        ({"field-number": "5"}, "Street is empty"),
        ({"field-street": "a", "field-number": "x"}, "x is not a number"),
        (
            {"field-street": "a", "field-number": "5", "field-country": "US"},
            "US is not one of DE, FR",
        ),
    ],
)
async def test_a_page_refuses_invalid_fields(sent: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_values(FORM, sent)
