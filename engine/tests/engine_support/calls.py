"""Calls of one client and their outcomes; the answers that a user can give to a question."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from copier_fastmcp_engine.policy import Policy

from .raw import Message, Raw, outcome

ACCEPT: Message = {"action": "accept", "content": {"confirm": True}}
DECLINE: Message = {"action": "decline"}
CANCEL: Message = {"action": "cancel"}
CLIENT_ERROR: Message = {"error": {"code": -32603, "message": "no screen"}}
METHOD_NOT_FOUND: Message = {"error": {"code": -32601, "message": "what?"}}
CANNOT_ASK: Message = {}  # the capabilities of a client that shows no form


def accept(content: object) -> Message:
    """Return an accepted form with this content."""
    return {"action": "accept", "content": content}


@dataclass(frozen=True)
class Asking:
    """A policy, and what a call sends with it so that its client is asked."""

    policy: Policy
    arguments: Message = field(default_factory=dict)


async def send(raw: Raw, tool: str, **arguments: object) -> int:
    """Send a call; its number fetches the response."""
    return await raw.send("tools/call", name=tool, arguments=arguments)


async def message_of(raw: Raw, tool: str, **arguments: object) -> Message:
    """Return the response to a call."""
    return await raw.receive(await send(raw, tool, **arguments))


async def call(raw: Raw, tool: str, **arguments: object) -> str:
    """Return what a call comes to: the envelope's outcome, `asked`, `error`, or `None` without an envelope."""
    return outcome(await message_of(raw, tool, **arguments))


async def call_at_once(
    raw: Raw, times: int, tool: str, **arguments: object
) -> list[str]:
    """Return what the same call comes to, sent several times before any response; sorted."""
    numbers = [await send(raw, tool, **arguments) for _ in range(times)]
    return sorted([outcome(await raw.receive(number)) for number in numbers])


async def answer(
    raw: Raw,
    state: str | None,
    tool: str,
    *,
    question: str = "confirmation",
    times: int = 1,
    **arguments: object,
) -> list[str]:
    """Return what a call comes to that accepts a question by hand (2026-07-28); sorted.

    Args:
        raw: The client.
        state: The sealed state of the question that is answered.
        tool: The tool that is called.
        question: The name of the question.
        times: How often the answer is sent before any response.
        arguments: The arguments of the call.
    """
    numbers = []
    for _ in range(times):
        number = await raw.send(
            "tools/call",
            name=tool,
            arguments=arguments,
            requestState=state,
            inputResponses={question: ACCEPT},
        )
        numbers.append(number)
    return sorted([outcome(await raw.receive(number)) for number in numbers])


async def outcomes_of(
    raw: Raw,
    tool: str,
    calls: Sequence[dict[str, object]],
) -> list[str]:
    """Return what calls of one tool come to, one after the other."""
    return [await call(raw, tool, **arguments) for arguments in calls]
