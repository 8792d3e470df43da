"""A server before a real API on this machine: both eras of clients, and a person who is asked before a deletion."""

import importlib
import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.exceptions import ToolError
from notes_mcp.server import create_server

# The server that these tests run in is another one than mypy knows by this name.
Settings: Any = importlib.import_module("notes_mcp.settings").Settings
pytestmark = pytest.mark.anyio


class Notes(BaseHTTPRequestHandler):
    """A small API with notes, as others write it: no line of it knows of the fake."""

    protocol_version = "HTTP/1.1"
    notes: ClassVar[dict[int, dict[str, Any]]] = {}
    requests: ClassVar[list[str]] = []

    def answer(self, status: int, body: Any = None) -> None:
        text = json.dumps(body).encode() if body is not None else b""
        self.send_response(status)
        if isinstance(body, dict) and "title" in body:
            self.send_header("ETag", f'"{body["title"]}"')
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def handle_any(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else {}
        self.requests.append(f"{self.command} {self.path}")
        if self.headers.get("Authorization") != "Bearer t0ken":
            return self.answer(401, {"message": "who are you"})
        match = re.fullmatch(r"/v1/notes/(\d+)", self.path)
        key = int(match[1]) if match else 0
        if self.command == "POST":
            key = max(self.notes, default=0) + 1
            self.notes[key] = {"id": key, **body}
            return self.answer(201, self.notes[key])
        if key not in self.notes:
            return self.answer(404, {"message": "no such note"})
        if self.command == "DELETE":
            del self.notes[key]
            return self.answer(204)
        if self.command == "PATCH":
            if self.headers.get("If-Match") != f'"{self.notes[key]["title"]}"':
                return self.answer(412, {"message": "changed"})
            self.notes[key].update(body)
        return self.answer(200, self.notes[key])

    do_GET = do_POST = do_PATCH = do_DELETE = handle_any  # noqa: N815

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    Notes.notes.clear()
    Notes.requests.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Notes) as api:
        thread = threading.Thread(
            target=api.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        yield f"http://127.0.0.1:{api.server_port}/v1"
        api.shutdown()
        thread.join()


@pytest.mark.parametrize("era", ["legacy", "2026-07-28"])
async def test_a_server_before_an_api(address: str, era: str) -> None:
    questions: list[str] = []
    agrees = False

    async def person(text: str, *_: object) -> ElicitResult[Any]:
        questions.append(text)
        return ElicitResult(
            action="accept" if agrees else "decline", content={"confirm": True}
        )

    settings = Settings(api=address, api_token="t0ken", metadata=Path("none"))
    async with Client(
        create_server(settings), mode=era, elicitation_handler=person
    ) as client:

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            return (await client.call_tool(tool, arguments)).structured_content or {}

        created = await call("create_note", title="A", content="B")
        assert created == {"id": 1, "title": "A", "content": "B", "etag": '"A"'}
        changed = await call("update_note", note_id=1, etag=created["etag"], title="C")
        assert changed["etag"] == '"C"'
        with pytest.raises(
            ToolError,
            match="answered 412: changed; it was changed since; read it again",
        ):
            await call("update_note", note_id=1, etag=created["etag"], title="D")
        note = await call("get_note", note_id=1)
        assert (note["title"], note["content"]) == ("C", "B")
        before = len(Notes.requests)
        refused = await call("delete_note", note_id=1)
        assert (refused["outcome"], len(questions), len(Notes.requests)) == (
            "declined",
            1,
            before,
        )
        agrees = True
        deletion = await call("delete_note", note_id=1)
        assert (deletion["outcome"], deletion["approved_by"], deletion["result"]) == (
            "applied", "person", {"result": None})  # fmt: skip
        assert Notes.requests[-1] == "DELETE /v1/notes/1"
        with pytest.raises(
            ToolError, match="answered 404: no such note; list or search"
        ):
            await call("get_note", note_id=1)
    assert not Notes.notes
