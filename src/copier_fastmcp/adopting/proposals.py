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
from .definitions import build_definition, edits_a_part
from .evidence import (
    WHOLE,
    Evidence,
    choose_cautious,
    derive_behavior,
    format_effect,
    is_named_as_read,
)
from .hints import DESTRUCTIVE, IDEMPOTENT, READ_ONLY, behavior_hints, relaxed_hints
from .plumbing import find_plumbing

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


def propose_behaviors(project: Project, found: Sequence[SourceTool]) -> list[Proposal]:
    """Propose a behavior for each tool that has a function.

    Args:
        project: The source of the server.
        found: Its tools.
    """
    reader = Reader(project)
    subjects = parse_tools([Tool(build_definition(tool)) for tool in found])
    bodies = []
    for tool in found:
        if tool.function and tool.home:
            bodies.append(reader.body(tool.function, tool.home))
        else:
            bodies.append(Body())
    reading = []
    for subject, body in zip(subjects, bodies, strict=True):
        if is_named_as_read(subject):
            reading.append(body)
    shared = find_plumbing(reading)
    proposals = []
    for tool, subject, body in zip(found, subjects, bodies, strict=True):
        evidence = Evidence(tool, body, subject, shared)
        proposals.append(_keep_written_hints(evidence, _weigh_evidence(evidence)))
    return proposals


def _keep_written_hints(of: Evidence, proposal: Proposal) -> Proposal:
    """A proposal that changes no hint of the author's without evidence, and relaxes none without a question."""
    written = of.tool.hints
    proposed = behavior_hints(of.tool.name, proposal.behavior, proposal.exceptions)
    if proposal.behavior == "read" and written.get(READ_ONLY) is True:
        return replace(proposal, kept=_select_hints(written, (DESTRUCTIVE, IDEMPOTENT)))
    if proposal.behavior == "action" and not of.sure and not proposal.asked:
        return replace(proposal, kept=_select_hints(written, (DESTRUCTIVE, IDEMPOTENT)))
    relaxed = relaxed_hints(written, proposed)
    if not relaxed:
        return proposal
    texts = [f"{hint}={value}" for hint, value in relaxed.items()]
    asked = f"its author wrote {' and '.join(texts)}, but {of.besides_hints}"
    if proposal.behavior != "read":
        if not of.sure or proposal.asked:  # nothing shows that its author is wrong
            return replace(proposal, kept=relaxed)
        return replace(proposal, kept=relaxed, asked=asked, others=(proposal.behavior,))
    kept = _select_hints(written, (DESTRUCTIVE, IDEMPOTENT))
    return replace(
        proposal,
        behavior="action",
        kept=kept,
        asked=proposal.asked or asked,
        others=("action", proposal.behavior),
        exceptions=(),
    )


def _select_hints(written: Mapping[str, bool], hints: Sequence[str]) -> dict[str, bool]:
    return {hint: written[hint] for hint in hints if hint in written}


def _weigh_evidence(of: Evidence) -> Proposal:
    """The behavior that the evidence of one tool says."""
    if not of.by_name and of.chooses and (of.sure or of.weak or of.by_words != "read"):
        unsure = of.by_words == "read" and not of.sure
        why = f"its words say read, but {format_effect(of.weak[0])}" if unsure else ""
        return _build_proposal(of, "action", why, "read")
    if of.by_name == "read":
        return _weigh_read_name(of)
    if of.by_name in ("create", "ensure", "append"):
        return _weigh_addition_name(of)
    if of.by_name == "action":
        return _weigh_action_name(of)
    if of.by_name:
        reads = of.by_words == "read" and not of.sure and not of.weak
        why = f"{of.name_says}, its words and hints say read"
        if reads and (of.hinted or "read" in of.tagged):
            return _build_proposal(of, of.by_name, why, "read")
        return _build_proposal(of, of.by_name)
    return _weigh_without_verb(of)


def _build_proposal(
    of: Evidence, behavior: str, asked: str = "", *others: str
) -> Proposal:
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
        asked = f"{of.name_says}, but {format_effect(of.stores[0])}"
    elif stored != behavior and asked:
        others = (*others, behavior)
    exceptions: tuple[dict[str, Any], ...] = ()
    if stored == "delete" and any(effect.kind == "consume" for effect in of.sure):
        exceptions = ({"hint": "idempotent", "value": False, "why": POPS},)
    options = tuple(dict.fromkeys([stored, *others])) if asked else ()
    return Proposal(of.tool, stored, of.texts, asked, options, exceptions)


def _weigh_read_name(of: Evidence) -> Proposal:
    """A name that reads, unless something else says that it writes."""
    if clash := _find_write_clash(of):
        why = f"{of.name_says}, but {of.besides_its_name}"
        return _build_proposal(of, choose_cautious([clash]), why, "read")
    doubted = [
        e for e in of.weak if e.depth <= 1 and not (e.sends and of.word in QUERIES)
    ]
    if not of.reads and of.by_words != "read":
        doubted = of.weak
    if doubted and not of.hinted:
        return _build_proposal(
            of, "action", f"{of.name_says}, but {format_effect(doubted[0])}", "read"
        )
    if of.vague and not of.shown_reads and not of.hinted and not of.only_computes:
        why = f"{of.word!r} may write, and its body does not show that it does not"
        return _build_proposal(of, "action", why, "read")
    return _build_proposal(of, "read")


