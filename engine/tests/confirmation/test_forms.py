"""A client that supports forms: only an accepted form with the boolean true applies the call."""

from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from fastmcp import FastMCP

from engine.tests.engine_support.calls import (
    ACCEPT,
    CANCEL,
    CLIENT_ERROR,
    DECLINE,
    METHOD_NOT_FOUND,
    Asking,
    accept,
    call,
)
from engine.tests.engine_support.notes.server import (
    PREVIEW_FIRST,
    REFUSE,
    TWO_STEP,
    notes_settings,
)
from engine.tests.engine_support.raw import Message, Raw, connect
from engine.tests.engine_support.targets import DONE, make_target_server

pytestmark = pytest.mark.anyio
# These have content that their action does not have.
DECLINED = ACCEPT | {"action": "decline"}
CANCELLED = ACCEPT | {"action": "cancel"}
UNKNOWN = ACCEPT | {"action": "maybe"}


# A client that declared forms and cannot show this one gets a preview up to 2025-11-25, where nothing of the call is
# answered yet.
@dataclass(frozen=True)
class Row:
    """What a client answers, and the outcome of its call.

    Attributes:
        answer: The client's answer; None: it does not answer.
        handshake: The outcome up to 2025-11-25.
        newest: The outcome in the newest era.
    """

    answer: Message | None
    handshake: str
    newest: str

    def outcome(self, era: str) -> str:
        """Return the outcome of the call in an era."""
        return self.handshake if era == "legacy" else self.newest


ANSWERS = {
    "accepts": Row(ACCEPT, "applied", "applied"),
    "accepts-false": Row(accept({"confirm": False}), "declined", "declined"),
    "accepts-a-word": Row(accept({"confirm": "true"}), "declined", "declined"),
    "accepts-a-number": Row(accept({"confirm": 1}), "declined", "declined"),
    "accepts-without-the-field": Row(accept({}), "declined", "declined"),
    "accepts-without-content": Row(accept(None), "declined", "declined"),
    "declines": Row(DECLINED, "declined", "declined"),
    "cancels": Row(CANCELLED, "cancelled", "cancelled"),
    "malformed": Row(accept({"confirm": {"yes": True}}), "preview", "error"),
    "unknown-action": Row(UNKNOWN, "preview", "error"),
    "another-result": Row({"roots": []}, "preview", "cancelled"),
    "error": Row(CLIENT_ERROR, "preview", "error"),
    "method-not-found": Row(METHOD_NOT_FOUND, "preview", "error"),
    "silence": Row(None, "timed_out", "asked"),
}


def server_of(asking: Asking, seconds: float = 600) -> Any:
    """Return a server under a policy that asks."""
    return make_target_server(seconds, settings=notes_settings(asking.policy))


async def call_wipe(raw: Raw, name: str) -> str:
    """Return the outcome of a first call."""
    return await call(raw, "wipe", name=name)


async def confirm_wipe(raw: Raw, name: str) -> str:
    """Return the outcome of a call with `confirm`."""
    return await call(raw, "wipe", name=name, confirm=True)


@pytest.mark.parametrize("mounted", [False, True], ids=["alone", "mounted"])
@pytest.mark.parametrize("name", ANSWERS)
async def test_only_an_accepted_form_with_true_applies(
    name: str, era: str, mounted: bool
) -> None:
    row = ANSWERS[name]
    server = make_target_server(0.2 if name == "silence" else 600)
    parent: Any = server
    if mounted:
        parent = FastMCP("parent")
        parent.mount(server)
    wiped = "a\x1b[2J" + "b" * 100
    async with connect(parent, era, row.answer) as raw:
        outcome = await call_wipe(raw, wiped)
    assert outcome == row.outcome(era)
    visible_name = f"a\ufffd[2J{'b' * 100}"
    in_question = f"{visible_name[:79]}… (105 characters)"
    assert raw.questions == [
        f"{server.name} asks: Wipe {in_question} of us?\n"
        f"name: {visible_name}\ndone: []\nby⏎: \ufffd\ufffd{visible_name}"
    ]
    assert ([wiped] if name == "accepts" else []) == DONE


