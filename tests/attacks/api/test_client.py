"""The client of an API: what it sends, when again, what it says of a failure; nothing leaves that is secret."""

import importlib
import json
import logging
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import httpx2
import pytest
from attacks.api.scripted import SECRET, Scripted, backend, called, served
from fastmcp import Client
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.errors import StartError

pytestmark = pytest.mark.anyio
# The server that these tests run in is another one than mypy knows by this name.
Settings: Any = importlib.import_module("notes_mcp.settings").Settings
quoted: Any = importlib.import_module("notes_mcp.policy").quoted


def busy(status: int = 503, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, json={"message": "busy"}, headers=headers)


FOUND = httpx2.Response(200, json={"id": 1, "title": "A"})


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_what_is_idempotent_by_its_method_is_sent_again(
    scripted: Scripted, status: int
) -> None:
    scripted.answers = [busy(status), httpx2.ConnectError("refused"), FOUND]
    failed, text = await called(served(scripted), "get_note", note_id=1)
    assert not failed, text
    assert [r.method for r in scripted.requests] == ["GET"] * 3
    assert 0.5 <= scripted.pauses[0] <= 0.6
    assert 1 <= scripted.pauses[1] <= 1.2


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("create_note", {"title": "A", "content": "B"}),
        ("update_note", {"note_id": 1, "etag": "a", "title": "A"}),
    ],
)
@pytest.mark.parametrize(
    "answer", [busy(), busy(429, **{"Retry-After": "1"}), httpx2.ReadTimeout("")]
)
async def test_what_is_not_is_sent_once(
    scripted: Scripted, tool: str, arguments: dict[str, Any], answer: Any
) -> None:
    scripted.answers = [answer, FOUND]
    failed, _ = await called(served(scripted), tool, **arguments)
    assert failed
    assert len(scripted.requests) == 1
    assert scripted.pauses == []


async def test_it_gives_up_after_three_tries(scripted: Scripted) -> None:
    scripted.answers = [busy()]
    failed, text = await called(served(scripted), "get_note", note_id=1)
    assert (failed, len(scripted.requests)) == (True, 3)
    assert text == "GET /notes/1 answered 503: busy; try again later"


async def test_retry_after_is_waited_for_up_to_a_limit(scripted: Scripted) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=9), usegmt=True)
    scripted.answers = [
        busy(429, **{"Retry-After": "7"}),
        busy(503, **{"Retry-After": date}),
        FOUND,
    ]
    began = time.monotonic()
    failed, _ = await called(served(scripted), "get_note", note_id=1)
    assert not failed
    assert 7 <= scripted.pauses[0] <= 8.5
    taken = time.monotonic() - began + 1  # a date has whole seconds
    assert 9 - taken <= scripted.pauses[1] <= 11
    scripted.answers, scripted.requests = [busy(429, **{"Retry-After": "3600"})], []
    failed, text = await called(served(scripted), "get_note", note_id=1)
    assert (failed, len(scripted.requests)) == (True, 1)
    assert text == (
        "GET /notes/1 answered 429: busy; too many requests; wait before calling again (3600 s)"
    )


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (httpx2.Response(404, json={"error": {"message": "No such note"}}),
         "GET /notes/1 answered 404: No such note; list or search to see what exists"),
        (httpx2.Response(422, json={"errors": [{"detail": "title\nis\u202e   too long " + "x" * 300}]}),
         "GET /notes/1 answered 422: title is too long " + "x" * 181 + "…; correct the arguments and call again"),
        (httpx2.Response(401, json={"message": f"Bad token {SECRET}"}),
         "GET /notes/1 answered 401: Bad token ***; the API does not accept this server's token; tell its operator"),
        (httpx2.Response(401, json={"message": "x" * 190 + SECRET}),
         "GET /notes/1 answered 401: " + "x" * 190 + "***; the API does not accept this server's token; tell its operator"),
        (httpx2.Response(404, json={"detail": "There is none."}),
         "GET /notes/1 answered 404: There is none; list or search to see what exists"),
        (httpx2.Response(500, text="<html>Traceback: password=hunter2</html>"),
         "GET /notes/1 answered 500; try again later"),
        (httpx2.Response(200, text="<html>hunter2</html>", headers={"Content-Type": "text/html; charset=x"}),
         "GET http://api.invalid/v1/notes/1 answered text/html: is NOTES_MCP_API right?"),
        (httpx2.Response(302, headers={"Location": "https://evil.example.com/x?token=hunter2"}),
         "GET /notes/1 answered 302; the API has moved to evil.example.com; tell the operator"),
        (httpx2.ConnectError("http://user:hunter2@host"),
         "GET /notes/1: ConnectError, so api.invalid cannot be reached; try again later"),
        (httpx2.ReadTimeout("hunter2"), "GET /notes/1: the API did not answer in 30 s; try again"),
        (httpx2.DecodingError("hunter2"), "GET /notes/1: the response of api.invalid cannot be decoded; tell the operator"),
    ],
)  # fmt: skip
async def test_a_failure_is_one_sentence_without_secrets(
    scripted: Scripted, caplog: pytest.LogCaptureFixture, answer: Any, said: str
) -> None:
    caplog.set_level(logging.DEBUG)
    scripted.answers = [answer]
    failed, text = await called(served(scripted), "get_note", note_id=1)
    assert (failed, text) == (True, said)
    assert SECRET not in caplog.text
    assert "hunter2" not in text


