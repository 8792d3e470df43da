"""The operations of a later document that are those of an earlier one, under other paths, parameters or methods.

An operation is recognized by its method and path, then by its operationId, then by its path with
parameters by position, without a common prefix or version, then by a renamed part of the path
(`/parcels` to `/shipments`), and last under another method that writes. Whatever fits two
operations fits none.
"""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .inputs import describe_by_name
from .json_values import omit_keys
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
    method, _, target = key.partition(" ")
    path, _, choice = target.partition(" ")
    segments = tuple(PLACEHOLDER.sub("{}", part) for part in path.split("/") if part)
    return Endpoint(key, method, segments, choice, operation_id)


def match_endpoints(
    before: Sequence[Endpoint], later: Sequence[Endpoint]
) -> dict[str, str]:
    """Match the operations of two documents.

    Args:
        before: The operations of the earlier document.
        now: The operations of the later document.

    Returns:
        The key of each recognized operation, from the earlier to the later one.
    """
    matches: dict[str, str] = {}
    unmatched = [*before]
    right = [*later]

    def match_by(
        identity: Callable[[Endpoint], object], old: Sequence[Endpoint]
    ) -> None:
        """Match what has the same identity on both sides, once each."""
        pairs = _unique_pairs(identity, old, right)
        for endpoint, match in pairs:
            matches[endpoint.key] = match.key
        keys = {*matches.values()}
        unmatched[:] = _omit_endpoints(unmatched, matches)
        right[:] = _omit_endpoints(right, keys)

    match_by(lambda endpoint: endpoint.key, unmatched)
    match_by(
        lambda endpoint: (
            endpoint.operation_id and (endpoint.operation_id, endpoint.choice)
        ),
        unmatched,
    )
    match_by(lambda endpoint: (endpoint.method, endpoint.path), unmatched)
    short_before = _without_prefix(unmatched, before)
    right[:] = _without_prefix(right, later)
    match_by(lambda endpoint: (endpoint.method, endpoint.path), short_before)
    short_before = _omit_endpoints(short_before, matches)
    renamed = _rename_segments(short_before, right, before, later)
    match_by(lambda endpoint: (endpoint.method, endpoint.path), renamed)
    renamed = _omit_endpoints(renamed, matches)
    renamed = [endpoint for endpoint in renamed if endpoint.method in REPLACED_METHODS]
    match_by(
        lambda endpoint: endpoint.method in REPLACED_METHODS and endpoint.path, renamed
    )
    return matches


def _omit_endpoints(
    endpoints: Iterable[Endpoint], keys: Container[str]
) -> list[Endpoint]:
    """Return the endpoints with other keys."""
    return [endpoint for endpoint in endpoints if endpoint.key not in keys]


def _collect_segments(endpoints: Iterable[Endpoint]) -> set[str]:
    """Return the parts of the paths of some endpoints."""
    segments = set[str]()
    for endpoint in endpoints:
        segments.update(endpoint.segments)
    return segments


def _collect_requests(
    endpoints: Iterable[Endpoint],
) -> set[tuple[str, tuple[str, ...]]]:
    """Return methods and paths of some endpoints."""
    return {(endpoint.method, endpoint.path) for endpoint in endpoints}


def _unique_pairs(
    identity: Callable[[Endpoint], object],
    before: Sequence[Endpoint],
    later: Sequence[Endpoint],
) -> list[tuple[Endpoint, Endpoint]]:
    """The endpoints whose identity each side has exactly once; an empty identity matches nothing."""
    old = Counter(map(identity, before))
    new = Counter(map(identity, later))
    by_identity = {identity(endpoint): endpoint for endpoint in later}
    pairs = []
    for endpoint in before:
        name = identity(endpoint)
        if name and old[name] == 1 and new[name] == 1:
            pairs.append((endpoint, by_identity[name]))
    return pairs


def _without_prefix(
    endpoints: Iterable[Endpoint], every: Sequence[Endpoint]
) -> list[Endpoint]:
    """Endpoints without the literal segments that all paths of their document begin with, and without versions."""
    common = 0
    paths = [endpoint.segments for endpoint in every]
    while paths and min(map(len, paths)) > common + 1:
        first = {path[common] for path in paths}
        if len(first) > 1 or "{}" in "".join(first):
            break
        common += 1
    shortened = []
    for endpoint in endpoints:
        segments = _without_version(endpoint.segments[common:])
        shortened.append(replace(endpoint, segments=segments))
    return shortened


