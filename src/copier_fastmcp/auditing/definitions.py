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
    WRITES,
    Verb,
    find_common_prefixes,
    parse_name,
    parse_sentence,
    split_name,
    split_sentences,
)
from .vocabulary import phrase_pattern, word_list

LOOK_BEHIND = 60
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
    """The tools of a server with the verbs of their texts."""
    prefixes = find_common_prefixes([tool.name for tool in tools])
    names = {"_".join(split_name(tool.name)) for tool in tools}
    parsed = []
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
    """The verbs of the first sentence, or of the second, which may be about the result."""
    verbs = parse_sentence("".join(sentences[:1]))
    if verbs:
        return verbs
    result_verbs = parse_sentence("".join(sentences[1:2]))
    return [replace(verb, sure=False) for verb in result_verbs]


def collect_evidence(texts: ToolTexts) -> list[Evidence]:
    """Everything that the definition of a tool and its siblings show about its hints."""
    verbs = _interpret_verbs(texts)
    collected = []
    language = _find_query_language(texts, verbs)
    if language:
        text = f"it runs {language}, which only reads"
        collected.append(Evidence("language", READ_ONLY, True, STRONG, text))
        for source in verbs:
            verbs[source] = [verb for verb in verbs[source] if verb.kind != "run"]
    for source in verbs:
        collected += _collect_verb_evidence(texts.tool, source, verbs[source])
    if _list_kinds(verbs["name"]) == {"add"}:  # other changes are made each time, too
        contrary = (IDEMPOTENT, True)
        collected = [item for item in collected if (item.hint, item.value) != contrary]
    if not texts.name_verbs and _is_read_by_description(verbs["description"]):
        collected.append(
            Evidence("name", READ_ONLY, True, WEAK, "its name has no verb")
        )
    collected += _collect_phrase_evidence(texts)
    collected += _collect_computation_evidence(texts)
    collected += collect_schema_evidence(texts)
    collected += collect_opposite_evidence(texts)
    collected += _collect_side_effects(texts)
    return [*collected, *collect_peer_evidence(texts, collected)]


def _interpret_verbs(texts: ToolTexts) -> VerbsBySource:
    """The verbs of each text of a tool, as its other texts and its parameters make them understood."""
    verbs: VerbsBySource = {
        "name": list(texts.name_verbs),
        "description": list(texts.description_verbs),
    }
    if not texts.name_verbs:
        verbs["title"] = list(texts.title_verbs)
    if len(split_name(texts.tool.name)) == 1:
        verbs["name"] = _drop_nouns(texts)
    words = _list_words(verbs["name"])
    kinds = _list_kinds(verbs["description"])
    if kinds == {"add"} and words and words <= word_list("generic_changes"):
        verbs["name"] = [
            replace(verb, kind="add") for verb in verbs["name"]
        ]  # `update_log`
    if has_content(texts.tool):  # each call attaches a file once more, but not a policy
        for source in verbs:
            verbs[source] = [_attach_content(verb) for verb in verbs[source]]
    return verbs


def _drop_nouns(texts: ToolTexts) -> list[Verb]:
    """The verbs of a name of one word, which may be a noun, as `type`."""
    read_flags = {kind == "read" for kind in _list_kinds(texts.description_verbs)}
    verbs = []
    for verb in texts.name_verbs:
        may_be_noun = not verb.sure and verb.word in word_list("nouns")
        if not read_flags or not may_be_noun or (verb.kind == "read") in read_flags:
            verbs.append(verb)
    return verbs


def _attach_content(verb: Verb) -> Verb:
    if verb.kind == "ensure" and not verb.sure:
        return replace(verb, kind="add")
    return verb


def _find_query_language(
    texts: ToolTexts, verbs: Mapping[str, Sequence[Verb]]
) -> str | None:
    """A language that only reads, where a tool does nothing but run it."""
    kinds: set[str] = set()
    for source_verbs in verbs.values():
        kinds |= _list_kinds(source_verbs)
    if not kinds <= {"run", "read"}:
        return None
    return _find_phrase("languages", " ".join(texts.sentences))


def _is_read_by_description(verbs: Sequence[Verb]) -> bool:
    """Whether a description has verbs, and all of them read; `returns` alone does not count."""
    kinds: set[str] = set()
    for verb in verbs:
        if verb.sure or not verb.word.startswith("return"):
            kinds.add(verb.kind)
    return kinds == {"read"}


def _list_words(verbs: Sequence[Verb]) -> set[str]:
    return {verb.word for verb in verbs}


def _list_kinds(verbs: Sequence[Verb]) -> set[str]:
    return {verb.kind for verb in verbs}


def _collect_verb_evidence(
    tool: Tool, source: str, verbs: Sequence[Verb]
) -> Iterator[Evidence]:
    """The evidence of the verbs of a name, a title or a description."""
    if not verbs:
        return
    write_verbs = [verb for verb in verbs if verb.kind in WRITES]
    deciding = write_verbs or verbs
    words = _list_words(deciding)
    has_opposites = any(find_opposites(word, words) for word in words)
    is_sure = has_opposites or any(verb.sure for verb in deciding)
    weight = STRONG if is_sure else WEAK
    text = f"its {source} says {'/'.join(verb.word for verb in deciding)!r}"
    values: dict[str, bool | None] = {READ_ONLY: not write_verbs}
    if write_verbs:
        values[DESTRUCTIVE] = is_destructive(write_verbs)
        values[IDEMPOTENT] = is_idempotent(tool, write_verbs)
    for hint, value in values.items():
        if value is not None:
            forbids = (
                hint == READ_ONLY and bool(write_verbs) and source == "description"
            )
            yield Evidence(source, hint, value, weight, text, forbids)


def _find_phrase(name: str, text: str) -> str | None:
    """A phrase in a text that is not negated there."""
    for match in re.finditer(phrase_pattern(name), text, re.IGNORECASE):
        before = text[max(0, match.start() - LOOK_BEHIND) : match.start()]
        if not re.search(phrase_pattern("turns"), before, re.IGNORECASE):
            return " ".join(match[0].split())
    return None


def _collect_phrase_evidence(texts: ToolTexts) -> Iterator[Evidence]:
    """The evidence of a description besides its verb."""
    description = " ".join(texts.sentences)
    for group in PHRASE_GROUPS:
        for phrase in group:
            quoted = _find_phrase(phrase.name, description)
            if quoted:
                text = f"its description says {quoted!r}"
                for hint, value, weight in phrase.hints:
                    yield Evidence("phrases", hint, value, weight, text)
                break
    quoted = _find_phrase("overwrites", "".join(texts.sentences[:1]))
    if quoted:
        text = f"its first sentence says {quoted!r}"
        yield Evidence("phrases", IDEMPOTENT, True, WEAK, text)


def _collect_computation_evidence(texts: ToolTexts) -> Iterator[Evidence]:
    """The evidence of a name and a description with no verb but `calculate` or `convert`."""
    if not texts.name_verbs or not texts.description_verbs:
        return
    verbs = (*texts.name_verbs, *texts.description_verbs)
    if _list_words(verbs) <= word_list("computing"):
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