async def test_no_part_of_a_password_is_said(scripted: Scripted) -> None:
    scripted.answers = [
        httpx2.Response(422, json={"message": "ann, hunter2, YW5uOmh1bnRlcjI="})
    ]
    server = served(scripted, api_auth="basic", api_token="ann:hunter2")
    _, text = await called(server, "get_note", note_id=1)
    assert text.startswith("GET /notes/1 answered 422: ann, ***, ***; ")


async def test_a_write_that_timed_out_may_have_been_done(scripted: Scripted) -> None:
    scripted.answers = [httpx2.ReadTimeout("")]
    _, text = await called(served(scripted), "create_note", title="A", content="B")
    assert text.endswith(
        "did not answer in 30 s; try again; it may have been done, so look first"
    )


@pytest.mark.parametrize(
    ("settings", "header", "value"),
    [
        ({}, "Authorization", f"Bearer {SECRET}"),
        (
            {"api_auth": "Basic", "api_token": "ann:pw"},
            "Authorization",
            "Basic YW5uOnB3",
        ),
        ({"api_auth": "X-API-Key"}, "X-API-Key", SECRET),
        ({"api_auth": "header:X-API-Key"}, "X-API-Key", SECRET),
        ({"api_auth": "cookie:sid"}, "Cookie", f"sid={SECRET}"),
        ({"api_token": ""}, "Authorization", None),
    ],
)
async def test_the_token_goes_where_the_settings_say(
    scripted: Scripted, settings: dict[str, Any], header: str, value: str | None
) -> None:
    await called(served(scripted, **settings), "get_note", note_id=1)
    assert scripted.requests[0].headers.get(header) == value
    assert str(scripted.requests[0].url) == "http://api.invalid/v1/notes/1"


async def test_without_a_token_it_says_which_setting_there_is(
    scripted: Scripted,
) -> None:
    scripted.answers = [httpx2.Response(401, json={"message": "Who are you?"})]
    _, text = await called(served(scripted, api_token=""), "get_note", note_id=1)
    said = "no token is sent; the operator sets NOTES_MCP_API_TOKEN"
    assert text == f"GET /notes/1 answered 401: Who are you?; {said}"


async def test_a_token_that_no_header_carries_stops_the_start(
    scripted: Scripted,
) -> None:
    with pytest.raises(StartError) as caught:
        served(scripted, api_token=f"{SECRET}\nX-Evil: 1")
    assert str(caught.value).count("\n") == 0
    assert SECRET not in str(caught.value)
    assert SECRET not in repr(Settings(api_token=SECRET))


@pytest.mark.parametrize(
    "value", ["../admin", "..", ".", "a/../../b", "..\\x", "", "a\nb", "\u202e"]
)
async def test_no_value_escapes_from_its_place(scripted: Scripted, value: str) -> None:
    served(scripted)
    with pytest.raises(ToolError, match="cannot be part of a path"):
        await backend.api().delete(f"/notes/{quoted(value)}")
    if ".." in value.split("/"):
        with pytest.raises(ToolError, match="leaves its place"):
            await backend.api().delete(f"/notes/{value}")
    assert scripted.requests == []


@pytest.mark.parametrize(
    "value", ["a/b", "a?b=c", "a#b", "ä 🦉", "%2e%2e", "a;b", "{x}"]
)
def test_a_value_is_one_segment(value: str) -> None:
    url = httpx2.URL(f"http://api.invalid/v1/notes/{quoted(value)}/send")
    assert len(url.raw_path.split(b"/")) == 5
    assert not url.query
    assert url.path == f"/v1/notes/{value}/send"


async def test_a_header_takes_plain_text_and_none_is_left_out(
    scripted: Scripted,
) -> None:
    served(scripted)
    with pytest.raises(ToolError, match="X-Request-Id goes into a header"):
        await backend.api().post(
            "/notes/1/send", headers={"X-Request-Id": "a\r\nX-Evil: 1"}
        )
    assert scripted.requests == []
    await backend.api().post("/notes/1/send", headers={"X-Request-Id": None})
    assert "X-Request-Id" not in scripted.requests[0].headers
    assert not scripted.requests[0].content


async def test_what_a_caller_leaves_out_is_not_sent(scripted: Scripted) -> None:
    await called(served(scripted), "update_note", note_id=1, etag='"x"', title="A")
    (request,) = scripted.requests
    assert json.loads(request.content) == {"title": "A"}
    assert request.headers["If-Match"] == '"x"'


async def test_the_client_lives_as_long_as_the_server(scripted: Scripted) -> None:
    server = served(scripted)
    mine = backend.api()
    assert mine.client is None
    for _ in range(2):
        async with Client(server) as client:
            await client.call_tool("get_note", {"note_id": 1})
            opened = mine.client
            assert opened
            assert not opened.is_closed
        assert opened.is_closed
        assert mine.client is None
    assert (await mine.get("/notes/1"))["id"] == 1, (
        "outside of a server each request opens its own"
    )
