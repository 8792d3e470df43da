"""The audit log has a line for each call that may write, without argument values."""

import hmac
import io
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import httpx2
import pytest
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from fastmcp.tools.base import InputRequiredToolResult, ToolResult
from mcp_types import InputRequiredResult
from pydantic import Field

from copier_fastmcp_engine.confirmation.gate import require_confirmation
from copier_fastmcp_engine.declarations import create, delete, put
from engine.tests.engine_support.composing import (
    NO,
    YES,
    call_tool,
    destroy,
    each_era,
    read_audit_log,
    text_of,
)
from engine.tests.engine_support.notes.server import CONFIRM_NOTHING, notes_settings
from engine.tests.engine_support.raw import (
    ELICITS,
    LEGACY,
    MODERN,
    Message,
    connect,
    outcome,
    user,
)
from engine.tests.engine_support.targets import (
    DONE,
    SETTINGS,
    Name,
    Wiped,
    build_policy_tool,
    make_audit_log,
    make_target_server,
)

pytestmark = pytest.mark.anyio
SECRET = "nobody-may-read-this"
WIPE: Message = {"name": SECRET}
ROWS: dict[str, tuple[str, list[Message], Message | None, list[str]]] = {
    "yes": ("wipe", [WIPE], YES, ["asked null", "applied person"]),
    "no": ("wipe", [WIPE], NO, ["asked null", "declined null"]),
    "steps": (
        "wipe",
        [WIPE, WIPE | {"confirm": True}],
        None,
        ["preview null", "applied client"],
    ),
    "unprepared": ("wipe", [WIPE | {"confirm": True}], None, ["refused null"]),
    "it fails": (
        "wipe",
        [{"name": "fails", "owner": SECRET}],
        YES,
        ["asked null", "error person"],
    ),
    "not gated": (
        "create_note",
        [{"title": SECRET, "content": SECRET}],
        None,
        ["applied null"],
    ),
    "a wrong type": (
        "create_note",
        [{"title": [SECRET], "content": "x"}],
        None,
        ["error null"],
    ),
    "a wrong confirm": ("wipe", [WIPE | {"confirm": SECRET}], None, ["error null"]),
    "undeclared": ("destroy", [WIPE], YES, ["asked null", "applied person"]),
    "undeclared, not asked": ("destroy", [WIPE], None, ["refused null"]),
    "reads": ("list_wiped", [{}], None, []),
}
BEHAVIORS = {"wipe": "delete", "create_note": "create", "destroy": "undeclared"}


@create(title="Fill", confirm=False)
async def zz_fill(
    data: Annotated[dict[str, Any], Field(description="With what.")],
) -> Wiped:
    """Fill one."""
    DONE.append("filled")
    return Wiped(name="filled")


@put(title="Pick", confirm=False)
async def zz_pick(name: Name, ctx: Context) -> Wiped:
    """Set two, each if it may."""
    try:
        answers = {}
        for letter in "ab":
            answers[letter] = await require_confirmation(ctx, f"Set {letter}?")
    except ToolError:
        if name == "x":
            raise
        answers = {}
    for letter, answer in answers.items():
        if answer == "confirmed":
            DONE.append(letter)
    return Wiped(name=name)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of the audit log."""
    return tmp_path / "trail.jsonl"


def read_values(file: Path, key: str) -> list[Any]:
    """Return one field of each line, the oldest first."""
    return [line[key] for line in read_audit_log(file)]


def make_audited_server(file: Path, **settings: Any) -> FastMCP[Any]:
    """Return a server with an audit log and an undeclared tool."""
    changed = {"audit": str(file), **settings}
    server = make_target_server(settings=SETTINGS.model_copy(update=changed))
    server.tool(destroy)
    return server


async def call_outcomes(
    server: FastMCP[Any],
    era: str,
    tool: str,
    answer: Message | None,
    *arguments: Message,
) -> list[str]:
    """Return the outcomes of one client's calls."""
    outcomes = []
    async with connect(server, era, answer, can=ELICITS if answer else {}) as raw:
        for call in arguments:
            number = await raw.send("tools/call", name=tool, arguments=call)
            outcomes.append(outcome(await raw.receive(number)))
    return outcomes


