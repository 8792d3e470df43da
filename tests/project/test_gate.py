"""The gate of a generated server: each guard is needed, and it holds for replicas, crowds and in the logs."""

import contextlib
import itertools
import json
import os
import shutil
import socket
import socketserver
import sqlite3
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from support import python, render, server
from wire import http

PROFILES: dict[str, dict[str, str]] = {
    "": {},
    "preview-first": {"profile": "confirm-all"},
    "refuse": {"profile": "custom", "confirm_fallback": "refuse"},
}
GATE, STORE, WORDS = "policy/confirmation.py", "policy/pending.py", "policy/questions.py"
TOOLS, START = "policy/registry.py", "server.py"
BOUND = 'bound(arguments | ({"confirm": True} if own else {}))'
Edit = tuple[str, str, str]  # a file of the package, a guard in it, what stands there without it

# What protects an action, each with the row of the generated suite that fails when it is gone.
GUARDS: dict[str, tuple[str, str, list[Edit]]] = {
    "only the boolean true is a yes": (
        "",
        "test_answer[accept-word-legacy-alone]",
        [(GATE, '.get("confirm") is True', '.get("confirm")')],
    ),
    "only an accepted form is a yes": (
        "",
        "test_answer[decline-legacy-alone]",
        [(GATE, 'answer.action == "accept" and ', "")],
    ),
    "a closed form is told from a no": (
        "",
        "test_answer[cancel-2026-07-28-mounted]",
        [(GATE, ' or answer.action == "cancel"', "")],
    ),
    "what is no answer to a form is none": (
        "",
        "test_row[state-without-answer-2026-07-28]",
        [(GATE, "not isinstance(answer, ElicitResult)", "answer is ...")],
    ),
    "an answer needs a question": (
        "",
        "test_row[answer-without-state-2026-07-28]",
        [
            (GATE, "(state := call.ctx.request_state) is None", 'not (state := "none")'),
            (GATE, "call.gate.take(name):", "call.gate.take(name) or _ANY(call):"),
            (
                GATE,
                "async def _load(",
                'def _ANY(c: Any) -> Any:\n    return {"asked": c.key, "answers": {}}\n\n\nasync def _load(',
            ),
        ],
    ),
    "a state is answered once": (
        "",
        "test_row[state-replayed-2026-07-28]",
        [(STORE, " or not await self.store.delete(name, collection=QUESTIONS)", "")],
    ),
    "a preview is applied once": (
        "",
        "test_row[preview-applied-legacy]",
        [(STORE, " or not await self.store.delete(name, collection=QUESTIONS)", "")],
    ),
    "of two answers at once one counts": (
        "",
        "test_row[state-two-at-once-2026-07-28]",
        [
            (
                STORE,
                "not await self.store.delete(name, collection=QUESTIONS)",
                "await self.store.delete(name, collection=QUESTIONS) is None",
            )
        ],
    ),
    "of two confirms at once one counts": (
        "",
        "test_row[preview-two-at-once-legacy]",
        [
            (
                STORE,
                "not await self.store.delete(name, collection=QUESTIONS)",
                "await self.store.delete(name, collection=QUESTIONS) is None",
            )
        ],
    ),
    "an approval is of one tool": (
        "",
        "test_row[preview-of-other-tool-legacy]",
        [
            (
                GATE,
                "digest(self.tool, literal, caller_of(self.ctx))",
                "digest(literal, caller_of(self.ctx))",
            )
        ],
    ),
    "an approval is of its arguments": (
        "",
        "test_row[preview-of-other-arguments-2026-07-28]",
        [
            (
                GATE,
                "digest(self.tool, literal, caller_of(self.ctx))",
                "digest(self.tool, caller_of(self.ctx))",
            )
        ],
    ),
    "an approval is of one user": (
        "",
        "test_row[preview-of-other-user-2026-07-28]",
        [(GATE, "if token is not None:", "if token is ...:")],
    ),
    "an approval is of one session": (
        "",
        "test_row[preview-of-other-session-legacy]",
        [(GATE, 'f"session:{ctx.session_id}"', '"session"')],
    ),
    "only confirm=true applies a preview": (
        "",
        "test_row[preview-twice-legacy]",
        [(GATE, "elif call.confirm:", "elif call.key:")],
    ),
    "confirm=true answers nobody's question": (
        "",
        "test_row[confirm-answers-for-nobody-2026-07-28]",
        [
            (
                GATE,
                "    answer = call.answers.get(key)\n",
                "    answer = call.answers.get(key)\n    if call.confirm:\n        answer = ConfirmationResult.CONFIRMED\n",
            )
        ],
    ),
    "a preview expires": (
        "",
        "test_row[preview-expired-legacy]",
        [(STORE, "ttl=self.seconds", "ttl=None")],
    ),
    "a question expires": (
        "",
        "test_row[state-expired-2026-07-28]",
        [(START, "ttl=seconds", "ttl=600")],
    ),
    "a flood pushes out old previews": (
        "",
        "test_row[preview-flood-legacy]",
        [(STORE, "max_entries_per_collection=MOST", "")],
    ),
    "an unanswered question times out": (
        "",
        "test_answer[time-out-legacy-alone]",
        [(GATE, "return ConfirmationResult.TIMED_OUT", "return ConfirmationResult.CONFIRMED")],
    ),
    "a client's error is no answer": (
        "",
        "test_answer[client-error-legacy-alone]",
        [
            (
                GATE,
                "except MCPError as error:",
                "except MCPError as error:\n        return ConfirmationResult.CONFIRMED",
            )
        ],
    ),
    "a malformed answer is no answer": (
        "",
        "test_answer[wrong-type-legacy-alone]",
        [
            (
                GATE,
                "except ValidationError:\n        return None",
                "except ValidationError:\n        return ConfirmationResult.CONFIRMED",
            )
        ],
    ),
    "a client that cannot be asked is not asked again": (
        "",
        "test_row[not-asked-again-legacy]",
        [(GATE, "await call.gate.is_mute(call.ctx.session_id)", "await call.gate.is_mute('')")],
    ),
    "a client for addresses alone cannot show a form": (
        "",
        "test_row[url-only-2026-07-28]",
        [(GATE, " or (said.form is None and said.url is not None)", "")],
    ),
    "a model is validated before anyone is asked": (
        "",
        "test_row[nobody-asked-invalid-model-legacy]",
        [
            (TOOLS, f"passed = {BOUND}", "passed = arguments"),
            (TOOLS, "functools.partial(function, **passed)", f"lambda: function(**{BOUND})"),
        ],
    ),
    "a preview can refuse before anyone is asked": (
        "",
        "test_row[nobody-asked-preview-says-legacy]",
        [
            (
                GATE,
                "if preview else None",
                "if preview and not await _confirm(call, call.key, question, None) else None",
            )
        ],
    ),
    "what was confirmed once is not asked for in the same call": (
        "",
        "test_row[nested-same-twice-2026-07-28]",
        [(GATE, "if call.applied:", "if not call.gate:")],
    ),
    "a yes is used up": (
        "",
        "test_row[nested-same-twice-2026-07-28]",
        [(GATE, "        call.answers.pop(call.key, None)\n", "")],
    ),
    "two questions of the same words are two": (
        "",
        "test_row[body-one-yes-2026-07-28]",
        [(GATE, "digest(call.key, call.questions, message)", "digest(call.key, message)")],
    ),
    "a no stays a no": (
        "",
        "test_row[body-no-stays-no-2026-07-28]",
        [(GATE, "ConfirmationResult(said) for", "ConfirmationResult.CONFIRMED for")],
    ),
    "a body does not go on without its answer": (
        "",
        "test_row[nested-2026-07-28]",
        [(GATE, "        if outer:\n            raise\n", "")],
    ),
    "a nested tool is not confirmed by its caller's parameter": (
        "",
        "test_row[nested-cannot-ask-legacy]",
        [(GATE, "if not call.nested:", "if True:")],
    ),
    "a tool without the parameter has no second step": (
        "",
        "test_row[body-cannot-ask-2026-07-28]",
        [(GATE, '"refuse" if self.confirm is None else CONFIRM_FALLBACK', "CONFIRM_FALLBACK")],
    ),
    "the profile gates what its author forgot": (
        "",
        "test_row[body-one-yes-legacy]",
        [("policy/behaviors.py", "return self.gate_demanded()", "return False")],
    ),
    "the registry builds the gate in": (
        "",
        "test_row[confirm-true-first-legacy]",
        [
            (
                TOOLS,
                "    if declaration.gated():\n",
                "    if declaration.gated() and not function:\n",
            )
        ],
    ),
    "a destructive tool without decorator stops the start": (
        "",
        "test_tool_by_hand[plain-at-start]",
        [
            (
                TOOLS,
                "if reason := undeclared(tool):",
                "if (reason := undeclared(tool)) and not tool:",
            )
        ],
    ),
    "a scope hides no tool from that check": (
        "",
        "test_tool_by_hand[scoped-at-start]",
        [(TOOLS, '        set_transport("stdio")', '        set_transport("sse")')],
    ),
    "a destructive tool that comes late is not served": (
        "",
        "test_tool_by_hand[mounted-late]",
        [(TOOLS, "    mcp.add_transform(Undeclared())\n", "")],
    ),
    "nothing hidden is in a question": (
        "",
        "test_answer[accept-2026-07-28-alone]",
        [(WORDS, 'HIDDEN.sub("\\N{REPLACEMENT CHARACTER}", text)', "text")],
    ),
    "a long value is shortened": (
        "",
        "test_answer[accept-legacy-alone]",
        [(WORDS, "text if len(text) <= longest else", "text if text else")],
    ),
    "the first call only previews": (
        "preview-first",
        "test_row[first-call-2026-07-28]",
        [
            (
                GATE,
                "PREVIEW_FIRST and call.confirm is False",
                "PREVIEW_FIRST and call.confirm is None",
            )
        ],
    ),
    "a client that cannot be asked is refused": (
        "refuse",
        "test_row[preview-applied-legacy]",
        [
            (
                GATE,
                "if self.confirm is None else CONFIRM_FALLBACK",
                'if self.confirm is None else "two_step"',
            )
        ],
    ),
}


