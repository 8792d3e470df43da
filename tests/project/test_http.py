"""The default server over HTTP: both eras, the README's command, foreign hosts and origins."""

import asyncio
import contextlib
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from fastmcp import Client
from listening import PATIENCE, free_port, running
from support import nightly_but, server
from wire import ERAS, command, environ, http


@pytest.fixture
def address(project: Path, tmp_path: Path) -> Iterator[str]:
    """The address of the default project served over HTTP."""
    with http(project, tmp_path) as served:
        yield served


@pytest.mark.parametrize("era", ERAS)
def test_http_serves_both_eras(address: str, era: str) -> None:
    async def work() -> int:
        async with Client(address, mode=era) as client:
            return len(await client.list_tools())

    assert asyncio.run(work()) == 9


def title_of_get_note(address: str) -> str:
    """The title that the server serves at this moment; empty while it starts again."""

    async def work() -> str:
        async with Client(address) as client:
            tools = {tool.name: tool for tool in await client.list_tools()}
            return tools["get_note"].title or ""

    with contextlib.suppress(Exception):
        return asyncio.run(work())
    return ""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("ending", nightly_but(["SIGHUP"], ["SIGHUP", "SIGTERM"]))
def test_reload_serves_an_edited_file_and_leaves_no_server(
    project: Path, tmp_path: Path, ending: str
) -> None:
    copy = tmp_path / "edited"
    shutil.copytree(project, copy, ignore=shutil.ignore_patterns(".venv", ".git"))
    file = copy / "src/notes_mcp/tools/get_note.py"
    last = time.monotonic() + PATIENCE
    options = {"cwd": copy, "env": environ(copy, tmp_path)}
    with free_port() as port:
        words = command(copy, "run", "--http", "--port", str(port), "--reload")
        served = f"http://127.0.0.1:{port}/mcp"
        # Not in a fork, which a test ends so that the program can end nothing of its own
        with running(words, port, tmp_path / "stderr", **options) as process:
            assert title_of_get_note(served) == "Get Note"
            text = file.read_text(encoding="utf-8")
            file.write_text(text.replace("Get Note", "Read Note"), encoding="utf-8")
            while (title := title_of_get_note(served)) != "Read Note":
                assert time.monotonic() < last, title
                time.sleep(0.2)
            process.send_signal(signal.Signals[ending])
            process.wait(PATIENCE)
            with pytest.raises(ConnectionRefusedError):
                socket.create_connection(("127.0.0.1", port), 1).close()


def test_reload_over_stdio_is_refused_in_one_line(project: Path) -> None:
    done = server(project, "run", "--reload")
    assert done.returncode == 1
    assert done.stderr.strip().startswith("notes-mcp: --reload requires --http")


@pytest.mark.skipif(not shutil.which("curl"), reason="needs curl")
def test_the_curl_command_of_the_readme_lists_the_tools(
    project: Path, address: str
) -> None:
    text = (project / "README.md").read_text(encoding="utf-8")
    (command,) = re.findall(r"^curl .*?}'$", text, re.DOTALL | re.MULTILINE)
    command = command.replace("http://127.0.0.1:8000/mcp", address)
    done = subprocess.run(
        ["sh", "-c", command], capture_output=True, text=True, check=True
    )
    tools = {tool["name"]: tool for tool in json.loads(done.stdout)["result"]["tools"]}
    wire = json.loads(server(project, "tools", "wire", "get_note").stdout)
    assert tools["get_note"]["annotations"] == wire["annotations"]
    assert len(tools) == 9


@pytest.mark.parametrize(
    ("header", "value", "status"),
    [("Host", "evil.example", 421), ("Origin", "http://evil.example", 403)],
)
def test_http_refuses_a_foreign_host_and_origin(
    address: str, header: str, value: str, status: int
) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    response = httpx2.post(address, json=request, headers={header: value})
    assert response.status_code == status
