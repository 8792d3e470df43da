"""Other records of the same kind as the one that a probe arranges: a neighbor or two, or many."""

import contextlib
import inspect
import re
import unicodedata
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..cases import BEFORE, BEHIND, Case, other_identity
from ..tool_table import find_record, get_singular

if TYPE_CHECKING:
    from ..rules import Tool
    from .suite import Suite

Prepare = Callable[[Any], Awaitable[Any]]
SEVERAL = 21  # records: more than the small limits that tools keep (3, 5, 10, 20)
MANY = 51  # the same for tools that read or add
KINDS = 8  # other kinds of records next to one
# Identities that are the same in upper and in lower case, and in wide letters
CASELESS = re.compile("domain|host|login|mail|url|user")
# A letter that has an accent in other words, and the last character where it has a wide form (Unicode, NFKC)
ACCENTED = re.compile("[aeiouAEIOU]")
ASCII_END = re.compile("[!-~]$")
ACUTE = "\N{COMBINING ACUTE ACCENT}"
WIDE = ord("！") - ord("!")


@dataclass(frozen=True)
class Population:
    """Functions that prepare other records of the same kind, before and after the author's own."""

    before: Prepare | None = None
    after: Prepare | None = None


@dataclass(frozen=True)
class Crowd:
    """Functions that prepare many other records.

    Attributes:
        all: The whole population.
        first: One of them, which shows whether the others can be prepared.
    """

    all: Population
    first: Population


@dataclass(frozen=True)
class IdentityParameter:
    """A parameter of an arrange() that names the record which it prepares.

    Attributes:
        arrange: The function.
        name: The parameter.
        value: Its default.
    """

    arrange: Callable[..., Awaitable[Any]]
    name: str
    value: Any

    def prepare(self, mark: str) -> Prepare:
        """Return what arranges the same with another identity."""
        if isinstance(self.value, list):
            identity: Any = [other_identity(self.value[0], mark)] if self.value else []
        else:
            identity = other_identity(self.value, mark)
        return self._prepare_as(identity)

    def prepare_lookalikes(self) -> list[Prepare]:
        """Return what arranges records whose identities a careless comparison takes for this one."""
        if not isinstance(self.value, str):
            return []
        is_caseless = CASELESS.search(self.name)
        others = []
        if not is_caseless:
            others.append(self.value.swapcase())
        others.append(re.sub("_", "x", self.value, count=1))
        others.append(f"{self.value} ")
        others.append(ACCENTED.sub(_add_accent, self.value, count=1))
        if not is_caseless:
            others.append(ASCII_END.sub(_widen, self.value))
        return [self._prepare_as(other) for other in others if other != self.value]

    def _prepare_as(self, identity: Any) -> Prepare:
        async def arrange(client: Any) -> None:
            await self.arrange(client, **{self.name: identity})

        return arrange

    def prepare_many(self, count: int) -> Crowd:
        """Return what arranges many others: one in order before the record, the others behind it, not in order."""
        neighbors = [self.prepare(f"{BEHIND}{n:02}") for n in range(count, 1, -1)]
        early, late = neighbors[::2], neighbors[1::2]
        early += [self.prepare(BEFORE)]
        whole = Population(run_all(early), run_all(late))
        return Crowd(whole, Population(after=neighbors[0]))


def _add_accent(letter: re.Match[str]) -> str:
    """Return a letter with an accent, as one character."""
    return unicodedata.normalize("NFC", letter[0] + ACUTE)


def _widen(character: re.Match[str]) -> str:
    """Return the wide form of a character."""
    return chr(ord(character[0]) + WIDE)


def run_all(prepares: list[Prepare]) -> Prepare:
    """Return what prepares all of them in turn."""

    async def prepare(client: Any) -> None:
        for step in prepares:
            await step(client)

    return prepare


def find_identity(
    arrange: Callable[..., Any],
    case: Case,
    names: list[str],
) -> IdentityParameter | None:
    """Return the parameter of arrange() for the record's identity.

    It has the name of the tool's parameter, also in the singular, or is the only one; and its default is the value.

    Args:
        arrange: The function.
        case: What it returned.
        names: The parameters of the tool that name the record.
    """
    if not names:
        return None
    name, value = names[0], case.arguments[names[0]]
    item = value[0] if isinstance(value, list) and value else value
    parameters = [*inspect.signature(arrange).parameters.values()][1:]
    for parameter in parameters:
        is_named = parameter.name in (name, get_singular(name))
        if (is_named or len(parameters) == 1) and parameter.default in (value, item):
            return IdentityParameter(arrange, parameter.name, parameter.default)
    return None


def borrow_identity(suite: "Suite", tool: "Tool") -> Iterator[IdentityParameter]:
    """Yield what the probes of other tools arrange of the same record, where a parameter names it."""
    record = find_record(tool.name, suite.tables)
    for sibling in suite.proven_tools:
        if (
            sibling.name == tool.name
            or find_record(sibling.name, suite.tables) != record
        ):
            continue
        # A probe that is broken fails its own test
        with contextlib.suppress(Exception):
            arrange = suite.probe_module(sibling.name).arrange
            parameters = [*inspect.signature(arrange).parameters.values()]
            for parameter in parameters[1:]:
                if type(parameter.default) in (int, str):
                    yield IdentityParameter(arrange, parameter.name, parameter.default)
                    break


def list_neighbors(
    arrange: Prepare, case: Case, identity: IdentityParameter | None
) -> list[Population]:
    """Return the ways to add a record or two: what the case declares, another identity, arranging once more."""
    if case.sibling:
        return [Population(before=case.sibling), Population(after=case.sibling)]
    if identity is None:
        return [Population(after=arrange)]
    before, after = identity.prepare(BEFORE), identity.prepare(BEHIND)
    populations = [Population(before, after), Population(after=after)]
    lookalikes = identity.prepare_lookalikes()
    for count in range(1, len(lookalikes) + 1):
        whole = Population(before, run_all([after, *lookalikes[:count]]))
        populations.insert(0, whole)
    return populations


def list_crowds(
    arrange: Prepare,
    identity: IdentityParameter | None,
    borrowed: Iterator[IdentityParameter],
    count: int,
) -> Iterator[Crowd]:
    """Yield the ways to add many records."""
    if identity is not None:
        yield identity.prepare_many(count)
    else:
        whole = Population(after=run_all([arrange] * count))
        yield Crowd(whole, Population(after=arrange))
    for sibling in borrowed:
        yield sibling.prepare_many(count)


def list_other_kinds(suite: "Suite", tool: "Tool") -> Population | None:
    """Return what the probes of other tools arrange of other records; None where there are none."""
    record = find_record(tool.name, suite.tables)
    prepares: dict[str, Prepare] = {}
    for other in suite.proven_tools:
        kind = find_record(other.name, suite.tables)
        if kind == record or kind in prepares or len(prepares) == KINDS:
            continue
        with contextlib.suppress(
            Exception
        ):  # a probe that is broken fails its own test
            prepares[kind] = suite.probe_module(other.name).arrange
    if not prepares:
        return None

    async def prepare(client: Any) -> None:
        for step in prepares.values():
            with contextlib.suppress(Exception):  # it may need what is there already
                await step(client)

    return Population(after=prepare)
