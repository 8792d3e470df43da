"""A server as its operator has it: killed, stopped, asked how it is, its log read. Real processes, each its own."""

import contextlib
import hmac
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import pytest
from listening import PATIENCE
from support import ROOT, Answers, rendered
from wire import command, environ

KEY = "k" * 32
SIGNALS = pytest.mark.skipif(
    sys.platform == "win32", reason="there are no such signals"
)
LIFESPAN = """
from contextlib import asynccontextmanager

@asynccontextmanager
async def lifespan(mcp):
    yield {}
    print("the lifespan is closed", flush=True)


def extend(mcp):
    pass


def commands(app):
    pass
"""


@pytest.fixture(scope="module")
def mine(project: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default project, whose lifespan says when it is closed."""
    copy = tmp_path_factory.mktemp("operated") / "notes"
    shutil.copytree(
        project, copy, ignore=shutil.ignore_patterns(".*cache", "__pycache__")
    )
    (copy / "src/notes_mcp/extend.py").write_text(LIFESPAN)
    return copy


@contextlib.contextmanager
def running(
    project: Path, home: Path, *words: str, **settings: str
) -> Iterator[subprocess.Popen[str]]:
    """`run` as a child of ours whose standard input stays open; its output goes to files."""
    variables = {f"NOTES_MCP_{name}": value for name, value in settings.items()}
    with (home / "stdout").open("w") as out, (home / "stderr").open("w") as err:
        process = subprocess.Popen(
            command(project, "run", *words),
            env=environ(project, home) | variables,
            cwd=project,
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=err,
            text=True,
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()


def wait_for_text(text: str, file: Path) -> str:
    """Wait for a text in a file, and return the content."""
    last = time.monotonic() + PATIENCE
    while text not in (content := file.read_text(encoding="utf-8")):
        assert time.monotonic() < last, content
        time.sleep(0.02)
    return content


def load_events(file: Path) -> list[dict[str, Any]]:
    """Load the structured lines of a log."""
    lines = file.read_text(encoding="utf-8").splitlines()
    events = []
    for line in lines:
        if line.startswith("{"):
            events.append(json.loads(line))
    return events


def request(
    tool: str, arguments: Mapping[str, object], number: int = 1
) -> dict[str, Any]:
    """A call in the newest era."""
    about = {
        "protocolVersion": "2026-07-28",
        "clientInfo": {"name": "raw", "version": "1"},
        "clientCapabilities": {},
    }
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    params = {"name": tool, "arguments": dict(arguments), "_meta": meta}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def post(client: httpx2.Client, address: str, tool: str, **arguments: object) -> Any:
    """What a call over HTTP is answered."""
    headers = {
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": tool,
    }
    answer = client.post(
        f"{address}/mcp", json=request(tool, arguments), headers=headers
    )
    (text,) = re.findall(r"^(?:data: )?(\{.*\})$", answer.text, re.MULTILINE)
    return json.loads(text)["result"]


def run_health_check(port: str) -> subprocess.CompletedProcess[bytes]:
    """Run the health check of the Dockerfile, on this machine."""
    text = rendered({"packages": ["container"]})["Dockerfile"]
    (words,) = re.findall(r"^HEALTHCHECK .*CMD (\[.*\])$", text, re.MULTILINE)
    program, *arguments = json.loads(words)
    assert program == "python"
    variables = {**os.environ, "NOTES_MCP_PORT": port}
    return subprocess.run(
        [sys.executable, *arguments], env=variables, capture_output=True, check=False
    )


@SIGNALS
def test_a_killed_server_has_recorded_every_call_that_it_answered(
    mine: Path, tmp_path: Path, port: str
) -> None:
    trail, answered = tmp_path / "trail.jsonl", list[str]()
    address, over = f"http://127.0.0.1:{port}", threading.Event()

    def flood(which: int) -> None:
        with httpx2.Client(timeout=PATIENCE) as client:
            for number in range(1000):
                title = f"{which}-{number}"
                try:
                    result = post(
                        client, address, "create_note", title=title, content="c"
                    )
                except (httpx2.HTTPError, ValueError):
                    return
                assert not result["isError"], result
                answered.append(title)
                if over.is_set():
                    return

    settings = {"AUDIT": str(trail), "STATE_KEYS": KEY}
    with running(mine, tmp_path, "--http", "--port", port, **settings) as process:
        wait_for_text("startup complete", tmp_path / "stderr")
        with ThreadPoolExecutor(8) as pool:
            floods = [pool.submit(flood, which) for which in range(8)]
            last = time.monotonic() + PATIENCE
            while len(answered) < 150 and time.monotonic() < last:
                time.sleep(0.01)
            process.send_signal(signal.SIGKILL)
            over.set()
            for future in floods:
                future.result()
    assert len(answered) >= 150
    seal = hmac.digest(KEY.encode(), b"audit trail", "sha256")
    text = trail.read_text(encoding="utf-8")
    assert text.endswith("\n")
    recorded = [json.loads(line)["arguments"] for line in text.splitlines()]
    for title in answered:
        arguments = json.dumps(
            {"title": title, "content": "c"}, sort_keys=True
        ).encode()
        assert hmac.digest(seal, arguments, "sha256").hex() in recorded
    assert len(answered) <= len(recorded) <= len(answered) + 8


@SIGNALS
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "term"]
)
def test_over_stdio_one_signal_stops_it_while_its_input_is_open(
    mine: Path, tmp_path: Path, number: signal.Signals
) -> None:
    with running(mine, tmp_path) as process:
        assert process.stdin
        process.stdin.write(
            json.dumps(request("create_note", {"title": "a", "content": "b"}))
        )
        process.stdin.write("\n")
        process.stdin.flush()
        wait_for_text("isError", tmp_path / "stdout")
        process.send_signal(number)
        assert process.wait(PATIENCE) == 0
        assert "the lifespan is closed" in wait_for_text(
            "lifespan", tmp_path / "stdout"
        )
    assert "Traceback" not in (tmp_path / "stderr").read_text()


@SIGNALS
def test_over_http_one_signal_stops_it_while_a_client_listens(
    mine: Path, tmp_path: Path, port: str
) -> None:
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    }
    with running(mine, tmp_path, "--http", "--port", port, AUDIT="stdout") as process:
        wait_for_text("startup complete", tmp_path / "stderr")
        address = f"http://127.0.0.1:{port}"
        headers = {"Accept": "application/json, text/event-stream"}
        with httpx2.Client(headers=headers, timeout=PATIENCE) as client:
            health = client.get(f"{address}/health")
            assert (health.status_code, health.json()) == (200, {"status": "ok"})
            assert (
                client.get(f"{address}/health", headers={"Host": "evil"}).status_code
                == 421
            )
            assert run_health_check(port).returncode == 0
            post(client, address, "create_note", title="a", content="b")
            body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
            session = client.post(f"{address}/mcp", json=body).headers["mcp-session-id"]
            session_header = {"mcp-session-id": session}
            with client.stream("GET", f"{address}/mcp", headers=session_header):
                process.send_signal(signal.SIGINT)
                assert process.wait(PATIENCE) == 130
    assert run_health_check(port).returncode == 1
    assert "the lifespan is closed" in (tmp_path / "stdout").read_text()
    assert [event["outcome"] for event in load_events(tmp_path / "stdout")] == [
        "applied"
    ]
    assert "Traceback" not in (tmp_path / "stderr").read_text()


def parse_events(text: str) -> dict[str, tuple[set[str], set[str]]]:
    """Parse the events of the guide, each with its required and its optional fields."""
    fields_of_event = {}
    rows = re.findall(
        r"^\| `(\w+)` \| [^|]* \| (.*) \|$",
        text.partition("## Log lines")[2],
        re.MULTILINE,
    )
    for event, fields in rows:
        always, _, sometimes = fields.partition("sometimes")
        fields_of_event[event] = (
            {*re.findall("`(\\w+)`", always)},
            {*re.findall("`(\\w+)`", sometimes)},
        )
    return fields_of_event


@pytest.mark.parametrize("answers", [{}, {"consent": "url"}], ids=["plain", "consent"])
def test_every_event_of_the_code_is_in_the_guide(answers: Answers) -> None:
    files = rendered(answers)
    modules = []
    for name, text in files.items():
        if name.startswith("src/"):
            modules.append(text)
    code = "".join(modules)
    for path in (ROOT / "engine/src/copier_fastmcp_engine").rglob("*.py"):
        if "consent" in answers or path.parent.name != "consent":
            code += path.read_text(encoding="utf-8")
    events = re.findall(r'(?:"event": |log_step\(\s*)"(\w+)"', code)
    assert {*events} == parse_events(files["docs/operating.md"]).keys()


def test_each_line_of_the_log_is_as_the_guide_says(
    mine: Path, tmp_path: Path, port: str
) -> None:
    guide = (mine / "docs/operating.md").read_text(encoding="utf-8")
    fields = parse_events(guide)
    (example,) = re.findall(r"^\{.*\}$", guide, re.MULTILINE)
    fields["write"] = {*json.loads(example)} - {"event"}, set()
    calls = [
        request("create_note", {"title": "a", "content": "b"}, 1),
        request("delete_note", {"note_id": 1}, 2),
        request("delete_note", {"note_id": 1, "confirm": True}, 3),
        request("search_notes", {"limit": "many"}, 4),
    ]
    with running(
        mine, tmp_path, AUDIT="stderr", READONLY="yes", DATABASES=""
    ) as process:
        assert process.stdin
        for number, call in enumerate(calls, 1):
            process.stdin.write(json.dumps(call) + "\n")
            process.stdin.flush()
            wait_for_text(f'"id":{number}', tmp_path / "stdout")
        process.stdin.close()
        process.wait(PATIENCE)
    over_http = tmp_path / "http"
    over_http.mkdir()
    with (
        running(mine, over_http, "--http", "--port", port),
        httpx2.Client(timeout=PATIENCE) as client,
    ):
        wait_for_text("startup complete", over_http / "stderr")
        address = f"http://127.0.0.1:{port}"
        post(client, address, "create_note", title="a", content="b")
        assert client.get(f"{address}/nowhere").status_code == 404
        text = wait_for_text('"event": "request"', over_http / "stderr")
    assert "HTTP/1.1" not in text, "uvicorn logs no request"
    lines = load_events(tmp_path / "stderr") + load_events(over_http / "stderr")
    typo = "NOTES_MCP_READONLY: this server has no such setting; is NOTES_MCP_READ_ONLY meant?"
    output = (tmp_path / "stderr").read_text(encoding="utf-8").splitlines()
    assert [line for line in output if "no such setting" in line] == [typo]
    assert {entry["event"] for entry in lines} == fields.keys()
    for line in lines:
        always, sometimes = fields[line.pop("event")]
        assert always <= line.keys() <= always | sometimes, line
    assert lines[0]["database"] == str(tmp_path / "data/notes-mcp/data.db")
    assert (tmp_path / "data/notes-mcp/data.db").exists()
