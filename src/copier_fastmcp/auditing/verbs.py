"""Verbs in the name and the description of a tool, and the kind of act of each."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from copier_fastmcp_engine.testing.rules import list_verb_forms

from .vocabulary import get_phrase_pattern, get_word_list, load_vocabulary

WRITES = {"add", "ensure", "change", "remove", "run", "act"}
# How a description begins before it says what the tool does.
LEAD_IN = re.compile(
    r"""^(?:
        \([^)]*\)[\s:.-]* | <[^>]*> | \[[^\]]*\][\s:.-]* | [^\w(<\[]+ |
        (?:given|in|for|from|with|within|inside|on|based\ on|using|if|when)\ [^,.;:]{1,80},\s+(?=[a-z]) |
        unlike\ (?:[^,.;:()]|\([^)]*\)){1,80},\s+(?=[a-z]) |
        (?:it|this)\ (?=[a-z]+s\b) | (?:it|this|you|we|users?)\ (?:can|will|may)(?:\ use\ (?:this|it)\ to)?\b | use\ to\b |
        (?:tr(?:y|ies)|attempts?)\ to | (?:allows?|enables?|supports?)\ (?=[a-z]+ing\b) |
        (?:bulk|soft|hard|batch|mass|auto|force)[- ](?=[a-z]) |
        (?:this|the|a|an)\ (?:\w+\ ){0,2}?(?:tool|function|command|endpoint|operation|method|action|api)\b
            (?:\ (?:is\ )?(?:used|useful|for|that|which|can|will|may|be|it|you|to|allows?|lets?|enables?|helps?|provides?\ a\ way|users?|agents?|clients?|the)\b)* |
        (?:(?:use|call)\ (?:this|it|the)|run\ (?:this|it|the(?=\ (?:tool|function|command|endpoint|method)\b)))(?:\ (?:tool|function|command|endpoint|method))?\b(?:\ (?:to|for|(?:when|whenever|if)\ (?:you|the\ user)\ (?:need|want|wish|have|asks?)s?\ to))? |
        (?:tool|function|command|helper|utility|endpoint)\ (?:to|for|that|which) |
        (?:used|(?:allows?|lets?|helps?|enables?)(?:\ (?:you|users?|agents?|the\ \w+))?|ability|how)\ to |
        preview\b\s*[:!.,-]+ |
        (?:deprecated|experimental|beta|new|important|note|warning|caution|dangerous|unsafe|advanced|legacy)\b[\s:!.,-]+ |
        (?!reply|apply|multiply|supply)\w+ly\ | (?:just|also|first|then|please|always|optionally|can|will|may)[ ]
    )""",
    re.IGNORECASE | re.VERBOSE,
)
LABEL = re.compile(r"(\w+)[\w .'/&-]{0,40}?(?::\**| [|:—–-])\s+(?=\w)")
# These mean another thing with a particle
PHRASAL = {
    "check",
    "get",
    "set",
    "turn",
    "look",
}
PARTICLES = ("in", "out", "up", "down", "on", "off", "back", "rid")
OBJECT = r"(?:an?|the|all|any|one|each|every|new|existing|your|its|it|them|this|that|multiple|several|some|specific|to|from|\d+)\b"
JOINED = re.compile(
    r"(,? (?:and|or|then|and/or|or else)|,|/|;)(?: then| also| optionally| \w+ly)* ([a-z]+)(?![a-z-])"
)
# What follows the first word of `Full-text search across the issues`.
LEADING_NOUN = re.compile(
    r"(?:-\w+)?(?: ([a-z]+))? (?:of|for|over|on|across|in|within|through)\b"
)
# `starting from an offset` describes what is read.
DESCRIBED = re.compile(r" (?:from|at|with)\b")
ANSWERING = re.compile(r"answer(?:s|ing)? (?:\w+ )?questions?\b", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*[-*#])")


MOST_PREFIX_ATTEMPTS = 8
LONGEST_DESCRIPTION = 4000
READ = "read"
LONGEST_INNER_NAME = 9
SHORTEST_INNER_NAME = 4


@dataclass(frozen=True)
class Verb:
    """A verb, its kind of act, and whether the verb alone proves that kind."""

    word: str
    kind: str
    sure: bool


@dataclass(frozen=True)
class Clause:
    """The first word of a clause, its verb if it is one, and the remaining words."""

    verb: Verb | None
    word: str
    remainder: str


def list_words(verbs: Iterable[Verb]) -> set[str]:
    """The words of some verbs."""
    return {verb.word for verb in verbs}


def list_kinds(verbs: Iterable[Verb]) -> set[str]:
    """The kinds of some verbs."""
    return {verb.kind for verb in verbs}


def select_writes(verbs: Iterable[Verb]) -> list[Verb]:
    """The verbs that do not read."""
    return [verb for verb in verbs if verb.kind in WRITES]


def join_words(verbs: Iterable[Verb]) -> str:
    """The words of some verbs, for a message: `create/update`."""
    return "/".join(verb.word for verb in verbs)


@cache
def load_verbs() -> dict[str, Verb]:
    """Every verb of the vocabulary, by its base form."""
    verbs: dict[str, Verb] = {}
    for kind, lists in load_vocabulary()["words"].items():
        for strength in ("sure", "weak"):
            for word in lists[strength].split():
                verbs.setdefault(word, Verb(word, kind, strength == "sure"))
    return verbs


@cache
def find_verb(word: str) -> Verb | None:
    """A verb of the vocabulary in any form: `delete`, `deletes`, `deleting`."""
    forms = list_base_forms(word)
    for form in forms:
        if form in load_verbs():
            return load_verbs()[form]
    return _find_prefixed_verb(forms)


def list_base_forms(word: str) -> list[str]:
    """The forms of a verb to look up in the vocabulary."""
    forms = list_verb_forms(word)
    if word.endswith("ing") and len(word) > 5:
        stem = word.removesuffix("ing")
        forms += [stem, stem + "e"]
        if stem[-1:] == stem[-2:-1]:
            forms.append(stem[:-1])
    return forms


def _find_prefixed_verb(forms: Sequence[str]) -> Verb | None:
    """An unknown verb with a prefix: `reassign`, `unassign`, `disassociate`."""
    for form in forms:
        for prefix in ("re", "un", "de", "dis"):
            if not form.startswith(prefix):
                continue
            stem = load_verbs().get(form.removeprefix(prefix))
            if stem is None or len(stem.word) < 4 or stem.kind == "run":
                continue
            if stem.word in get_word_list("nouns"):
                continue
            if prefix == "re":
                return Verb(form, stem.kind, False)
            if stem.kind != READ:
                return Verb(form, "remove", False)
    return None


@lru_cache(10_000)
def split_name(name: str) -> tuple[str, ...]:
    """The words of a name, whatever its case."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return tuple(word for word in re.split(r"[^A-Za-z0-9]+", spaced.lower()) if word)


