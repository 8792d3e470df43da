"""A tool with its parsed texts, and the evidence for its hints."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from copier_fastmcp_engine.testing.lock import HINTS
from copier_fastmcp_engine.testing.rules import Tool

from .verbs import Verb, list_kinds

READ_ONLY, DESTRUCTIVE, IDEMPOTENT, OPEN_WORLD = HINTS
# Weights: alone evidence of 2 decides, of 1 needs a second source, and certain evidence outweighs all.
WEAK = 1
STRONG = 2
CERTAIN = 9


@dataclass(frozen=True)
class Evidence:
    """The evidence of one source for the value of a hint, with its weight and its text.

    If evidence `forbids`, there is no contrary verdict, however much outweighs it.
    """

    source: str
    hint: str
    value: bool
    weight: int
    text: str
    forbids: bool = False


@dataclass(frozen=True)
class ToolTexts:
    """A tool with the verbs of its name, title and description.

    `opposites` are the names of tools that undo it. `peers` has the value of a hint that other tools with
    the same verb declare, and their names.
    """

    tool: Tool
    name_verbs: Sequence[Verb]
    description_verbs: Sequence[Verb]
    title_verbs: Sequence[Verb]
    sentences: Sequence[str]
    opposites: frozenset[str]
    peers: Mapping[str, tuple[bool, str]] = field(default_factory=dict)


def is_destructive(verbs: Sequence[Verb]) -> bool | None:
    """Whether verbs lose existing data; None if none writes, or if the verbs do not show it."""
    kinds = list_kinds(verbs) - {"read"}
    if kinds & {"change", "remove", "run"}:
        return True
    if kinds and kinds <= {"add", "ensure"}:
        return False
    return None
