"""Servers for four real services: each result is what the service sent, and a read changes nothing.

LIVE_ENVIRONMENTS names a folder where the environments of the services are kept from run to run. The tables of docs/api.md:

    uv run pytest -m nightly tests/live --junit-xml=live.xml
    uv run python tests/live/tables.py live.xml
"""

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import yaml
from live.calling import ERAS, Person, Tools, play, served
from live.peers import PEERS, play_peer, running
from live.recording import recording
from live.scenarios import (
    CHANGEDETECTION,
    CHROMA,
    FRESH_SCENARIOS,
    JUPYTERHUB,
    LABEL_STUDIO,
    PHOENIX,
    PREFECT,
    SCENARIOS,
    SEEDS,
    SNAPSHOTS,
)
from live.services import FRESH_STARTS, STARTS, Service, UnavailableError
from support import PYTEST, ROOT, python, render

pytestmark = pytest.mark.nightly
# What a service changes by itself between two reads.
VOLATILE = {
    "last_activity",
    "last_checked",
    "last_changed",
    "last_error",
    "last_notification_error",
    "updated",
    "server",
    "time",
    "token",
}


class Page(SimpleHTTPRequestHandler):
    """A page to watch."""

    def do_GET(self) -> None:
        """Answer every path alike."""
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<html><body><p>Watched</p></body></html>")

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def page() -> Iterator[str]:
    """The address of a page to watch."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.1}
        )
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


# A read of each service that every caller begins with.
FIRST_CALLS = {
    "changedetection.io": CHANGEDETECTION[0],
    "jupyterhub": JUPYTERHUB[1],
    "chroma": CHROMA[1],
    "prefect": PREFECT[1],
    "label-studio": LABEL_STUDIO[1],
    "phoenix": PHOENIX[0],
}
# Two services were chosen, described and run once at the end; docs/api.md has that first run.
ALL_STARTS = STARTS | FRESH_STARTS
ALL_SCENARIOS = SCENARIOS | FRESH_SCENARIOS


@pytest.fixture(scope="module", params=ALL_STARTS)
def service(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Service]:
    """A running service; skipped with one line where it cannot be installed."""
    name = str(request.param)
    folder = tmp_path_factory.mktemp("service")
    remaining = os.environ.get("LIVE_ENVIRONMENTS")
    environments = (
        Path(remaining) if remaining else tmp_path_factory.mktemp("environments")
    )
    try:
        started = ALL_STARTS[name](environments, folder)
    except UnavailableError as error:
        pytest.skip(str(error))
    yield started
    started.stop()


@pytest.fixture(scope="module")
def project(service: Service, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The server that the command generates from the service's document."""
    folder = tmp_path_factory.mktemp("project")
    answers = folder / "answers.yml"
    command = [sys.executable, "-m", "copier_fastmcp", "import", str(service.document)]
    subprocess.run(
        [*command, "--out", str(answers), "--unattended"],
        check=True,
        capture_output=True,
    )
    data = yaml.safe_load(answers.read_text(encoding="utf-8"))
    data.setdefault("api", f"{service.address}{service.base}")
    return render(ROOT, folder / "server", data)


def values_of(project: Path) -> Tools:
    """The tools of a generated server."""
    return Tools.load(project.parent / "answers.yml")


def test_each_result_is_what_the_service_sent(
    service: Service, project: Path, page: str, record_property: Any
) -> None:
    tools, person = values_of(project), Person()
    values_kept: dict[str, Any] = {"page": page}

    async def run() -> Any:
        with recording(service.address) as recorder:
            settings = {**service.settings, "API": f"{recorder.address}{service.base}"}
            async with (
                served(project, ERAS[0], person, settings) as old,
                served(project, ERAS[1], person, settings) as new,
            ):
                clients = {ERAS[0]: old, ERAS[1]: new}
                steps = ALL_SCENARIOS[service.name]
                return await play(
                    steps, tools, clients, person, recorder, service, values_kept
                )

    judgements, unasked = anyio.run(run)
    counts = Counter(judgement.verdict for judgement in judgements)
    record_property("live", {"service": service.name, **counts})
    failures = [j for j in judgements if j.verdict != "right"]
    lines = [f"{j.verdict}: {j.operation}: {j.reason}" for j in failures]
    print(f"{service.name}: {dict(counts)}", *lines, sep="\n")
    assert not unasked
    for j in failures:
        assert j.verdict not in ("lost", "refused", "sent wrongly"), "\n".join(lines)
    assert counts["right"] >= 0.95 * len(judgements), "\n".join(lines)