def _without_version(segments: tuple[str, ...]) -> tuple[str, ...]:
    while len(segments) > 1 and VERSION_SEGMENT.fullmatch(segments[0]):
        segments = segments[1:]
    return segments


def _rename_segments(
    earlier: list[Endpoint],
    right: Sequence[Endpoint],
    before: Sequence[Endpoint],
    later: Sequence[Endpoint],
) -> list[Endpoint]:
    """Endpoints with the segments that the later document calls otherwise under their new names.

    A segment is renamed where the old name is nowhere in the later document, the new one nowhere in
    the earlier one, and one new name explains more operations than any other, two at the least: one
    action that goes while another one comes is no rename.
    """
    old_segments = sorted(_collect_segments(earlier) - _collect_segments(later))
    new_segments = sorted(_collect_segments(right) - _collect_segments(before))
    requests = _collect_requests(right)
    for name in old_segments:
        holders = [endpoint for endpoint in earlier if name in endpoint.segments]
        counts = Counter[str]()
        for candidate in new_segments:
            moved = _replace_segment(holders, name, candidate)
            counts[candidate] = len(_collect_requests(moved) & requests)
        best = counts.most_common(2)
        clear = (
            best
            and best[0][1] >= FEWEST
            and (len(best) == 1 or best[1][1] < best[0][1])
        )
        if clear:
            earlier = _replace_segment(earlier, name, best[0][0])
    return earlier


def _replace_segment(
    endpoints: Iterable[Endpoint], name: str, new_name: str
) -> list[Endpoint]:
    """Return endpoints with a segment of their paths under another name."""
    renamed = []
    for endpoint in endpoints:
        segments = list(endpoint.segments)
        for at, segment in enumerate(segments):
            if segment == name:
                segments[at] = new_name
        renamed.append(replace(endpoint, segments=tuple(segments)))
    return renamed


def keep_path_parameters(
    tool: Mapping[str, Any], earlier: Mapping[str, Any]
) -> dict[str, Any]:
    """A tool whose path parameters have the names that they had, by position: callers use them.

    One that is sent in the body too keeps the body's name there, as a parameter of its own if it was one before.

    Args:
        tool: The tool as the later document has it.
        earlier: The same tool as the earlier document had it.
    """
    new_names = _list_placeholders(tool)
    old_names = _list_placeholders(earlier)
    if len(new_names) != len(old_names):
        return dict(tool)
    renames = dict(zip(new_names, old_names, strict=True))
    params = tool.get("params", ())
    other_names = {str(param["name"]) for param in params} - {*renames}
    if len({*renames.values()}) < len(renames) or other_names & {*renames.values()}:
        return dict(tool)
    in_body = set()
    for param in params:
        name = str(param["name"])
        if param.get("in") == "body" and renames.get(name, name) != name:
            in_body.add(name)
    if in_body - {str(param["name"]) for param in earlier.get("params", ())}:
        return dict(tool)
    method, _, target = str(tool["http"]).partition(" ")
    path, mark, query = target.partition("?")
    path = PLACEHOLDER.sub(
        lambda placeholder: f"{{{renames[placeholder[0][1:-1]]}}}", path
    )
    rows = []
    for param in params:
        rows.append(_rename_parameter(param, renames))
        if param["name"] in in_body:
            rows[-1].pop("in")
            rows.append(omit_keys(param, ("in",)))
    return {**tool, "http": f"{method} {path}{mark}{query}", "params": rows}


def _list_placeholders(tool: Mapping[str, Any]) -> list[str]:
    """Return the names of the path parameters of a tool, in order."""
    path, _, _ = str(tool.get("http", "")).partition("?")
    return [placeholder[1:-1] for placeholder in PLACEHOLDER.findall(path)]


def _rename_parameter(
    param: Mapping[str, Any], renames: Mapping[str, str]
) -> dict[str, Any]:
    """Return a parameter under the name that it had, and its description if that only repeats the name."""
    name = str(param["name"])
    row = {**param, "name": renames.get(name, name)}
    if param.get("description") == describe_by_name(name):
        row["description"] = describe_by_name(row["name"])
    return row