# Imports what is slow once, then runs each job [folder, row, ...] in a fork; its exit code and output stay there.
RUNNER = """
import json, os, signal, sys
import anyio.pytest_plugin, pytest, fastmcp.client, notes_mcp.server
for name in [name for name in sys.modules if name.startswith("notes_mcp")]:
    del sys.modules[name]
sys.path[:] = [path for path in sys.path if not path.endswith("src")]
OPTIONS = "-c config/pytest.ini --rootdir . -p anyio -p no:cacheprovider --assert=plain --tb=line"
running = 0
for folder, *rows in json.load(open(sys.argv[1])):
    if running >= (os.cpu_count() or 1):
        os.wait()
        running -= 1
    running += 1
    if os.fork() == 0:
        signal.alarm(240)  # a gate without its guard may never end
        out = os.open(folder + "/out", os.O_WRONLY | os.O_CREAT)
        os.dup2(out, 1)
        os.dup2(out, 2)
        os.chdir(folder)
        sys.path.insert(0, folder + "/src")
        rows = ["tests/policy/test_confirmation.py::" + row for row in rows]
        code = pytest.main([*OPTIONS.split(), *rows])
        print("exit", int(code), flush=True)
        os._exit(0)
while running:
    os.wait()
    running -= 1
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork to be quick")
def test_without_a_guard_its_row_fails_and_with_it_holds(template: Path, tmp_path: Path) -> None:
    tools = {"tools": "get_note, delete_note"}
    whole = {
        name: render(template, tmp_path / f"-{name}", tools | of) for name, of in PROFILES.items()
    }
    jobs = []
    for number, (profile, row, edits) in enumerate(GUARDS.values()):
        project = Path(shutil.copytree(whole[profile], tmp_path / str(number)))
        for file, guard, without in edits:
            path = project / "src/notes_mcp" / file
            text = path.read_text(encoding="utf-8")
            assert text.count(guard) == 1, f"{file} has {text.count(guard)} times {guard!r}"
            path.write_text(text.replace(guard, without), encoding="utf-8")
        jobs.append([str(project), row])
    for name, project in whole.items():
        jobs.append([str(project), *sorted({row for of, row, _ in GUARDS.values() if of == name})])
    (tmp_path / "jobs").write_text(json.dumps(jobs))
    done = python(
        whole[""], "-c", RUNNER, str(tmp_path / "jobs"), PYTEST_DISABLE_PLUGIN_AUTOLOAD="1"
    )
    assert done.returncode == 0, done.stderr
    said = [(Path(folder) / "out").read_text() for folder, *_ in jobs]
    needless = {
        name: text
        for (name, (_, row, _)), text in zip(GUARDS.items(), said, strict=False)
        if not ("exit 1\n" in text and f"FAILED tests/policy/test_confirmation.py::{row}" in text)
    }
    assert needless == {}
    assert [text for text in said[len(GUARDS) :] if "exit 0\n" not in text] == []


class Balancer(socketserver.ThreadingTCPServer):
    """Hands each connection to the next replica."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, ports: list[int]) -> None:
        """Listen on a free port."""
        super().__init__(("127.0.0.1", 0), Relay)
        self.next_port = itertools.cycle(ports)
        self.served: list[int] = []


