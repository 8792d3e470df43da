"""Everything that the definition of a tool shows about its hints."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from copier_fastmcp_engine.testing.rules import Tool

from .evidence import (
    CERTAIN,
    DESTRUCTIVE,
    IDEMPOTENT,
    OPEN_WORLD,
    READ_ONLY,
    STRONG,
    WEAK,
    Evidence,
    ToolTexts,
    is_destructive,
)
from .parameters import collect_schema_evidence, has_content, is_idempotent
from .siblings import (
    add_peers,
    collect_opposite_evidence,
    collect_peer_evidence,
    find_opposites,
)
from .side_effects import find_write_parameter, find_write_statement
from .verbs import (
    Verb,
    find_common_prefixes,
    join_name,
    join_words,
    list_kinds,
    list_words,
    parse_name,
    parse_sentence,
    select_writes,
    split_name,
    split_sentences,
)
from .vocabulary import get_phrase_pattern, get_word_list, is_turned

VerbsBySource = dict[str, list[Verb]]


@dataclass(frozen=True)
class Phrase:
    """A phrase of the vocabulary, and the hints that it shows: hint, value, weight."""

    name: str
    hints: tuple[tuple[str, bool, int], ...]


# Of the phrases in a group, the first one that a description has counts.
PHRASE_GROUPS = (
    (
        Phrase("writes", ((READ_ONLY, False, CERTAIN), (DESTRUCTIVE, True, CERTAIN))),
        Phrase("reads", ((READ_ONLY, True, STRONG),)),
    ),
    (
        Phrase("overwrites", ((DESTRUCTIVE, True, CERTAIN), (IDEMPOTENT, True, WEAK))),
        Phrase("loses", ((DESTRUCTIVE, True, STRONG),)),
        Phrase("keeps", ((DESTRUCTIVE, False, WEAK),)),
    ),
    (Phrase("ensures", ((IDEMPOTENT, True, STRONG),)),),
    (Phrase("reaches", ((OPEN_WORLD, True, STRONG),)),),
)


def parse_tools(tools: Sequence[Tool]) -> list[ToolTexts]:
    """Parse the verbs in the texts of a server's tools."""
    tool_names = [tool.name for tool in tools]
    prefixes = find_common_prefixes(tool_names)
    names = set(map(join_name, tool_names))
    parsed: list[ToolTexts] = []
    for tool in tools:
        sentences = split_sentences(str(tool.wire.get("description") or ""))
        title = str(tool.annotations.get("title") or tool.wire.get("title") or "")
        description_verbs = _parse_description(sentences)
        texts = ToolTexts(
            tool=tool,
            name_verbs=parse_name(tool.name, prefixes, description_verbs),
            description_verbs=description_verbs,
            title_verbs=parse_name(title),
            sentences=sentences,
            opposites=frozenset(find_opposites(tool.name, names)),
        )
        parsed.append(texts)
    return add_peers(parsed)


def _parse_description(sentences: Sequence[str]) -> list[Verb]:
    """The verbs of the first sentence, else those of the second, which may describe the result."""
    verbs = parse_sentence("".join(sentences[:1]))
    if verbs:
        return verbs
    unsure_verbs: list[Verb] = []
    for verb in parse_sentence("".join(sentences[1:2])):
        unsure_verbs.append(replace(verb, sure=False))
    return unsure_verbs


def collect_evidence(texts: ToolTexts) -> list[Evidence]:
    """Collect all evidence in the definition of a tool and in its siblings."""
    verbs = _interpret_verbs(texts)
    collected = _collect_language_evidence(texts, verbs)
    if collected:
        for source in verbs:
            verbs[source] = [verb for verb in verbs[source] if verb.kind != "run"]
    adds_only = list_kinds(verbs["name"]) == {"add"}
    for source in verbs:
        for evidence in _collect_verb_evidence(texts.tool, source, verbs[source]):
            is_idempotent_hint = evidence.hint == IDEMPOTENT and evidence.value
            # Other changes are made each time, too.
            if not (adds_only and is_idempotent_hint):
                collected.append(evidence)
    if not texts.name_verbs and _is_read_by_description(verbs["description"]):
        text = "its name has no verb"
        collected.append(Evidence("name", READ_ONLY, True, WEAK, text))
    collected += _collect_phrase_evidence(texts)
    collected += _collect_computation_evidence(texts)
    collected += collect_schema_evidence(texts)
    collected += collect_opposite_evidence(texts)
    collected += _collect_side_effects(texts)
    return [*collected, *collect_peer_evidence(texts, collected)]


def _interpret_verbs(texts: ToolTexts) -> VerbsBySource:
    """The verbs of each text of a tool, interpreted by its other texts and its parameters."""
    verbs: VerbsBySource = {
        "name": list(texts.name_verbs),
        "description": list(texts.description_verbs),
    }
    if not texts.name_verbs:
        verbs["title"] = list(texts.title_verbs)
    if len(split_name(texts.tool.name)) == 1:
        verbs["name"] = _drop_nouns(texts)
    words = list_words(verbs["name"])
    kinds = list_kinds(verbs["description"])
    if kinds == {"add"} and words and words <= get_word_list("generic_changes"):
        # `update_log`
        verbs["name"] = [replace(verb, kind="add") for verb in verbs["name"]]
    if has_content(texts.tool):  # each call attaches a file once more, but not a policy
        for source in verbs:
            verbs[source] = list(map(_attach_content, verbs[source]))
    return verbs


