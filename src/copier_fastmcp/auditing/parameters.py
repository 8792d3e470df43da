"""Evidence in the parameters and in the result of a tool."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from copier_fastmcp_engine.testing.rules import Tool

from .evidence import (
    CERTAIN,
    DESTRUCTIVE,
    IDEMPOTENT,
    READ_ONLY,
    STRONG,
    WEAK,
    Evidence,
    ToolTexts,
    is_destructive,
)
from .side_effects import list_choices
from .verbs import (
    Verb,
    find_verb,
    join_name,
    join_words,
    list_kinds,
    list_words,
    parse_name,
    select_writes,
    split_name,
)
from .vocabulary import get_word_list

VERSIONS = {"etag", "if_match", "revision", "version_token", "expected_version"}
# Acts that end in the same state each time, unless their verb shows otherwise.
SETTLING_KINDS = {"change", "remove", "ensure"}
# `+10G`, `+5%` as an example of a value
RUNNING_FLAGS = {"analyze", "analyse", "execute", "run"}
RUNNING_TEXT = re.compile(
    r"(?i)\b(?:runs?|executes?) (?:the|this|your) (?:query|statement|sql|code)\b"
)
RELATIVE_VALUE = re.compile(
    r"(?<![\w.+-])[+]\d{1,4}(?:\.\d+)?(?:%|[KMGT]i?B?)?(?![\w:-]|\.\d)"
)
NOT_AMOUNTS = {"phone", "number", "time", "timezone", "tz", "date", "offset"}
RELATIVE_TEXT = re.compile(
    r"\brelative to (?:the |its |their |your )?(?:current|present|existing|previous)\b"
    r"|\bby (?:adding|appending|inserting|incrementing|increasing|decreasing|decrementing)\b"
    r"|\b(?:increases?|decreases?|increments?|decrements?|shifts?|extends?) (?:\w+ ){1,4}by\b",
    re.IGNORECASE,
)
POSITION_TEXT = re.compile(
    r"\bby (?:its |their |the )?(?:\w+ )?"
    r"(?:position|index|ordinal|(?:line|row|column|item) number)\b",
    re.IGNORECASE,
)
# A parameter that is described as a place: `Line number of the task`, `The 1-based index of the entry`.
PLACE_TEXT = re.compile(
    r"\W*(?:the )?(?:(?:0|1|zero|one)-based )?"
    r"(?:(?:line|row|column|item) number|index|position) of\b",
    re.IGNORECASE,
)
APPENDING_NAMES = {"save", "store", "log", "write"}
REPLACED_PLACES = {"file", "disk", "cell", "range", "path"}
CHOICE_TEXT = re.compile(r"\W*[\"']|.*\b(?:one of|to perform)\b", re.IGNORECASE)
QUOTED_CHOICE = re.compile(r"[\"']([a-z_]{2,30})[\"']")


@dataclass(frozen=True)
class Choice:
    """A parameter that selects the action of a tool: its verbs, and whether every value is a verb."""

    parameter: str
    verbs: list[Verb]
    is_complete: bool


def list_known(tool: Tool, kind: str) -> list[str]:
    """The parameters of a tool whose whole name is in a list of the vocabulary."""
    names = get_word_list(f"takes_{kind}")
    return _list_parameters(tool, lambda name: join_name(name) in names)


def _list_parameters(tool: Tool, is_listed: Callable[[str], bool]) -> list[str]:
    """The parameters whose names meet a condition, sorted."""
    return sorted(filter(is_listed, tool.parameters))


def _list_ending(tool: Tool, words: Set[str]) -> list[str]:
    """The parameters whose last word is one of some words, sorted."""
    return _list_parameters(tool, lambda name: _get_last_word(name) in words)


def _get_last_word(name: str) -> str:
    return "".join(split_name(name)[-1:])


def has_identity(tool: Tool) -> bool:
    """Whether a tool acts on a record by its identity, which a move does not change."""
    if list_positions(tool):
        return False
    return bool(_list_ending(tool, get_word_list("identities")))


def find_optional_identity(tool: Tool) -> str | None:
    """The optional parameter that names the tool's own record, as `id` or `page_id` in `save_page`."""
    schema = tool.wire.get("inputSchema")
    listed = schema.get("required") if isinstance(schema, Mapping) else None
    required = listed if isinstance(listed, list) else []
    subject = set(split_name(tool.name))
    for name in sorted(tool.parameters):
        is_identity = _get_last_word(name) in get_word_list("identities")
        if (
            is_identity
            and name not in required
            and subject >= set(split_name(name)[:-1])
        ):
            return name
    return None


