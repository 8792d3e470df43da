"""A proxy on loopback between a server and a service: what was really sent and answered."""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

DROPPED = {"connection", "keep-alive", "transfer-encoding", "content-length", "host"}


@dataclass
class Exchange:
    """A request and the response to it, as bytes."""

    method: str
    path: str
    body: bytes
    status: int
    media_type: str
    response: bytes


@dataclass
class Recorder:
    """The address of the proxy, and what went through it."""

    address: str = ""
    exchanges: list[Exchange] = field(default_factory=list)


@contextmanager
def recording(service: str) -> Iterator[Recorder]:
    """Run a proxy in front of a service.

    Args:
        service: The address of the service, without a path.

    Yields:
        The recorder.
    """
    recorder, target = Recorder(), urlsplit(service).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def forward(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = self.rfile.read(length)
            headers = {}
            for k, v in self.headers.items():
                if k.lower() not in DROPPED:
                    headers[k] = v
            headers["Accept-Encoding"] = "identity"
            connection = http.client.HTTPConnection(target, timeout=60)
            try:
                connection.request(self.command, self.path, body or None, headers)
                response = connection.getresponse()
                content = response.read()
            finally:
                connection.close()
            media_type = response.headers.get("Content-Type", "")
            path = self.path
            exchange = Exchange(
                self.command, path, body, response.status, media_type, content
            )
            recorder.exchanges.append(exchange)
            self.send_response(response.status)
            for name, value in response.headers.items():
                if name.lower() not in DROPPED | {"date", "server"}:
                    self.send_header(name, value)
            if response.status != 204:
                self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = forward  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.02}
        )
        thread.start()
        recorder.address = f"http://127.0.0.1:{server.server_port}"
        yield recorder
        server.shutdown()
        thread.join()