def join_name(name: str) -> str:
    """A name in snake case, whatever its case."""
    return "_".join(split_name(name))


def find_common_prefixes(names: Sequence[str]) -> set[str]:
    """The first words that most tools of a server share and that are no verbs: the server's own name."""
    counts: Counter[str] = Counter()
    for name in names:
        parts = split_name(name)
        if len(parts) > 1:
            counts[parts[0]] += 1
    common: set[str] = set()
    for word, count in counts.items():
        if count > 2 and count >= 0.4 * len(names):
            common.add(word)
    return common - load_verbs().keys()


def parse_name(
    name: str, prefixes: Set[str] = frozenset(), description_verbs: Sequence[Verb] = ()
) -> list[Verb]:
    """Parse the verb at the beginning or the end of a name, and the verbs that `or` joins to it.

    Args:
        name: The name of a tool.
        prefixes: First words to ignore.
        description_verbs: If both ends of a name may be verbs, as in `list_send`, the one in
            this list counts.
    """
    parts = list(split_name(name))
    if len(parts) > 1 and parts[0] in prefixes:
        del parts[0]
    if len(parts) > 1 and parts[-1] == "tool":
        del parts[-1]
    parts = _join_particles(parts)
    verbs = [_find_name_verb(parts, position) for position in range(len(parts))]
    first = _find_first_verb(verbs, range(len(verbs)))
    if first is None:
        return _find_inner_verb(parts)
    position = _choose_position(parts, verbs, first, description_verbs)
    if position is None:
        return []
    last = len(parts) - 1
    positions = [position]
    for between in range(position + 1, last):
        if parts[between] in ("or", "and"):
            positions.append(between + 1)
    is_prominent = position <= 2 or position == last
    joined = []
    for position in positions:
        verb = verbs[position]
        if verb is not None:
            joined.append(Verb(verb.word, verb.kind, verb.sure and is_prominent))
    return joined


def _find_name_verb(parts: Sequence[str], position: int) -> Verb | None:
    part = parts[position]
    produced = _find_producing_verb(part, parts[position:])
    return produced or load_verbs().get(part) or _find_prefixed_verb([part])


