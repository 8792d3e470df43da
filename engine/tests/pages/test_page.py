"""The page outside the conversation: what it shows, who may answer it, and that each answer counts once."""

import hashlib
import re
import time
from contextlib import AbstractAsyncContextManager
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from fastmcp import Context
from listening import PATIENCE

from copier_fastmcp_engine.confirmation.gate import require_confirmation
from copier_fastmcp_engine.confirmation.pending import COLLECTION
from copier_fastmcp_engine.declarations import delete
from copier_fastmcp_engine.guard import guard_of
from engine.tests.engine_support.paging import (
    CALL,
    PAGE_SETTINGS,
    answer_page,
    call_wipe,
    find_link,
    make_page_server,
    page,
    text_of,
)
from engine.tests.engine_support.raw import (
    LEGACY,
    MODERN,
    Message,
    Raw,
    connect,
    outcome,
    user,
)
from engine.tests.engine_support.targets import DONE, make_target_server

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.usefixtures("here"),
    pytest.mark.parametrize("era", [LEGACY, MODERN]),
]


def connect_without_forms(server: Any, era: str) -> AbstractAsyncContextManager[Raw]:
    """Connect a client that shows no forms, so that each question has a page."""
    return connect(server, era, can={})


async def call_for_outcome(raw: Raw, **call: Any) -> str:
    """Call `wipe`, and return the outcome."""
    message = await call_wipe(raw, **call)
    return outcome(message)


async def call_for_link(raw: Raw, **call: Any) -> str:
    """Call `wipe`, and return the link of its page."""
    message = await call_wipe(raw, **call)
    return find_link(message)