class Relay(socketserver.BaseRequestHandler):
    """Copies bytes both ways."""

    def handle(self) -> None:
        """Serve one connection."""
        assert isinstance(self.server, Balancer)
        port = next(self.server.next_port)
        self.server.served.append(port)
        with socket.create_connection(("127.0.0.1", port)) as there:
            up = threading.Thread(target=copy, args=(self.request, there), daemon=True)
            up.start()
            copy(there, self.request)


def copy(source: socket.socket, to: socket.socket) -> None:
    """Copy until the source ends."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)


def post(address: str, arguments: dict[str, Any], can: dict[str, Any], **more: Any) -> Any:
    """Call send_note in the newest era, by hand and on a new connection: what it came to, and the result."""
    about = {
        "protocolVersion": "2026-07-28",
        "clientInfo": {"name": "raw", "version": "1"},
        "clientCapabilities": can,
    }
    meta = {f"io.modelcontextprotocol/{name}": value for name, value in about.items()}
    params = {"name": "send_note", "arguments": arguments, "_meta": meta, **more}
    answer = httpx2.post(
        address,
        json={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params},
        headers={
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": "2026-07-28",
            "Mcp-Method": "tools/call",
            "Mcp-Name": "send_note",
        },
        timeout=30,
    )
    text = answer.text
    if answer.headers["content-type"].startswith("text/event-stream"):
        text = next(line[6:] for line in text.splitlines() if line.startswith("data: {"))
    return json.loads(text)["result"]


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """The address of a Redis of our own."""
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed (apt-get install redis-server)")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen([program, *words], stdout=subprocess.DEVNULL)
    for _ in range(100):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            break
        time.sleep(0.05)
    yield f"redis://127.0.0.1:{port}/0"
    process.terminate()
    process.wait(10)


@pytest.mark.parametrize("state", ["redis", "folder"])
def test_two_replicas_apply_once(
    state: str,
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    where = request.getfixturevalue("redis") if state == "redis" else str(tmp_path / "state")
    monkeypatch.setenv("NOTES_MCP_STATE", where)
    monkeypatch.setenv("NOTES_MCP_STATE_KEYS", json.dumps(["k" * 32, "before" * 8]))
    monkeypatch.setenv("NOTES_MCP_DATABASE", str(tmp_path / "notes.db"))

    def sent() -> int:
        with contextlib.closing(sqlite3.connect(tmp_path / "notes.db")) as db:
            return int(db.execute("SELECT count(*) FROM records").fetchone()[0])

    homes = [tmp_path / "one", tmp_path / "two"]
    for home in homes:
        home.mkdir()
    with http(project, homes[0]) as one, http(project, homes[1]) as two:
        ports = [int(address.split(":")[2].split("/")[0]) for address in (one, two)]
        balancer = Balancer(ports)
        threading.Thread(target=balancer.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{balancer.server_address[1]}/mcp"
        form: dict[str, Any] = {"elicitation": {}}
        asked = post(address, {"note_id": 1}, form)
        yes = {"confirmation": {"action": "accept", "content": {"confirm": True}}}
        answer = {"requestState": asked["requestState"], "inputResponses": yes}
        assert sent() == 0
        applied = post(address, {"note_id": 1}, form, **answer)
        assert applied["structuredContent"]["outcome"] == "applied"
        assert balancer.served == ports
        for _ in ports:
            assert "requestState" in post(address, {"note_id": 1}, form, **answer)
        assert sent() == 1
        confirm = {"note_id": 2, "confirm": True}
        calls = [{"note_id": 2}, confirm, confirm, confirm]
        outcomes = [post(address, call, {})["structuredContent"]["outcome"] for call in calls]
        assert outcomes == ["preview", "applied", "preview", "applied"]
        assert balancer.served == ports * 4
        assert sent() == 3
        balancer.shutdown()
        balancer.server_close()


CROWD = """
import asyncio, gc, logging
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from notes_mcp.backend import backend
from notes_mcp.policy.pending import QUESTIONS, gate_of
from notes_mcp.server import create_server
from notes_mcp.settings import Settings