@each_era
@pytest.mark.parametrize("row", ROWS)
async def test_each_call_of_a_writing_tool_has_a_line(
    file: Path, era: str, row: str
) -> None:
    tool, arguments, answer, expected = ROWS[row]
    if era == LEGACY:  # asks during the call
        expected = [line for line in expected if not line.startswith("asked")]
    DONE.clear()
    await call_outcomes(make_audited_server(file), era, tool, answer, *arguments)
    endings = []
    for line in read_audit_log(file):
        endings.append(f"{line['outcome']} {line['approved_by'] or 'null'}")
    assert endings == expected
    assert set(read_values(file, "behavior")) <= {BEHAVIORS.get(tool)}
    assert len(set(read_values(file, "arguments"))) <= 1
    assert SECRET not in file.read_text()


async def test_a_tool_that_calls_another_leaves_a_line_for_each(file: Path) -> None:
    await call_outcomes(
        make_audited_server(file), LEGACY, "wipe_each", YES, {"names": ["a", "b"]}
    )
    assert read_values(file, "tool") == ["wipe", "wipe", "wipe_each"]
    assert read_values(file, "outcome") == ["applied", "applied", "applied"]
    assert read_values(file, "approved_by") == ["person", "person", None]


async def test_a_caller_is_logged_by_subject_or_session_digest(
    file: Path,
) -> None:
    note = {"title": "a", "content": "b"}
    with user("ann"):
        await call_outcomes(
            make_audited_server(file), MODERN, "create_note", None, note
        )
    for era in (LEGACY, MODERN):
        await call_outcomes(make_audited_server(file), era, "create_note", None, note)
    ann, session, nobody = read_values(file, "caller")
    assert ann["subject"] == "ann"
    assert len(session["session"]) == 16
    assert nobody == {}


def test_only_the_key_reproduces_the_digest_of_the_arguments(
    file: Path,
) -> None:
    key, arguments = "k" * 32, {"note_id": 7, "a": "ä"}
    for keys in ([key, "old" * 11], [], []):
        trail = make_audit_log(str(file), keys)
        trail.record(trail.seal(arguments), outcome="applied")
    keyed, *unkeyed = read_values(file, "arguments")
    seal = hmac.digest(key.encode(), b"audit trail", "sha256")
    text = json.dumps(arguments, sort_keys=True).encode()
    assert keyed == hmac.digest(seal, text, "sha256").hex()
    assert len({keyed, *unkeyed}) == 3


def test_a_line_on_a_stream_is_there_before_the_call_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    flushed: list[str] = []

    class Stream(io.StringIO):
        def flush(self) -> None:
            flushed.append(self.getvalue())

    monkeypatch.setattr(sys, "stderr", Stream())
    log = make_audit_log("stderr")
    log.record(log.seal({}), outcome="applied")
    assert json.loads(flushed[-1])["outcome"] == "applied"


@each_era
@pytest.mark.parametrize(
    ("depth", "expected"),
    [(100, ["None", "applied"]), (254, ["error"])],
    ids=["flat", "deep"],
)
async def test_a_call_whose_arguments_cannot_be_sealed_does_not_run(
    file: Path, era: str, depth: int, expected: list[str]
) -> None:
    server = make_audited_server(file, state_keys=["k" * 32])
    server.add_tool(build_policy_tool(zz_fill))
    data = {"a": json.loads("[" * depth + "]" * depth)}
    DONE.clear()
    outcomes = await call_outcomes(server, era, "zz_fill", None, {"data": data})
    assert outcomes + read_values(file, "outcome") == expected
    assert len(DONE) == len(expected) - 1
    seals = []
    if DONE:
        seals.append(make_audit_log("", ["k" * 32]).seal({"data": data}))
    assert read_values(file, "arguments") == seals


@each_era
@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([YES, NO], ["a"]),
        ([NO, YES], ["b"]),
        ([YES, YES], ["a", "b"]),
        ([NO, NO], []),
    ],
    ids=["a", "b", "both", "none"],
)
async def test_a_body_that_returned_is_logged_as_applied(
    file: Path, era: str, answers: list[Message], expected: list[str]
) -> None:
    server = make_audited_server(file)
    server.add_tool(build_policy_tool(zz_pick))
    DONE.clear()
    async with connect(server, era, *answers) as raw:
        number = await raw.send("tools/call", name="zz_pick", arguments={"name": "x"})
        await raw.receive(number)
    assert expected == DONE
    *questions, last = read_audit_log(file)
    assert last["outcome"] == "applied"
    assert last["approved_by"] == ("person" if expected else None)
    assert bool(questions) == (era == MODERN)
    for line in questions:
        assert line["outcome"] == "asked"
        assert line["approved_by"] is None


