"""Words to kinds: what the name and the description of a tool say that it does."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from .vocabulary import vocabulary

WRITES = {"add", "ensure", "change", "remove", "run", "act"}
# How a description begins before it says what the tool does.
LEAD_IN = re.compile(
    r"""^(?:
        [^\w(<]+ | \([^)]*\)[\s:.-]* | <[^>]*> | \[[^\]]*\][\s:.-]* | [\w .'-]{1,40}\ [|:—–]\s+(?=[A-Z]) |
        (?:this|the|a|an)\ (?:\w+\ ){0,2}?(?:tool|function|command|endpoint|operation|method|action|api)\b
            (?:\ (?:is\ )?(?:used|useful|for|that|which|can|will|may|be|it|you|to|allows?|lets?|enables?|helps?|provides?\ a\ way|users?|agents?|clients?|the)\b)* |
        (?:use|call|run)\ (?:this|it|the)(?:\ (?:tool|function|command|endpoint|method))?\b(?:\ (?:to|for|(?:when|whenever|if)\ (?:you|the\ user)\ (?:need|want|wish|have|asks?)s?\ to))? |
        (?:tool|function|command|helper|utility|endpoint)\ (?:to|for|that|which) |
        (?:used|allows?\ you|lets?\ you|helps?\ you|enables?\ you|ability|how)\ to |
        (?:deprecated|experimental|beta|preview|new|important|note|warning|caution|dangerous|unsafe|advanced|legacy)\b[\s:!.,-]+ |
        (?!reply|apply|multiply|supply)\w+ly\ | (?:just|force|bulk|batch|auto|also|first|then|please|always|optionally|can|will|may)[ ]
    )""",
    re.IGNORECASE | re.VERBOSE,
)
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
    known = _known()
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
    return next((known[form] for form in forms if form in known), None)


def tokens(name: str) -> list[str]:
    """The words of a name, in whatever case it is written."""
    spread = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
    return [word for word in re.split(r"[^A-Za-z0-9]+", spread.lower()) if word]


def prefixes(names: Sequence[str]) -> set[str]:
    """First words that most tools of a server have in common, and that say nothing: its own name."""
    firsts = Counter(each[0] for each in map(tokens, names) if len(each) > 1)
    often = {word for word, count in firsts.items() if count > 2 and count >= 0.4 * len(names)}
    return often - _known().keys()


def of_name(name: str, prefix: Iterable[str] = ()) -> list[Says]:
    """What a name says: the verb at its beginning or at its end, and others that `or` joins to it."""
    parts = tokens(name)
    if len(parts) > 1 and parts[0] in prefix:
        parts = parts[1:]
    said = [_known().get(part) for part in parts]
    if parts[:2] in (["check", "in"], ["check", "out"], ["check", "off"]):
        return []
    place = next((place for place, one in enumerate(said) if one), None)
    if place is None:
        return _inside(parts)
    end = len(parts) - 1
    if place < end and said[end] and (place or parts[place] in words("nouns")):
        if parts[end] not in words("nouns") or parts[place] in words("methods"):
            place = end  # `shopping_list_delete`, `post_search`
        elif _kind(said[place]) != _kind(said[end]):
            return []  # `comment_list`: two nouns, or two verbs
    sure = place <= 2 or place == end
    joined = (at + 1 for at in range(place + 1, end) if parts[at] in ("or", "and"))
    found = (one for one in (said[place], *(said[at] for at in joined)) if one)
    return [Says(one.word, one.kind, one.sure and sure) for one in found]


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
    return [" ".join(each.split()) for each in SENTENCE.split(text.strip()[:4000]) if each.strip()]


def _led(sentence: str) -> str:
    for _ in range(8):
        shorter = LEAD_IN.sub("", sentence, count=1).lstrip(" ,:;-–—")
        if shorter == sentence or not shorter:
            break
        sentence = shorter
    return sentence


def of_sentence(sentence: str) -> list[Says]:
    """What a sentence says that a tool does: the verb it begins with, and verbs joined to that one."""
    led = _led(sentence)
    found = re.match(r"[A-Za-z]+", led)
    if not found:
        return []
    rest, word = led[found.end() :], found[0].lower()
    if base(word) is None and re.match(vocabulary()["phrases"]["performs"], led, re.IGNORECASE):
        nouns = (base(noun) for noun in re.findall(r"[a-z]+", rest.lower())[:5])
        return [Says(one.word, one.kind, False) for one in nouns if one][:1]
    asks = re.match(vocabulary()["phrases"]["asks"], led, re.IGNORECASE)
    lead = Says(word, "read", True) if asks else base(word)
    if not lead or re.match("check(s|ing)? (in|out|off)\\b", led, re.IGNORECASE):
        return []
    joined = [one for one in _joined(rest, word) if one != lead]
    if lead.kind == "add":  # `create it and set its color` loses nothing
        joined = [one for one in joined if one.word not in words("completes")]
    return [lead, *joined]


def _joined(rest: str, lead: str) -> Iterator[Says]:
    """Verbs that `and`, `or` or a comma joins to the first one, in the same form as it."""
    third = _third(lead)
    for joined in re.finditer(JOINED, rest):
        word, behind = joined[2], rest[joined.end() :]
        one = base(word)
        if one is None or _third(word) is not third:
            continue
        at_once = re.search(r"[a-z]", rest[: joined.start()]) is None
        plain = one.sure and joined[1].strip(" ,") and word not in words("nouns")
        if at_once or re.match(f" {OBJECT}", behind) or (plain and re.match(" [a-z]", behind)):
            yield one


def _third(verb: str) -> bool:
    return verb.endswith("s") and not verb.endswith("ss")
