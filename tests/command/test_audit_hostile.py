"""`audit` of a server that means harm: one line, and not all memory or time."""

import gzip
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from foreign_server import READ, tool

from copier_fastmcp import errors
from copier_fastmcp.auditing.servers import fetch_tools
from copier_fastmcp.auditing.snapshot import compare_with_snapshot
from copier_fastmcp.errors import UnableError

CHUNK = b" " * 2**20
BODIES = {
    "zip": (
        {"content-encoding": "gzip"},
        [gzip.compress(CHUNK * 40)],
        "a compressed answer",
    ),
    "endless": ({}, [CHUNK] * 40, "an answer of more than 32 MiB"),
}


class Hostile(BaseHTTPRequestHandler):
    """Answers every request with too much."""

    kind: str

    def do_POST(self) -> None:
        headers, body, _ = BODIES[self.kind]
        self.send_response(200)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        try:
            for chunk in body:
                self.wfile.write(chunk)
        except OSError:
            pass

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(params=BODIES)
def hostile(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Its address, and what is said of it."""
    handler = type("Handler", (Hostile,), {"kind": request.param})
    with HTTPServer(("127.0.0.1", 0), handler) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{running.server_port}/mcp", BODIES[request.param][2]
        running.shutdown()


def test_an_answer_that_is_too_large_is_not_read(hostile: tuple[str, str]) -> None:
    url, message = hostile
    with pytest.raises(UnableError, match=message):
        fetch_tools(None, url, {}, 10)


def bomb(depth: int) -> dict[str, Any]:
    """A schema of a few kilobytes that unfolds to twice as much with each level."""
    twice = {
        f"s{n}": {"allOf": [{"$ref": f"#/$defs/s{n + 1}"}] * 2} for n in range(depth)
    }
    return {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/s0"}},
        "$defs": twice,
    }


def test_references_that_unfold_without_end_are_not_unfolded(tmp_path: Path) -> None:
    began = time.process_time()
    with pytest.raises(
        UnableError, match="the schemas unfold to over 2,000,000 parts, at 'get_a'"
    ):
        compare_with_snapshot(
            tmp_path / "tools.lock", [tool("get_a", READ, inputSchema=bomb(60))]
        )
    assert time.process_time() - began < 20
    assert not (tmp_path / "tools.lock").exists()
    assert (
        compare_with_snapshot(
            tmp_path / "tools.lock", [tool("get_a", READ, inputSchema=bomb(8))]
        )
        is None
    )


def test_no_name_steers_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    errors.print_message("get_\x1b[2J\u202enote: BREAKING: is gone")
    assert (
        capsys.readouterr().err
        == "copier-fastmcp: get_\\x1b[2J\\u202enote: BREAKING: is gone\n"
    )
