"""The operations of a later document that are those of an earlier one, under other paths, parameters or methods.

An operation is recognized by its method and path, then by its operationId, then by its path with
parameters by position, without a common prefix or version, then by a renamed part of the path
(`/parcels` to `/shipments`), and last under another method that writes. Whatever fits two
operations fits none.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .inputs import describe_by_name
from .operations import VERSION_SEGMENT

REPLACED_METHODS = frozenset({"PUT", "PATCH", "POST"})
FEWEST = 2
PLACEHOLDER = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True)
class Endpoint:
    """An operation as a document names it: the key of an import, taken apart."""

    key: str
    method: str
    segments: tuple[str, ...]  # a parameter is {}
    choice: str = ""  # as in status=open, where a body's field chooses what is done
    operation_id: str = ""

    @property
    def path(self) -> tuple[str, ...]:
        """The path and the choice, which together tell operations of one method apart."""
        return (*self.segments, self.choice)


def parse_endpoint(key: str, operation_id: str = "") -> Endpoint:
    """Take the key of an operation apart: `POST /notes/{id} status=open`."""
    method, _, rest = key.partition(" ")
    path, _, choice = rest.partition(" ")
    segments = tuple(PLACEHOLDER.sub("{}", part) for part in path.split("/") if part)
    return Endpoint(key, method, segments, choice, operation_id)


def match_endpoints(
    before: Sequence[Endpoint], now: Sequence[Endpoint]
) -> dict[str, str]:
    """Match the operations of two documents.

    Args:
        before: The operations of the earlier document.
        now: The operations of the later document.

    Returns:
        The key of each recognized operation, from the earlier to the later one.
    """
    matches: dict[str, str] = {}
    left = [*before]
    right = [*now]

    def match_by(
        identity: Callable[[Endpoint], object], old: Sequence[Endpoint]
    ) -> None:
        """Match what has the same identity on both sides, once each."""
        pairs = _unique_pairs(identity, old, right)
        for one, other in pairs:
            matches[one.key] = other.key
        keys = {*matches.values()}
        left[:] = [one for one in left if one.key not in matches]
        right[:] = [one for one in right if one.key not in keys]

    match_by(lambda one: one.key, left)
    match_by(lambda one: one.operation_id and (one.operation_id, one.choice), left)
    match_by(lambda one: (one.method, one.path), left)
    short_before = _without_prefix(left, before)
    right[:] = _without_prefix(right, now)
    match_by(lambda one: (one.method, one.path), short_before)
    short_before = [one for one in short_before if one.key not in matches]
    renamed = _rename_segments(short_before, right, before, now)
    match_by(lambda one: (one.method, one.path), renamed)
    renamed = [
        one
        for one in renamed
        if one.key not in matches and one.method in REPLACED_METHODS
    ]
    match_by(lambda one: one.method in REPLACED_METHODS and one.path, renamed)
    return matches


def _unique_pairs(
    identity: Callable[[Endpoint], object],
    before: Sequence[Endpoint],
    now: Sequence[Endpoint],
) -> list[tuple[Endpoint, Endpoint]]:
    """The endpoints whose identity each side has exactly once; an empty identity matches nothing."""
    old = Counter(identity(one) for one in before)
    new = Counter(identity(one) for one in now)
    by_identity = {identity(one): one for one in now}
    pairs = []
    for one in before:
        name = identity(one)
        if name and old[name] == 1 and new[name] == 1:
            pairs.append((one, by_identity[name]))
    return pairs


def _without_prefix(
    some: Iterable[Endpoint], every: Sequence[Endpoint]
) -> list[Endpoint]:
    """Endpoints without the literal segments that all paths of their document begin with, and without versions."""
    common = 0
    paths = [one.segments for one in every]
    while paths and all(len(path) > common + 1 for path in paths):
        first = {path[common] for path in paths}
        if len(first) > 1 or "{}" in "".join(first):
            break
        common += 1
    return [
        replace(one, segments=_without_version(one.segments[common:])) for one in some
    ]


def _without_version(segments: tuple[str, ...]) -> tuple[str, ...]:
    while len(segments) > 1 and VERSION_SEGMENT.fullmatch(segments[0]):
        segments = segments[1:]
    return segments


def _rename_segments(
    left: list[Endpoint],
    right: Sequence[Endpoint],
    before: Sequence[Endpoint],
    now: Sequence[Endpoint],
) -> list[Endpoint]:
    """Endpoints with the segments that the later document calls otherwise under their new names.

    A segment is renamed where the old name is nowhere in the later document, the new one nowhere in
    the earlier one, and one new name explains more operations than any other, two at the least: one
    action that goes while another one comes is no rename.
    """
    old_names = {part for one in before for part in one.segments}
    new_names = {part for one in now for part in one.segments}
    gone = sorted({part for one in left for part in one.segments} - new_names)
    come = sorted({part for one in right for part in one.segments} - old_names)
    there = {(one.method, one.path) for one in right}
    for name in gone:
        counts = Counter[str]()
        for other in come:
            moved = [_renamed(one, name, other) for one in left if name in one.segments]
            counts[other] = len({(one.method, one.path) for one in moved} & there)
        best = counts.most_common(2)
        clear = (
            best
            and best[0][1] >= FEWEST
            and (len(best) == 1 or best[1][1] < best[0][1])
        )
        if clear:
            left = [_renamed(one, name, best[0][0]) for one in left]
    return left


def _renamed(one: Endpoint, name: str, other: str) -> Endpoint:
    return replace(
        one, segments=tuple(other if part == name else part for part in one.segments)
    )


def keep_path_parameters(
    tool: Mapping[str, Any], earlier: Mapping[str, Any]
) -> dict[str, Any]:
    """A tool whose path parameters have the names that they had, by position: callers use them.

    Args:
        tool: The tool as the later document has it.
        earlier: The same tool as the earlier document had it.
    """
    made = dict(tool)
    new_names = PLACEHOLDER.findall(str(tool.get("http", "")).partition("?")[0])
    old_names = PLACEHOLDER.findall(str(earlier.get("http", "")).partition("?")[0])
    if len(new_names) != len(old_names):
        return made
    renames = {
        new[1:-1]: old[1:-1] for new, old in zip(new_names, old_names, strict=True)
    }
    others = {str(param["name"]) for param in tool.get("params", ())} - {*renames}
    if len({*renames.values()}) < len(renames) or others & {*renames.values()}:
        return made
    method, _, target = str(tool["http"]).partition(" ")
    path, mark, query = target.partition("?")
    path = PLACEHOLDER.sub(lambda found: f"{{{renames[found[0][1:-1]]}}}", path)
    made["http"] = f"{method} {path}{mark}{query}"
    made["params"] = []
    for param in tool["params"]:
        name = str(param["name"])
        kept = {**param, "name": renames.get(name, name)}
        if param.get("description") == describe_by_name(name):
            kept["description"] = describe_by_name(kept["name"])
        made["params"].append(kept)
    return made