logging.disable()
SAYS = [("accept", True), ("accept", False), ("decline", None), ("cancel", None)]
OUTCOMES = ["applied", "declined", "declined", "cancelled"]

async def person(message, *rest):
    number = int(message.split("note_id: ")[1].split(")")[0])
    await asyncio.sleep(number % 7 / 100)
    action, confirm = SAYS[number % 4]
    return ElicitResult(action=action, content=None if confirm is None else {"confirm": confirm})

async def crowd(server, era):
    async with Client(server, mode=era, elicitation_handler=person) as client:
        calls = [client.call_tool("send_note", {"note_id": n}) for n in range(1, 201)]
        found = [r.structured_content["outcome"] for r in await asyncio.gather(*calls)]
    assert found == [OUTCOMES[n % 4] for n in range(1, 201)], found
    done = sorted(record["note_id"] for record in (await backend().snapshot()).values())
    await backend().delete("send_note", None)
    assert done == [n for n in range(1, 201) if n % 4 == 0], done
    waiting = await gate_of(server).store.keys(collection=QUESTIONS)
    assert waiting == [], waiting
    gc.collect()
    return len(gc.get_objects())

async def main():
    server = create_server(Settings(database=":memory:", state="memory"))
    for era in ("legacy", "2026-07-28"):
        await crowd(server, era)
        before = await crowd(server, era)
        print(era, await crowd(server, era) - before)

