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
    parts = list(split_name(name))
    opposites: set[str] = set()
    for position, part in enumerate(parts):
        for opposite in _list_opposite_words(part):
            opposite_parts = parts.copy()
            opposite_parts[position] = opposite
            opposites.add("_".join(opposite_parts))
    opposites.discard("_".join(parts))
    return opposites & names


def _list_opposite_words(word: str) -> list[str]:
    """The words that may be the opposite of a word: `enable` has `disable`."""
    words: list[str] = []
    for prefix, opposite_prefix in OPPOSITE_PREFIXES:
        if not word.startswith(prefix):
            continue
        opposite = opposite_prefix + word.removeprefix(prefix)
        if len(opposite) > 2:
            words.append(opposite)
    return words


def add_peers(tools: Sequence[ToolTexts]) -> list[ToolTexts]:
    """Add to each tool the hints on which at least two other tools with its verb agree."""
    families: dict[str, list[ToolTexts]] = {}
    for texts in tools:
        verbs = texts.name_verbs or texts.description_verbs
        if verbs:
            families.setdefault(verbs[0].word, []).append(texts)
    completed: list[ToolTexts] = []
    for texts in tools:
        verbs = texts.name_verbs or texts.description_verbs
        family = families[verbs[0].word] if verbs else []
        peers = [member for member in family if member is not texts]
        completed.append(replace(texts, peers=_find_agreements(peers)))
    return completed


def _find_agreements(peers: Sequence[ToolTexts]) -> Mapping[str, Agreement]:
    """The hints that at least two tools declare with the same value, and none with the other."""
    agreements: dict[str, Agreement] = {}
    for hint in HINTS:
        names: list[str] = []
        values: set[bool] = set()
        for texts in peers:
            value = texts.tool.annotations.get(hint)
            if isinstance(value, bool):
                names.append(texts.tool.name)
                values.add(value)
        if len(names) > 1 and len(values) == 1:
            quoted = f"{names[0]!r} and {names[1]!r}"
            agreements[hint] = (values.pop(), quoted)
    return agreements


def collect_opposite_evidence(texts: ToolTexts) -> Iterator[Evidence]:
    """The evidence of a tool that undoes this one: both write, and both set a state."""
    for opposite in sorted(texts.opposites)[:1]:
        text = f"{opposite!r} is its contrary"
        yield Evidence("siblings", READ_ONLY, False, WEAK, text)
        yield Evidence("siblings", IDEMPOTENT, True, WEAK, text)


def collect_peer_evidence(
    texts: ToolTexts, collected: Sequence[Evidence]
) -> Iterator[Evidence]:
    """The evidence of tools with the same verb for other records; it supports other evidence, and contradicts none."""
    for hint, (value, names) in texts.peers.items():
        values: set[bool] = set()
        for evidence in collected:
            if evidence.hint == hint:
                values.add(evidence.value)
        if values == {value}:
            text = f"its siblings {names} say so"
            yield Evidence("siblings", hint, value, WEAK, text)