def _drop_nouns(texts: ToolTexts) -> list[Verb]:
    """The verbs of a name of one word; it may be a noun, such as `type`."""
    described_kinds = list_kinds(texts.description_verbs)
    describes_read = "read" in described_kinds
    describes_write = bool(described_kinds - {"read"})
    verbs: list[Verb] = []
    for verb in texts.name_verbs:
        may_be_noun = not verb.sure and verb.word in get_word_list("nouns")
        is_described = describes_read if verb.kind == "read" else describes_write
        if not described_kinds or not may_be_noun or is_described:
            verbs.append(verb)
    return verbs


def _attach_content(verb: Verb) -> Verb:
    if verb.kind == "ensure" and not verb.sure:
        return replace(verb, kind="add")
    return verb


def _collect_language_evidence(
    texts: ToolTexts, verbs: Mapping[str, Sequence[Verb]]
) -> list[Evidence]:
    """The evidence of a read-only query language, if the tool only runs queries."""
    kinds: set[str] = set()
    for source_verbs in verbs.values():
        kinds |= list_kinds(source_verbs)
    if not kinds <= {"run", "read"}:
        return []
    language = _find_phrase("languages", " ".join(texts.sentences))
    if not language:
        return []
    text = f"it runs {language}, which only reads"
    return [Evidence("language", READ_ONLY, True, STRONG, text)]


def _is_read_by_description(verbs: Sequence[Verb]) -> bool:
    """Whether a description has verbs, and all of them read; `returns` alone does not count."""
    kinds: set[str] = set()
    for verb in verbs:
        if verb.sure or not verb.word.startswith("return"):
            kinds.add(verb.kind)
    return kinds == {"read"}


def _collect_verb_evidence(
    tool: Tool, source: str, verbs: Sequence[Verb]
) -> Iterator[Evidence]:
    """The evidence of the verbs of a name, a title or a description."""
    if not verbs:
        return
    write_verbs = select_writes(verbs)
    deciding = write_verbs or verbs
    weight = STRONG if _are_sure(deciding) else WEAK
    text = f"its {source} says {join_words(deciding)!r}"
    if not write_verbs:
        yield Evidence(source, READ_ONLY, True, weight, text)
        return
    forbids = source == "description"
    yield Evidence(source, READ_ONLY, False, weight, text, forbids)
    destructive = is_destructive(write_verbs)
    if destructive is not None:
        yield Evidence(source, DESTRUCTIVE, destructive, weight, text)
    idempotent = is_idempotent(tool, write_verbs)
    if idempotent is not None:
        yield Evidence(source, IDEMPOTENT, idempotent, weight, text)


def _are_sure(verbs: Sequence[Verb]) -> bool:
    """Whether verbs show their kind alone: one is sure, or one undoes another."""
    words = list_words(verbs)
    return any(verb.sure or find_opposites(verb.word, words) for verb in verbs)


def _find_phrase(name: str, text: str) -> str | None:
    """A phrase in a text that is not negated there."""
    for match in re.finditer(get_phrase_pattern(name), text, re.IGNORECASE):
        if not is_turned(text, match.start()):
            return " ".join(match[0].split())
    return None


def _collect_phrase_evidence(texts: ToolTexts) -> Iterator[Evidence]:
    """The evidence of phrases in a description."""
    description = " ".join(texts.sentences)
    for group in PHRASE_GROUPS:
        for phrase in group:
            quoted = _find_phrase(phrase.name, description)
            if quoted is None:
                continue
            text = f"its description says {quoted!r}"
            for hint, value, weight in phrase.hints:
                yield Evidence("phrases", hint, value, weight, text)
            break
    quoted = _find_phrase("overwrites", "".join(texts.sentences[:1]))
    if quoted:
        text = f"its first sentence says {quoted!r}"
        yield Evidence("phrases", IDEMPOTENT, True, WEAK, text)


def _collect_computation_evidence(texts: ToolTexts) -> Iterator[Evidence]:
    """The evidence of a name and a description whose only verbs are like `calculate` or `convert`."""
    if not texts.name_verbs or not texts.description_verbs:
        return
    verbs = (*texts.name_verbs, *texts.description_verbs)
    if list_words(verbs) <= get_word_list("computing"):
        text = f"it only {verbs[0].word}s what it is given"
        yield Evidence("phrases", OPEN_WORLD, False, STRONG, text)


def _collect_side_effects(texts: ToolTexts) -> Iterator[Evidence]:
    """Evidence against a read: the rest of the description, switches and choices."""
    quoted = find_write_statement(texts.sentences)
    if quoted:
        text = f"its description says {quoted!r}"
        yield Evidence("statements", READ_ONLY, False, WEAK, text, forbids=True)
    switch = find_write_parameter(texts.tool)
    if switch:
        yield Evidence("switches", READ_ONLY, False, WEAK, switch, forbids=True)
