"""Words to kinds: what the name and the description of a tool say that it does."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from .vocabulary import vocabulary

WRITES = {"add", "ensure", "change", "remove", "run", "act"}
# How a description begins before it says what the tool does.
LEAD_IN = re.compile(
    r"""^(?:
        \([^)]*\)[\s:.-]* | <[^>]*> | \[[^\]]*\][\s:.-]* | [^\w(<\[]+ |
        (?:given|in|for|from|with|within|inside|on|based\ on|using|if|when)\ [^,.;:]{1,80},\s+(?=[a-z]) |
        (?:it|this)\ (?=[a-z]+s\b) | (?:it|this|you|we|users?)\ (?:can|will|may)(?:\ use\ (?:this|it)\ to)?\b | use\ to\b |
        (?:tr(?:y|ies)|attempts?)\ to | (?:allows?|enables?|supports?)\ (?=[a-z]+ing\b) |
        (?:bulk|soft|hard|batch|mass|auto|force)[- ](?=[a-z]) |
        (?:this|the|a|an)\ (?:\w+\ ){0,2}?(?:tool|function|command|endpoint|operation|method|action|api)\b
            (?:\ (?:is\ )?(?:used|useful|for|that|which|can|will|may|be|it|you|to|allows?|lets?|enables?|helps?|provides?\ a\ way|users?|agents?|clients?|the)\b)* |
        (?:use|call|run)\ (?:this|it|the)(?:\ (?:tool|function|command|endpoint|method))?\b(?:\ (?:to|for|(?:when|whenever|if)\ (?:you|the\ user)\ (?:need|want|wish|have|asks?)s?\ to))? |
        (?:tool|function|command|helper|utility|endpoint)\ (?:to|for|that|which) |
        (?:used|(?:allows?|lets?|helps?|enables?)(?:\ (?:you|users?|agents?|the\ \w+))?|ability|how)\ to |
        (?:deprecated|experimental|beta|preview|new|important|note|warning|caution|dangerous|unsafe|advanced|legacy)\b[\s:!.,-]+ |
        (?!reply|apply|multiply|supply)\w+ly\ | (?:just|also|first|then|please|always|optionally|can|will|may)[ ]
    )""",
    re.IGNORECASE | re.VERBOSE,
)
LABEL = re.compile(r"(\w+)[\w .'/&-]{0,40}?(?::\**| [|:—–-])\s+(?=\w)")
PHRASAL = {"check", "get", "set", "turn", "look"}  # these mean another thing with a particle
PARTICLES = ("in", "out", "up", "down", "on", "off", "back", "rid")
OBJECT = r"(?:an?|the|all|any|one|each|every|new|existing|your|its|it|them|this|that|multiple|several|some|specific|to|from|\d+)\b"
JOINED = re.compile(
    r"(,? (?:and|or|then|and/or|or else)|,|/|;)(?: then| also| optionally| \w+ly)* ([a-z]+)(?![a-z-])"
)
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n(?=\s*[-*#])")


@dataclass(frozen=True)
class Says:
    """A word that says what a tool does: its kind, and whether it says so alone."""

    word: str
    kind: str
    sure: bool


@cache
def _known() -> dict[str, Says]:
    found: dict[str, Says] = {}
    for kind, lists in vocabulary()["words"].items():
        for strength in ("sure", "weak"):
            for word in lists[strength].split():
                found.setdefault(word, Says(word, kind, strength == "sure"))
    return found


@cache
def words(name: str) -> frozenset[str]:
    """A list of words of the vocabulary."""
    return frozenset(vocabulary()[name].split())


@cache
def base(word: str) -> Says | None:
    """What a verb says, in whatever form it stands: `delete`, `deletes`, `deleting`."""
    known, forms = _known(), _forms(word)
    return next((known[form] for form in forms if form in known), None) or _made_of(forms)


def _forms(word: str) -> list[str]:
    """A verb as it may stand in the vocabulary."""
    forms = [word]
    if word.endswith("ies"):
        forms.append(word[:-3] + "y")
    if word.endswith("es"):
        forms.append(word[:-2])
    if word.endswith("s") and not word.endswith("ss"):
        forms.append(word[:-1])
    if word.endswith("ing") and len(word) > 5:
        stem = word[:-3]
        forms += [stem, stem + "e", stem[:-1] if stem[-1:] == stem[-2:-1] else stem]
    return forms


def _made_of(forms: Sequence[str]) -> Says | None:
    """What an unknown verb says that is made of a known one: `reassign`, `unassign`, `disassociate`."""
    known = _known()
    for form in forms:
        for prefix in ("re", "un", "de", "dis"):
            of = known.get(form.removeprefix(prefix)) if form.startswith(prefix) else None
            if of is None or len(of.word) < 4 or of.word in words("nouns") or of.kind == "run":
                continue
            if prefix == "re":
                return Says(form, of.kind, False)
            if of.kind != "read":
                return Says(form, "remove", False)
    return None


@lru_cache(10_000)
def tokens(name: str) -> tuple[str, ...]:
    """The words of a name, in whatever case it is written."""
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return tuple(word for word in re.split(r"[^A-Za-z0-9]+", spread.lower()) if word)


def prefixes(names: Sequence[str]) -> set[str]:
    """First words that most tools of a server have in common, and that say nothing: its own name."""
    firsts = Counter(each[0] for each in map(tokens, names) if len(each) > 1)
    often = {word for word, count in firsts.items() if count > 2 and count >= 0.4 * len(names)}
    return often - _known().keys()


def of_name(name: str, prefix: Iterable[str] = (), told: Sequence[Says] = ()) -> list[Says]:
    """What a name says: the verb at its beginning or at its end, and others that `or` joins to it.

    Where both may be verbs, as in `list_send`, the one that its description says (`told`) counts.
    """
    whole = tokens(name)
    parts = _with_particles(whole[1:] if len(whole) > 1 and whole[0] in prefix else whole)
    said = [
        _produced(part, parts[at:]) or _known().get(part) or _made_of([part])
        for at, part in enumerate(parts)
    ]
    place = next((place for place, one in enumerate(said) if one), None)
    if place is None:
        return _inside(parts)
    end = len(parts) - 1
    if 0 < place == end and parts[end] in words("nouns") and _kind(said[end]) != "read":
        return []  # `feedback_link`
    if place < end and said[end] and said[place] in told and said[end] not in told:
        end = place
    if place < end and said[end] and (place or parts[place] in words("nouns")):
        if parts[end] not in words("nouns") or parts[place] in words("methods"):
            place = end  # `shopping_list_delete`, `post_search`
        elif _kind(said[place]) != _kind(said[end]):
            return []  # `comment_list`: two nouns, or two verbs
    sure = place <= 2 or place == end
    joined = (at + 1 for at in range(place + 1, end) if parts[at] in ("or", "and"))
    found = (one for one in (said[place], *(said[at] for at in joined)) if one)
    return [Says(one.word, one.kind, one.sure and sure) for one in found]


def _produced(verb: str, behind: Sequence[str]) -> Says | None:
    """What `generate` says: a chart or a password is computed, and nothing is different afterwards."""
    makes = {verb, verb.removesuffix("s")} & words("produces")
    return Says(verb, "read", False) if makes and words("produced").intersection(behind) else None


def _with_particles(parts: Sequence[str]) -> list[str]:
    """A verb and its particle as one word: `log_in`, `check_out_branch`, `turn_off`."""
    joined: list[str] = []
    for part in parts:
        if (
            joined
            and part in PARTICLES
            and (joined[-1] + part in _known() or joined[-1] in PHRASAL)
        ):
            joined[-1] += part
        else:
            joined.append(part)
    return joined


def _kind(said: Says | None) -> str | None:
    return said.kind if said else None


def _inside(parts: Sequence[str]) -> list[Says]:
    """A verb that is a part of the one word that a name has, as in `hset`."""
    if len(parts) != 1 or not 4 <= len(parts[0]) <= 9:
        return []
    whole = parts[0]
    for cut in (1, 2):
        one = _known().get(whole[cut:])
        if one and len(one.word) >= 3:
            return [Says(one.word, one.kind, False)]
    return []


def sentences(text: str) -> list[str]:
    """A description's sentences, on a line each."""
    apart = re.sub(r"(?m)^([ \t]*#.*)$", r"\1\n", text.strip()[:4000])  # a heading is a sentence
    return [" ".join(each.split()) for each in SENTENCE.split(apart) if each.strip()]


def _led(sentence: str) -> str:
    """A sentence from its verb on."""
    for _ in range(8):
        shorter = LEAD_IN.sub("", sentence, count=1)
        if shorter == sentence and (label := LABEL.match(sentence)):
            behind = sentence[label.end() :]
            if base(label[1].lower()) is None and (behind[0].isupper() or _verb(behind)[0]):
                shorter = behind  # `Purpose: Lists`, `GitHub - Create`
        shorter = shorter.lstrip(" ,:;-–—")
        if shorter == sentence or not shorter:
            break
        sentence = shorter
    return sentence


def of_sentence(sentence: str) -> list[Says]:
    """What a sentence says that a tool does: the verb it begins with, and verbs joined to that one."""
    led = _led(sentence)
    lead, word, rest = _verb(led)
    lead = _produced(word, re.findall("[a-z]+", rest.lower())[:5]) or lead
    if lead is None and re.match(vocabulary()["phrases"]["performs"], led, re.IGNORECASE):
        nouns = (base(noun) or _noun(noun) for noun in re.findall(r"[a-z]+", rest.lower())[:5])
        return [Says(one.word, one.kind, False) for one in nouns if one][:1]
    if re.match(vocabulary()["phrases"]["asks"], led, re.IGNORECASE):
        lead = Says(word, "read", True)
    if re.match(" here\\b", rest):  # `Start here if ...`
        return []
    if lead is None:
        of = re.match(r"(?: ([a-z]+))? (?:of|for|over|on)\b", rest)
        if of and of[1] in words("nouns"):  # `full-text search for`
            lead = replace(_known()[of[1]], sure=False) if of[1] in _known() else None
        elif of and not of[1]:
            lead = _noun(word)
    if lead is None:
        return _purpose(led)
    joined = [one for one in _joined(rest, word) if one != lead]
    if lead.kind == "add":  # `create it and set its color` loses nothing
        joined = [one for one in joined if one.word not in words("completes")]
    return [lead, *joined]


def _verb(led: str) -> tuple[Says | None, str, str]:
    """What the first word says, that word, and the rest; `re-run` and `log in` are one word."""
    found = re.match(r"(?:(re|un|de)-)?([a-z]+)", led, re.IGNORECASE)
    if not found:
        return None, "", ""
    word, rest = ((found[1] or "") + found[2]).lower(), led[found.end() :]
    if particle := re.match(f" ({'|'.join(PARTICLES)})\\b", rest):
        forms = _forms(word)
        both = (_known().get(form + particle[1]) for form in forms)
        one = next((each for each in both if each), None)
        if one or PHRASAL.intersection(forms):
            return one, word, rest[particle.end() :]
    return base(word), word, rest


def _noun(word: str) -> Says | None:
    """What a noun says that is made of a verb: `deletion`, `retrieval`, `modification`."""
    ends = (("ication", "y"), ("ation", "e"), ("ion", "e"), ("ion", ""), ("al", "e"), ("al", ""))
    forms = [word.removesuffix(end) + instead for end, instead in ends if word.endswith(end)]
    one = next((_known()[form] for form in forms if form in _known()), None)
    return one and Says(one.word, one.kind, False)


def _purpose(led: str) -> list[Says]:
    """What follows `to`, where a sentence begins with nothing that is known: `a simple way to add`."""
    for found in re.finditer(r"\b(?:to|will|can|that|which) ([a-z]+)", led):
        if one := base(found[1]):
            return [Says(one.word, one.kind, False)]
    return []


def _joined(rest: str, lead: str) -> Iterator[Says]:
    """Verbs that `and`, `or` or a comma joins to the first one, in the same form as it."""
    third, reach = _third(lead), 0
    for joined in re.finditer(JOINED, rest):
        word, behind = joined[2], rest[joined.end() :]
        one = base(word)
        if one is None or _third(word) is not third:
            continue
        at_once = re.search(r"[a-z]", rest[reach : joined.start()]) is None
        reach = joined.end() if at_once else reach  # `create, update, delete or move`
        plain = one.sure and joined[1].strip(" ,") and word not in words("nouns")
        if at_once or re.match(f" {OBJECT}", behind) or (plain and re.match(" [a-z]", behind)):
            yield one


def _third(verb: str) -> bool:
    return verb.endswith("s") and not verb.endswith("ss")