@pytest.mark.parametrize("name", ANSWERS)
async def test_only_true_applies_where_the_policy_previews_first(
    name: str, era: str
) -> None:
    """Where the policy previews first, a call with `confirm` asks; `confirm` then makes no preview."""
    row = ANSWERS[name]
    settings = notes_settings(PREVIEW_FIRST)
    server = make_target_server(0.2 if name == "silence" else 600, settings=settings)
    async with connect(server, era, row.answer) as raw:
        outcome = await confirm_wipe(raw, "a")
    expected = row.outcome(era)
    assert outcome == {"preview": "error"}.get(expected, expected)
    assert (["a"] if name == "accepts" else []) == DONE


@pytest.mark.parametrize("name", ANSWERS)
async def test_only_true_applies_where_the_policy_refuses(name: str, era: str) -> None:
    row = ANSWERS[name]
    settings = notes_settings(REFUSE)
    server = make_target_server(0.2 if name == "silence" else 600, settings=settings)
    async with connect(server, era, row.answer) as raw:
        outcome = await call_wipe(raw, "a")
    expected = row.outcome(era)
    assert outcome == {"preview": "error"}.get(expected, expected)
    assert (["a"] if name == "accepts" else []) == DONE


async def test_confirm_does_not_answer_for_a_user_who_can_be_asked(
    asking: Asking, era: str
) -> None:
    async with connect(server_of(asking), era, DECLINE) as raw:
        assert await confirm_wipe(raw, "a") == "declined"
    assert DONE == []


async def test_the_first_call_asks_unless_the_policy_previews_first(
    asking: Asking, era: str
) -> None:
    first = "preview" if asking.policy.preview_first else "declined"
    async with connect(server_of(asking), era, DECLINE) as raw:
        assert await call_wipe(raw, "a") == first
    assert DONE == []


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("wipe_batch", {"names": []}),
        ("wipe_batch", {"names": ["a", "a"]}),
        ("wipe", {"name": "gone"}),
    ],
    ids=["invalid-field", "invalid-model", "preview-refuses"],
)
async def test_an_invalid_call_asks_no_question(
    tool: str, arguments: Message, asking: Asking, era: str
) -> None:
    async with connect(server_of(asking), era, ACCEPT) as raw:
        assert await call(raw, tool, **arguments, **asking.arguments) == "error"
    assert raw.questions == []
    assert DONE == []


async def test_a_request_model_is_applied_as_it_was_asked_for(
    asking: Asking, era: str
) -> None:
    async with connect(server_of(asking), era, ACCEPT) as raw:
        names = ["a", "b"]
        outcome = await call(raw, "wipe_batch", names=names, **asking.arguments)
        assert outcome == "applied"
    assert DONE == ["a", "b"]


async def test_a_body_asks_by_itself(asking: Asking, era: str) -> None:
    async with connect(server_of(asking), era, ACCEPT) as raw:
        assert await call(raw, "wipe_each", names=[]) == "None"
    assert DONE == ["body"]


async def test_two_questions_of_the_same_words_are_two(
    asking: Asking, era: str
) -> None:
    async with connect(server_of(asking), era, ACCEPT, ACCEPT, DECLINE) as raw:
        outcome = await call(raw, "wipe_halves", name="a", **asking.arguments)
        assert outcome == "applied"
    assert DONE == ["a0"]


async def test_a_no_stays_a_no_when_the_body_runs_again(
    asking: Asking, era: str
) -> None:
    async with connect(server_of(asking), era, ACCEPT, DECLINE, ACCEPT) as raw:
        outcome = await call(raw, "wipe_halves", name="a", **asking.arguments)
        assert outcome == "applied"
    assert DONE == ["a1"]


async def test_a_tool_that_is_called_by_another_asks(asking: Asking, era: str) -> None:
    async with connect(server_of(asking), era, ACCEPT) as raw:
        assert await call(raw, "wipe_each", names=["a"]) == "None"
    assert DONE == ["a"]


