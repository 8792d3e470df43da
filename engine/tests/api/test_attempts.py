"""Repeated requests, the lines of failures, and values that stay in their place."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp.exceptions import ToolError
from pydantic import Field, SecretStr

from copier_fastmcp_engine.api.client import ApiClient
from copier_fastmcp_engine.api.encoding import quoted
from copier_fastmcp_engine.api.results import ApiResult
from copier_fastmcp_engine.api.settings import ApiSettings
from copier_fastmcp_engine.errors import StartError
from copier_fastmcp_engine.server import build_server
from copier_fastmcp_engine.settings import settings_config
from engine.tests.engine_support.notes import extend
from engine.tests.engine_support.notes.server import TWO_STEP

pytestmark = pytest.mark.anyio
SECRET = "s3cret-t0ken"
NOTE = httpx2.Response(200, json={"id": 1, "title": "A"})


class Settings(ApiSettings):
    """The settings of a server in front of an API."""

    policy = TWO_STEP
    model_config = settings_config(TWO_STEP)


class Note(ApiResult):
    """A note, as a tool returns it."""

    id: int = Field(description="Its ID.")


@dataclass
class ScriptedApi:
    """An API that gives prepared responses in turn, the last one again and again."""

    responses: list[Any] = field(default_factory=lambda: [NOTE])
    requests: list[httpx2.Request] = field(default_factory=list)
    pauses: list[float] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        """Return the next response."""
        self.requests.append(request)
        last = len(self.responses) == 1
        response = self.responses[0] if last else self.responses.pop(0)
        if isinstance(response, Exception):
            raise response
        assert isinstance(response, httpx2.Response)
        return httpx2.Response(
            response.status_code, headers=response.headers, content=response.content
        )


@pytest.fixture
def scripted() -> ScriptedApi:
    """An API that answers everything with one note, until told otherwise."""
    return ScriptedApi()


def api_settings(**values: Any) -> Settings:
    """Return settings with a token."""
    fixed = {"api": "http://api.invalid/v1", "api_token": SECRET}
    return Settings(metadata=Path("none"), **{**fixed, **values})


@pytest.fixture
def connect(
    scripted: ScriptedApi, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., ApiClient]:
    """Return a function that makes a client of the API, which does not pause."""

    async def sleep(client: ApiClient, seconds: float) -> None:
        scripted.pauses.append(seconds)

    monkeypatch.setattr(ApiClient, "_sleep", sleep)

    def make(**values: Any) -> ApiClient:
        client = ApiClient(api_settings(**values))
        client.transport = httpx2.MockTransport(scripted)
        return client

    return make


Connect = Callable[..., ApiClient]


def busy(status: int = 503, **headers: str) -> httpx2.Response:
    return httpx2.Response(status, json={"message": "busy"}, headers=headers)


async def error_of(client: ApiClient, method: str = "GET", **options: Any) -> str:
    """Return the error of a request that fails."""
    with pytest.raises(ToolError) as raised:
        await client.send(method, "/notes/1", **options)
    return str(raised.value)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_read_is_sent_again_after_longer_and_longer_pauses(
    scripted: ScriptedApi, connect: Connect, status: int
) -> None:
    scripted.responses = [busy(status), httpx2.ConnectError("refused"), NOTE]
    await connect().get("/notes/1")
    assert len(scripted.requests) == 3
    assert 0.5 <= scripted.pauses[0] <= 0.6
    assert 1 <= scripted.pauses[1] <= 1.2


@pytest.mark.parametrize("method", ["POST", "PATCH"])
@pytest.mark.parametrize(
    "response", [busy(), busy(429, **{"Retry-After": "1"}), httpx2.ReadTimeout("")]
)
async def test_a_request_that_may_have_taken_effect_is_sent_once(
    scripted: ScriptedApi, connect: Connect, method: str, response: Any
) -> None:
    scripted.responses = [response, NOTE]
    await error_of(connect(), method, body={"title": "A"})
    assert len(scripted.requests) == 1
    assert scripted.pauses == []


async def test_the_third_attempt_is_the_last(
    scripted: ScriptedApi, connect: Connect
) -> None:
    scripted.responses = [busy()]
    assert await error_of(connect()) == (
        "GET /notes/1 answered 503: busy; try again later"
    )
    assert len(scripted.requests) == 3


async def test_retry_after_is_waited_for_up_to_the_deadline(
    scripted: ScriptedApi, connect: Connect
) -> None:
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=9), usegmt=True)
    scripted.responses = [
        busy(429, **{"Retry-After": "7"}),
        busy(503, **{"Retry-After": date}),
        NOTE,
    ]
    start = time.monotonic()
    await connect().get("/notes/1")
    assert 7 <= scripted.pauses[0] <= 8.5
    spent = time.monotonic() - start + 1  # a date has whole seconds
    assert 9 - spent <= scripted.pauses[1] <= 11
    scripted.responses = [busy(429, **{"Retry-After": "3600"})]
    scripted.requests.clear()
    assert await error_of(connect()) == (
        "GET /notes/1 answered 429: busy; too many requests; wait before calling again (3600 s)"
    )
    assert len(scripted.requests) == 1


FAILURES = [
    (
        httpx2.Response(404, json={"error": {"message": "No such note"}}),
        "GET /notes/1 answered 404: No such note; list or search to see what exists",
    ),
    (
        httpx2.Response(
            422,
            json={"errors": [{"detail": "title\nis\u202e   too long " + "x" * 300}]},
        ),
        "GET /notes/1 answered 422: title is too long "
        + "x" * 181
        + "…; correct the arguments and call again",
    ),
    (
        httpx2.Response(401, json={"message": f"Bad token {SECRET}"}),
        "GET /notes/1 answered 401: Bad token ***; the API does not accept this server's token; tell its operator",
    ),
    (
        httpx2.Response(401, json={"message": "x" * 190 + SECRET}),
        "GET /notes/1 answered 401: "
        + "x" * 190
        + "***; the API does not accept this server's token; tell its operator",
    ),
    (
        httpx2.Response(404, json={"detail": "There is none."}),
        "GET /notes/1 answered 404: There is none; list or search to see what exists",
    ),
    (
        httpx2.Response(500, text="<html>Traceback: password=hunter2</html>"),
        "GET /notes/1 answered 500; try again later",
    ),
    (
        httpx2.Response(
            302, headers={"Location": "https://evil.example.com/x?token=hunter2"}
        ),
        "GET /notes/1 answered 302; the API has moved to evil.example.com; tell the operator",
    ),
    (
        httpx2.ConnectError("http://user:hunter2@host"),
        "GET /notes/1: ConnectError, so api.invalid cannot be reached; try again later",
    ),
    (
        httpx2.ReadTimeout("hunter2"),
        "GET /notes/1: the API did not answer in 30 s; try again",
    ),
    (
        httpx2.DecodingError("hunter2"),
        "GET /notes/1: the response of api.invalid cannot be decoded; tell the operator",
    ),
]


@pytest.mark.parametrize(("response", "line"), FAILURES)
async def test_a_failure_is_one_line_without_secrets(
    scripted: ScriptedApi,
    connect: Connect,
    caplog: pytest.LogCaptureFixture,
    response: Any,
    line: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    scripted.responses = [response]
    assert await error_of(connect()) == line
    assert SECRET not in caplog.text


async def test_a_page_in_place_of_json_names_the_setting_of_the_address(
    scripted: ScriptedApi, connect: Connect
) -> None:
    headers = {"Content-Type": "text/html; charset=x"}
    scripted.responses = [
        httpx2.Response(200, text="<html>hunter2</html>", headers=headers)
    ]
    response = await connect().send("GET", "/notes/1")
    with pytest.raises(ToolError) as raised:
        Note.from_response(response)
    assert str(raised.value) == (
        "GET http://api.invalid/v1/notes/1 answered text/html: is NOTES_MCP_API right?"
    )


async def test_no_part_of_a_password_is_in_an_error(
    scripted: ScriptedApi, connect: Connect
) -> None:
    message = "ann, hunter2, YW5uOmh1bnRlcjI="
    scripted.responses = [httpx2.Response(422, json={"message": message})]
    line = await error_of(connect(api_auth="basic", api_token="ann:hunter2"))
    assert line.startswith("GET /notes/1 answered 422: ann, ***, ***; ")


async def test_a_write_that_timed_out_may_have_been_done(
    scripted: ScriptedApi, connect: Connect
) -> None:
    scripted.responses = [httpx2.ReadTimeout("")]
    line = await error_of(connect(), "POST", body={"title": "A"})
    assert line.endswith(
        "did not answer in 30 s; try again; it may have been done, so look first"
    )


async def test_without_a_token_none_is_sent_and_the_setting_is_named(
    scripted: ScriptedApi, connect: Connect
) -> None:
    scripted.responses = [httpx2.Response(401, json={"message": "Who are you?"})]
    line = await error_of(connect(api_token=""))
    hint = "no token is sent; the operator sets NOTES_MCP_API_TOKEN"
    assert line == f"GET /notes/1 answered 401: Who are you?; {hint}"
    (request,) = scripted.requests
    assert "Authorization" not in request.headers
    assert str(request.url) == "http://api.invalid/v1/notes/1"


def test_a_token_that_no_header_carries_stops_the_start() -> None:
    settings = api_settings(api_token=SecretStr(f"{SECRET}\nX-Evil: 1"))
    with pytest.raises(StartError) as raised:
        build_server(settings, connect=ApiClient, extend=extend, instructions="Notes.")
    assert "\n" not in str(raised.value)
    assert SECRET not in str(raised.value)
    assert SECRET not in repr(settings)


@pytest.mark.parametrize(
    "value", ["../admin", "..", ".", "a/../../b", "..\\x", "", "a\nb", "\u202e"]
)
async def test_no_value_escapes_from_its_place(
    scripted: ScriptedApi, connect: Connect, value: str
) -> None:
    with pytest.raises(ToolError, match="cannot be part of a path"):
        quoted(value)
    if ".." in value.split("/"):
        with pytest.raises(ToolError, match="leaves its place"):
            await connect().delete(f"/notes/{value}")
    assert scripted.requests == []


@pytest.mark.parametrize(
    "value", ["a/b", "a?b=c", "a#b", "ä 🦉", "%2e%2e", "a;b", "{x}"]
)
def test_a_value_is_one_segment(value: str) -> None:
    url = httpx2.URL(f"http://api.invalid/v1/notes/{quoted(value)}/send")
    assert len(url.raw_path.split(b"/")) == 5
    assert not url.query
    assert url.path == f"/v1/notes/{value}/send"


async def test_a_header_has_plain_text_and_none_is_left_out(
    scripted: ScriptedApi, connect: Connect
) -> None:
    client = connect()
    with pytest.raises(ToolError, match="X-Request-Id goes into a header"):
        await client.post("/notes/1/send", headers={"X-Request-Id": "a\r\nX-Evil: 1"})
    assert scripted.requests == []
    await client.post("/notes/1/send", headers={"X-Request-Id": None})
    assert "X-Request-Id" not in scripted.requests[0].headers
    assert not scripted.requests[0].content


async def test_a_change_of_nothing_is_no_success(
    scripted: ScriptedApi, connect: Connect
) -> None:
    line = await error_of(connect(), "PATCH", body={})
    assert line == "nothing to change; pass a field with a value, not null"
    assert scripted.requests == []


async def test_connections_live_as_long_as_the_client_is_open(
    scripted: ScriptedApi, connect: Connect
) -> None:
    client = connect()
    for _ in range(2):
        async with client:
            await client.get("/notes/1")
            opened = client.client
            assert opened
            assert not opened.is_closed
        assert opened.is_closed
        assert client.client is None
    note = await client.get("/notes/1")
    assert note["id"] == 1, "outside of a server each request opens its own"