asyncio.run(main())
"""


def test_of_two_hundred_at_once_each_gets_its_own_answer(project: Path) -> None:
    done = python(project, "-c", CROWD)
    assert done.returncode == 0, done.stderr
    grown = {era: int(objects) for era, objects in map(str.split, done.stdout.splitlines())}
    assert set(grown) == {"legacy", "2026-07-28"}
    assert max(grown.values()) < 200, grown  # objects more than before: fewer than one a question


WATCHED = """
import asyncio, json, logging, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, counts = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([counts]))

from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from notes_mcp.server import create_server
from notes_mcp.settings import Settings

records = []
class Keep(logging.Handler):
    def emit(self, record):
        records.append((record.levelname, record.name, record.getMessage()))
root = logging.getLogger()
root.addHandler(Keep())
root.setLevel("INFO")
logging.getLogger("fastmcp").propagate = True

def says(action):
    async def person(*asked):
        return ElicitResult(action=action, content={"confirm": True} if action == "accept" else None)
    return person

async def main():
    server = create_server(Settings(database=":memory:", state="memory"))
    for era in ("legacy", "2026-07-28"):
        for person in (says("accept"), says("decline"), says("cancel"), None):
            async with Client(server, mode=era, elicitation_handler=person) as client:
                whole = {"note_id": 4711}
                await client.call_tool("delete_note", whole)
                if person is None:
                    await client.call_tool("delete_note", whole | {"confirm": True})