async def test_an_approved_call_is_applied_once(
    browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect_without_forms(make_page_server(), era) as raw:
        first = await call_wipe(raw)
        assert outcome(first) == "waiting"
        link = find_link(first)
        for _ in range(3):
            assert await call_for_outcome(raw) == "waiting"
            response = await browser.get(link)
            assert response.status_code == 200
        assert DONE == []
        assert await answer_page(browser, link) == 200
        message = await call_wipe(raw)
        applied = message["result"]["structuredContent"]
        assert applied["outcome"] == "applied"
        assert applied["approved_by"] == "client"
        for confirm in (False, True):
            message = await call_wipe(raw, arguments={"name": "a", "confirm": confirm})
            assert "was applied before with these arguments" in text_of(message)
        assert await answer_page(browser, link) == 410
    assert DONE == ["a"]


async def test_a_page_shows_every_argument_escaped(
    browser: httpx2.AsyncClient, era: str
) -> None:
    name = "<script>x</script>\u202e\n" + "y" * 5000
    DONE.append("ä")
    async with connect_without_forms(make_page_server(), era) as raw:
        arguments = {"name": name, "owner": '"><b>'}
        link = await call_for_link(raw, arguments=arguments)
        response = await browser.get(link)
    assert "<script" not in response.text
    values = re.findall("<dd>(.*?)</dd>", response.text, re.DOTALL)
    shown_name, shown_owner, shown_preview, *_ = map(unescape, values)
    assert shown_name == name.replace("\u202e", "\ufffd").replace("\n", "⏎")
    assert shown_owner == '"><b>'
    assert shown_preview == '["ä"]'
    policy = response.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "script" not in policy
    assert response.headers["cache-control"] == "no-store"
    assert 'lang="en"' in response.text
    assert 'name="viewport"' in response.text
    cookie = response.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie


async def test_a_no_holds_until_it_expires(
    browser: httpx2.AsyncClient, era: str
) -> None:
    server = make_page_server()
    async with connect_without_forms(server, era) as raw:
        link = await call_for_link(raw)
        assert await answer_page(browser, link, "decline") == 200
        for confirm in (False, True):
            message = await call_wipe(raw, arguments={"name": "a", "confirm": confirm})
            assert outcome(message) == "declined"
        assert await answer_page(browser, link) == 410
        gate = guard_of(server).gate
        store: Any = gate.store
        keys = await store.keys(collection=COLLECTION)
        (key,) = [key for key in keys if key.startswith("decision-")]
        entry, seconds = await store.ttl(key, collection=COLLECTION)
        assert 0 < seconds <= gate.seconds
        await gate.put(key, entry, 0.01)
        await anyio.sleep(0.02)
        assert await call_for_link(raw) != link
    assert DONE == []


WRONG: dict[str, Message] = {
    "no-cookie": {"no_cookie": True},
    "no-proof": {"proof": ""},
    "another-proof": {"proof": "0" * 64},
    "odd-proof": {"proof": "é"},
    "another-origin": {"headers": {"Origin": "https://example.com"}},
    "no-origin": {"headers": {"Origin": "null"}},
    "another-host": {"headers": {"Host": "rebound.example.com"}},
    "another-word": {"word": "yes"},
    "too-long": {"more": "x" * 20_000},
}


@pytest.mark.parametrize("how", WRONG)
async def test_an_answer_from_elsewhere_does_not_count(
    browser: httpx2.AsyncClient, how: str, era: str
) -> None:
    async with connect_without_forms(make_page_server(), era) as raw:
        link = await call_for_link(raw)
        assert await answer_page(browser, link, **WRONG[how]) in (403, 410)
        assert await call_for_outcome(raw) == "waiting"
        assert await answer_page(browser, link) == 200
        assert await call_for_outcome(raw) == "applied"
    assert DONE == ["a"]


async def test_a_proof_that_needs_no_cookie_does_not_count(
    browser: httpx2.AsyncClient, era: str
) -> None:
    """Whoever knows the link alone can compute the proof of a browser without a cookie."""
    async with connect_without_forms(make_page_server(), era) as raw:
        link = await call_for_link(raw)
        _, _, secret = link.partition("link=")
        proof = hashlib.sha256(f".{secret}".encode()).hexdigest()
        status = await answer_page(browser, link, no_cookie=True, proof=proof)
    assert status == 403
    assert DONE == []


async def test_a_page_is_not_shown_under_another_name_of_this_machine(
    browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect_without_forms(make_page_server(), era) as raw:
        link = await call_for_link(raw)
        page = await browser.get(link, headers={"Host": "rebound.example.com"})
    assert page.status_code == 410
    assert "set-cookie" not in page.headers


async def test_a_link_is_answered_once(browser: httpx2.AsyncClient, era: str) -> None:
    statuses: list[int] = []

    async def press(word: str) -> None:
        async with httpx2.AsyncClient() as own_browser:
            statuses.append(await answer_page(own_browser, link, word))

    async with connect_without_forms(make_page_server(), era) as raw:
        link = await call_for_link(raw)
        async with anyio.create_task_group() as tasks:
            for word in ["approve"] * 3:
                tasks.start_soon(press, word)
        assert sorted(statuses) == [200, 410, 410]
        assert await call_for_outcome(raw) == "applied"
    assert DONE == ["a"]


async def test_one_of_several_simultaneous_decisions_counts(
    era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = make_page_server()
    gate = guard_of(server).gate
    get = gate.store.get

    async def get_slowly(*arguments: Any, **options: Any) -> Any:
        entry = await get(*arguments, **options)
        await anyio.sleep(0.02)
        return entry

    results: list[bool] = []

    async def decide() -> None:
        results.append(await gate.pages.decide(link, approved=True))

    async with connect_without_forms(server, era) as raw:
        _, _, link = (await call_for_link(raw)).partition("link=")
        monkeypatch.setattr(gate.store, "get", get_slowly)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(decide)
    assert sorted(results) == [False, False, True]


async def test_a_page_without_arguments_shows_no_heading_for_them(
    browser: httpx2.AsyncClient, era: str
) -> None:
    body: Message = {"name": "wipe_each", "arguments": {"names": []}}
    async with connect_without_forms(make_page_server(), era) as raw:
        page_of_gate = await browser.get(await call_for_link(raw))
        page_of_body = await browser.get(await call_for_link(raw, **body))
    assert page_of_gate.text.count("<h2>") == 2
    assert page_of_body.text.count("<h2>") == 1
    assert ">Approve</button>" in page_of_gate.text
    assert ">Decline</button>" in page_of_gate.text


async def preview_text() -> str:
    """Return what would happen, as one text."""
    return "Two notes go."


@delete(title="Drop two", confirm=True, preview=preview_text)
async def drop_two() -> None:
    """Drop two notes."""


async def test_a_preview_that_is_a_text_is_shown_whole(
    browser: httpx2.AsyncClient, era: str
) -> None:
    server = make_target_server(600, drop_two, settings=PAGE_SETTINGS)
    async with connect_without_forms(server, era) as raw:
        waiting = await call_wipe(raw, name="drop_two", arguments={})
        response = await browser.get(find_link(waiting))
    assert "<dt></dt><dd>Two notes go.</dd>" in response.text


async def test_an_approval_holds_for_one_caller_and_one_call(
    browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect_without_forms(make_page_server(), era) as raw:
        with user("ann"):
            link = await call_for_link(raw)
            assert await answer_page(browser, link) == 200
        with user("bob"):
            assert await call_for_outcome(raw) == "waiting"
        with user("ann"):
            assert await call_for_outcome(raw, arguments={"name": "b"}) == "waiting"
            halves = await call_for_outcome(raw, name="wipe_halves")
            assert halves in ("waiting", "error")
            assert DONE == []
            assert await call_for_outcome(raw) == "applied"
    assert DONE == ["a"]


async def test_one_page_is_open_for_many_calls_and_all_of_them_end(
    browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect_without_forms(make_page_server(), era) as raw:
        sent = [await raw.send("tools/call", **CALL) for _ in range(9)]
        first = await raw.receive(sent[0])
        link = find_link(first)
        assert await answer_page(browser, link) == 200
        outcomes = []
        for number in sent[1:]:
            message = await raw.receive(number)
            outcomes.append(outcome(message))
            if outcome(message) == "waiting":
                assert find_link(message) == link
        assert outcomes.count("applied") == 1
        assert set(outcomes) <= {"applied", "waiting", "error"}
        repeated = await call_wipe(raw)
        assert "was applied before" in text_of(repeated)
    assert DONE == ["a"]


async def test_a_decision_while_a_call_looks_for_its_page_counts(
    browser: httpx2.AsyncClient, era: str
) -> None:
    server = make_page_server()
    lock = guard_of(server).gate.pages._lock
    async with connect_without_forms(server, era) as raw:
        link = await call_for_link(raw)
        async with lock:
            number = await raw.send("tools/call", **CALL)
            while not lock.statistics().tasks_waiting:
                await anyio.sleep(0.01)
            assert await answer_page(browser, link) == 200
        assert outcome(await raw.receive(number)) == "applied"
    assert DONE == ["a"]


async def test_a_call_that_waits_is_told_of_the_one_that_is_being_applied(
    browser: httpx2.AsyncClient, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before the other call has noted that it runs, as over a slow store."""
    monkeypatch.setattr(page, "WAIT", 10.0 * PATIENCE)
    server = make_page_server()
    gate = guard_of(server).gate
    put = gate.put

    async def put_slowly(name: str, entry: Any, *options: Any) -> None:
        if "applied" in entry:
            await anyio.sleep(0.3)
        await put(name, entry, *options)

    monkeypatch.setattr(gate, "put", put_slowly)
    async with connect_without_forms(server, era) as raw:
        link = await call_for_link(raw)
        numbers = [await raw.send("tools/call", **CALL) for _ in range(2)]
        await anyio.sleep(0.1)
        assert await answer_page(browser, link) == 200
        messages = []
        with anyio.fail_after(PATIENCE):
            for number in numbers:
                messages.append(await raw.receive(number))
    messages.sort(key=outcome)
    assert [outcome(message) for message in messages] == ["applied", "error"]
    assert "was applied before" in text_of(messages[1])
    assert DONE == ["a"]


async def test_a_call_that_waits_ends_with_its_page(
    era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "WAIT", 10.0 * PATIENCE)
    server = make_page_server()
    guard_of(server).gate.seconds = 1
    async with connect_without_forms(server, era) as raw:
        assert await call_for_outcome(raw) == "waiting"
        with anyio.fail_after(PATIENCE):
            assert await call_for_outcome(raw) == "timed_out"
    assert DONE == []


async def test_pages_are_limited_for_each_caller(
    era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect_without_forms(make_page_server(), era) as raw:
        for name in "abc":
            with user("ann"):
                arguments = {"name": name}
                assert await call_for_outcome(raw, arguments=arguments) == "waiting"
        with user("ann"):
            refused = await call_wipe(raw, arguments={"name": "d"})
            seconds = re.fullmatch(
                r"3 pages a minute are the limit; try again in (\d+) seconds",
                text_of(refused),
            )
            assert seconds
            assert 30 < int(seconds[1]) <= 61
            assert await call_for_outcome(raw, arguments={"name": "c"}) == "waiting"
        with user("bob"):
            assert await call_for_outcome(raw, arguments={"name": "d"}) == "waiting"
        later = time.time() + 61
        monkeypatch.setattr(page, "time", SimpleNamespace(time=lambda: later))
        with user("ann"):
            assert await call_for_outcome(raw, arguments={"name": "d"}) == "waiting"


async def test_clients_that_share_no_name_do_not_limit_each_other(era: str) -> None:
    async with connect_without_forms(make_page_server(), era) as raw:
        outcomes = []
        for name in "abcd":
            arguments = {"name": name}
            outcomes.append(await call_for_outcome(raw, arguments=arguments))
    last = "error" if era == LEGACY else "waiting"  # a session names its client
    assert outcomes == ["waiting", "waiting", "waiting", last]


async def test_a_failed_run_can_be_asked_for_again(
    browser: httpx2.AsyncClient, era: str
) -> None:
    arguments = {"name": "fails"}
    async with connect_without_forms(make_page_server(), era) as raw:
        for _ in range(2):
            link = await call_for_link(raw, arguments=arguments)
            assert await answer_page(browser, link) == 200
            failed = await call_wipe(raw, arguments=arguments)
            assert text_of(failed) == "it would not go"


async def test_a_body_that_asks_has_a_page_for_each_question(
    browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect_without_forms(make_page_server(), era) as raw:
        for word in ("approve", "approve", "decline"):
            message = await call_wipe(raw, name="wipe_halves")
            assert outcome(message) == "waiting"
            # A second call waits at the same page, also at that of a later question
            link = find_link(message)
            assert await call_for_link(raw, name="wipe_halves") == link
            assert await answer_page(browser, find_link(message), word) == 200
        assert await call_for_outcome(raw, name="wipe_halves") == "applied"
        # The no to the last question answers no second call, with the earlier yes
        repeated = await call_wipe(raw, name="wipe_halves")
        assert "was applied before" in text_of(repeated)
    assert DONE == ["a0"]


async def test_a_tool_without_a_gate_asks_on_a_page_too(
    browser: httpx2.AsyncClient, era: str
) -> None:
    body: Message = {"name": "wipe_each", "arguments": {"names": []}}
    async with connect_without_forms(make_page_server(), era) as raw:
        message = await call_wipe(raw, **body)
        assert outcome(message) == "error"
        assert await answer_page(browser, find_link(message)) == 200
        answered = await call_wipe(raw, **body)
        assert "structuredContent" in answered["result"]
    assert DONE == ["body"]


async def test_the_store_contains_neither_the_link_nor_the_arguments(
    tmp_path: Path, browser: httpx2.AsyncClient, era: str
) -> None:
    settings = PAGE_SETTINGS.model_copy(
        update={"state": str(tmp_path), "state_keys": ["k" * 32]}
    )
    server = make_page_server(settings=settings)
    async with connect_without_forms(server, era) as raw:
        link = await call_for_link(raw, arguments={"name": "a name to hide"})
        query = parse_qs(urlsplit(link).query)
        (secret,) = query["link"]
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        for path in files:
            text = path.read_text()
            assert secret not in text
            assert "a name to hide" not in text


async def test_an_expired_page_is_over(
    browser: httpx2.AsyncClient, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect_without_forms(make_page_server(), era) as raw:
        link = await call_for_link(raw)
        later = time.time() + 601
        monkeypatch.setattr(page, "time", SimpleNamespace(time=lambda: later))
        assert await answer_page(browser, link) == 410
        assert await call_for_link(raw) != link
    assert DONE == []


async def test_the_link_of_an_expired_page_does_not_answer_the_next_page(
    browser: httpx2.AsyncClient, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = make_page_server()
    pages = guard_of(server).gate.pages
    async with connect_without_forms(server, era) as raw:
        old = await call_for_link(raw)
        later = time.time() + 601
        monkeypatch.setattr(page, "time", SimpleNamespace(time=lambda: later))
        new = await call_for_link(raw)
        assert (await browser.get(old)).status_code == 410
        assert not await pages.decide(old.partition("link=")[2], approved=True)
        assert await call_for_outcome(raw) == "waiting"
        assert await answer_page(browser, new) == 200
        assert await call_for_outcome(raw) == "applied"
    assert DONE == ["a"]


async def test_replicas_share_a_page(
    tmp_path: Path, browser: httpx2.AsyncClient, era: str
) -> None:
    keys = {
        "state": str(tmp_path),
        "state_keys": ["k" * 32],
    }
    settings = PAGE_SETTINGS.model_copy(update=keys)
    with user("ann"):
        async with (
            connect_without_forms(make_page_server(settings=settings), era) as first,
            connect_without_forms(make_page_server(settings=settings), era) as second,
        ):
            link = await call_for_link(first)
            assert await call_for_link(second) == link
            assert await answer_page(browser, link) == 200
            assert await call_for_outcome(second) == "applied"
            repeated = await call_wipe(first)
            assert "was applied before" in text_of(repeated)
    assert DONE == ["a"]


async def test_a_question_of_one_resource_is_not_answered_for_another(
    browser: httpx2.AsyncClient, era: str, caplog: pytest.LogCaptureFixture
) -> None:
    server = make_page_server()

    @server.resource("data://{name}")
    async def renew(name: str, ctx: Context) -> str:
        """Renew one, which its reader is asked about."""
        if await require_confirmation(ctx, "Renew it?") == "confirmed":
            DONE.append(name)
        return name

    async with connect(server, era, can={}) as raw:
        response = await raw.receive(await raw.send("resources/read", uri="data://a"))
        assert await answer_page(browser, find_link(response)) == 200
        other = await raw.receive(await raw.send("resources/read", uri="data://b"))
        assert find_link(other) != find_link(response)
        assert DONE == []
        await raw.receive(await raw.send("resources/read", uri="data://a"))
    assert DONE == ["a"]
    assert "link=" not in caplog.text
