"""A client that cannot be asked previews a call, and the same call with `confirm` applies it, once."""

from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from typing import Any

import anyio
import pytest
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.confirmation.pending import COLLECTION, PendingStore
from copier_fastmcp_engine.declarations import delete
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.policy import Policy
from engine.tests.engine_support.calls import (
    ACCEPT,
    CANNOT_ASK,
    call,
    call_at_once,
    message_of,
    outcomes_of,
)
from engine.tests.engine_support.notes.server import (
    PREVIEW_FIRST,
    TWO_STEP,
    notes_settings,
)
from engine.tests.engine_support.raw import MODERN, Message, Raw, connect, user
from engine.tests.engine_support.targets import (
    DONE,
    Name,
    Wiped,
    build_policy_tool,
    make_target_server,
    wipe,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(params=[TWO_STEP, PREVIEW_FIRST], ids=["two-step", "previews-first"])
def policy(request: pytest.FixtureRequest) -> Policy:
    """Each policy with two steps."""
    selected: Policy = request.param
    return selected


def server_of(policy: Policy, seconds: float = 600) -> Any:
    """Return a server under a policy."""
    return make_target_server(seconds, settings=notes_settings(policy))


def connect_without_forms(
    policy: Policy, era: str, seconds: float = 600
) -> AbstractAsyncContextManager[Raw]:
    """Connect a client that shows no form to a server under a policy."""
    return connect(server_of(policy, seconds), era, can=CANNOT_ASK)


async def preview_wipe(raw: Raw, name: str) -> str:
    """Return the outcome of a first call."""
    return await call(raw, "wipe", name=name)


async def confirm_wipe(raw: Raw, name: str) -> str:
    """Return the outcome of a call with `confirm`."""
    return await call(raw, "wipe", name=name, confirm=True)


async def test_confirm_without_a_preview_applies_nothing(
    policy: Policy, era: str
) -> None:
    async with connect_without_forms(policy, era) as raw:
        for _ in range(2):
            assert await confirm_wipe(raw, "a") == "error"
    assert DONE == []


async def test_a_second_preview_applies_nothing(policy: Policy, era: str) -> None:
    async with connect_without_forms(policy, era) as raw:
        for _ in range(2):
            assert await preview_wipe(raw, "a") == "preview"
    assert DONE == []


async def test_a_preview_is_applied_once(policy: Policy, era: str) -> None:
    async with connect_without_forms(policy, era) as raw:
        assert await preview_wipe(raw, "a") == "preview"
        assert await confirm_wipe(raw, "a") == "applied"
        assert await confirm_wipe(raw, "a") == "error"
        assert await confirm_wipe(raw, "a") == "error"
    assert DONE == ["a"]


async def test_an_approved_call_is_marked_as_applied_once(
    monkeypatch: pytest.MonkeyPatch, era: str
) -> None:
    """Each entry is a round trip to a store that replicas share."""
    names: list[str] = []
    put = PendingStore.put

    async def spy(self: PendingStore, name: str, *arguments: Any) -> None:
        names.append(name.partition("-")[0])
        await put(self, name, *arguments)

    monkeypatch.setattr(PendingStore, "put", spy)
    async with connect_without_forms(TWO_STEP, era) as raw:
        assert await preview_wipe(raw, "a") == "preview"
        assert await confirm_wipe(raw, "a") == "applied"
    assert names == ["preview", "done"]


async def test_each_preview_can_be_applied(policy: Policy, era: str) -> None:
    async with connect_without_forms(policy, era) as raw:
        for _ in range(2):
            assert await preview_wipe(raw, "a") == "preview"
            assert await confirm_wipe(raw, "a") == "applied"
    assert DONE == ["a", "a"]


async def test_a_preview_does_not_confirm_other_arguments(
    policy: Policy, era: str
) -> None:
    async with connect_without_forms(policy, era) as raw:
        assert await preview_wipe(raw, "a") == "preview"
        assert await confirm_wipe(raw, "b") == "error"
        assert await confirm_wipe(raw, "b") == "error"
    assert DONE == []


async def test_a_preview_does_not_confirm_another_tool(
    policy: Policy, era: str
) -> None:
    async with connect_without_forms(policy, era) as raw:
        assert await call(raw, "wipe_halves", name="a") == "preview"
        assert await confirm_wipe(raw, "a") == "error"
    assert DONE == []


async def test_a_preview_does_not_confirm_for_another_user(
    policy: Policy, era: str
) -> None:
    async with connect_without_forms(policy, era) as raw:
        with user("ann"):
            assert await preview_wipe(raw, "a") == "preview"
        with user("bob"):
            assert await confirm_wipe(raw, "a") == "error"
    assert DONE == []


async def test_a_preview_does_not_confirm_in_another_session() -> None:
    """Only the handshake eras have sessions."""
    server = make_target_server()
    async with (
        connect(server, "legacy", can=CANNOT_ASK) as raw,
        connect(server, "legacy", can=CANNOT_ASK) as second_session,
    ):
        assert await preview_wipe(raw, "a") == "preview"
        assert await confirm_wipe(second_session, "a") == "error"
    assert DONE == []


async def test_a_preview_expires(policy: Policy, era: str) -> None:
    async with connect_without_forms(policy, era, seconds=0.2) as raw:
        assert await preview_wipe(raw, "a") == "preview"
        await anyio.sleep(0.3)
        assert await confirm_wipe(raw, "a") == "error"
    assert DONE == []


@pytest.mark.parametrize(
    ("seconds", "minutes"),
    [
        (86_400, "1440 minutes"),
        (90, "2 minutes"),
        (1, "1 minutes"),
    ],
)
async def test_a_preview_names_the_time_for_the_decision(
    seconds: float, minutes: str, era: str
) -> None:
    async with connect_without_forms(TWO_STEP, era, seconds) as raw:
        message = await message_of(raw, "wipe", name="a")
    result = message["result"]
    assert f" {minutes} " in result["structuredContent"]["preview"]["next"]
    assert result["content"][0]["text"].startswith("notes-mcp asks: Wipe a of us?\n")
    assert f" {minutes} " in result["content"][0]["text"]


async def test_a_preview_that_a_form_is_to_follow_needs_the_form() -> None:
    """The newest era names a client's capabilities in each request."""
    async with connect(server_of(PREVIEW_FIRST), MODERN, ACCEPT) as raw:
        assert await preview_wipe(raw, "a") == "preview"
        raw.can = CANNOT_ASK
        assert await confirm_wipe(raw, "a") == "error"
    assert DONE == []


@pytest.mark.parametrize("times", [2, 10])
async def test_only_one_of_several_simultaneous_confirms_applies(
    policy: Policy, era: str, times: int, slow_store: Any
) -> None:
    server = server_of(policy)
    slow_store(server)
    async with connect(server, era, can=CANNOT_ASK) as raw:
        assert await preview_wipe(raw, "a") == "preview"
        outcomes = await call_at_once(raw, times, "wipe", name="a", confirm=True)
        assert set(outcomes) == {"applied", "error"}
        outcomes = await call_at_once(raw, 2, "wipe", name="a", confirm=True)
        assert outcomes == ["error", "error"]
    assert DONE == ["a"]


async def test_a_flood_of_previews_pushes_out_the_first(
    policy: Policy, era: str, small_store: int
) -> None:
    server = server_of(policy)
    async with connect(server, era, can=CANNOT_ASK) as raw:
        assert await preview_wipe(raw, "a") == "preview"
        for number in range(2 * small_store):
            assert await preview_wipe(raw, str(number)) == "preview"
        assert await confirm_wipe(raw, "a") == "error"
    assert DONE == []
    store: Any = guard_of(server).gate.store
    assert len(await store.keys(collection=COLLECTION)) <= small_store


async def test_a_client_that_shows_links_alone_gets_a_preview(
    policy: Policy, era: str
) -> None:
    links_alone: Message = {"elicitation": {"url": {}}}
    async with connect(server_of(policy), era, can=links_alone) as raw:
        for _ in range(2):
            assert await preview_wipe(raw, "a") == "preview"
    assert raw.questions == []
    assert DONE == []


async def test_each_question_of_a_body_is_a_step(policy: Policy, era: str) -> None:
    async with connect_without_forms(policy, era) as raw:
        assert await call(raw, "wipe_halves", name="a") == "preview"
        steps = [{"name": "a", "confirm": True}] * 3
        outcomes = await outcomes_of(raw, "wipe_halves", steps)
        assert outcomes == ["preview", "preview", "applied"]
    assert DONE == ["a0", "a1"]


async def test_a_body_without_the_parameter_has_no_steps(
    policy: Policy, era: str
) -> None:
    async with connect_without_forms(policy, era) as raw:
        assert await call(raw, "wipe_each", names=[]) == "error"
    assert DONE == []


async def test_a_tool_that_is_called_by_another_has_no_steps(
    policy: Policy, era: str
) -> None:
    async with connect_without_forms(policy, era) as raw:
        assert await call(raw, "wipe_each", names=["a"]) == "error"
    assert DONE == []


async def test_confirm_says_why_it_applies_nothing(policy: Policy, era: str) -> None:
    async def text_of(**arguments: object) -> str:
        message = await message_of(raw, "wipe", **arguments)
        return str(message["result"]["content"][0]["text"])

    async with connect_without_forms(policy, era) as raw:
        not_previewed = await text_of(name="a", confirm=True)
        assert not_previewed.startswith("No pending confirmation for wipe with these")
        await text_of(name="a")
        await text_of(name="a", confirm=True)
        second = await text_of(name="a", confirm=True)
        assert second.startswith("wipe was applied before with these arguments, ")
        await text_of(name="fails")
        assert await text_of(name="fails", confirm=True) == "it would not go"
        assert await text_of(name="fails", confirm=True) == not_previewed
    assert DONE == ["a"]


async def test_confirm_does_not_call_applied_what_a_user_approved() -> None:
    server = server_of(TWO_STEP)
    async with connect(server, MODERN, ACCEPT) as raw:
        assert await call(raw, "wipe", name="a") == "applied"
    async with connect(server, MODERN, can=CANNOT_ASK) as raw:
        message = await message_of(raw, "wipe", name="a", confirm=True)
    text = message["result"]["content"][0]["text"]
    assert text.startswith("No pending confirmation for wipe")
    assert DONE == ["a"]


@delete(title="Wipe the first")
async def wipe_first(name: Name) -> Wiped:
    """Wipe one, where nothing was wiped before."""
    if DONE:
        raise ToolError("nothing is left")
    DONE.append(name)
    return Wiped(name=name)


async def test_a_call_that_a_user_approved_and_that_fails_leaves_the_applied_one() -> (
    None
):
    server = make_target_server(600, wipe_first)

    async def confirm() -> str:
        async with connect(server, MODERN, can=CANNOT_ASK) as raw:
            message = await message_of(raw, "wipe_first", name="a", confirm=True)
        return str(message["result"]["content"][0]["text"])

    async with connect(server, MODERN, can=CANNOT_ASK) as raw:
        assert await call(raw, "wipe_first", name="a") == "preview"
    await confirm()
    assert DONE == ["a"]
    async with connect(server, MODERN, ACCEPT) as raw:
        assert await call(raw, "wipe_first", name="a") == "error"
    assert (await confirm()).startswith("wipe_first was applied before")


async def test_a_preview_that_nothing_can_apply_is_not_kept() -> None:
    policy = replace(PREVIEW_FIRST, confirm_fallback="refuse")
    server = server_of(policy)
    async with connect(server, "legacy", ACCEPT) as raw:
        assert await preview_wipe(raw, "a") == "preview"
    store: Any = guard_of(server).gate.store
    assert await store.keys(collection=COLLECTION) == []


@pytest.mark.parametrize("confirm", ["yes", "true", 1, [True]], ids=str)
async def test_confirm_is_a_boolean_or_refused(confirm: object, era: str) -> None:
    async with connect(make_target_server(), era, can=CANNOT_ASK) as raw:
        assert await call(raw, "wipe", name="a", confirm=False) == "preview"
        assert await call(raw, "wipe", name="a", confirm=confirm) == "error"
    assert DONE == []


async def test_the_description_names_the_two_steps(era: str) -> None:
    server = make_target_server(settings=notes_settings(TWO_STEP))
    descriptions = {}
    for tool in await server.list_tools():
        descriptions[tool.name] = tool.description
    assert descriptions["wipe"] == "Wipe one. Two-step confirmation."
    assert descriptions["list_wiped"] == "List all that was wiped."
    refusing = replace(TWO_STEP, confirm_fallback="refuse")
    assert build_policy_tool(wipe, refusing).description == "Wipe one."
