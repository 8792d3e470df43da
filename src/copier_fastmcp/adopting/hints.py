"""The hints that a proposal writes: those of its behavior, and stricter ones that the author wrote."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from copier_fastmcp_engine.policy import WIRE_NAMES

from ..auditing.evidence import DESTRUCTIVE, IDEMPOTENT, READ_ONLY
from ..behaviors import build_declaration, build_policy

if TYPE_CHECKING:
    from .proposals import Proposal

Hints = Mapping[str, bool]
# The value of each hint that promises more to a client.
RELAXED = {READ_ONLY: True, DESTRUCTIVE: False, IDEMPOTENT: True}


def derive_hints(name: str, behavior: str, exceptions: object = ()) -> dict[str, bool]:
    """The hints of a behavior, by their names on the wire; openWorldHint does not follow from a body."""
    tool = {"name": name, "exceptions": exceptions}
    declaration = build_declaration(tool, behavior)
    truth = build_policy({}).truth(declaration)
    hints: dict[str, bool] = {}
    for hint, wire_name in WIRE_NAMES.items():
        if hint != "open_world":
            hints[wire_name] = truth[hint]
    return hints


def combine_hints(proposal: "Proposal") -> dict[str, bool]:
    """The hints of a proposal, with those that its author wrote and nobody decided to change."""
    name = proposal.tool.name
    hints = derive_hints(name, proposal.behavior, proposal.exceptions)
    hints.update(proposal.kept_hints)
    return hints


def format_hints(hints: Hints) -> list[str]:
    """Hints as text: `destructiveHint=False`."""
    return [f"{hint}={value}" for hint, value in hints.items()]


def find_relaxed_hints(written: Hints, proposed: Hints) -> dict[str, bool]:
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
    relaxed: dict[str, bool] = {}
    for hint, value in proposed.items():
        promises_more = value is RELAXED[hint]
        present = written.get(hint)
        if promises_more and present is (not value):
            relaxed[hint] = present
    return relaxed
