"""Evidence in the other tools of the same server."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from copier_fastmcp_engine.testing.lock import HINTS

from .evidence import IDEMPOTENT, READ_ONLY, WEAK, Evidence, ToolTexts
from .verbs import split_name

OPPOSITE_PREFIXES = (
    ("", "un"),
    ("un", ""),
    ("", "de"),
    ("de", ""),
    ("", "dis"),
    ("dis", ""),
    ("en", "dis"),
    ("dis", "en"),
)
Agreement = tuple[bool, str]


def find_opposites(name: str, names: set[str]) -> set[str]:
    """Names of tools that undo what a tool does."""
    parts = split_name(name)
    opposites = set()
    for place, part in enumerate(parts):
        for prefix, opposite_prefix in OPPOSITE_PREFIXES:
            if not part.startswith(prefix):
                continue
            opposite = opposite_prefix + part.removeprefix(prefix)
            if len(opposite) > 2:
                opposites.add("_".join([*parts[:place], opposite, *parts[place + 1 :]]))
    return opposites & (names - {"_".join(parts)})


def add_peers(tools: Sequence[ToolTexts]) -> list[ToolTexts]:
    """Each tool with what at least two others of its verb declare, and none of them otherwise."""
    families: dict[str, list[ToolTexts]] = {}
    for texts in tools:
        verbs = texts.name_verbs or texts.description_verbs
        if verbs:
            families.setdefault(verbs[0].word, []).append(texts)
    agreements: dict[int, Mapping[str, Agreement]] = {}
    for family in families.values():
        for member in family:
            peers = [texts for texts in family if texts is not member]
            agreements[id(member)] = _find_agreements(peers)
    return [replace(texts, peers=agreements.get(id(texts), {})) for texts in tools]


def _find_agreements(peers: Sequence[ToolTexts]) -> Mapping[str, Agreement]:
    """What tools declare of a hint, where two do and none declares the contrary."""
    agreements = {}
    for hint in HINTS:
        names: dict[bool, list[str]] = {True: [], False: []}
        for texts in peers:
            value = texts.tool.annotations.get(hint)
            if isinstance(value, bool):
                names[value].append(texts.tool.name)
        for value in (True, False):
            if len(names[value]) > 1 and not names[not value]:
                first, second = names[value][:2]
                agreements[hint] = (value, f"{first!r} and {second!r}")
    return agreements


def collect_opposite_evidence(texts: ToolTexts) -> Iterator[Evidence]:
    """Evidence of a tool that undoes this one: both write, and both set a state."""
    for opposite in sorted(texts.opposites)[:1]:
        text = f"{opposite!r} is its contrary"
        yield Evidence("siblings", READ_ONLY, False, WEAK, text)
        yield Evidence("siblings", IDEMPOTENT, True, WEAK, text)


def collect_peer_evidence(
    texts: ToolTexts, collected: Sequence[Evidence]
) -> Iterator[Evidence]:
    """Evidence of the same verb over other records: it supports other evidence, and contradicts none."""
    for hint, (value, names) in texts.peers.items():
        values = {evidence.value for evidence in collected if evidence.hint == hint}
        if values == {value}:
            yield Evidence(
                "siblings", hint, value, WEAK, f"its siblings {names} say so"
            )
