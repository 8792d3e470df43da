"""What a person, or a client in a person's name, can say to a question."""

from attacks.gate.attacked import ASK, STEP
from attacks.raw import Message

YES: Message = {"action": "accept", "content": {"confirm": True}}


def accept(content: object) -> Message:
    """An accepted form with this content."""
    return {"action": "accept", "content": content}


MUTE = "error" if ASK else STEP  # `confirm=true` makes no preview

# The answer, and what the call comes to: with the handshake, and in the newest era.
ANSWERS: dict[str, tuple[Message | None, str, str]] = {
    "accept": (YES, "applied", "applied"),
    "accept-false": (accept({"confirm": False}), "declined", "declined"),
    "accept-word": (accept({"confirm": "true"}), "declined", "declined"),
    "accept-number": (accept({"confirm": 1}), "declined", "declined"),
    "accept-missing-field": (accept({}), "declined", "declined"),
    "accept-nothing": (accept(None), "declined", "declined"),
    "decline": (YES | {"action": "decline"}, "declined", "declined"),
    "cancel": (YES | {"action": "cancel"}, "cancelled", "cancelled"),
    "wrong-type": (accept({"confirm": {"yes": True}}), MUTE, "error"),
    "unknown-action": (YES | {"action": "maybe"}, MUTE, "error"),
    "no-answer": ({"roots": []}, MUTE, "cancelled"),
    "client-error": (
        {"error": {"code": -32603, "message": "no screen"}},
        MUTE,
        "error",
    ),
    "method-not-found": (
        {"error": {"code": -32601, "message": "what?"}},
        MUTE,
        "error",
    ),
    "time-out": (None, "timed_out", "asked"),
}