def _find_write_clash(of: Evidence) -> str:
    """What a tool does whose name reads, where something else says that it writes; empty: nothing does."""
    writes = of.by_words not in ("read", "")
    if clash := of.written or (derive_behavior(of.weak) if writes else ""):
        return clash
    if of.against:
        return "action"
    if writes and not (of.hinted or "read" in of.tagged):
        return of.by_words
    tagged = "write" in of.tagged and "read" not in of.tagged
    hinted = of.hinted is False and not of.reads and of.by_words != "read"
    return "action" if tagged or hinted else ""


def _weigh_addition_name(of: Evidence) -> Proposal:
    """A name that adds, unless its body takes away or replaces."""
    named, new = of.by_name, of.body.of("guarded", "fresh")
    near = [e for e in of.sure if e.depth <= 1]
    if deletes := [e for e in near if e.kind in ("delete", "consume")]:
        why = f"{of.name_says}, but {format_effect(deletes[0])}"
        return _build_proposal(of, "action", why, named, "put")
    if named == "create" and of.upserts and not new:
        why = f"{of.name_says}, its description says {of.upserts[0]!r}"
        return _build_proposal(of, "put", why, named, "ensure")
    kinds = {e.kind for e in near}
    if of.again and kinds <= {"put", "append", "save"} and named != "ensure":
        return _build_proposal(of, "append")
    whole = [e for e in of.sure if e.depth <= 1 or WHOLE.search(e.text)]
    inserts = new and of.only_inserts and named == "create"
    if (
        whole
        and {e.kind for e in whole} <= {"put"}
        and named != "ensure"
        and not inserts
    ):
        why = f"{of.name_says}, but {format_effect(whole[0])}, which may replace"
        return _build_proposal(of, "put", why, named, "ensure")
    if (
        of.word in REPLACES
        and kinds & {"save", "put"}
        and of.tool.hints.get("destructiveHint")
    ):
        return _build_proposal(of, "put")
    return _build_proposal(
        of, "append" if named == "create" and kinds == {"append"} else named
    )


def _weigh_action_name(of: Evidence) -> Proposal:
    """A name that says that something runs, which may only read."""
    if not of.written and of.reads and not of.weak:
        if of.by_words == "read" and (of.hinted or of.for_reads):
            return _build_proposal(of, "read")
        if of.by_words == "read" or of.hinted:
            return _build_proposal(
                of,
                "action",
                f"{of.name_says}, but {format_effect(of.reads[0])}",
                "read",
            )
    if of.by_words == "read" and of.hinted and not of.written:
        return _build_proposal(
            of, "action", "its name and its words say two things", "read"
        )
    if not of.sure and ("query" in of.tool.name or of.for_reads):
        return _build_proposal(
            of, "action", f"it may {of.word} what only reads", "read"
        )
    return _build_proposal(of, "action")


def _weigh_without_verb(of: Evidence) -> Proposal:
    """A name without a verb: its body and its words say what it does."""
    told = of.by_words
    if does := _derive_from_body(of):
        if told == "read" and of.hinted is not False:
            return _build_proposal(
                of,
                does,
                f"{of.description_says}, but {format_effect(of.sure[0])}",
                "read",
            )
        behavior = does if told in ("", "read") else told
        return _build_proposal(
            of, behavior if behavior == "create" else choose_cautious([behavior, does])
        )
    if told == "read" and not of.against and (of.reads or of.hinted or not of.weak):
        return _build_proposal(of, "read")
    pure = bool(of.reads) and not (of.sure or of.weak or of.against) and of.body.whole
    if told == "read":
        return _build_proposal(of, "action", "its words are all that says read", "read")
    if told and pure and not of.describes_surely:
        return _build_proposal(
            of,
            told,
            f"its words say {of.described[0].word!r}, but {format_effect(of.reads[0])}",
            "read",
        )
    if told:
        return _build_proposal(of, told)
    if pure:
        return _build_proposal(of, "read")
    if of.names_a_target and not of.weak:
        return _build_proposal(of, "put")
    if of.reads and not of.weak:
        why = "only its body shows that it reads, and not that it keeps nothing"
    else:
        why = "nothing in its name, its words or its body says what it does"
    return _build_proposal(of, "action", why, "read")


def _derive_from_body(of: Evidence) -> str:
    """The behavior that a body comes to; what it may do counts where no word says that it reads."""
    hidden = all(e.depth and WHOLE.search(e.text) for e in of.sure)
    if of.written == "put" and hidden and not of.body.of("sets", "guarded", "fresh"):
        return (
            "action"  # a file is written as a whole; what has changed in it is not seen
        )
    return of.written or (derive_behavior(of.weak) if of.by_words != "read" else "")
