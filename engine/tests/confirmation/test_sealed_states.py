"""The newest era answers a call with its question: what comes back is accepted for that call and caller, once."""

from typing import Any

import anyio
import pytest

from engine.tests.engine_support.calls import Asking, answer, call
from engine.tests.engine_support.notes.server import notes_settings
from engine.tests.engine_support.raw import Message, Raw, connect, outcome, user
from engine.tests.engine_support.targets import DONE, make_target_server

pytestmark = pytest.mark.anyio
ERA = "2026-07-28"


def server_of(asking: Asking, seconds: float = 600) -> Any:
    """Return a server under a policy that asks."""
    return make_target_server(seconds, settings=notes_settings(asking.policy))


async def ask_to_wipe(raw: Raw, asking: Asking) -> str:
    """Call `wipe`, and return the sealed state of its question."""
    assert await call(raw, "wipe", name="a", **asking.arguments) == "asked"
    return raw.states[0]


async def accept_wipe(
    raw: Raw,
    state: str | None,
    asking: Asking,
    tool: str = "wipe",
    **changes: Any,
) -> list[str]:
    """Accept a question of `wipe` by hand, and return the outcomes.

    Args:
        raw: The client.
        state: The sealed state of the question.
        asking: The policy, and what the call has sent.
        tool: The tool that is called.
        changes: Arguments of `answer` that differ from the first call.
    """
    arguments: Message = {"name": "a"} | asking.arguments | changes
    return await answer(raw, state, tool, **arguments)


async def test_an_answer_needs_a_question(asking: Asking) -> None:
    async with connect(server_of(asking), ERA) as raw:
        await ask_to_wipe(raw, asking)
        assert await accept_wipe(raw, None, asking) == ["asked"]
    assert DONE == []


async def test_a_made_up_state_is_refused(asking: Asking) -> None:
    async with connect(server_of(asking), ERA) as raw:
        await ask_to_wipe(raw, asking)
        assert await accept_wipe(raw, "asked-0", asking) == ["error"]
    assert DONE == []


async def test_an_altered_state_is_refused(asking: Asking) -> None:
    async with connect(server_of(asking), ERA) as raw:
        state = await ask_to_wipe(raw, asking)
        other_letter = "B" if state[-9] == "A" else "A"
        altered = state[:-9] + other_letter + state[-8:]
        assert await accept_wipe(raw, altered, asking) == ["error"]
    assert DONE == []


async def test_a_state_is_refused_with_other_arguments(asking: Asking) -> None:
    async with connect(server_of(asking), ERA) as raw:
        state = await ask_to_wipe(raw, asking)
        outcomes = await accept_wipe(raw, state, asking, name="b")
        assert outcomes == ["error"]
    assert DONE == []


async def test_a_state_is_refused_by_another_tool(asking: Asking) -> None:
    async with connect(server_of(asking), ERA) as raw:
        state = await ask_to_wipe(raw, asking)
        outcomes = await accept_wipe(raw, state, asking, tool="wipe_halves")
        assert outcomes == ["error"]
    assert DONE == []


async def test_a_state_is_refused_for_another_user(asking: Asking) -> None:
    async with connect(server_of(asking), ERA) as raw:
        with user("ann"):
            state = await ask_to_wipe(raw, asking)
        with user("bob"):
            assert await accept_wipe(raw, state, asking) == ["error"]
        assert await accept_wipe(raw, state, asking) == ["error"]
    assert DONE == []


async def test_a_state_is_refused_by_another_server(asking: Asking) -> None:
    async with (
        connect(server_of(asking), ERA) as raw,
        connect(server_of(asking), ERA) as started_again,
    ):
        state = await ask_to_wipe(raw, asking)
        assert await accept_wipe(started_again, state, asking) == ["error"]
    assert DONE == []


async def test_a_state_is_answered_once(asking: Asking) -> None:
    async with connect(server_of(asking), ERA) as raw:
        state = await ask_to_wipe(raw, asking)
        assert await accept_wipe(raw, state, asking) == ["applied"]
        assert await accept_wipe(raw, state, asking) == ["asked"]
    assert DONE == ["a"]


async def test_only_one_of_two_simultaneous_answers_counts(
    asking: Asking, slow_store: Any
) -> None:
    server = server_of(asking)
    slow_store(server)
    async with connect(server, ERA) as raw:
        state = await ask_to_wipe(raw, asking)
        outcomes = await accept_wipe(raw, state, asking, times=2)
        assert outcomes == ["applied", "asked"]
    assert DONE == ["a"]


async def test_a_state_expires(asking: Asking) -> None:
    async with connect(server_of(asking, 0.2), ERA) as raw:
        state = await ask_to_wipe(raw, asking)
        await anyio.sleep(0.3)
        assert await accept_wipe(raw, state, asking) == ["error"]
    assert DONE == []


async def test_a_state_without_an_answer_to_its_question_is_a_cancel(
    asking: Asking,
) -> None:
    async with connect(server_of(asking), ERA) as raw:
        state = await ask_to_wipe(raw, asking)
        outcomes = await accept_wipe(raw, state, asking, question="another")
        assert outcomes == ["cancelled"]
    assert DONE == []


async def test_a_state_without_any_answer_is_a_cancel(asking: Asking) -> None:
    async with connect(server_of(asking), ERA) as raw:
        state = await ask_to_wipe(raw, asking)
        arguments = {"name": "a"} | asking.arguments
        number = await raw.send(
            "tools/call", name="wipe", arguments=arguments, requestState=state
        )
        assert outcome(await raw.receive(number)) == "cancelled"
    assert DONE == []
