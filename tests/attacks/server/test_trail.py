"""The audit trail has a line for every call that may change something, and no value of its arguments."""

import hmac
import json
import os
import signal
import stat
import threading
from pathlib import Path
from typing import Any

import httpx2
import pytest
from attacks.gate.attacked import DONE, SETTINGS, serving
from attacks.raw import ELICITS, LEGACY, MODERN, Message, connect, outcome, user
from attacks.server.composing import NO, YES, destroy, each_era
from fastmcp.exceptions import ToolError
from notes_mcp.policy import trail as trails
from notes_mcp.policy.errors import StartError
from notes_mcp.policy.guarding import PolicyServer
from notes_mcp.policy.trail import Trail

pytestmark = pytest.mark.anyio
SECRET = "nobody-may-read-this"
WIPE: Message = {"name": SECRET}
ROWS: dict[str, tuple[str, list[Message], Message | None, list[str]]] = {
    "yes": ("zz_wipe", [WIPE], YES, ["asked null", "applied person"]),
    "no": ("zz_wipe", [WIPE], NO, ["asked null", "declined null"]),
    "steps": ("zz_wipe", [WIPE, WIPE | {"confirm": True}], None, ["preview null", "applied client"]),
    "unprepared": ("zz_wipe", [WIPE | {"confirm": True}], None, ["refused null"]),
    "it fails": ("zz_wipe", [{"name": "fails", "owner": SECRET}], YES, ["asked null", "error person"]),
    "not gated": ("create_note", [{"title": SECRET, "content": SECRET}], None, ["applied null"]),
    "a wrong type": ("create_note", [{"title": [SECRET], "content": "x"}], None, ["error null"]),
    "a wrong confirm": ("zz_wipe", [WIPE | {"confirm": SECRET}], None, ["error null"]),
    "undeclared": ("destroy", [WIPE], YES, ["asked null", "applied person"]),
    "undeclared, not asked": ("destroy", [WIPE], None, ["refused null"]),
    "reads": ("zz_done", [{}], None, []),
}  # fmt: skip
BEHAVIORS = {"zz_wipe": "delete", "create_note": "create", "destroy": "undeclared"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the trail is."""
    return tmp_path / "trail.jsonl"


def watched(file: Path, **settings: Any) -> PolicyServer:
    """A server with a trail, and a tool that nobody declared."""
    changed = {"audit": str(file), **settings}
    server = serving(settings=SETTINGS.model_copy(update=changed))
    server.tool(destroy)
    return server


def lines(file: Path) -> list[Message]:
    """What the trail holds, its oldest file first."""
    files = [*sorted(file.parent.glob(f"{file.name}.*")), file]
    return [json.loads(line) for each in files for line in each.read_text().splitlines()]


async def calls(
    server: PolicyServer, era: str, tool: str, answer: Message | None, *arguments: Message
) -> list[str]:
    """What some calls of one client come to."""
    came = []
    async with connect(server, era, answer, can=ELICITS if answer else {}) as raw:
        for each in arguments:
            message = await raw.receive(await raw.send("tools/call", name=tool, arguments=each))
            came.append(outcome(message))
    return came


@each_era
@pytest.mark.parametrize("row", ROWS)
async def test_each_call_of_a_writing_tool_has_a_line(file: Path, era: str, row: str) -> None:
    tool, arguments, answer, expected = ROWS[row]
    if era == LEGACY:  # asks during the call
        expected = [line for line in expected if not line.startswith("asked")]
    DONE.clear()
    await calls(watched(file), era, tool, answer, *arguments)
    written = lines(file)
    ends = [
        f"{each['outcome']} {json.dumps(each['approved_by']).strip(chr(34))}" for each in written
    ]
    assert ends == expected
    assert {each["behavior"] for each in written} <= {BEHAVIORS.get(tool)}
    assert len({each["arguments"] for each in written}) <= 1
    assert SECRET not in file.read_text()


async def test_a_tool_that_calls_another_leaves_a_line_for_each(file: Path) -> None:
    await calls(watched(file), LEGACY, "zz_outer", YES, {"names": ["a", "b"]})
    written = [(each["tool"], each["outcome"], each["approved_by"]) for each in lines(file)]
    wiped = ("zz_wipe", "applied", "person")
    assert written == [wiped, wiped, ("zz_outer", "applied", None)]


async def test_a_caller_is_known_by_the_token_and_a_session_by_a_digest(file: Path) -> None:
    note = {"title": "a", "content": "b"}
    with user("ann"):
        await calls(watched(file), MODERN, "create_note", None, note)
    for era in (LEGACY, MODERN):
        await calls(watched(file), era, "create_note", None, note)
    ann, session, nobody = (each["caller"] for each in lines(file))
    assert ann["subject"] == "ann"
    assert len(session["session"]) == 16
    assert nobody == {}


def test_the_arguments_can_be_proven_with_the_key_and_not_be_found_without(file: Path) -> None:
    key, arguments = "k" * 32, {"note_id": 7, "a": "ä"}
    for keys in ([key, "old" * 11], [], []):
        Trail(str(file), keys).record(arguments, outcome="applied")
    known, *unknown = (each["arguments"] for each in lines(file))
    seal = hmac.digest(key.encode(), b"audit trail", "sha256")
    text = json.dumps(arguments, sort_keys=True).encode()
    assert known == hmac.digest(seal, text, "sha256").hex()
    assert len({known, *unknown}) == 3


def test_the_file_is_its_owners_alone(file: Path) -> None:
    before = os.umask(0)
    try:
        Trail(str(file)).record({})
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_nothing_is_lost_when_several_fill_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trails, "MOST", 5000)
    made = [
        Trail(str(file)) for _ in range(4)
    ]  # as in four processes: they share nothing but the file

    def fill(which: int) -> None:
        for number in range(200):
            made[which].record({}, tool=f"{which}-{number}")

    threads = [threading.Thread(target=fill, args=(which,)) for which in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    written = [each["tool"] for each in lines(file)]
    assert sorted(written) == sorted(f"{which}-{n}" for which in range(4) for n in range(200))
    files = list(file.parent.iterdir())
    assert len(files) > 10
    assert (
        max(each.stat().st_size for each in files) <= 5000 + len(made) * 200
    )  # lines that were on their way


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a limit of the size of files")
def test_a_line_that_a_full_disk_tore_is_written_again(file: Path) -> None:
    import resource

    trail, most = Trail(str(file)), resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, most[1]))
        trail.record({}, tool="torn")
        with pytest.raises(ToolError, match="nothing is changed while the audit trail cannot be"):
            trail.ready()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
        signal.signal(signal.SIGXFSZ, before)
    trail.record({}, tool="next")
    torn, *whole = file.read_text().splitlines()
    assert len(torn) == 100
    assert [json.loads(line)["tool"] for line in whole] == ["torn", "next"]


@pytest.mark.parametrize("where", ["gone/trail.jsonl", "."])
def test_a_trail_that_cannot_be_written_stops_the_start(tmp_path: Path, where: str) -> None:
    with pytest.raises(
        StartError, match=r"^setting audit: .*; name a file that can be written, .*$"
    ):
        watched(tmp_path / where)


async def test_nothing_more_is_changed_while_it_cannot_be_written(file: Path) -> None:
    server, note = watched(file), {"title": "a", "content": "b"}
    file.unlink()
    file.mkdir()
    came = await calls(server, MODERN, "create_note", None, note, note, note)
    assert came == ["None", "error", "error"]  # the first was on its way
    assert await calls(server, MODERN, "search_notes", None, {}) == ["None"]
    transport = httpx2.ASGITransport(server.http_app())
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
        assert (await client.get("/health")).status_code == 503
        file.rmdir()
        assert (await client.get("/health")).json() == {"status": "ok"}
    await calls(server, MODERN, "create_note", None, note)
    assert [each["outcome"] for each in lines(file)] == ["applied", "applied"]
