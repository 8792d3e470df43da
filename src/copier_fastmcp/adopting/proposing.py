"""A behavior for each tool of a server, with the evidence: its body, its name, its words, its hints.

The body counts most, then the verb of the name, the description, the parameters, and last the hints
that it has. Where they agree, that is proposed; where they say read and write, it is a question,
and the cautious answer is the one that is destructive.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..auditing.reading import Says
from ..auditing.signals import signals, subjects
from ..auditing.votes import READ_ONLY, Signal
from ..bodies.effects import Body, Effect, Reader
from ..parsing.saying import Found
from ..parsing.sources import Project
from ..rules import Tool
from ..tables import tables
from .defining import definition, edits_a_part

# The most cautious first: what each behavior loses and repeats.
CAUTION = ("action", "delete", "put", "update", "append", "create", "ensure")
OF_KIND = {"add": "create", "ensure": "ensure", "change": "put", "remove": "delete"}
OF_EFFECT = {"consume": "delete", "save": "put"}
# Reads by convention, whatever their body hides.
SURE_READS = {
    "get",
    "list",
    "find",
    "fetch",
    "read",
    "show",
    "describe",
    "search",
    "lookup",
    "count",
}
QUERIES = {"search", "find", "query", "lookup", "check", "resolve", "validate"}  # also by POST
REPLACES = {"create", "copy", "generate", "export", "compose"}  # a file, also one that is there
CHOOSERS = {"action", "operation"}  # a parameter that says what to do
# A file is written as a whole, whatever has changed in it.
WHOLE = re.compile(r"\.(?:write\w*|dump|save\w*)\(\)|\(\) to write")
REPEATS = {"put", "ensure", "delete"}  # they say that the same call again changes nothing more
POPS = "It takes away another one with each call."


@dataclass(frozen=True)
class Proposal:
    """What a tool is said to do.

    Attributes:
        behavior: The proposed behavior; the cautious one where it is a question.
        evidence: What speaks for it, and against it, the strongest first.
        asked: Why only a person can say; empty where the signals agree.
        exceptions: Hints that differ from the behavior, each with its reason.
    """

    found: Found
    behavior: str
    evidence: tuple[str, ...]
    asked: str = ""
    others: tuple[str, ...] = ()
    exceptions: tuple[dict[str, Any], ...] = field(default=())


def proposals(project: Project, found: Sequence[Found]) -> list[Proposal]:
    """What each tool that has a function is said to do."""
    reader = Reader(project)
    wires = [Tool(definition(one)) for one in found]
    made = []
    for one, subject in zip(found, subjects(wires), strict=True):
        body = reader.body(one.function, one.home) if one.function and one.home else Body()
        verb = _verb(subject.named)
        made.append(_weighed(one, body, verb, subject.described, signals(subject)))
    return made


def _verb(said: Sequence[Says]) -> tuple[str, str]:
    """The behavior that a name says, and the word that says so."""
    words = [one.word for one in said]
    for behavior, verbs in tables()["verbs"].items():
        for word in words[:1]:
            if word in verbs:
                return str(behavior), word
    for one in sorted(said, key=lambda each: each.kind == "read"):
        return _of(one), one.word
    return "", ""


def _of(said: Says) -> str:
    return "read" if said.kind == "read" else OF_KIND.get(said.kind, "action")


def _cautious(behaviors: Sequence[str]) -> str:
    return next((one for one in CAUTION if one in behaviors), "action")


def _weighed(
    found: Found,
    body: Body,
    verb: tuple[str, str],
    described: Sequence[Says],
    voices: Sequence[Signal],
) -> Proposal:
    """The behavior that the evidence of one tool says."""
    named, word = verb
    versioned = set(tables()["versions"]) & set(definition(found)["inputSchema"]["properties"])
    named = "put" if named == "update" and not versioned else named
    vague = not any(one.sure for one in described) and word not in SURE_READS
    sure, weak = body.writes(sure=True), body.writes(sure=False)
    reads = body.of("read")
    told = ""
    if described:
        told = next((_of(one) for one in described if one.kind != "read"), "read")
    upserts = [one.word for one in described if one.kind == "change" and told == "create"]
    told = "put" if upserts else told  # `create or update`
    schema = [v for v in voices if v.source in ("parameters", "choices", "result", "phrases")]
    against = [v for v in schema if v.hint == READ_ONLY and not v.value and v.votes > 1]
    for_reads = [v for v in voices if v.hint == READ_ONLY and v.value and v.votes > 1]
    hinted = found.hints.get("readOnlyHint")
    tagged = {tag.lower() for tag in found.tags}
    again = [e for e in body.of("again") if e.depth < 3]
    shown = sure or weak or named in REPEATS
    first = [*again, *body.of("guarded", "fresh")][:1] if shown else []
    evidence = [_told(e) for e in (*first, *sure[:2], *weak[:1], *reads[: 1 if sure else 2])]
    evidence += [f"its name says {word!r}"] if word else []
    evidence += [f"its description says {described[0].word!r}"] if described else []
    evidence += [v.text for v in against]
    evidence += [f"its hints say readOnly={str(hinted).lower()}"] if hinted is not None else []
    evidence += [f"its tags say {', '.join(sorted(tagged & {'read', 'write'}))}"] * bool(
        tagged & {"read", "write"}
    )

    def made(behavior: str, asked: str = "", *others: str) -> Proposal:
        exceptions: tuple[dict[str, Any], ...] = ()
        behavior = "update" if behavior == "put" and edits_a_part(found) else behavior
        changed = _stored(body, again, behavior)
        if changed != behavior:
            if behavior == named and not asked:
                asked = f"its name says {word!r}, but {_told(first[0])}"
            elif asked:
                others = (*others, behavior)
            behavior = changed
        if behavior == "delete" and body.of("consume"):
            exceptions = ({"hint": "idempotent", "value": False, "why": POPS},)
        options = tuple(dict.fromkeys([behavior, *others])) if asked else ()
        return Proposal(found, behavior, tuple(evidence), asked, options, exceptions)

    if told == "read" and hinted and named in ("read", ""):
        sure = [e for e in sure if e.depth <= 1]  # its author says so three times
    written = _written(sure)
    chooser = CHOOSERS & set(definition(found)["inputSchema"]["properties"])
    if not named and chooser and (sure or weak or told != "read"):
        unsure = told == "read" and not sure
        return made("action", f"its words say read, but {_told(weak[0])}" if unsure else "", "read")
    if named == "read":
        clash = written or (_written(weak) if told not in ("read", "") else "")
        if not clash and against:
            clash = "action"
        if not clash and told not in ("read", "") and not (hinted or "read" in tagged):
            clash = told
        if not clash and "write" in tagged - {"read"} and "read" not in tagged:
            clash = "action"
        if not clash and hinted is False and not reads and told != "read":
            clash = "action"
        if clash:
            return made(
                _cautious([clash]), f"its name says {word!r}, but {_but(evidence, word)}", "read"
            )
        doubted = [e for e in weak if e.depth <= 1 and not (e.sends and word in QUERIES)]
        if not reads and told != "read":
            doubted = weak
        if doubted and not hinted:
            return made("action", f"its name says {word!r}, but {_told(doubted[0])}", "read")
        if vague and not reads and not hinted:
            return made(
                "action", f"{word!r} may write, and its body does not show that it does not", "read"
            )
        return made("read")
    if named:
        deletes = [e for e in sure if e.kind in ("delete", "consume") and e.depth <= 1]
        if named in ("create", "ensure", "append") and deletes:
            why = f"its name says {word!r}, but {_told(deletes[0])}"
            return made("action", why, named, "put")
        if named == "create" and upserts and not body.of("guarded", "fresh"):
            why = f"its name says {word!r}, its description says {upserts[0]!r}"
            return made("put", why, named, "ensure")
        if named in ("create", "ensure", "append"):
            kinds = {e.kind for e in sure if e.depth <= 1}
            whole = [e for e in sure if e.depth <= 1 or WHOLE.search(e.text)]
            if again and kinds <= {"put", "append", "save"} and named != "ensure":
                return made("append")
            inserts = body.of("guarded", "fresh") and _inserted(body) and named == "create"
            if whole and {e.kind for e in whole} <= {"put"} and named != "ensure" and not inserts:
                why = f"its name says {word!r}, but {_told(whole[0])}, which may replace"
                return made("put", why, named, "ensure")
            if word in REPLACES and kinds & {"save", "put"} and found.hints.get("destructiveHint"):
                return made("put")
            if named == "create" and kinds == {"append"}:
                return made("append")
            return made(named)
        if named == "action":
            if written == "" and reads and not weak:
                if told == "read" and (hinted or for_reads):
                    return made("read")
                if told == "read" or hinted:
                    return made("action", f"its name says {word!r}, but {_told(reads[0])}", "read")
            if told == "read" and hinted and not written:
                return made("action", "its name and its words say two things", "read")
            if not sure and ("query" in found.name or for_reads):
                return made("action", f"it may {word} what only reads", "read")
            return made("action")
        if told == "read" and not sure and not weak and (hinted or "read" in tagged):
            return made(named, f"its name says {word!r}, its words and hints say read", "read")
        return made(named)
    # no verb in its name
    hidden = all(e.depth and WHOLE.search(e.text) for e in sure)
    if written == "put" and hidden and not body.of("sets", "guarded", "fresh"):
        written = "action"  # a file is written as a whole; what has changed in it is not seen
    did = written or (_written(weak) if told != "read" else "")
    if did:
        behavior = told if told not in ("", "read") else did
        if told == "read" and hinted is not False:
            return made(
                did, f"its description says {described[0].word!r}, but {_told(sure[0])}", "read"
            )
        return made(_cautious([behavior, did]) if behavior != "create" else behavior)
    if told == "read" and not against and (reads or hinted or not weak):
        return made("read")
    pure = bool(reads) and not (sure or weak or against) and body.whole
    if told not in ("", "read") and pure and not any(one.sure for one in described):
        return made(told, f"its words say {described[0].word!r}, but {_told(reads[0])}", "read")
    if told:
        return made(
            told if told != "read" else "action",
            "" if told != "read" else "its words are all that says read",
            "read",
        )
    if pure:
        return made("read")
    if reads and not weak:
        return made(
            "action", "only its body shows that it reads, and not that it keeps nothing", "read"
        )
    return made("action", "nothing in its name, its words or its body says what it does", "read")


def _stored(body: Body, again: Sequence[Effect], behavior: str) -> str:
    """A behavior, or what is said in its place where the way in which it stores contradicts it."""
    if behavior in REPEATS and again:
        deletes = behavior == "delete" and body.of("delete", "consume")
        return behavior if deletes else "action"
    if behavior == "put" and body.of("guarded", "fresh") and _inserted(body):
        return "create"
    return behavior


def _inserted(body: Body) -> bool:
    """Whether all that is stored is new: a file that is written as a whole holds nothing else."""
    others = [e for e in body.writes(sure=True) if e.kind not in ("create", "append", "ensure")]
    return not body.of("sets", "again") and all(WHOLE.search(e.text) for e in others)


def _but(evidence: Sequence[str], word: str) -> str:
    others = [text for text in evidence if text != f"its name says {word!r}"]
    return others[0] if others else "something else says that it writes"


def _told(effect: Effect) -> str:
    return effect.text + (f" ({effect.depth} calls down)" if effect.depth > 1 else "")


def _written(effects: Sequence[Effect]) -> str:
    """The behavior that writing effects come to; empty where there is none."""
    kinds = [OF_EFFECT.get(e.kind, e.kind) for e in effects]
    return _cautious([k for k in kinds if k in CAUTION]) if kinds else ""
