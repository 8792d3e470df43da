"""Where the policy has no fallback that reaches anybody, a client that cannot be asked changes nothing."""

import pytest

from copier_fastmcp_engine.policy import Policy
from engine.tests.engine_support.calls import (
    CANNOT_ASK,
    CLIENT_ERROR,
    METHOD_NOT_FOUND,
    call,
    call_at_once,
    outcomes_of,
)
from engine.tests.engine_support.notes.server import PAGE, REFUSE, notes_settings
from engine.tests.engine_support.raw import Message, connect
from engine.tests.engine_support.targets import DONE, make_target_server

pytestmark = pytest.mark.anyio
LINKS_ALONE: Message = {"elicitation": {"url": {}}}
WIPE: Message = {"name": "a"}
CONFIRM: Message = {"name": "a", "confirm": True}


@pytest.fixture(params=[REFUSE, PAGE], ids=["refuses", "page-nobody-sees"])
def policy(request: pytest.FixtureRequest) -> Policy:
    """A policy that refuses, and one whose page nobody would see, as on a CI machine."""
    selected: Policy = request.param
    return selected


@pytest.mark.parametrize("tool", ["wipe", "wipe_halves"])
@pytest.mark.parametrize(
    "calls",
    [
        [WIPE, WIPE],
        [CONFIRM, CONFIRM],
        [WIPE, CONFIRM, CONFIRM, CONFIRM],
        [WIPE, CONFIRM, WIPE, CONFIRM],
        [WIPE, CONFIRM | {"name": "b"}, CONFIRM],
    ],
    ids=["calls", "confirms", "a-step", "two-steps", "other-arguments"],
)
async def test_no_sequence_of_calls_applies(
    tool: str,
    calls: list[Message],
    policy: Policy,
    era: str,
) -> None:
    server = make_target_server(settings=notes_settings(policy))
    async with connect(server, era, can=CANNOT_ASK) as raw:
        assert set(await outcomes_of(raw, tool, calls)) == {"error"}
        assert set(await call_at_once(raw, 3, tool, **CONFIRM)) == {"error"}
    assert DONE == []


async def test_a_client_that_shows_links_alone_is_refused(era: str) -> None:
    server = make_target_server(settings=notes_settings(REFUSE))
    async with connect(server, era, can=LINKS_ALONE) as raw:
        assert await call(raw, "wipe", name="a") == "error"
    assert raw.questions == []
    assert DONE == []


async def test_a_tool_that_is_called_by_another_is_refused(
    policy: Policy, era: str
) -> None:
    server = make_target_server(settings=notes_settings(policy))
    async with connect(server, era, can=CANNOT_ASK) as raw:
        assert await call(raw, "wipe_each", names=["a"]) == "error"
        assert await call(raw, "wipe_each", names=[]) == "error"
    assert DONE == []


@pytest.mark.parametrize("answer", [CLIENT_ERROR, METHOD_NOT_FOUND])
async def test_a_client_that_fails_to_show_a_form_is_refused(
    answer: Message, policy: Policy
) -> None:
    server = make_target_server(settings=notes_settings(policy))
    async with connect(server, "legacy", answer) as raw:
        assert await outcomes_of(raw, "wipe", [WIPE, CONFIRM]) == ["error", "error"]
    assert DONE == []