def test_the_generated_suite_is_green_unedited(project: Path) -> None:
    done = python(project, *PYTEST, "tests/policy", "-q")
    assert done.returncode == 0, done.stdout[-3000:]
    assert " failed" not in done.stdout


def test_a_document_leads_to_a_first_correct_call_within_a_minute(
    service: Service, tmp_path: Path
) -> None:
    """Processor time of the commands and of the server, on a machine that may be busy."""
    if service.name not in FIRST_CALLS:
        pytest.skip(f"{service.name} ran once only")
    before = os.times()
    words = ["--from", str(service.document), "--unattended"]
    address = f"{service.address}{service.base}"
    command = [sys.executable, "-m", "copier_fastmcp", "new", str(tmp_path / "server")]
    subprocess.run([*command, *words], check=True, capture_output=True)
    answers = yaml.safe_load((tmp_path / "server/.copier-answers.yml").read_text())
    (tmp_path / "tools.yml").write_text(yaml.safe_dump(answers))
    tools = Tools.load(tmp_path / "tools.yml")

    async def run() -> Any:
        with recording(service.address) as recorder:
            settings = {
                **service.settings,
                "API": f"{recorder.address}{service.base}",
                "SEARCH": "false",
            }
            person = Person()
            project = tmp_path / "server"
            async with served(project, ERAS[1], person, settings) as client:
                clients = {ERAS[0]: client, ERAS[1]: client}
                steps = [FIRST_CALLS[service.name]]
                return await play(steps, tools, clients, person, recorder, service, {})

    ((judgement,), _) = anyio.run(run)
    after = os.times()
    spent = sum(after[:4]) - sum(before[:4])
    print(f"{service.name}: first call at {address} after {spent:.1f} CPU s")
    assert judgement.verdict == "right", judgement
    assert spent < 60


def test_no_read_changes_anything(service: Service, project: Path, page: str) -> None:
    """In read-only mode, with every optional parameter, between snapshots."""
    if service.name not in SNAPSHOTS:
        pytest.skip(f"nothing says what {service.name} holds")
    tools, person = values_of(project), Person()
    values_kept: dict[str, Any] = {"page": page}

    async def run() -> list[str]:
        changed = []
        with recording(service.address) as recorder:
            settings = {**service.settings, "API": f"{recorder.address}{service.base}"}
            async with served(project, ERAS[0], person, settings) as writer:
                clients = {ERAS[0]: writer, ERAS[1]: writer}
                seeds = SEEDS[service.name]
                await play(
                    seeds, tools, clients, person, recorder, service, values_kept
                )
            read_only = {**settings, "READ_ONLY": "true"}
            async with served(project, ERAS[1], person, read_only) as client:
                before = await read_settled_state(service, values_kept)
                for tool in await client.list_tools():
                    for arguments in samples(tool.input_schema, values_kept):
                        await client.call_tool(
                            tool.name, arguments, raise_on_error=False
                        )
                        after = snapshot(service, values_kept)
                        if after != before:
                            changed.append(
                                f"{tool.name} {arguments}: {difference(before, after)}"
                            )
                            before = after
        return changed

    assert anyio.run(run) == []


