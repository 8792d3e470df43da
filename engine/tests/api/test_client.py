"""Requests of the client, their repetition, and its errors."""

import asyncio
import gzip
import json
import logging
import time
import tracemalloc
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.api.client import ApiClient
from copier_fastmcp_engine.api.redaction import Redactor
from engine.tests.api.conftest import TOKEN, Api, Reply

pytestmark = pytest.mark.anyio
JSON = {"Content-Type": "application/json"}
OK = Reply(body=b"{}", headers=JSON)


def busy(status: int = 503, **headers: str) -> Reply:
    return Reply(
        status=status, body=b'{"message": "busy"}', headers={**JSON, **headers}
    )


@pytest.mark.parametrize(
    ("method", "repeat", "attempts"),
    [
        ("GET", None, 2),
        ("PUT", None, 2),
        ("DELETE", None, 2),
        ("POST", True, 2),
        ("POST", None, 1),
        ("PATCH", None, 1),
        ("PUT", False, 1),
        ("DELETE", False, 1),
    ],
)
async def test_only_safe_requests_are_sent_again(
    api: Api,
    make_client: Callable[..., ApiClient],
    method: str,
    repeat: bool | None,
    attempts: int,
) -> None:
    api.replies = [busy(), OK]
    body = {"a": 1} if method in ("POST", "PUT", "PATCH") else None
    try:
        await make_client().send(method, "/notes", body=body, repeat=repeat)
    except ToolError:
        assert attempts == 1
    assert len(api.requests) == attempts