def list_positions(tool: Tool) -> list[str]:
    """The parameters that name a position, which may hold something else at the next call."""
    return _list_ending(tool, get_word_list("places"))


def has_content(tool: Tool) -> bool:
    """Whether a tool receives the content that it attaches, and not just two names."""
    return bool(_list_ending(tool, get_word_list("contents")))


def collect_schema_evidence(texts: ToolTexts) -> Iterator[Evidence]:
    """The evidence of a tool's parameters and of its result."""
    tool = texts.tool
    yield from _collect_read_evidence(tool)
    forcing = list_known(tool, "forces")
    loosening = list_known(tool, "loosens")
    if forcing:
        text = f"it takes {forcing[0]!r}"
        yield Evidence("parameters", DESTRUCTIVE, True, CERTAIN, text)
    elif loosening:
        text = f"it takes {loosening[0]!r}"
        yield Evidence("parameters", DESTRUCTIVE, True, WEAK, text)
    running = list_known(tool, "runs")
    if running:
        text = f"it runs {running[0]!r}"
        yield Evidence("parameters", READ_ONLY, False, WEAK, text)
    yield from _collect_repetition_evidence(texts)
    yield from _collect_choice_evidence(tool)
    yield from _collect_result_evidence(tool)


def _collect_read_evidence(tool: Tool) -> Iterator[Evidence]:
    for kind, value in (("pages", True), ("values", False), ("tries", False)):
        names = list_known(tool, kind)
        if names:
            text = f"it takes {names[0]!r}"
            yield Evidence("parameters", READ_ONLY, value, WEAK, text)
            break
    targets = _list_parameters(tool, _is_write_target)
    if targets:
        text = f"it can write to {targets[0]!r}"
        yield Evidence("parameters", READ_ONLY, False, STRONG, text)
    for name, schema in tool.parameters.items():
        if schema.get("type") != "boolean":
            continue
        verb = find_verb(name.lower())
        is_write = verb and verb.sure and verb.kind in ("change", "remove")
        if is_write or (list_known(tool, "statements") and _runs(name, schema)):
            text = f"it takes a flag {name!r}"
            yield Evidence("parameters", READ_ONLY, False, STRONG, text)


def _runs(name: str, schema: Mapping[str, Any]) -> bool:
    """Whether a flag of a tool that explains a statement runs it."""
    first_word = split_name(name)[:1]
    if first_word and first_word[0] in RUNNING_FLAGS:
        return True
    return RUNNING_TEXT.search(str(schema.get("description") or "")) is not None


def _is_version(name: str) -> bool:
    return join_name(name) in VERSIONS


def _is_write_target(name: str) -> bool:
    """Whether a parameter names a file to write: `output_path`, `save_to`, `destFile`."""
    parts = split_name(name)
    if len(parts) < 2:
        return False
    return parts[0] in get_word_list("file_uses") and parts[-1] in get_word_list(
        "file_places"
    )


def _list_state_switches(tool: Tool) -> list[str]:
    """The switches that name a state: `subscribed`, `archived`."""
    switches: list[str] = []
    for name, schema in tool.parameters.items():
        is_switch = schema.get("type") == "boolean"
        if is_switch and _get_last_word(name).endswith("ed"):
            switches.append(name)
    return switches