@pytest.mark.parametrize("peer_name", PEERS)
@pytest.mark.parametrize("name", [*STARTS, "label-studio", "phoenix"])
def test_peers_in_the_same_scenarios(
    name: str, peer_name: str, tmp_path: Path, page: str, record_property: Any
) -> None:
    """Report what others do with the calls; each has a service of its own, and nothing is required of it."""
    remaining = os.environ.get("LIVE_ENVIRONMENTS")
    environments = Path(remaining) if remaining else tmp_path / "environments"
    try:
        started = ALL_STARTS[name](environments, tmp_path)
    except UnavailableError as error:
        pytest.skip(str(error))

    async def run() -> Any:
        with recording(started.address) as recorder:
            address = f"{recorder.address}{started.base}"
            async with running(
                peer_name, started, address, tmp_path, environments
            ) as peer:
                values_kept = {"page": page}
                return await play_peer(ALL_SCENARIOS[name], peer, recorder, values_kept)

    try:
        judgements = anyio.run(run)
    except Exception as error:  # a peer may fail in any way
        pytest.skip(f"{peer_name} does not start: {error!r}"[:200])
    finally:
        started.stop()
    counts = Counter(judgement.verdict for judgement in judgements)
    record_property("live", {"service": name, "peer": peer_name, **counts})
    print(f"{name} with {peer_name}: {dict(counts)}")


def snapshot(service: Service, values_kept: dict[str, Any]) -> list[Any]:
    """What the service holds, without what it changes by itself."""
    states = []
    for operation, body in SNAPSHOTS[service.name]:
        method, _, path = operation.partition(" ")
        for name, value in values_kept.items():
            path = path.replace(f"${name}", str(value))
        url = f"{service.address}{service.base}{path}"
        response = httpx2.request(
            method, url, headers=service.headers(), json=body, timeout=30
        )
        states.append(drop_volatile(response.json() if response.content else None))
    return states


async def read_settled_state(
    service: Service, values_kept: dict[str, Any]
) -> list[Any]:
    """What the service holds once it does nothing by itself, as the first check of a new page."""
    states = [snapshot(service, values_kept)]
    while (
        len(states) < 60 and any(state != states[-1] for state in states[-8:])
    ) or len(states) < 8:
        await anyio.sleep(0.5)
        states.append(snapshot(service, values_kept))
    return states[-1]


def difference(before: Any, after: Any, place: str = "") -> str:
    """The first place where two states differ."""
    if isinstance(before, dict) and isinstance(after, dict):
        for name in before.keys() | after.keys():
            if before.get(name) != after.get(name):
                return difference(before.get(name), after.get(name), f"{place}.{name}")
    if (
        isinstance(before, list)
        and isinstance(after, list)
        and len(before) == len(after)
    ):
        for number, (old, new) in enumerate(zip(before, after, strict=True)):
            if old != new:
                return difference(old, new, f"{place}.{number}")
    return f"{place}: {str(before)[:80]} -> {str(after)[:80]}"


def drop_volatile(value: Any) -> Any:
    """Return a value without what changes by itself."""
    if isinstance(value, dict):
        stable_items = {}
        for name, item in value.items():
            if name not in VOLATILE:
                stable_items[name] = drop_volatile(item)
        return stable_items
    if isinstance(value, list):
        return [drop_volatile(item) for item in value]
    return value


def samples(
    schema: dict[str, Any], values_kept: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Arguments of a read: the required ones alone, and with each optional one in each of its choices."""
    properties, required = schema.get("properties", {}), schema.get("required", [])
    first = next(
        (values_kept[name] for name in ("uuid", "flow") if name in values_kept), "ann"
    )
    base = {name: next(values(properties[name], str(first))) for name in required}
    yield base
    for name in properties.keys() - set(required):
        for value in values(properties[name], str(first)):
            yield {**base, name: value}


def values(schema: dict[str, Any], text: str) -> Iterator[Any]:
    """Values that a schema allows."""
    if "enum" in schema:
        yield from schema["enum"]
        return
    for part in schema.get("anyOf", [schema]):
        kind = part.get("type", "string")
        if kind == "array":
            yield [next(values(part.get("items", {}), text))]
        elif kind != "null":
            yield {
                "string": text,
                "integer": 1,
                "number": 1,
                "boolean": True,
                "object": {},
            }.get(kind, text)
