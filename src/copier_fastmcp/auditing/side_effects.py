"""Writes that the first verb does not state: in the description, in switches and in choices."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from copier_fastmcp_engine.testing.rules import Tool, list_alternatives

from .verbs import OBJECT, find_verb, split_name
from .vocabulary import LOOK_BEHIND, get_word_list, is_turned

UNIONS = ("anyOf", "oneOf")
PERSISTING_KINDS = {"add", "change", "remove"}
IRREGULAR_PARTICIPLES = {"written": "write", "overwritten": "overwrite", "sent": "send"}
ADVERBS = (
    r"(?:(?:also|then|automatically|immediately|permanently|always|subsequently)\s+)*"
)
# `It also marks ...`, `and saves the ...`, `, which removes ...`, `Reading a code marks it ...`
THIRD_PERSON = re.compile(
    rf"(?P<subject>^|\b(?:it|this|this tool|the tool|, which|also|then|automatically)\s+"
    rf"|^(?:fetching|getting|listing|opening|polling|reading|retrieving|viewing)\s+[^.,;]{{1,40}}?\s"
    rf"|\band\s+|[,;]\s+){ADVERBS}(?P<verb>[a-z]+s)\b(?P<rest>.{{0,20}})",
    re.IGNORECASE,
)
# `Messages are then marked as read`, `the report is written to ...`
PASSIVE = re.compile(
    rf"\b(?:is|are|gets?|will be)\s+{ADVERBS}(?P<verb>[a-z]+(?:ed|en|sent))\b",
    re.IGNORECASE,
)
# What a record is marked as by being looked at.
HANDLED = re.compile(
    r"\s+as (?:read|seen|viewed|done|completed?|processed|handled|consumed|resolved)\b"
)
PLAIN_PASSIVE = re.compile(r"(?:is|are)\s+[a-z]+$", re.IGNORECASE)
# `This tool will also delete ...`, `may create a session`
MODAL = re.compile(
    r"\b(?:it|this|tool|which|, and|also)\s+(?:will|can|may|might|could)\s+"
    rf"{ADVERBS}(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
# `Also mark it ...` at the beginning of a sentence
ADDED_IMPERATIVE = re.compile(
    r"^(?:also|then|afterwards|optionally|automatically),?\s+(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
# `..., saving the result`
GERUND = re.compile(
    rf"(?:,|\b(?:while|also|then))\s+(?P<verb>[a-z]+ing)\s+(?:{OBJECT})", re.IGNORECASE
)
STATEMENTS = (THIRD_PERSON, PASSIVE, MODAL, ADDED_IMPERATIVE, GERUND)
# A condition, a relative clause or another actor in front: the write is something else's.
OTHER_ACTOR = re.compile(
    r"\b(?:if|when|whenever|whether|that|who|where|unless|until|once|how|what|since|before|after"
    r"|must|should|need|needs|you|user|users|uses?|call)\b[^.;,]*$",
    re.IGNORECASE,
)
NOT_AN_OBJECT = re.compile(
    r"\s*(?:$|[.,;:()/]|(?:is|are|was|were|of|for|from|in|with|will|can|that|which|and|or|by)\b)",
    re.IGNORECASE,
)
SWITCH_TEXT = re.compile(
    r"(?:\b(?:if|when)\s+(?:true|false|set|enabled|given|yes)\b,?\s+(?:(?:it|this|the tool|will)\s+)*"
    rf"|\bwhether\s+(?:or\s+not\s+)?to\s+|^){ADVERBS}(?P<verb>[a-z]+)\b",
    re.IGNORECASE,
)
SWITCH_PREFIXES = {"auto", "should", "also", "and", "then", "do", "if", "with"}


def find_write_statement(sentences: Sequence[str]) -> str | None:
    """Find the words of a description that state a write, other than its first verb.

    Args:
        sentences: The sentences of the description.

    Returns:
        The words; None if only the first verb states an act.
    """
    for position, sentence in enumerate(sentences):
        for pattern in STATEMENTS:
            for match in pattern.finditer(sentence):
                is_first_verb = position == 0 and match.start("verb") == 0
                if not is_first_verb and _states_write(sentence, match, pattern):
                    return " ".join(match[0].split()[:8]).strip(" ,;")
    return None


def _states_write(
    sentence: str, match: re.Match[str], pattern: re.Pattern[str]
) -> bool:
    """Whether a match of one of the statements is a write of the tool itself."""
    verb = _find_listed_verb(match["verb"], "persisting")
    if verb is None or _is_negated(sentence, match.start("verb")):
        return False
    if pattern is PASSIVE and verb == "mark":
        return HANDLED.match(sentence, match.end()) is not None
    if pattern is PASSIVE and verb == "remove":
        # `comments are removed` describes the result.
        return PLAIN_PASSIVE.match(match[0]) is None
    if pattern is THIRD_PERSON:
        return _is_third_person_write(match, verb)
    return True


def _is_negated(sentence: str, position: int) -> bool:
    """Whether the words before a verb turn it around, or give it to another actor."""
    start = max(0, position - LOOK_BEHIND)
    has_other_actor = OTHER_ACTOR.search(sentence[start:position]) is not None
    return has_other_actor or is_turned(sentence, position)


def _is_third_person_write(match: re.Match[str], verb: str) -> bool:
    """Whether a word such as `saves` is a verb here, and not a plural."""
    following = match["rest"]
    if re.match(rf"\s+{OBJECT}", following, re.IGNORECASE):
        return True
    if verb in get_word_list("nouns") or NOT_AN_OBJECT.match(following):
        return False
    subject = match["subject"]
    return subject == "" or subject.strip(" ,;").lower() not in ("", "and")


def _find_listed_verb(word: str, list_name: str) -> str | None:
    """The base form of a verb in a list of the vocabulary; None for any other word."""
    for form in _list_participle_bases(word.lower()):
        verb = find_verb(form)
        if verb is not None and verb.word in get_word_list(list_name):
            return verb.word
    return None


def _list_participle_bases(word: str) -> Iterator[str]:
    """The verb that a word may be a participle of, and the word itself."""
    yield IRREGULAR_PARTICIPLES.get(word, word)
    if word.endswith("ied"):
        yield word[:-3] + "y"
    elif word.endswith("ed"):
        stem = word[:-2]
        yield stem + "e"
        yield stem
        if stem[-1:] == stem[-2:-1]:
            yield stem[:-1]


def find_write_parameter(tool: Tool) -> str | None:
    """A text about a switch or a choice that makes a tool write; None if there is none."""
    for name, schema in tool.parameters.items():
        if _is_switch(schema) and _switches_write(name, schema):
            return f"it takes a switch {name!r}"
        if get_word_list("filters").intersection(split_name(name)[-1:]):
            continue  # it chooses among records, not among acts
        for value in list_choices(schema):
            verb = find_verb(value.lower()) or find_verb("".join(split_name(value)[:1]))
            if verb is not None and verb.sure and verb.kind in PERSISTING_KINDS:
                return f"its {name!r} can be {value!r}"
    return None


def list_choices(schema: Mapping[str, Any]) -> list[str]:
    """The texts that a schema enumerates."""
    choices: list[str] = []
    for alternative in list_alternatives(schema, UNIONS):
        choices += map(str, alternative.get("enum") or ())
    return choices


def _is_switch(schema: Mapping[str, Any]) -> bool:
    alternatives = list_alternatives(schema, UNIONS)
    return any(part.get("type") == "boolean" for part in alternatives)


def _switches_write(name: str, schema: Mapping[str, Any]) -> bool:
    parts = list(split_name(name))
    while parts and parts[0] in SWITCH_PREFIXES:
        del parts[0]
    if "cache" in parts:
        return False
    if parts and _find_listed_verb(parts[0], "switching") == parts[0]:
        return True
    description = str(schema.get("description") or "").strip()
    for match in SWITCH_TEXT.finditer(description):
        verb = _find_listed_verb(match["verb"], "switching")
        if verb is not None and match["verb"].lower().startswith(verb):
            return True
    return False
