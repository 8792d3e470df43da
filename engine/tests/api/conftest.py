"""A small API on loopback, and a client in front of it."""

import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from pydantic import SecretStr

from copier_fastmcp_engine.api.client import ApiClient

TOKEN = "s3cret-t0ken/+&"


@dataclass
class Reply:
    """What the API answers to a request."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    chunks: Callable[[], Iterator[bytes]] | None = None
    before: Callable[[], None] = lambda: None
    reason: str | None = None


@dataclass
class Request:
    """A request as the API received it."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Api:
    """Gives prepared replies in turn, the last one again and again."""

    def __init__(self) -> None:
        """Answer with an empty object until told otherwise."""
        self.replies = [Reply(body=b"{}", headers={"Content-Type": "application/json"})]
        self.requests: list[Request] = []
        self.address = ""

    def next_reply(self) -> Reply:
        """Return the reply to the next request."""
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]


class Settings:
    """The settings of a server, without reading the environment."""

    policy: ClassVar[Any] = SimpleNamespace(
        server_name="notes-mcp", env_prefix="NOTES_MCP_", logger=logging.getLogger
    )

    def __init__(self, api: str, **changes: Any) -> None:
        """Use the defaults but for some changes."""
        self.api = api
        self.api_token = SecretStr(changes.get("token", TOKEN))
        self.api_auth = changes.get("auth", "bearer")
        self.api_seconds = changes.get("seconds", 5)
        self.api_bytes = changes.get("limit", 1_000_000)
        self.api_files = changes.get("files", "")


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def api() -> Iterator[Api]:
    state = Api()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def handle_any(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            state.requests.append(
                Request(self.command, self.path, dict(self.headers), body)
            )
            reply = state.next_reply()
            reply.before()
            self.send_response(reply.status, reply.reason)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            if reply.chunks:
                self.send_header("Connection", "close")
                self.end_headers()
                try:
                    for chunk in reply.chunks():
                        self.wfile.write(chunk)
                except OSError:  # the client had enough
                    pass
                self.close_connection = True
                return
            has_body = reply.status not in (204, 304)
            if has_body:
                self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            if has_body and self.command != "HEAD":
                self.wfile.write(reply.body)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = handle_any  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.01}
        )
        thread.start()
        state.address = f"http://127.0.0.1:{server.server_port}/v1"
        yield state
        server.shutdown()
        thread.join()


@pytest.fixture
def make_client(api: Api) -> Callable[..., ApiClient]:
    def make(**changes: Any) -> ApiClient:
        return ApiClient(Settings(api.address, **changes))

    return make
