"""A behavior for each tool of a server, with the evidence: its body, its name, its words, its hints.

The body counts most, then the verb of the name, the description, the parameters, and last the hints
that it has. Where they agree, that is proposed; where they say read and write, it is a question,
and the cautious answer is the one that is destructive.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from copier_fastmcp_engine.testing.rules import Tool

from ..analysis.effects import Body, Reader
from ..auditing.definitions import parse_tools
from ..sources.modules import Project
from ..sources.registrations import SourceTool
from .definitions import definition, edits_a_part
from .evidence import WHOLE, Evidence, cautious, in_words, written
from .hints import DESTRUCTIVE, IDEMPOTENT, READ_ONLY, behavior_hints, relaxed_hints

QUERIES = {
    "search",
    "find",
    "query",
    "lookup",
    "check",
    "resolve",
    "validate",
}  # also by POST
REPLACES = {
    "create",
    "copy",
    "generate",
    "export",
    "compose",
}  # a file, also one that is there
POPS = "It takes away another one with each call."


@dataclass(frozen=True)
class Proposal:
    """What a tool is said to do.

    Attributes:
        tool: The tool as its source registers it.
        behavior: The proposed behavior; the cautious one where it is a question.
        evidence: What speaks for it, and against it, the strongest first.
        asked: Why only a person can say; empty where the collect_evidence agree.
        others: What a person may choose from then, the proposed behavior first.
        exceptions: Hints that differ from the behavior, each with its reason.
        kept: Hints as their author wrote them, which the behavior alone would change.
    """

    tool: SourceTool
    behavior: str
    evidence: tuple[str, ...]
    asked: str = ""
    others: tuple[str, ...] = ()
    exceptions: tuple[dict[str, Any], ...] = field(default=())
    kept: Mapping[str, bool] = field(default_factory=dict)


def proposals(project: Project, found: Sequence[SourceTool]) -> list[Proposal]:
    """What each tool that has a function is said to do."""
    reader = Reader(project)
    made = []
    for one, subject in zip(
        found, parse_tools([Tool(definition(one)) for one in found]), strict=True
    ):
        body = (
            reader.body(one.function, one.home) if one.function and one.home else Body()
        )
        evidence = Evidence(one, body, subject)
        made.append(_keep_written(evidence, _weighed(evidence)))
    return made


def _keep_written(of: Evidence, proposal: Proposal) -> Proposal:
    """A proposal that changes no hint of the author's without evidence, and relaxes none without a question."""
    written = of.tool.hints
    proposed = behavior_hints(of.tool.name, proposal.behavior, proposal.exceptions)
    if proposal.behavior == "read" and written.get(READ_ONLY) is True:
        return replace(proposal, kept=_present(written, (DESTRUCTIVE, IDEMPOTENT)))
    if proposal.behavior == "action" and not of.sure and not proposal.asked:
        return replace(proposal, kept=_present(written, (DESTRUCTIVE, IDEMPOTENT)))
    relaxed = relaxed_hints(written, proposed)
    if not relaxed:
        return proposal
    texts = [f"{hint}={value}" for hint, value in relaxed.items()]
    asked = f"its author wrote {' and '.join(texts)}, but {of.besides_hints}"
    if proposal.behavior != "read":
        if not of.sure or proposal.asked:  # nothing shows that its author is wrong
            return replace(proposal, kept=relaxed)
        return replace(proposal, kept=relaxed, asked=asked, others=(proposal.behavior,))
    kept = _present(written, (DESTRUCTIVE, IDEMPOTENT))
    return replace(
        proposal,
        behavior="action",
        kept=kept,
        asked=proposal.asked or asked,
        others=("action", proposal.behavior),
        exceptions=(),
    )


def _present(written: Mapping[str, bool], hints: Sequence[str]) -> dict[str, bool]:
    return {hint: written[hint] for hint in hints if hint in written}


def _weighed(of: Evidence) -> Proposal:
    """The behavior that the evidence of one tool says."""
    if not of.by_name and of.chooses and (of.sure or of.weak or of.by_words != "read"):
        unsure = of.by_words == "read" and not of.sure
        why = f"its words say read, but {in_words(of.weak[0])}" if unsure else ""
        return _made(of, "action", why, "read")
    if of.by_name == "read":
        return _named_a_read(of)
    if of.by_name in ("create", "ensure", "append"):
        return _named_an_addition(of)
    if of.by_name == "action":
        return _named_an_action(of)
    if of.by_name:
        reads = of.by_words == "read" and not of.sure and not of.weak
        why = f"{of.name_says}, its words and hints say read"
        if reads and (of.hinted or "read" in of.tagged):
            return _made(of, of.by_name, why, "read")
        return _made(of, of.by_name)
    return _without_a_verb(of)


def _made(of: Evidence, behavior: str, asked: str = "", *others: str) -> Proposal:
    """A behavior, or what is said in its place where its body stores in another way.

    Args:
        of: The evidence.
        behavior: What it comes to.
        asked: Why only a person can say; empty where the evidence agrees.
        others: What else it may be.
    """
    behavior = "update" if behavior == "put" and edits_a_part(of.tool) else behavior
    stored = of.stored(behavior)
    if stored != behavior and behavior == of.by_name and not asked:
        asked = f"{of.name_says}, but {in_words(of.stores[0])}"
    elif stored != behavior and asked:
        others = (*others, behavior)
    exceptions: tuple[dict[str, Any], ...] = ()
    if stored == "delete" and any(effect.kind == "consume" for effect in of.sure):
        exceptions = ({"hint": "idempotent", "value": False, "why": POPS},)
    options = tuple(dict.fromkeys([stored, *others])) if asked else ()
    return Proposal(of.tool, stored, of.texts, asked, options, exceptions)