def _collect_repetition_evidence(texts: ToolTexts) -> Iterator[Evidence]:
    """The evidence of parameters about a second call: another state, another record, or no change."""
    tool = texts.tool
    versions = _list_parameters(tool, _is_version)
    if versions:
        text = f"it takes {versions[0]!r}, which a second call does not match"
        yield Evidence("version", IDEMPOTENT, False, CERTAIN, text)
    identity = find_optional_identity(tool)
    if identity and _adds_or_changes(texts.description_verbs):
        text = f"without {identity!r} it adds each time"
        yield Evidence("parameters", IDEMPOTENT, False, CERTAIN, text)
    verbs = (*texts.name_verbs, *texts.description_verbs)
    removes = "remove" in list_kinds(verbs)
    positions = list_positions(tool)
    if removes and positions:
        text = f"{positions[0]!r} may be something else the next time"
        yield Evidence("parameters", IDEMPOTENT, False, STRONG, text)
    relative = find_relative_act(texts, removes=removes)
    if relative:
        weight = STRONG if removes else WEAK
        yield Evidence("relative", IDEMPOTENT, False, weight, relative, forbids=True)
    inserted = [*_list_beginning(tool, "insert"), *_list_beginning(tool, "append")]
    if inserted:
        text = f"{inserted[0]!r} is added each time"
        yield Evidence("parameters", IDEMPOTENT, False, STRONG, text)
    added = _list_beginning(tool, "add")
    removed = _list_beginning(tool, "remove")
    if added and removed:
        text = f"{added[0]!r} and {removed[0]!r} say what it ends with"
        yield Evidence("parameters", IDEMPOTENT, True, STRONG, text)
    states = _list_state_switches(tool) if removes else []
    if states:
        text = f"{states[0]!r} says what it ends with"
        yield Evidence("parameters", IDEMPOTENT, True, WEAK, text)
    assigned = _list_parameters(tool, _is_quality)
    if assigned:
        text = f"it assigns {assigned[0]!r}"
        yield Evidence("parameters", READ_ONLY, False, WEAK, text)
        yield Evidence("parameters", IDEMPOTENT, True, WEAK, text)


def _is_quality(name: str) -> bool:
    return not get_word_list("qualities").isdisjoint(split_name(name))


def _adds_or_changes(verbs: Sequence[Verb]) -> bool:
    """Whether verbs leave open if a record is made or changed: `create or update`."""
    is_change = any(verb.word in get_word_list("upserted") for verb in verbs)
    return is_change and any(verb.kind == "add" for verb in verbs)


def _list_beginning(tool: Tool, word: str) -> list[str]:
    return [name for name in tool.parameters if split_name(name)[:1] == (word,)]


def list_act_choices(tool: Tool) -> list[Choice]:
    """The parameters that select the action of a tool: more than half of their values are verbs."""
    choices: list[Choice] = []
    for name in list_known(tool, "choices"):
        values = list_choices(tool.parameters[name]) or _find_quoted_choices(tool, name)
        verbs: list[Verb] = []
        for value in values:
            verbs += parse_name(value)[:1]
        if verbs and len(verbs) * 2 > len(values):
            choices.append(Choice(name, verbs, len(verbs) == len(values)))
    return choices


def _find_quoted_choices(tool: Tool, name: str) -> list[str]:
    """The values that a text lists: `One of "list", "delete"`, or `operation: what ("set", "get")`."""
    description = str(tool.parameters[name].get("description") or "")
    if CHOICE_TEXT.match(description):
        return QUOTED_CHOICE.findall(description)
    text = str(tool.wire.get("description") or "")
    listed = re.search(rf"\b{re.escape(name)}: [^\n(]{{0,60}}\(([\"'][^)\n]*)\)", text)
    return QUOTED_CHOICE.findall(listed[1]) if listed else []


