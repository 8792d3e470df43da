"""A tool with what is read of it, and the votes that this comes to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..lock import HINTS
from ..rules import Tool
from .reading import Says

READ_ONLY, DESTRUCTIVE, IDEMPOTENT, OPEN_WORLD = HINTS
CERTAIN = 9


@dataclass(frozen=True)
class Signal:
    """What one source says about a hint, with how many votes, in words."""

    source: str
    hint: str
    value: bool
    votes: int
    text: str


@dataclass(frozen=True)
class Subject:
    """A tool with what its name, title and description say.

    `twins` are names of tools that undo it; `peers` has what others of its verb declare of a hint.
    """

    tool: Tool
    named: Sequence[Says]
    described: Sequence[Says]
    titled: Sequence[Says]
    sentences: Sequence[str]
    twins: frozenset[str]
    peers: Mapping[str, tuple[bool, str]] = field(default_factory=dict)


def loses(said: Sequence[Says]) -> bool | None:
    """Whether verbs lose what was there; None where nothing writes, or its words do not say."""
    kinds = {one.kind for one in said} - {"read"}
    if kinds & {"change", "remove", "run"}:
        return True
    return False if kinds and kinds <= {"add", "ensure"} else None