def _named_a_read(of: Evidence) -> Proposal:
    """A name that reads, unless something else says that it writes."""
    if clash := _writes_all_the_same(of):
        why = f"{of.name_says}, but {of.besides_its_name}"
        return _made(of, cautious([clash]), why, "read")
    doubted = [
        e for e in of.weak if e.depth <= 1 and not (e.sends and of.word in QUERIES)
    ]
    if not of.reads and of.by_words != "read":
        doubted = of.weak
    if doubted and not of.hinted:
        return _made(
            of, "action", f"{of.name_says}, but {in_words(doubted[0])}", "read"
        )
    if of.vague and not of.shown_reads and not of.hinted and not of.only_computes:
        why = f"{of.word!r} may write, and its body does not show that it does not"
        return _made(of, "action", why, "read")
    return _made(of, "read")


def _writes_all_the_same(of: Evidence) -> str:
    """What a tool does whose name reads, where something else says that it writes; empty: nothing does."""
    writes = of.by_words not in ("read", "")
    if clash := of.written or (written(of.weak) if writes else ""):
        return clash
    if of.against:
        return "action"
    if writes and not (of.hinted or "read" in of.tagged):
        return of.by_words
    tagged = "write" in of.tagged and "read" not in of.tagged
    hinted = of.hinted is False and not of.reads and of.by_words != "read"
    return "action" if tagged or hinted else ""


def _named_an_addition(of: Evidence) -> Proposal:
    """A name that adds, unless its body takes away or replaces."""
    named, new = of.by_name, of.body.of("guarded", "fresh")
    near = [e for e in of.sure if e.depth <= 1]
    if deletes := [e for e in near if e.kind in ("delete", "consume")]:
        why = f"{of.name_says}, but {in_words(deletes[0])}"
        return _made(of, "action", why, named, "put")
    if named == "create" and of.upserts and not new:
        why = f"{of.name_says}, its description says {of.upserts[0]!r}"
        return _made(of, "put", why, named, "ensure")
    kinds = {e.kind for e in near}
    if of.again and kinds <= {"put", "append", "save"} and named != "ensure":
        return _made(of, "append")
    whole = [e for e in of.sure if e.depth <= 1 or WHOLE.search(e.text)]
    inserts = new and of.only_inserts and named == "create"
    if (
        whole
        and {e.kind for e in whole} <= {"put"}
        and named != "ensure"
        and not inserts
    ):
        why = f"{of.name_says}, but {in_words(whole[0])}, which may replace"
        return _made(of, "put", why, named, "ensure")
    if (
        of.word in REPLACES
        and kinds & {"save", "put"}
        and of.tool.hints.get("destructiveHint")
    ):
        return _made(of, "put")
    return _made(of, "append" if named == "create" and kinds == {"append"} else named)


def _named_an_action(of: Evidence) -> Proposal:
    """A name that says that something runs, which may only read."""
    if not of.written and of.reads and not of.weak:
        if of.by_words == "read" and (of.hinted or of.for_reads):
            return _made(of, "read")
        if of.by_words == "read" or of.hinted:
            return _made(
                of, "action", f"{of.name_says}, but {in_words(of.reads[0])}", "read"
            )
    if of.by_words == "read" and of.hinted and not of.written:
        return _made(of, "action", "its name and its words say two things", "read")
    if not of.sure and ("query" in of.tool.name or of.for_reads):
        return _made(of, "action", f"it may {of.word} what only reads", "read")
    return _made(of, "action")


def _without_a_verb(of: Evidence) -> Proposal:
    """A name without a verb: its body and its words say what it does."""
    told = of.by_words
    if does := _done(of):
        if told == "read" and of.hinted is not False:
            return _made(
                of, does, f"{of.description_says}, but {in_words(of.sure[0])}", "read"
            )
        behavior = does if told in ("", "read") else told
        return _made(
            of, behavior if behavior == "create" else cautious([behavior, does])
        )
    if told == "read" and not of.against and (of.reads or of.hinted or not of.weak):
        return _made(of, "read")
    pure = bool(of.reads) and not (of.sure or of.weak or of.against) and of.body.whole
    if told == "read":
        return _made(of, "action", "its words are all that says read", "read")
    if told and pure and not of.describes_surely:
        return _made(
            of,
            told,
            f"its words say {of.described[0].word!r}, but {in_words(of.reads[0])}",
            "read",
        )
    if told:
        return _made(of, told)
    if pure:
        return _made(of, "read")
    if of.names_a_target and not of.weak:
        return _made(of, "put")
    if of.reads and not of.weak:
        why = "only its body shows that it reads, and not that it keeps nothing"
    else:
        why = "nothing in its name, its words or its body says what it does"
    return _made(of, "action", why, "read")


def _done(of: Evidence) -> str:
    """The behavior that a body comes to; what it may do counts where no word says that it reads."""
    hidden = all(e.depth and WHOLE.search(e.text) for e in of.sure)
    if of.written == "put" and hidden and not of.body.of("sets", "guarded", "fresh"):
        return (
            "action"  # a file is written as a whole; what has changed in it is not seen
        )
    return of.written or (written(of.weak) if of.by_words != "read" else "")