def _find_first_verb(
    verbs: Sequence[Verb | None], positions: Iterable[int]
) -> int | None:
    """The first of some positions that has a verb."""
    for position in positions:
        if verbs[position] is not None:
            return position
    return None


def _choose_position(
    parts: Sequence[str],
    verbs: Sequence[Verb | None],
    first: int,
    description_verbs: Sequence[Verb],
) -> int | None:
    """The position of the verb in a name; None if all words may be nouns."""
    last = len(parts) - 1
    last_verb = verbs[last]
    nouns = get_word_list("nouns")
    if first > 0 and parts[first] in nouns:  # `shopping_list_add_items`
        later = _find_first_verb(verbs, range(first + 1, last))
        first = first if later is None else later
    is_last_noun = parts[last] in nouns
    if 0 < first == last and is_last_noun and _kind_of(last_verb) != READ:
        return None  # `feedback_link`
    if first == last or last_verb is None:
        return first
    if verbs[first] in description_verbs and last_verb not in description_verbs:
        return first
    if first > 0 or parts[first] in nouns:
        if not is_last_noun or parts[first] in get_word_list("methods"):
            return last  # `shopping_list_delete`, `post_search`
        if _kind_of(verbs[first]) != _kind_of(last_verb):
            return None  # `comment_list`: two nouns, or two verbs
    return first


def _find_producing_verb(word: str, following: Sequence[str]) -> Verb | None:
    """A verb such as `generate` whose object is computed, such as a chart or a password, so that nothing changes."""
    is_producing = not get_word_list("produces").isdisjoint(list_verb_forms(word))
    if is_producing and get_word_list("produced").intersection(following):
        return Verb(word, READ, False)
    return None


def _join_particles(parts: Sequence[str]) -> list[str]:
    """A verb and its particle as one word: `log_in`, `check_out_branch`, `turn_off`."""
    joined: list[str] = []
    for part in parts:
        previous = joined[-1] if joined else ""
        is_particle = bool(previous) and part in PARTICLES
        if is_particle and (previous + part in load_verbs() or previous in PHRASAL):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _kind_of(verb: Verb | None) -> str | None:
    return verb.kind if verb else None


def _find_inner_verb(parts: Sequence[str]) -> list[Verb]:
    """A verb within the only word of a name, as in `hset`."""
    if (
        len(parts) != 1
        or not SHORTEST_INNER_NAME <= len(parts[0]) <= LONGEST_INNER_NAME
    ):
        return []
    if parts[0] in get_word_list("nouns"):
        return []  # `spin` has nothing to do with a pin
    for cut in (1, 2):
        verb = load_verbs().get(parts[0][cut:])
        if verb and len(verb.word) >= 3:
            return [Verb(verb.word, verb.kind, False)]
    return []


def split_sentences(text: str) -> list[str]:
    """A description's sentences, each on one line."""
    text = text.strip()[:LONGEST_DESCRIPTION]
    # A heading is a sentence
    with_headings = re.sub(r"(?m)^([ \t]*#.*)$", r"\1\n", text)
    sentences: list[str] = []
    for sentence in SENTENCE.split(with_headings):
        if sentence.strip():
            sentences.append(" ".join(sentence.split()))
    return sentences


def _skip_lead_in(sentence: str) -> str:
    """A sentence from its verb on."""
    for _ in range(MOST_PREFIX_ATTEMPTS):
        shorter = LEAD_IN.sub("", sentence, count=1)
        if shorter == sentence:
            shorter = _skip_label(sentence)
        shorter = shorter.lstrip(" ,:;-–—")
        if shorter == sentence or not shorter:
            break
        sentence = shorter
    return sentence


def _skip_label(sentence: str) -> str:
    """A sentence without the label in front of it: `Purpose: Lists`, `GitHub - Create`."""
    label = LABEL.match(sentence)
    if label is None or find_verb(label[1].lower()) is not None:
        return sentence
    if label[1].lower() in ("return", "returns"):  # `Returns the text - save it`
        return sentence
    remainder = sentence[label.end() :]
    return (
        remainder
        if remainder[0].isupper() or _parse_clause(remainder).verb
        else sentence
    )


