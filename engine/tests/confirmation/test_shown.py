"""A question shows every argument that is not the default, whatever its author wrote."""

from typing import Annotated, Any

import pytest
from fastmcp import Context
from pydantic import BaseModel, Field, SecretStr

from copier_fastmcp_engine.confirmation.gate import require_confirmation
from copier_fastmcp_engine.declarations import Exemption, create, delete
from copier_fastmcp_engine.policy import Policy
from engine.tests.engine_support.notes.server import REFUSE, TWO_STEP, notes_settings
from engine.tests.engine_support.raw import (
    ELICITS,
    LEGACY,
    MODERN,
    Message,
    connect,
    outcome,
)
from engine.tests.engine_support.targets import DONE, make_target_server

Text = Annotated[str, Field(description="A text.")]


class Key(BaseModel):
    """A secret with its name."""

    name: str
    key: SecretStr


@delete(title="Change", confirm="Change order {order} to {status} for {reason}?")
async def change_order(
    order: Annotated[int, Field(description="Which.")],
    status: Text,
    comment: Annotated[str | None, Field(description="Why.")] = None,
    ids: Annotated[list[int] | None, Field(description="Which ones.")] = None,
    public: Annotated[bool, Field(description="For all?")] = False,
    reason: Annotated[str | None, Field(description="Why.")] = None,
    key: Annotated[Key | None, Field(description="Opens it.")] = None,
) -> None:
    """Change an order."""
    DONE.append(status)


OWN = Exemption(hint="confirm", value=False, why="Its body asks.")


@create(title="Publish", confirm=False, exceptions=[OWN])
async def publish(
    text: Text,
    ctx: Context,
    public: bool = False,
    pin: SecretStr | None = None,
) -> None:
    """Ask in the body, with less than is sent."""
    if await require_confirmation(ctx, "Publish?") == "confirmed":
        DONE.append(text)


@create(title="Erase", confirm=False, exceptions=[OWN])
async def erase(name: Text, ctx: Context) -> None:
    """Ask with the argument in the question."""
    await require_confirmation(ctx, f"Erase {name}?")


QUESTION = "notes-mcp asks: Change order 7 to st2 for none?\norder: 7\nstatus: st2"
# Further arguments, and the lines that the question shows for them
SHOWN: dict[str, tuple[Message, str]] = {
    "nothing-else": ({}, ""),
    "what-is-the-default": ({"comment": None, "public": False}, ""),
    "what-the-question-hides": (
        {"comment": "no", "public": True},
        "\ncomment: no\npublic: true",
    ),
    "fifty-numbers": ({"ids": [*range(50)]}, f"\nids: {[*range(50)]}"),
    "a-long-comment": ({"comment": "x" * 500}, "\ncomment: " + "x" * 500),
    "too-long-a-comment": (
        {"comment": "x" * 5000},
        "\ncomment: " + "x" * 1999 + "… (5,000 characters)",
    ),
    "too-many-numbers": (
        {"ids": [7] * 900},
        "\nids: " + str([7] * 900)[:1999] + "… (900 entries)",
    ),
    "letters-of-any-script": ({"comment": "д\nü"}, "\ncomment: д⏎ü"),
    "a-secret-within": ({"key": {"name": "a", "key": "4711"}}, "\nkey: **********"),
}
pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("era", [LEGACY, MODERN])]


async def call_with_both_clients(
    era: str,
    tool: Any,
    policy: Policy = TWO_STEP,
    **arguments: object,
) -> tuple[str, Message]:
    """Return the question in a client with forms, and the response to a client without."""
    server = make_target_server(600, tool, settings=notes_settings(policy))
    call: Message = {"name": tool.__name__, "arguments": arguments}
    async with connect(server, era, {"action": "decline"}, can=ELICITS) as raw:
        await raw.receive(await raw.send("tools/call", **call))
    async with connect(server, era, can={}) as client_without_forms:
        number = await client_without_forms.send("tools/call", **call)
        message = await client_without_forms.receive(number)
    (question,) = raw.questions
    return question, message


@pytest.mark.parametrize("policy", [TWO_STEP, REFUSE], ids=["two-step", "refuse"])
@pytest.mark.parametrize("name", SHOWN)
async def test_a_question_shows_each_argument_that_is_sent(
    name: str, policy: Policy, era: str
) -> None:
    sent, lines = SHOWN[name]
    arguments = {"order": 7, "status": "st2"} | sent
    question, message = await call_with_both_clients(
        era, change_order, policy, **arguments
    )
    assert question == QUESTION + lines
    if policy is TWO_STEP:
        text = message["result"]["content"][0]["text"]
        assert text.startswith(QUESTION + lines + "\n")
    else:
        assert outcome(message) == "error"


async def test_a_newline_in_a_question_pushes_nothing_away(era: str) -> None:
    question, _ = await call_with_both_clients(
        era, erase, name="a" + "\n" * 30 + "public: false"
    )
    assert question.startswith("notes-mcp asks: Erase a⏎⏎")
    assert question.splitlines()[1].startswith("name: a⏎⏎")
    assert len(question.splitlines()) == 2


async def test_a_question_of_a_body_shows_each_argument(era: str) -> None:
    question, message = await call_with_both_clients(
        era, publish, text="a", public=True, pin="4711"
    )
    assert (
        question == "notes-mcp asks: Publish?\ntext: a\npublic: true\npin: **********"
    )
    assert outcome(message) == "error"


async def test_a_preview_is_worded_for_the_person_and_tells_no_model_how_to_approve(
    era: str,
) -> None:
    _, message = await call_with_both_clients(era, change_order, order=7, status="st2")
    assert outcome(message) == "preview"
    assert "confirm=" not in str(message)
    assert "call change_order" not in str(message)
    waits = "Nothing was changed. This waits 10 minutes for your decision."
    assert waits in str(message)