asyncio.run(main())
data = json.loads(counts.get_metrics_data().to_json())
points = [
    [p["attributes"]["way"], p["value"]]
    for of in data["resource_metrics"] for s in of["scope_metrics"] for m in s["metrics"]
    if m["name"] == "mcp.confirmation.fallbacks" for p in m["data"]["data_points"]
]
attributes = [
    [s.attributes["mcp.protocol.version"], s.attributes["mcp.confirmation.way"], s.attributes["mcp.confirmation.outcome"], s.status.is_ok]
    for s in spans.get_finished_spans() if "mcp.confirmation.way" in (s.attributes or {})
]
print(json.dumps({"records": records, "points": points, "attributes": attributes}))
"""


def test_each_decision_is_logged_traced_and_counted_without_values(project: Path) -> None:
    done = python(project, "-c", WATCHED)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout.splitlines()[-1])
    texts = [text for _, _, text in seen["records"]]
    assert "4711" not in json.dumps(texts)
    assert {level for level, _, _ in seen["records"]} <= {"INFO", "DEBUG"}
    lines = [json.loads(text) for text in texts if '"event": "confirmation"' in text]
    assert {tuple(line) for line in lines} == {("event", "tool", "era", "way", "outcome", "ms")}
    old = [("elicitation", said) for said in ("confirmed", "declined", "cancelled")]
    new = [
        ("input_required", said)
        for answer in ("confirmed", "declined", "cancelled")
        for said in ("asked", answer)
    ]
    steps = [("two_step", "preview"), ("two_step", "confirmed")]
    expected = [("handshake", *said) for said in old + steps]
    expected += [("2026-07-28", *said) for said in new + steps]
    assert [(line["era"], line["way"], line["outcome"]) for line in lines] == expected
    assert [(way, said) for _, way, said, _ in seen["attributes"]] == [of[1:] for of in expected]
    assert all(ok for *_, ok in seen["attributes"])
    assert seen["points"] == [["two_step", 4]]


ODD = """
import asyncio
from typing import Annotated, Any
from fastmcp import Client, Context
from fastmcp.client.elicitation import ElicitResult
from fastmcp.dependencies import Depends
from pydantic import BaseModel, Field, SecretStr
from notes_mcp.policy import delete, create
from notes_mcp.policy.registry import build_tool
from notes_mcp.server import create_server
from notes_mcp.settings import Settings

DONE, QUESTIONS = [], []
Which = Annotated[str, Field(description="Which.")]

class Gone(BaseModel):
    name: str

def connection():
    return object()

@delete(title="Injected", confirm=True)
async def injected(name: Which, ctx: Context, db: Any = Depends(connection)) -> Gone:
    DONE.append("injected")
    return Gone(name=name)

@delete(title="Renamed", confirm="From {from}?")
async def renamed(from_: Annotated[str, Field(description="Which.", alias="from")]) -> list[Gone]:
    DONE.append("renamed")
    return [Gone(name=from_)]

@delete(title="Own parameter", confirm=True)
async def own(name: Which, confirm: Annotated[bool, Field(description="Mine.")] = False) -> None:
    assert confirm
    DONE.append("own")

@delete(title="Secret", confirm=True)
async def secret(name: Annotated[SecretStr, Field(description="Which.")]) -> None:
    DONE.append(name.get_secret_value())

@delete(title="Outer", confirm=True)
async def outer(name: Which, ctx: Context) -> Gone:
    result = await ctx.fastmcp.call_tool("injected", {"name": name})
    assert result.structured_content["outcome"] == "applied"
    DONE.append("outer")
    return Gone(name=name)