def parse_sentence(sentence: str) -> list[Verb]:
    """The verb that a sentence begins with, and verbs joined to that one."""
    sentence = _skip_lead_in(sentence)
    clause = _parse_clause(sentence)
    following = re.findall("[a-z]+", clause.remainder.lower())[:5]
    lead = _find_producing_verb(clause.word, following) or clause.verb
    if lead is None and re.match(
        get_phrase_pattern("performs"), sentence, re.IGNORECASE
    ):
        return _find_performed_act(following)
    if re.match(get_phrase_pattern("asks"), sentence, re.IGNORECASE):
        lead = Verb(clause.word, READ, True)
    if re.match(" here\\b", clause.remainder):  # `Start here if ...`
        return []
    if ANSWERING.match(sentence):  # `Use this to answer questions about ...`
        return []
    if lead is None:
        lead = _find_leading_noun(clause)
    if lead is None:
        return _find_purpose(sentence)
    joined = [verb for verb in _find_joined_verbs(clause) if verb != lead]
    if lead.kind == "add":  # `create it and set its color` loses nothing
        joined = [
            verb for verb in joined if verb.word not in get_word_list("completes")
        ]
    return [lead, *joined]


def _find_performed_act(following: Sequence[str]) -> list[Verb]:
    """The act after `performs`: `performs a deletion of`."""
    for noun in following:
        verb = find_verb(noun) or _find_verb_of_noun(noun)
        if verb:
            return [Verb(verb.word, verb.kind, False)]
    return []


def _find_leading_noun(clause: Clause) -> Verb | None:
    """The act of a sentence without a verb: `full-text search across`, `deletion of`."""
    noun = LEADING_NOUN.match(clause.remainder)
    if noun is None:
        return None
    if not noun[1]:
        return _find_verb_of_noun(clause.word)
    verb = load_verbs().get(noun[1])
    if verb and noun[1] in get_word_list("nouns"):
        return replace(verb, sure=False)
    return None


def _parse_clause(sentence: str) -> Clause:
    """The first word of a clause; `re-run` and `log in` are one word."""
    match = re.match(r"(?:(re|un|de)-)?([a-z]+)", sentence, re.IGNORECASE)
    if not match:
        return Clause(None, "", "")
    word = ((match[1] or "") + match[2]).lower()
    remainder = sentence[match.end() :]
    particle = re.match(f" ({'|'.join(PARTICLES)})\\b", remainder)
    if particle:
        forms = list_base_forms(word)
        verb = _find_phrasal_verb(forms, particle[1])
        if verb or PHRASAL.intersection(forms):
            return Clause(verb, word, remainder[particle.end() :])
    return Clause(find_verb(word), word, remainder)


def _find_phrasal_verb(forms: Sequence[str], particle: str) -> Verb | None:
    """The verb that a form and a particle make: `log in`."""
    for form in forms:
        verb = load_verbs().get(form + particle)
        if verb:
            return verb
    return None


NOUN_ENDINGS = (
    ("ication", "y"),
    ("ation", "e"),
    ("ion", "e"),
    ("ion", ""),
    ("al", "e"),
    ("al", ""),
)


def _find_verb_of_noun(word: str) -> Verb | None:
    """The verb from which a noun is derived: `deletion`, `retrieval`, `modification`."""
    for ending, replacement in NOUN_ENDINGS:
        if word.endswith(ending):
            verb = load_verbs().get(word.removesuffix(ending) + replacement)
            if verb:
                return Verb(verb.word, verb.kind, False)
    return None


def _find_purpose(sentence: str) -> list[Verb]:
    """The verb after `to`, if a sentence begins with no verb: `a simple way to add`."""
    for match in re.finditer(r"\b(?:to|will|can|that|which) ([a-z]+)", sentence):
        verb = find_verb(match[1])
        if verb:
            return [Verb(verb.word, verb.kind, False)]
    return []


def _find_joined_verbs(clause: Clause) -> Iterator[Verb]:
    """Verbs that `and`, `or` or a comma joins to the first one, in the same form."""
    remainder = clause.remainder
    in_third_person = _is_third_person(clause.word)
    reached = 0
    for match in re.finditer(JOINED, remainder):
        word = match[2]
        following = remainder[match.end() :]
        verb = find_verb(word)
        if verb is None or _is_third_person(word) is not in_third_person:
            continue
        if word.endswith("ing") and verb.kind == "act" and DESCRIBED.match(following):
            continue
        is_adjacent = re.search(r"[a-z]", remainder[reached : match.start()]) is None
        if is_adjacent:
            reached = match.end()  # `create, update, delete or move`
        has_conjunction = bool(match[1].strip(" ,"))
        is_plain = verb.sure and has_conjunction and word not in get_word_list("nouns")
        has_object = re.match(f" {OBJECT}", following) is not None
        if is_adjacent or has_object or (is_plain and re.match(" [a-z]", following)):
            yield verb


def _is_third_person(verb: str) -> bool:
    return verb.endswith("s") and not verb.endswith("ss")