def _collect_choice_evidence(tool: Tool) -> Iterator[Evidence]:
    for choice in list_act_choices(tool):
        name = choice.parameter
        write_verbs = select_writes(choice.verbs)
        if not write_verbs and choice.is_complete:
            text = f"its {name!r} is one of {join_words(choice.verbs)}"
            yield Evidence("choices", READ_ONLY, True, STRONG, text)
        is_sure = any(verb.sure for verb in write_verbs)
        if len(write_verbs) < 2 and not is_sure:
            continue
        text = f"its {name!r} can be {write_verbs[0].word!r}"
        yield Evidence("choices", READ_ONLY, False, CERTAIN, text)
        losing_verb = _find_losing_verb(write_verbs)
        if losing_verb:
            text = f"its {name!r} can be {losing_verb.word!r}"
            yield Evidence("choices", DESTRUCTIVE, True, CERTAIN, text)
        idempotent = is_idempotent(tool, write_verbs)
        if idempotent is not None and (choice.is_complete or not idempotent):
            text = f"its {name!r} can be {join_words(write_verbs)}"
            yield Evidence("choices", IDEMPOTENT, idempotent, STRONG, text)


def _find_losing_verb(verbs: Sequence[Verb]) -> Verb | None:
    for verb in verbs:
        if is_destructive([verb]):
            return verb
    return None


def is_idempotent(tool: Tool, verbs: Sequence[Verb]) -> bool | None:
    """Whether a second call changes nothing more; None if the verbs do not show it."""
    write_verbs = select_writes(verbs)
    words = list_words(write_verbs)
    if words & get_word_list("repeats_more"):
        return False
    is_upsert = len(words) == 2 and bool(words & get_word_list("upserted"))
    has_settling_verb = False
    for verb in write_verbs:
        if is_upsert and verb.word in ("create", "add"):
            continue  # create or update: one end state
        if not _settles(tool, verb):
            return None
        has_settling_verb = True
    return True if has_settling_verb else None


def _settles(tool: Tool, verb: Verb) -> bool:
    """Whether an act ends in the same state each time."""
    if verb.kind == "change" and list_known(tool, "edits"):
        return verb.word in get_word_list("repeats_the_same")  # `edits` may apply twice
    if verb.kind not in SETTLING_KINDS:
        return verb.word in get_word_list("repeats_the_same")
    unclear = get_word_list("repeats_unclear")
    if not has_identity(tool):
        unclear |= get_word_list("repeats_by_identity")
    return verb.word not in unclear


def _collect_result_evidence(tool: Tool) -> Iterator[Evidence]:
    schema: Any = tool.wire.get("outputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    names = set(map(join_name, properties or ()))
    for kind, value in (("writes", False), ("reads", True)):
        returned = sorted(names & get_word_list(f"returns_{kind}"))
        if returned:
            text = f"it returns {returned[0]!r}"
            yield Evidence("result", READ_ONLY, value, WEAK, text)
            return


def find_relative_act(texts: ToolTexts, *, removes: bool = False) -> str | None:
    """Return a text that explains why the effect of a call depends on earlier calls; None if it does not.

    Args:
        texts: The tool.
        removes: Whether it removes, so that another thing takes the place of the first.
    """
    description = " ".join(texts.sentences)
    for pattern in (RELATIVE_TEXT, POSITION_TEXT):
        match = pattern.search(description)
        if match:
            return f"its description says {match[0]!r}"
    parts = split_name(texts.tool.name)
    for verb, preposition in pairwise(parts):
        appends = verb in APPENDING_NAMES and preposition == "to"
        if appends and parts[-1] not in REPLACED_PLACES:
            return f"its name says '{verb} to', which may add each time"
    for name, schema in texts.tool.parameters.items():
        description = str(schema.get("description") or "")
        text = _describe_relative_parameter(name, description, removes=removes)
        if text:
            return text
    return None


def _describe_relative_parameter(
    name: str, description: str, *, removes: bool
) -> str | None:
    """A text that explains why a parameter is relative to the present state; None if it is not."""
    words = set(split_name(name))
    if words & get_word_list("relative"):
        return f"it takes {name!r}, which counts from what is there"
    amount = RELATIVE_VALUE.search(description)
    if amount and not words & NOT_AMOUNTS:
        return f"its {name!r} may be {amount[0]!r}"
    position = POSITION_TEXT.search(description)
    if position is None and removes:
        position = PLACE_TEXT.match(description)
    if position:
        return f"its {name!r} says {position[0]!r}"
    return None