@create(title="Its own client", confirm=False, exceptions=[{"hint": "confirm", "value": False, "why": "-"}])
async def client_of_itself(era: Which, ctx: Context) -> Gone:
    async with Client(ctx.fastmcp, mode=era, elicitation_handler=person) as client:
        await client.call_tool("injected", {"name": "inner"})
    return Gone(name=era)

async def person(question, *rest):
    QUESTIONS.append(question.split("asks: ")[1])
    return ElicitResult(action="accept", content={"confirm": True})

async def main():
    server = create_server(Settings(database=":memory:", state="memory"))
    for function in (injected, renamed, own, secret, outer, client_of_itself):
        server.add_tool(build_tool(function, function.__declaration__))
    CALLS = {
        "injected": ({"name": "a"}, ["Injected? (name: a)"], ["injected"]),
        "renamed": ({"from": "b"}, ["From b?"], ["renamed"]),
        "own": ({"name": "c"}, ["Own parameter? (name: c)"], ["own"]),
        "outer": ({"name": "d"}, ["Outer? (name: d)", "Injected? (name: d)"], ["injected", "outer"]),
    }
    for era in ("legacy", "2026-07-28"):
        whole = CALLS | {"client_of_itself": ({"era": era}, ["Injected? (name: inner)"], ["injected"])}
        async with Client(server, mode=era, elicitation_handler=person) as client:
            for tool, (arguments, questions, done) in whole.items():
                DONE.clear(), QUESTIONS.clear()
                await client.call_tool(tool, arguments)
                assert (QUESTIONS, DONE) == (questions, done), (era, tool, QUESTIONS, DONE)
        async with Client(server, mode=era) as client:
            for tool, (arguments, questions, done) in list(CALLS.items())[:3]:
                DONE.clear()
                await client.call_tool(tool, arguments)
                assert DONE == []
                await client.call_tool(tool, arguments | {"confirm": True})
                assert DONE == done
            DONE.clear()
            shown = await client.call_tool("secret", {"name": "a"})
            assert shown.structured_content["preview"]["question"] == 'Secret? (name: "**********")'
            other = await client.call_tool("secret", {"name": "b", "confirm": True})
            assert (other.structured_content["outcome"], DONE) == ("preview", [])
            await client.call_tool("outer", {"name": "d"})
            said = await client.call_tool("outer", {"name": "d", "confirm": True}, raise_on_error=False)
            assert (said.is_error, DONE) == (True, [])
            assert said.content[0].text.startswith("injected needs"), said.content[0].text

asyncio.run(main())
"""


def test_unusual_tools_are_asked_for_and_applied_in_both_eras(project: Path) -> None:
    done = python(project, "-c", ODD)
    assert done.returncode == 0, done.stderr[-3000:]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("STATE_KEYS", '["short"]', "request-state keys must be at least 32 bytes"),
        ("STATE", "/proc/nowhere/state", "nowhere"),
    ],
)
def test_a_state_that_cannot_be_kept_stops_the_start_with_one_line(
    project: Path, name: str, value: str, said: str
) -> None:
    done = server(project, "tools", "list", **{f"NOTES_MCP_{name}": value})
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("notes-mcp: ")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


AWAY = """
import asyncio
from fastmcp import Client
from notes_mcp.backend import backend
from notes_mcp.server import create_server
from notes_mcp.settings import Settings

async def main():
    server = create_server(Settings(database=":memory:", state="redis://127.0.0.1:1/0"))
    await backend().create("note", {}, id=1)
    for era, more in (("legacy", {}), ("2026-07-28", {"confirm": True})):
        async with Client(server, mode=era) as client:
            said = await client.call_tool("delete_note", {"note_id": 1} | more, raise_on_error=False)
            assert said.is_error
    assert list(await backend().snapshot()) == ["note/1"]

asyncio.run(main())
"""


def test_a_store_that_is_away_lets_nothing_through(project: Path) -> None:
    done = python(project, "-c", AWAY)
    assert done.returncode == 0, done.stderr[-3000:]
