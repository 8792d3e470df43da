"""The newest era answers a call with its question: what comes back is accepted for that call and caller, once."""

from typing import Any

import anyio
import pytest

from engine.tests.engine_support.calls import Asking, answer, call
from engine.tests.engine_support.notes.server import notes_settings
from engine.tests.engine_support.raw import Message, connect, user
from engine.tests.engine_support.targets import DONE, make_target_server

pytestmark = pytest.mark.anyio
ERA = "2026-07-28"


def server_of(asking: Asking, seconds: float = 600) -> Any:
    """Return a server under a policy that asks."""
    return make_target_server(seconds, settings=notes_settings(asking.policy))


async def test_an_answer_needs_a_question(asking: Asking) -> None:
    arguments: Message = {"name": "a"} | asking.arguments
    async with connect(server_of(asking), ERA) as raw:
        assert await call(raw, "wipe", **arguments) == "asked"
        assert await answer(raw, None, "wipe", **arguments) == ["asked"]
    assert DONE == []


async def test_a_made_up_state_is_refused(asking: Asking) -> None:
    arguments: Message = {"name": "a"} | asking.arguments
    async with connect(server_of(asking), ERA) as raw:
        assert await call(raw, "wipe", **arguments) == "asked"
        assert await answer(raw, "asked-0", "wipe", **arguments) == ["error"]
    assert DONE == []


async def test_an_altered_state_is_refused(asking: Asking) -> None:
    arguments: Message = {"name": "a"} | asking.arguments
    async with connect(server_of(asking), ERA) as raw:
        assert await call(raw, "wipe", **arguments) == "asked"
        state = raw.states[0]
        other_letter = "B" if state[-9] == "A" else "A"
        altered = state[:-9] + other_letter + state[-8:]
        assert await answer(raw, altered, "wipe", **arguments) == ["error"]
    assert DONE == []


async def test_a_state_is_refused_with_other_arguments(asking: Asking) -> None:
    confirmation = asking.arguments
    async with connect(server_of(asking), ERA) as raw:
        assert await call(raw, "wipe", name="a", **confirmation) == "asked"
        outcomes = await answer(raw, raw.states[0], "wipe", name="b", **confirmation)
        assert outcomes == ["error"]
    assert DONE == []


async def test_a_state_is_refused_by_another_tool(asking: Asking) -> None:
    arguments: Message = {"name": "a"} | asking.arguments
    async with connect(server_of(asking), ERA) as raw:
        assert await call(raw, "wipe", **arguments) == "asked"
        outcomes = await answer(raw, raw.states[0], "wipe_halves", **arguments)
        assert outcomes == ["error"]
    assert DONE == []


async def test_a_state_is_refused_for_another_user(asking: Asking) -> None:
    arguments: Message = {"name": "a"} | asking.arguments
    async with connect(server_of(asking), ERA) as raw:
        with user("ann"):
            assert await call(raw, "wipe", **arguments) == "asked"
        with user("bob"):
            assert await answer(raw, raw.states[0], "wipe", **arguments) == ["error"]
        assert await answer(raw, raw.states[0], "wipe", **arguments) == ["error"]
    assert DONE == []


async def test_a_state_is_refused_by_another_server(asking: Asking) -> None:
    arguments: Message = {"name": "a"} | asking.arguments
    async with (
        connect(server_of(asking), ERA) as raw,
        connect(server_of(asking), ERA) as started_again,
    ):
        assert await call(raw, "wipe", **arguments) == "asked"
        state = raw.states[0]
        assert await answer(started_again, state, "wipe", **arguments) == ["error"]
    assert DONE == []


async def test_a_state_is_answered_once(asking: Asking) -> None:
    arguments: Message = {"name": "a"} | asking.arguments
    async with connect(server_of(asking), ERA) as raw:
        assert await call(raw, "wipe", **arguments) == "asked"
        state = raw.states[0]
        assert await answer(raw, state, "wipe", **arguments) == ["applied"]
        assert await answer(raw, state, "wipe", **arguments) == ["asked"]
    assert DONE == ["a"]


async def test_only_one_of_two_simultaneous_answers_counts(
    asking: Asking, slow_store: Any
) -> None:
    arguments: Message = {"name": "a"} | asking.arguments
    server = server_of(asking)
    slow_store(server)
    async with connect(server, ERA) as raw:
        assert await call(raw, "wipe", **arguments) == "asked"
        outcomes = await answer(raw, raw.states[0], "wipe", times=2, **arguments)
        assert outcomes == ["applied", "asked"]
    assert DONE == ["a"]


async def test_a_state_expires(asking: Asking) -> None:
    arguments: Message = {"name": "a"} | asking.arguments
    async with connect(server_of(asking, 0.2), ERA) as raw:
        assert await call(raw, "wipe", **arguments) == "asked"
        await anyio.sleep(0.3)
        assert await answer(raw, raw.states[0], "wipe", **arguments) == ["error"]
    assert DONE == []


async def test_a_state_without_an_answer_to_its_question_is_a_cancel(
    asking: Asking,
) -> None:
    arguments: Message = {"name": "a"} | asking.arguments
    async with connect(server_of(asking), ERA) as raw:
        assert await call(raw, "wipe", **arguments) == "asked"
        outcomes = await answer(
            raw, raw.states[0], "wipe", question="another", **arguments
        )
        assert outcomes == ["cancelled"]
    assert DONE == []
