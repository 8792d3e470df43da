"""The hints that a proposal writes: those of its behavior, and stricter ones that the author wrote."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from copier_fastmcp_engine.policy import WIRE_NAMES

from ..behaviors import build_declaration, build_policy

if TYPE_CHECKING:
    from .proposals import Proposal

READ_ONLY, DESTRUCTIVE, IDEMPOTENT = "readOnlyHint", "destructiveHint", "idempotentHint"
# The value of each hint that promises more to a client.
RELAXED = {READ_ONLY: True, DESTRUCTIVE: False, IDEMPOTENT: True}


def behavior_hints(
    name: str, behavior: str, exceptions: object = ()
) -> dict[str, bool]:
    """What is true of a behavior, by the names on the wire; openWorldHint follows from no body."""
    declaration = build_declaration({"name": name, "exceptions": exceptions}, behavior)
    truth = build_policy({}).truth(declaration)
    return {
        wire: truth[hint] for hint, wire in WIRE_NAMES.items() if hint != "open_world"
    }


def hints_of(proposal: "Proposal") -> dict[str, bool]:
    """The hints of a proposal, with those that its author wrote and nobody decided to change."""
    hints = behavior_hints(proposal.tool.name, proposal.behavior, proposal.exceptions)
    return hints | dict(proposal.kept_hints)


def relaxed_hints(
    written: Mapping[str, bool], proposed: Mapping[str, bool]
) -> dict[str, bool]:
    """The written hints that a proposal would relax.

    Args:
        written: The hints that the author wrote.
        proposed: The hints that would replace them.

    Returns:
        The written values. For a tool that its author declared read-only, the other two mean nothing,
        so a difference in them relaxes nothing.
    """
    if written.get(READ_ONLY) is True and proposed[READ_ONLY]:
        return {}
    relaxed = {}
    for hint, value in proposed.items():
        if value is RELAXED[hint] and written.get(hint) is (not value):
            relaxed[hint] = written[hint]
    return relaxed