async def test_one_deadline_covers_all_attempts(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    api.replies = [Reply(body=b"{}", before=lambda: time.sleep(2))]
    began = time.monotonic()
    with pytest.raises(
        ToolError, match=r"GET /notes: the API did not answer in 0.3 s; try again$"
    ):
        await make_client(seconds=0.3).send("GET", "/notes")
    assert time.monotonic() - began < 1.9
    with pytest.raises(ToolError, match="it may have been done, so look first"):
        await make_client(seconds=0.3).send("POST", "/notes", body={})
    api.replies, api.requests = [busy(429, **{"Retry-After": "2"})], []
    began = time.monotonic()
    with pytest.raises(ToolError, match=r"answered 429: busy; .*\(2 s\)"):
        await make_client(seconds=1.5).send("GET", "/notes")
    assert len(api.requests) == 1
    assert time.monotonic() - began < 1.5


async def test_a_slow_stream_ends_at_the_deadline(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    def drip() -> Iterator[bytes]:
        for _ in range(20):
            time.sleep(0.1)
            yield b"["

    api.replies = [Reply(headers=JSON, chunks=drip)]
    began = time.monotonic()
    with pytest.raises(ToolError, match=r"did not answer in 0\.4 s"):
        await make_client(seconds=0.4).send("GET", "/notes")
    assert time.monotonic() - began < 1.9


async def test_retry_after_is_honored(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    api.replies = [busy(429, **{"Retry-After": "1"}), OK]
    began = time.monotonic()
    await make_client().send("GET", "/notes")
    assert 1 <= time.monotonic() - began < 4


async def test_nothing_that_was_never_sent_is_in_doubt(
    make_client: Callable[..., ApiClient],
) -> None:
    client = make_client(seconds=4)
    client.address = "http://127.0.0.1:9/v1"
    with pytest.raises(ToolError) as caught:
        await client.send("POST", "/notes", body={})
    assert str(caught.value) == (
        "POST /notes: ConnectError, so 127.0.0.1:9 cannot be reached; try again later"
    )


@pytest.mark.parametrize("encoding", ["gzip", "identity"])
async def test_a_large_response_costs_no_more_than_its_limit(
    api: Api, make_client: Callable[..., ApiClient], encoding: str
) -> None:
    """300 KiB of gzip hold 300 MB of zeros."""
    packed = gzip.compress(b"0" * 300_000_000, 6) if encoding == "gzip" else b""

    def stream() -> Iterator[bytes]:
        if packed:
            yield packed
            return
        for _ in range(300):
            yield b"0" * 1_000_000

    headers = {"Content-Type": "text/plain"}
    if packed:
        headers["Content-Encoding"] = "gzip"
    api.replies = [Reply(headers=headers, chunks=stream)]
    client = make_client(limit=1_000_000)
    tracemalloc.start()
    try:
        response = await client.send("GET", "/bomb")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(response.body) == 1_000_000
    assert response.cut
    assert peak < 30_000_000


async def test_an_undecodable_response_is_one_line(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    for body, coding in (
        (b"hunter2", "gzip"),
        (gzip.compress(b"x" * 99)[:-9], "gzip"),
        (b"x", "br"),
    ):
        api.replies = [Reply(body=body, headers={"Content-Encoding": coding})]
        with pytest.raises(ToolError, match="cannot be decoded") as caught:
            await make_client().send("GET", "/notes")
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("auth", "place"),
    [
        ("bearer", {"Authorization": f"Bearer {TOKEN}"}),
        ("Basic", {"Authorization": f"Basic {b64encode(TOKEN.encode()).decode()}"}),
        ("X-API-Key", {"X-API-Key": TOKEN}),
        ("header:X_Key", {"X_Key": TOKEN}),
        ("cookie:sid", {"Cookie": f"sid={TOKEN}"}),
        ("query:key", {}),
    ],
)
async def test_the_token_goes_where_the_settings_say(
    api: Api,
    make_client: Callable[..., ApiClient],
    caplog: pytest.LogCaptureFixture,
    auth: str,
    place: dict[str, str],
) -> None:
    caplog.set_level(logging.DEBUG)
    async with make_client(auth=auth) as client:
        await client.send("GET", "/notes", query={"a": 1})
    (request,) = api.requests
    assert place.items() <= request.headers.items()
    expected = (
        f"/v1/notes?a=1&key={quote(TOKEN, safe='')}"
        if auth == "query:key"
        else "/v1/notes?a=1"
    )
    assert request.path == expected
    for spelling in (TOKEN, quote(TOKEN, safe=""), b64encode(TOKEN.encode()).decode()):
        assert spelling not in caplog.text


@pytest.mark.parametrize(("auth", "token"), [("bearer", "a\nb"), ("cookie:sid", "a;b")])
def test_a_token_that_cannot_be_sent_stops_the_start(
    make_client: Callable[..., ApiClient], auth: str, token: str
) -> None:
    with pytest.raises(
        ValueError, match="setting api_token contains a character"
    ) as caught:
        make_client(auth=auth, token=token)
    assert token not in str(caught.value)


SPELLINGS = [
    TOKEN,
    quote(TOKEN, safe=""),
    quote(TOKEN, safe="").lower(),
    quote(quote(TOKEN, safe=""), safe=""),
    "".join(f"%{byte:02x}" for byte in TOKEN.encode()),
    b64encode(TOKEN.encode()).decode(),
    b64encode(f"x{TOKEN}".encode()).decode(),
    b64encode(f"xy{TOKEN}".encode()).decode(),
    b64encode(f"user:{TOKEN}y".encode()).decode(),
    json.dumps(TOKEN).replace("/", "\\/"),
    TOKEN.replace("&", "&amp;"),
    TOKEN.encode().hex(),
]


@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("status", [200, 422, 500])
async def test_no_encoding_of_the_token_is_returned(
    api: Api, make_client: Callable[..., ApiClient], spelling: str, status: int
) -> None:
    body = json.dumps({"message": f"Bad {spelling}!"}).encode()
    api.replies = [Reply(status=status, body=body, headers=JSON)]
    try:
        output = str(await make_client().post("/notes", {}))
    except ToolError as error:
        output = str(error)
    assert "Bad " in output
    assert "***" in output
    core = spelling.strip('"').rstrip("=")[4:-4]
    assert core not in output


@pytest.mark.parametrize(
    ("value", "echo"),
    [
        ("Token 0123456789abcdef", "0123456789abcdef"),
        ("ApiKey key=0123456789abcdef", "0123456789abcdef"),
        (f"Basic {b64encode(b'ann:hunter2!').decode()}", "hunter2!"),
    ],
)
async def test_a_header_with_a_scheme_hides_the_secret_in_it(
    api: Api, make_client: Callable[..., ApiClient], value: str, echo: str
) -> None:
    """As for Label Studio: `Token ...` in the header Authorization."""
    body = json.dumps({"detail": f"Invalid: {echo}, Token expired"}).encode()
    api.replies = [Reply(status=401, body=body, headers=JSON)]
    client = make_client(auth="header:Authorization", token=value)
    with pytest.raises(ToolError, match="Invalid") as raised:
        await client.get("/notes")
    assert echo not in str(raised.value)
    assert "Invalid: ***, Token expired" in str(raised.value)
    assert api.requests[0].headers["Authorization"] == value


def test_a_short_secret_leaves_other_words_alone() -> None:
    redactor = Redactor(["ann:pw", "pw"])
    assert redactor.value({"a": "pw", "b": ["spwn", "the pw."]}) == {
        "a": "***",
        "b": ["spwn", "the ***."],
    }


STATUSES = [
    (
        400,
        {"error": {"message": "Bad"}},
        "answered 400: Bad; correct the arguments and call again",
    ),
    (
        401,
        {"message": "No"},
        "answered 401: No; the API does not accept this server's token; tell its operator",
    ),
    (
        403,
        {"detail": "No."},
        "answered 403: No; this server's token does not permit this; tell its operator",
    ),
    (
        404,
        {"error": "None", "message": "No note"},
        "answered 404: No note; list or search to see what exists",
    ),
    (405, {}, "answered 405; the API does not have this operation here"),
    (
        409,
        {"title": "There"},
        "answered 409: There; it exists already or was changed meanwhile; read it again",
    ),
    (
        412,
        {},
        "answered 412; it was changed since; read it again and repeat with its new etag",
    ),
    (
        422,
        {
            "detail": [
                {"loc": ["body", "n"], "msg": "Required"},
                {"loc": ["x"], "msg": "Y"},
            ]
        },
        "answered 422: body.n: Required, x: Y; correct the arguments and call again",
    ),
    (
        422,
        {
            "exception_message": "Invalid.",
            "exception_detail": [{"loc": ["body", "n"], "msg": "Short"}],
        },
        "answered 422: Invalid. body.n: Short; correct the arguments and call again",
    ),
    (
        418,
        {"code": 7, "what": "tea"},
        "answered 418: code: 7, what: tea; correct the arguments and call again",
    ),
    (500, {"errors": ["a", "b"]}, "answered 500: a, b; try again later"),
]


@pytest.mark.parametrize(("status", "body", "expected"), STATUSES)
async def test_each_status_is_one_line_with_the_message_of_the_api(
    api: Api,
    make_client: Callable[..., ApiClient],
    status: int,
    body: Any,
    expected: str,
) -> None:
    api.replies = [Reply(status=status, body=json.dumps(body).encode(), headers=JSON)]
    with pytest.raises(ToolError) as caught:
        await make_client().send("POST", "/notes", body={})
    assert str(caught.value) == f"POST /notes {expected}"


async def test_a_redirect_is_followed_within_the_origin_only(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    api.replies = [Reply(status=308, headers={"Location": "/v1/notes/"}), OK]
    await make_client().send("GET", "/notes", query={"a": 1})
    assert [request.path for request in api.requests] == ["/v1/notes?a=1", "/v1/notes/"]
    api.replies = [
        Reply(status=302, headers={"Location": f"https://evil.invalid/?{TOKEN}"})
    ]
    with pytest.raises(
        ToolError, match=r"answered 302; the API has moved to evil\.invalid; tell"
    ):
        await make_client().send("GET", "/notes")
    api.replies = [Reply(status=302, headers={"Location": "/v1/notes/"})]
    with pytest.raises(ToolError, match="answered 302"):
        await make_client().send("POST", "/notes", body={})


async def test_cookies_of_one_user_do_not_reach_another(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    api.replies = [Reply(body=b"{}", headers={"Set-Cookie": "session=ann; Path=/"}), OK]
    async with make_client() as client:
        await client.get("/notes")
        await client.get("/notes")
    assert "Cookie" not in api.requests[1].headers


async def test_whole_numbers_are_sent_as_integers(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    body = {"a": 3.0, "b": [1.0, 2.5], "c": {"d": -0.0}, "e": 1e300, "f": True}
    await make_client().post(
        "/notes", body, query={"limit": 3.0, "x": [1.0, 0.5], "yes": True, "no": None}
    )
    (request,) = api.requests
    assert request.path == "/v1/notes?limit=3&x=1&x=0.5&yes=true"
    assert request.body == b'{"a":3,"b":[1,2.5],"c":{"d":0},"e":1e+300,"f":true}'


async def test_every_style_of_a_query(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    query = {name: value for name in ("a", "b", "c", "d", "e") for value in ([1, 2],)}
    query |= {"f": {"x": 1, "y": {"z": 2}}, "g": {"q": 1}}  # type: ignore[dict-item]
    styles = {
        "b": "form",
        "c": "pipeDelimited",
        "d": "spaceDelimited",
        "e": "json",
        "f": "deepObject",
    }
    await make_client().send("GET", "/n", query=query, styles=styles)
    expected = (
        "a=1&a=2&b=1%2C2&c=1%7C2&d=1+2&e=%5B1%2C+2%5D&f%5Bx%5D=1&f%5By%5D%5Bz%5D=2&q=1"
    )
    assert api.requests[0].path.partition("?")[2].replace("%20", "+") == expected


async def test_every_kind_of_body(
    api: Api, make_client: Callable[..., ApiClient], tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("from a file")
    client = make_client(files=str(tmp_path))
    upload = {"filename": "b.png", "content_base64": b64encode(b"\x89PNG").decode()}
    rows: list[tuple[str, Any, str, bytes]] = [
        ("", [{"a": 1}], "application/json", b'[{"a":1}]'),
        (
            "application/merge-patch+json",
            {"a": None},
            "application/merge-patch+json",
            b'{"a":null}',
        ),
        (
            "application/x-www-form-urlencoded",
            {"a": [1, 2], "b": {"c": True}},
            "application/x-www-form-urlencoded",
            b"a=1&a=2&b%5Bc%5D=true",
        ),
        ("text/plain", "a\nb", "text/plain", b"a\nb"),
        ("application/octet-stream", upload, "application/octet-stream", b"\x89PNG"),
    ]
    for content_type, body, sent_type, sent in rows:
        headers = {"Content-Type": content_type} if content_type else {}
        await client.send("POST", "/n", body=body, headers=headers)
        request = api.requests.pop()
        assert (request.headers["Content-Type"], request.body) == (sent_type, sent)
    files = {"file": upload, "other": {"path": "a.txt"}, "note": "x", "count": 2.0}
    await client.send(
        "POST", "/n", body=files, headers={"Content-Type": "multipart/form-data"}
    )
    request = api.requests.pop()
    assert request.headers["Content-Type"].startswith("multipart/form-data; boundary=")
    for part in (
        b'filename="b.png"',
        b"image/png",
        b"\x89PNG",
        b"from a file",
        b'name="count"\r\n\r\n2\r\n',
    ):
        assert part in request.body
    for path, reason in (
        ("../a", "outside the folder"),
        ("/etc/passwd", "outside"),
        ("none", "cannot be read"),
    ):
        with pytest.raises(ToolError, match=reason):
            await client.send(
                "POST",
                "/n",
                body={"f": {"path": path}},
                headers={"Content-Type": "multipart/form-data"},
            )
    with pytest.raises(ToolError, match="this server reads no files"):
        await make_client().send(
            "POST",
            "/n",
            body={"f": {"path": "a"}},
            headers={"Content-Type": "multipart/form-data"},
        )


async def test_many_calls_share_connections(
    api: Api, make_client: Callable[..., ApiClient]
) -> None:
    async with make_client() as client:
        await asyncio.gather(*(client.get(f"/notes/{n}") for n in range(8)))
    assert len(api.requests) == 8