async def test_a_no_to_a_tool_that_is_called_by_another_changes_nothing(
    asking: Asking, era: str
) -> None:
    async with connect(server_of(asking), era, DECLINE) as raw:
        assert await call(raw, "wipe_each", names=["a"]) == "None"
    assert DONE == []


async def test_the_same_nested_call_is_asked_for_each_time(asking: Asking) -> None:
    async with connect(server_of(asking), "legacy", ACCEPT) as raw:
        assert await call(raw, "wipe_each", names=["a", "a"]) == "None"
    assert len(raw.questions) == 2
    assert DONE == ["a", "a"]


async def test_the_rest_is_refused_after_a_partial_result(asking: Asking) -> None:
    """In the newest era a question for the rest would run the body, and the part that was applied, again."""
    async with connect(server_of(asking), "2026-07-28", ACCEPT) as raw:
        assert await call(raw, "wipe_each", names=["a", "a"]) == "error"
    assert DONE == ["a"]


async def test_a_client_that_does_not_know_forms_is_not_asked_again() -> None:
    async with connect(make_target_server(), "legacy", METHOD_NOT_FOUND, ACCEPT) as raw:
        assert await call_wipe(raw, "a") == "preview"
        assert await call_wipe(raw, "b") == "preview"
    assert len(raw.questions) == 1
    assert DONE == []


async def test_a_client_that_failed_once_is_asked_again() -> None:
    async with connect(make_target_server(), "legacy", CLIENT_ERROR, DECLINE) as raw:
        assert await call_wipe(raw, "a") == "preview"
        assert await confirm_wipe(raw, "a") == "declined"
        assert await confirm_wipe(raw, "a") == "declined"
    assert len(raw.questions) == 3
    assert DONE == []


@pytest.mark.parametrize(
    ("asking", "outcomes"),
    [
        (Asking(TWO_STEP), ["declined", "error", "error"]),
        (Asking(PREVIEW_FIRST), ["preview", "declined", "error"]),
    ],
    ids=["asks-first", "previews-first"],
)
async def test_a_no_ends_the_preview(asking: Asking, outcomes: list[str]) -> None:
    """When the form fails later, `confirm` finds no preview of before the no."""
    async with connect(server_of(asking), "legacy", DECLINE, CLIENT_ERROR) as raw:
        assert await call_wipe(raw, "a") == outcomes[0]
        assert await confirm_wipe(raw, "a") == outcomes[1]
        assert await confirm_wipe(raw, "a") == outcomes[2]
    assert DONE == []


async def test_where_no_form_is_shown_two_steps_apply(asking: Asking) -> None:
    async with connect(server_of(asking), "legacy", CLIENT_ERROR) as raw:
        assert await call_wipe(raw, "a") == "preview"
        assert await confirm_wipe(raw, "a") == "applied"
        assert await confirm_wipe(raw, "a") == "error"
    assert DONE == ["a"]


async def test_what_was_confirmed_in_two_steps_is_not_asked_by_a_form() -> None:
    """A form that fails is tried again, for what nobody has answered yet."""
    async with connect(make_target_server(), "legacy", CLIENT_ERROR) as raw:
        assert await call(raw, "wipe_halves", name="a") == "preview"
        for expected, questions in (("preview", 3), ("preview", 5), ("applied", 6)):
            outcome = await call(raw, "wipe_halves", name="a", confirm=True)
            assert outcome == expected
            assert len(raw.questions) == questions
    assert DONE == ["a0", "a1"]


@pytest.mark.parametrize("leaves", ["client", "server"])
async def test_nothing_is_applied_when_one_side_leaves_while_asked(
    leaves: str, asking: Asking
) -> None:
    async with connect(server_of(asking), "legacy", None) as raw:
        arguments = {"name": "a"} | asking.arguments
        await raw.send("tools/call", name="wipe", arguments=arguments)
        await raw.next()
        assert raw.questions
        if leaves == "client":
            await raw.write.aclose()
            await anyio.sleep(0.05)
    assert DONE == []


async def test_a_cancelled_form_is_no_decline(era: str) -> None:
    async with connect(make_target_server(), era, CANCEL) as raw:
        assert await call_wipe(raw, "a") == "cancelled"
