"""Evidence of a change that neither method nor verb names: steps of a login, redirects, secrets that are used up.

A browser confirms an address, ends a login or leaves a mailing list by a GET, and a POST that "validates" a code
uses it up. Each of these looks like a read by its method or by its words.
"""

import re

from .operations import Operation, split_words, words
from .schemas import properties_of
from .verbs import ACTION, CREATE, DELETE, PUT, READ, base, word_set

# Parts of a path where a GET is a step of something that goes on.
STEPS = word_set(
    "acs activate activation authorize authorization callback confirm confirmation consent "
    "invitation login logout magic oauth oauth2 oidc recovery registration saml signin "
    "signout signup slo sso unsubscribe verification verify"
)
# Inputs that work once, or that only a browser brings back from a login.
ONE_TIME_INPUTS = word_set(
    "code otp nonce ticket state samlresponse samlrequest relaystate challenge challengeresponse "
    "verifier passcode pin totp onetimetoken magiclink loginchallenge consentchallenge logoutchallenge"
)
SECRET_INPUTS = ONE_TIME_INPUTS | word_set(
    "token password accesstoken refreshtoken idtoken credential credentials secret"
)
REDIRECTS = frozenset({"301", "302", "303", "307", "308"})
QUERY_LANGUAGES = re.compile(
    r"(?i)\b(sql|cypher|gremlin|sparql|graphql|flux|influxql|hql|aql|n1ql|statements?|script)\b"
)
QUERY_FIELDS = frozenset({"query", "q", "queries", "command", "expression"})
# "Calling this also resets the counter.", "The messages are then marked as read."
SUBJECT = r"(?:this|it|the (?:call|request|endpoint|operation|method|server|api)|calling (?:this|it)[\w ]{0,30}?)"
SIDE_EFFECTS = (
    re.compile(
        rf"(?i)(?:^|[.;!]\s+|\bnote(?: that)?:? ){SUBJECT}\s+(?:(?:will|also|then|automatically|implicitly)\s+)+(\w+)"
    ),
    re.compile(
        r"(?i)\b(?:will be|are then|is then|gets?|are automatically|is automatically)\s+(?:automatically\s+)?"
        r"(marked|deleted|removed|reset|cleared|consumed|acknowledged|invalidated|created|started|triggered)\b"
    ),
    re.compile(
        r"(?i)\b(?:has|as) (?:the |a )?side[- ]effects?\b()|\bnot (?:a )?safe\b()|\bnot idempotent\b()"
    ),
)
PAST = {"reset": "reset", "marked": "mark"}
CHANGES = (DELETE | ACTION | PUT | CREATE) - READ - frozenset({"test", "open", "make"})
LONGEST = 2000


def find_step(operation: Operation) -> str:
    """A sign that a GET is a step of a login or of a confirmation; empty without one.

    A summary that begins with a word for reading says that it is none.
    """
    sentence = operation.split_sentence("summary") or operation.split_sentence(
        "description"
    )
    if sentence and (base(sentence[0]) in READ or sentence[0] in ("return", "returns")):
        return ""
    if not operation.success and REDIRECTS & {*operation.statuses}:
        return "it answers with a redirect alone"
    step = sorted(STEPS.intersection(split_words(operation.segments)))
    if not step:
        return ""
    if {*words(operation.tail)} & STEPS:
        return f"its path ends in {operation.tail!r}, a step of something that goes on"
    inputs = {_plain(str(parameter.get("name"))) for parameter in operation.parameters}
    if brought := sorted(inputs & (ONE_TIME_INPUTS | {"token"})):
        return f"it takes {brought[0]!r} below {step[0]!r}"
    return ""


def find_side_effect(operation: Operation) -> str:
    """A change that a description mentions after its first sentence; empty without one."""
    text = " ".join(operation.text("description")[:LONGEST].split())
    for pattern in SIDE_EFFECTS:
        for match in pattern.finditer(text):
            word = next((group for group in match.groups() if group), "")
            if not word and "side" not in match[0].lower():
                return "its description says that it is not safe"
            if not word:
                return "its description names a side effect"
            verb = _verb_of(word)
            if verb in CHANGES:
                return f"its description also says {word.lower()!r}"
    return ""


def _verb_of(word: str) -> str:
    """The verb of `deletes`, `deleted`, `resets` and `marked`."""
    word = word.lower()
    verb_base = base(word)
    if verb_base in CHANGES or not word.endswith("ed"):
        return PAST.get(verb_base, verb_base)
    for verb in (word[:-2], word[:-1]):
        if verb in CHANGES:
            return verb
    return word


def find_spent_secret(operation: Operation) -> str:
    """A secret in the input of a POST that checks it, which may use it up; empty without one."""
    for name in (*properties_of(operation.json_body[1]), *_query_names(operation)):
        if _plain(name) in SECRET_INPUTS:
            return f"it takes {name!r}, which a check may use up"
    return ""


def find_query_language(operation: Operation) -> str:
    """A query in a language that can also change data; empty without one."""
    properties = properties_of(operation.json_body[1])
    for name in QUERY_FIELDS & {*properties}:
        schema = operation.document.resolve_if_possible(properties[name])
        texts = (
            operation.text("summary"),
            operation.text("description"),
            str(schema.get("description") or ""),
        )
        language = QUERY_LANGUAGES.search(" ".join(texts))
        if schema.get("type", "string") == "string" and language:
            return f"its {name!r} is in {language[0]}, which may change data"
    return ""


def _query_names(operation: Operation) -> list[str]:
    names = []
    for parameter in operation.parameters:
        if parameter.get("in") == "query":
            names.append(str(parameter.get("name")))
    return names


def _plain(name: str) -> str:
    return re.sub("[^a-z0-9]", "", name.lower())