@pytest.mark.parametrize(
    ("name", "expected"), [("x", "refused"), ("all the same", "applied")]
)
async def test_a_body_that_cannot_ask_is_logged_by_its_result(
    file: Path, name: str, expected: str
) -> None:
    server = make_audited_server(file)
    server.add_tool(build_policy_tool(zz_pick))
    await call_outcomes(server, LEGACY, "zz_pick", None, {"name": name})
    assert read_values(file, "outcome") == [expected]


async def fail_differently(name: Name, ctx: Context) -> Wiped:
    """Fail for a reason of its own when nobody can be asked."""
    try:
        await require_confirmation(ctx, "Sure?")
    except ToolError:
        raise ToolError("no such name") from None
    return Wiped(name=name)


async def test_a_body_that_cannot_ask_and_fails_for_another_reason_is_an_error(
    file: Path,
) -> None:
    server = make_audited_server(file)
    put(title="Fail", confirm=False)(fail_differently)
    server.add_tool(build_policy_tool(fail_differently))
    await call_outcomes(server, LEGACY, "fail_differently", None, {"name": "x"})
    assert read_values(file, "outcome") == ["error"]


@each_era
async def test_the_client_gets_the_error_of_a_tool_that_fails(
    file: Path, era: str
) -> None:
    server = make_audited_server(file)
    message = await call_tool(server, era, "wipe", YES, name="fails")
    assert text_of(message) == "it would not go"


ENDINGS: dict[str, tuple[ToolResult, str]] = {
    "an error": (ToolResult("it would not go", is_error=True), "error"),
    "a question": (
        InputRequiredToolResult(InputRequiredResult(request_state="own")),
        "asked",
    ),
}


@pytest.mark.parametrize("ending", ENDINGS)
async def test_a_result_that_applied_nothing_is_not_logged_as_applied(
    file: Path, ending: str
) -> None:
    result, expected = ENDINGS[ending]

    async def end() -> ToolResult:
        return result

    server = make_target_server(
        settings=notes_settings(CONFIRM_NOTHING, audit=str(file))
    )
    server.tool(end)
    await call_tool(server, MODERN, "end", None)
    assert read_values(file, "outcome") == [expected]


async def test_a_question_of_an_approved_body_is_logged_as_asked(file: Path) -> None:
    async def end() -> ToolResult:
        return ENDINGS["a question"][0]

    delete(title="End")(end)
    server = make_audited_server(file)
    server.add_tool(build_policy_tool(end))
    await call_tool(server, MODERN, "end", YES)
    assert read_values(file, "outcome") == ["asked", "asked"]


async def test_without_a_log_no_arguments_are_too_deep() -> None:
    server = make_target_server()
    server.add_tool(build_policy_tool(zz_fill))
    data = {"a": json.loads("[" * 254 + "]" * 254)}
    DONE.clear()
    await call_outcomes(server, MODERN, "zz_fill", None, {"data": data})
    assert DONE == ["filled"]


async def test_writes_are_refused_while_the_log_cannot_be_written(file: Path) -> None:
    server = make_audited_server(file)
    note = {"title": "a", "content": "b"}
    file.unlink()
    file.mkdir()
    outcomes = await call_outcomes(
        server, MODERN, "create_note", None, note, note, note
    )
    assert outcomes == ["None", "error", "error"]  # the first passed the check before
    assert await call_outcomes(server, MODERN, "search_notes", None, {}) == ["None"]
    transport = httpx2.ASGITransport(server.http_app())
    async with httpx2.AsyncClient(
        transport=transport, base_url="http://localhost"
    ) as client:
        assert (await client.get("/health")).status_code == 503
        file.rmdir()
        assert (await client.get("/health")).json() == {"status": "ok"}
    await call_outcomes(server, MODERN, "create_note", None, note)
    assert read_values(file, "outcome") == ["applied", "applied"]
