"""The page outside the conversation: what it shows, who may answer it, and that each answer counts once."""

import hashlib
import re
import time
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from fastmcp import Context

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


async def test_an_approved_call_is_applied_once(
    browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect(make_page_server(), era, can={}) as raw:
        first = await call_wipe(raw)
        assert outcome(first) == "waiting"
        for _ in range(3):
            assert outcome(await call_wipe(raw)) == "waiting"
            assert (await browser.get(find_link(first))).status_code == 200
        assert DONE == []
        assert await answer_page(browser, find_link(first)) == 200
        applied = (await call_wipe(raw))["result"]["structuredContent"]
        assert (applied["outcome"], applied["approved_by"]) == ("applied", "client")
        for confirm in (False, True):
            message = await call_wipe(raw, arguments={"name": "a", "confirm": confirm})
            assert "was applied before with these arguments" in text_of(message)
        assert await answer_page(browser, find_link(first)) == 410
    assert DONE == ["a"]


async def test_a_page_shows_every_argument_escaped(
    browser: httpx2.AsyncClient, era: str
) -> None:
    name = "<script>x</script>\u202e\n" + "y" * 5000
    DONE.append("ä")
    async with connect(make_page_server(), era, can={}) as raw:
        link = find_link(
            await call_wipe(raw, arguments={"name": name, "owner": '"><b>'})
        )
        response = await browser.get(link)
    assert "<script" not in response.text
    values = re.findall("<dd>(.*?)</dd>", response.text, re.DOTALL)
    assert unescape(values[0]) == name.replace("\u202e", "\ufffd").replace("\n", "⏎")
    assert unescape(values[1]) == '"><b>'
    assert unescape(values[2]) == '["ä"]'
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
    async with connect(server, era, can={}) as raw:
        link = find_link(await call_wipe(raw))
        assert await answer_page(browser, link, "decline") == 200
        for confirm in (False, True):
            message = await call_wipe(raw, arguments={"name": "a", "confirm": confirm})
            assert outcome(message) == "declined"
        assert await answer_page(browser, link) == 410
        store: Any = guard_of(server).gate.store
        keys = await store.keys(collection=COLLECTION)
        (key,) = [key for key in keys if key.startswith("said-")]
        entry, seconds = await store.ttl(key, collection=COLLECTION)
        assert 0 < seconds <= guard_of(server).gate.seconds
        await guard_of(server).gate.put(key, entry, 0.01)
        await anyio.sleep(0.02)
        assert find_link(await call_wipe(raw)) != link
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
    async with connect(make_page_server(), era, can={}) as raw:
        link = find_link(await call_wipe(raw))
        assert await answer_page(browser, link, **WRONG[how]) in (403, 410)
        assert outcome(await call_wipe(raw)) == "waiting"
        assert await answer_page(browser, link) == 200
        assert outcome(await call_wipe(raw)) == "applied"
    assert DONE == ["a"]


async def test_a_proof_that_needs_no_cookie_does_not_count(
    browser: httpx2.AsyncClient, era: str
) -> None:
    """Whoever knows the link alone can compute the proof of a browser without a cookie."""
    async with connect(make_page_server(), era, can={}) as raw:
        link = find_link(await call_wipe(raw))
        proof = hashlib.sha256(f".{link.partition('link=')[2]}".encode()).hexdigest()
        assert await answer_page(browser, link, no_cookie=True, proof=proof) == 403
    assert DONE == []


async def test_a_page_is_not_shown_under_another_name_of_this_machine(
    browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect(make_page_server(), era, can={}) as raw:
        link = find_link(await call_wipe(raw))
        page = await browser.get(link, headers={"Host": "rebound.example.com"})
    assert page.status_code == 410
    assert "set-cookie" not in page.headers


async def test_a_link_is_answered_once(browser: httpx2.AsyncClient, era: str) -> None:
    statuses: list[int] = []

    async def press(word: str) -> None:
        async with httpx2.AsyncClient() as own_browser:
            statuses.append(await answer_page(own_browser, link, word))

    async with connect(make_page_server(), era, can={}) as raw:
        link = find_link(await call_wipe(raw))
        async with anyio.create_task_group() as tasks:
            for word in ["approve"] * 3:
                tasks.start_soon(press, word)
        assert sorted(statuses) == [200, 410, 410]
        assert outcome(await call_wipe(raw)) == "applied"
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

    async with connect(server, era, can={}) as raw:
        link = find_link(await call_wipe(raw)).partition("link=")[2]
        monkeypatch.setattr(gate.store, "get", get_slowly)
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(decide)
    assert sorted(results) == [False, False, True]


async def test_a_page_without_arguments_shows_no_heading_for_them(
    browser: httpx2.AsyncClient, era: str
) -> None:
    body: Message = {"name": "wipe_each", "arguments": {"names": []}}
    async with connect(make_page_server(), era, can={}) as raw:
        with_both = (await browser.get(find_link(await call_wipe(raw)))).text
        asked_inside = (await browser.get(find_link(await call_wipe(raw, **body)))).text
    assert with_both.count("<h2>") == 2
    assert asked_inside.count("<h2>") == 1
    assert ">Approve</button>" in with_both
    assert ">Decline</button>" in with_both


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
    async with connect(server, era, can={}) as raw:
        waiting = await call_wipe(raw, name="drop_two", arguments={})
        page = (await browser.get(find_link(waiting))).text
    assert "<dt></dt><dd>Two notes go.</dd>" in page


async def test_an_approval_holds_for_one_caller_and_one_call(
    browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect(make_page_server(), era, can={}) as raw:
        with user("ann"):
            link = find_link(await call_wipe(raw))
            assert await answer_page(browser, link) == 200
        with user("bob"):
            assert outcome(await call_wipe(raw)) == "waiting"
        with user("ann"):
            assert outcome(await call_wipe(raw, arguments={"name": "b"})) == "waiting"
            assert outcome(await call_wipe(raw, name="wipe_halves")) in (
                "waiting",
                "error",
            )
            assert DONE == []
            assert outcome(await call_wipe(raw)) == "applied"
    assert DONE == ["a"]


async def test_one_page_is_open_for_many_calls_and_all_of_them_end(
    browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect(make_page_server(), era, can={}) as raw:
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
        assert "was applied before" in text_of(await call_wipe(raw))
    assert DONE == ["a"]


async def test_pages_are_limited_for_each_caller(era: str) -> None:
    async with connect(make_page_server(), era, can={}) as raw:
        for name in "abc":
            with user("ann"):
                assert (
                    outcome(await call_wipe(raw, arguments={"name": name})) == "waiting"
                )
        with user("ann"):
            refused = await call_wipe(raw, arguments={"name": "d"})
            seconds = re.fullmatch(
                r"3 pages a minute are the limit; try again in (\d+) seconds",
                text_of(refused),
            )
            assert seconds
            assert 30 < int(seconds[1]) <= 61
            assert outcome(await call_wipe(raw, arguments={"name": "c"})) == "waiting"
        with user("bob"):
            assert outcome(await call_wipe(raw, arguments={"name": "d"})) == "waiting"


async def test_clients_that_share_no_name_do_not_limit_each_other(era: str) -> None:
    async with connect(make_page_server(), era, can={}) as raw:
        outcomes = []
        for name in "abcd":
            outcomes.append(outcome(await call_wipe(raw, arguments={"name": name})))
    last = "error" if era == LEGACY else "waiting"  # a session names its client
    assert outcomes == ["waiting", "waiting", "waiting", last]


async def test_a_failed_run_can_be_asked_for_again(
    browser: httpx2.AsyncClient, era: str
) -> None:
    arguments = {"name": "fails"}
    async with connect(make_page_server(), era, can={}) as raw:
        for _ in range(2):
            link = find_link(await call_wipe(raw, arguments=arguments))
            assert await answer_page(browser, link) == 200
            assert (
                text_of(await call_wipe(raw, arguments=arguments)) == "it would not go"
            )


async def test_a_body_that_asks_has_a_page_for_each_question(
    browser: httpx2.AsyncClient, era: str
) -> None:
    async with connect(make_page_server(), era, can={}) as raw:
        for word in ("approve", "approve", "decline"):
            message = await call_wipe(raw, name="wipe_halves")
            assert outcome(message) == "waiting"
            assert await answer_page(browser, find_link(message), word) == 200
        assert outcome(await call_wipe(raw, name="wipe_halves")) == "applied"
    assert DONE == ["a0"]


async def test_a_tool_without_a_gate_asks_on_a_page_too(
    browser: httpx2.AsyncClient, era: str
) -> None:
    body: Message = {"name": "wipe_each", "arguments": {"names": []}}
    async with connect(make_page_server(), era, can={}) as raw:
        message = await call_wipe(raw, **body)
        assert outcome(message) == "error"
        assert await answer_page(browser, find_link(message)) == 200
        assert "structuredContent" in (await call_wipe(raw, **body))["result"]
    assert DONE == ["body"]


async def test_the_store_contains_neither_the_link_nor_the_arguments(
    tmp_path: Path, browser: httpx2.AsyncClient, era: str
) -> None:
    settings = PAGE_SETTINGS.model_copy(
        update={"state": str(tmp_path), "state_keys": ["k" * 32]}
    )
    async with connect(make_page_server(settings=settings), era, can={}) as raw:
        link = find_link(await call_wipe(raw, arguments={"name": "a name to hide"}))
        secret = parse_qs(urlsplit(link).query)["link"][0]
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert files
        for path in files:
            text = path.read_text()
            assert secret not in text
            assert "a name to hide" not in text


async def test_an_expired_page_is_over(
    browser: httpx2.AsyncClient, era: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with connect(make_page_server(), era, can={}) as raw:
        link = find_link(await call_wipe(raw))
        later = time.time() + 601
        monkeypatch.setattr(page, "time", SimpleNamespace(time=lambda: later))
        assert await answer_page(browser, link) == 410
        assert find_link(await call_wipe(raw)) != link
    assert DONE == []


async def test_replicas_share_a_page(
    tmp_path: Path, browser: httpx2.AsyncClient, era: str
) -> None:
    keys = {"state": str(tmp_path), "state_keys": ["k" * 32]}
    settings = PAGE_SETTINGS.model_copy(update=keys)
    with user("ann"):
        async with (
            connect(make_page_server(settings=settings), era, can={}) as first,
            connect(make_page_server(settings=settings), era, can={}) as second,
        ):
            link = find_link(await call_wipe(first))
            assert find_link(await call_wipe(second)) == link
            assert await answer_page(browser, link) == 200
            assert outcome(await call_wipe(second)) == "applied"
            assert "was applied before" in text_of(await call_wipe(first))
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
