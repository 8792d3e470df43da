"""A behavior for each tool of a server, with the evidence: its body, its name, its words, its hints.

The body counts most, then the verb of the name, the description, the parameters, and last the hints
that it has. Where they agree, that is proposed; where they say read and write, it is a question,
and the cautious answer is the one that is destructive.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from copier_fastmcp_engine.testing.rules import Tool

from ..analysis.effects import Body, Effect, Reader
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
    """The proposed behavior of a tool.

    Attributes:
        tool: The tool as its source registers it.
        behavior: The proposed behavior; the cautious one where it is a question.
        evidence: Evidence for and against the behavior, the strongest first.
        asked: The question to the user; empty where the evidence agrees.
        choices: The answers to the question, the proposed behavior first.
        exceptions: Hints that differ from the behavior, each with its reason.
        kept_hints: Hints as their author wrote them, which the behavior alone would change.
    """

    tool: SourceTool
    behavior: str
    evidence: tuple[str, ...]
    asked: str = ""
    choices: tuple[str, ...] = ()
    exceptions: tuple[dict[str, Any], ...] = field(default=())
    kept_hints: Mapping[str, bool] = field(default_factory=dict)


def propose_behaviors(project: Project, tools: Sequence[SourceTool]) -> list[Proposal]:
    """Propose a behavior for each tool that has a function.

    Args:
        project: The source of the server.
        found: Its tools.
    """
    reader = Reader(project)
    subjects = parse_tools([Tool(build_definition(tool)) for tool in tools])
    bodies = []
    for tool in tools:
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
    for tool, subject, body in zip(tools, subjects, bodies, strict=True):
        evidence = Evidence(tool, body, subject, shared)
        proposals.append(_keep_written_hints(evidence, _weigh_evidence(evidence)))
    return proposals


def _keep_written_hints(evidence: Evidence, proposal: Proposal) -> Proposal:
    """A proposal that changes no hint of the author's without evidence, and relaxes none without a question."""
    written = evidence.tool.hints
    proposed = behavior_hints(
        evidence.tool.name, proposal.behavior, proposal.exceptions
    )
    if proposal.behavior == "read" and written.get(READ_ONLY) is True:
        return replace(
            proposal, kept_hints=_select_hints(written, (DESTRUCTIVE, IDEMPOTENT))
        )
    if proposal.behavior == "action" and not evidence.sure and not proposal.asked:
        return replace(
            proposal, kept_hints=_select_hints(written, (DESTRUCTIVE, IDEMPOTENT))
        )
    relaxed = relaxed_hints(written, proposed)
    if not relaxed:
        return proposal
    texts = [f"{hint}={value}" for hint, value in relaxed.items()]
    question = f"its author wrote {' and '.join(texts)}, but {evidence.besides_hints}"
    if proposal.behavior != "read":
        if (
            not evidence.sure or proposal.asked
        ):  # nothing shows that its author is wrong
            return replace(proposal, kept_hints=relaxed)
        return replace(
            proposal, kept_hints=relaxed, asked=question, choices=(proposal.behavior,)
        )
    kept_hints = _select_hints(written, (DESTRUCTIVE, IDEMPOTENT))
    return replace(
        proposal,
        behavior="action",
        kept_hints=kept_hints,
        asked=proposal.asked or question,
        choices=("action", proposal.behavior),
        exceptions=(),
    )


def _select_hints(written: Mapping[str, bool], hints: Sequence[str]) -> dict[str, bool]:
    return {hint: written[hint] for hint in hints if hint in written}


def _weigh_evidence(evidence: Evidence) -> Proposal:
    """The behavior that the evidence of one tool says."""
    if (
        not evidence.by_name
        and evidence.chooses
        and (evidence.sure or evidence.weak or evidence.by_words != "read")
    ):
        unsure = evidence.by_words == "read" and not evidence.sure
        question = (
            f"its words say read, but {format_effect(evidence.weak[0])}"
            if unsure
            else ""
        )
        return _build_proposal(evidence, "action", question, "read")
    if evidence.by_name == "read":
        return _weigh_read_name(evidence)
    if evidence.by_name in ("create", "ensure", "append"):
        return _weigh_addition_name(evidence)
    if evidence.by_name == "action":
        return _weigh_action_name(evidence)
    if evidence.by_name:
        describes_read = (
            evidence.by_words == "read" and not evidence.sure and not evidence.weak
        )
        question = f"{evidence.name_says}, its words and hints say read"
        if describes_read and (evidence.hinted or "read" in evidence.tagged):
            return _build_proposal(evidence, evidence.by_name, question, "read")
        return _build_proposal(evidence, evidence.by_name)
    return _weigh_without_verb(evidence)


def _build_proposal(
    evidence: Evidence, behavior: str, question: str = "", *choices: str
) -> Proposal:
    """A behavior, or what is said in its place where its body stores in another way.

    Args:
        of: The evidence.
        behavior: What it comes to.
        asked: Why only a person can say; empty where the evidence agrees.
        choices: What else it may be.
    """
    behavior = (
        "update" if behavior == "put" and edits_a_part(evidence.tool) else behavior
    )
    stored = evidence.resolve_stored_behavior(behavior)
    if stored != behavior and behavior == evidence.by_name and not question:
        question = f"{evidence.name_says}, but {format_effect(evidence.stores[0])}"
    elif stored != behavior and question:
        choices = (*choices, behavior)
    exceptions: tuple[dict[str, Any], ...] = ()
    kinds = {effect.kind for effect in evidence.sure}
    if stored == "delete" and "consume" in kinds:
        exceptions = ({"hint": "idempotent", "value": False, "why": POPS},)
    options = tuple(dict.fromkeys([stored, *choices])) if question else ()
    return Proposal(
        evidence.tool, stored, evidence.texts, question, options, exceptions
    )


def _weigh_read_name(evidence: Evidence) -> Proposal:
    """A name that reads, unless something else says that it writes."""
    if clash := _find_write_clash(evidence):
        question = f"{evidence.name_says}, but {evidence.besides_its_name}"
        return _build_proposal(evidence, choose_cautious([clash]), question, "read")
    doubted: list[Effect] = []
    for effect in evidence.weak:
        is_used = effect.sends and not effect.discards
        is_query = is_used and evidence.word in QUERIES
        is_near = effect.depth <= 1 and not is_query
        if is_near or evidence.is_requested(effect, queries=is_query):
            doubted.append(effect)
    if not evidence.reads and evidence.by_words != "read":
        doubted = evidence.weak
    if doubted and not evidence.hinted:
        return _build_proposal(
            evidence,
            "action",
            f"{evidence.name_says}, but {format_effect(doubted[0])}",
            "read",
        )
    if (
        evidence.vague
        and not evidence.shown_reads
        and not evidence.hinted
        and not evidence.only_computes
    ):
        question = (
            f"{evidence.word!r} may write, and its body does not show that it does not"
        )
        return _build_proposal(evidence, "action", question, "read")
    return _build_proposal(evidence, "read")


def _find_write_clash(evidence: Evidence) -> str:
    """What a tool does whose name reads, where something else says that it writes; empty: nothing does."""
    describes_write = evidence.by_words not in ("read", "")
    if clash := evidence.written or (
        derive_behavior(evidence.weak) if describes_write else ""
    ):
        return clash
    if evidence.against:
        return "action"
    if describes_write and not (evidence.hinted or "read" in evidence.tagged):
        return evidence.by_words
    tagged = "write" in evidence.tagged and "read" not in evidence.tagged
    hinted = (
        evidence.hinted is False and not evidence.reads and evidence.by_words != "read"
    )
    return "action" if tagged or hinted else ""


def _weigh_addition_name(evidence: Evidence) -> Proposal:
    """A name that adds, unless its body takes away or replaces."""
    named, new = evidence.by_name, evidence.body.of("guarded", "fresh")
    near = [effect for effect in evidence.sure if effect.depth <= 1]
    for effect in near:
        if effect.kind in ("delete", "consume"):
            question = f"{evidence.name_says}, but {format_effect(effect)}"
            return _build_proposal(evidence, "action", question, named, "put")
    if named == "create" and evidence.upserts and not new:
        question = f"{evidence.name_says}, its description says {evidence.upserts[0]!r}"
        return _build_proposal(evidence, "put", question, named, "ensure")
    kinds = {effect.kind for effect in near}
    if evidence.again and kinds <= {"put", "append", "save"} and named != "ensure":
        return _build_proposal(evidence, "append")
    whole: list[Effect] = []
    for effect in evidence.sure:
        if effect.depth <= 1 or WHOLE.search(effect.text):
            whole.append(effect)
    whole_kinds = {effect.kind for effect in whole}
    inserts = new and evidence.only_inserts and named == "create"
    if whole_kinds == {"put"} and named != "ensure" and not inserts:
        question = (
            f"{evidence.name_says}, but {format_effect(whole[0])}, which may replace"
        )
        return _build_proposal(evidence, "put", question, named, "ensure")
    if (
        evidence.word in REPLACES
        and kinds & {"save", "put"}
        and evidence.tool.hints.get("destructiveHint")
    ):
        return _build_proposal(evidence, "put")
    return _build_proposal(
        evidence, "append" if named == "create" and kinds == {"append"} else named
    )


def _weigh_action_name(evidence: Evidence) -> Proposal:
    """A name that says that something runs, which may only read."""
    if not evidence.written and evidence.reads and not evidence.weak:
        if evidence.by_words == "read" and (evidence.hinted or evidence.for_reads):
            return _build_proposal(evidence, "read")
        if evidence.by_words == "read" or evidence.hinted:
            return _build_proposal(
                evidence,
                "action",
                f"{evidence.name_says}, but {format_effect(evidence.reads[0])}",
                "read",
            )
    if evidence.by_words == "read" and evidence.hinted and not evidence.written:
        return _build_proposal(
            evidence, "action", "its name and its words say two things", "read"
        )
    if not evidence.sure and ("query" in evidence.tool.name or evidence.for_reads):
        return _build_proposal(
            evidence, "action", f"it may {evidence.word} what only reads", "read"
        )
    return _build_proposal(evidence, "action")


def _weigh_without_verb(evidence: Evidence) -> Proposal:
    """A name without a verb: its body and its words say what it does."""
    described_behavior = evidence.by_words
    if body_behavior := _derive_from_body(evidence):
        if described_behavior == "read" and evidence.hinted is not False:
            return _build_proposal(
                evidence,
                body_behavior,
                f"{evidence.description_says}, but {format_effect(evidence.sure[0])}",
                "read",
            )
        behavior = (
            body_behavior if described_behavior in ("", "read") else described_behavior
        )
        return _build_proposal(
            evidence,
            behavior
            if behavior == "create"
            else choose_cautious([behavior, body_behavior]),
        )
    if (
        described_behavior == "read"
        and not evidence.against
        and (evidence.reads or evidence.hinted or not evidence.weak)
    ):
        return _build_proposal(evidence, "read")
    pure = (
        bool(evidence.reads)
        and not (evidence.sure or evidence.weak or evidence.against)
        and evidence.body.whole
    )
    if described_behavior == "read":
        return _build_proposal(
            evidence, "action", "its words are all that says read", "read"
        )
    if described_behavior and pure and not evidence.describes_surely:
        return _build_proposal(
            evidence,
            described_behavior,
            f"its words say {evidence.described[0].word!r}, but {format_effect(evidence.reads[0])}",
            "read",
        )
    if described_behavior:
        return _build_proposal(evidence, described_behavior)
    if pure:
        return _build_proposal(evidence, "read")
    if evidence.names_a_target and not evidence.weak:
        return _build_proposal(evidence, "put")
    if evidence.reads and not evidence.weak:
        question = "only its body shows that it reads, and not that it keeps nothing"
    else:
        question = "nothing in its name, its words or its body says what it does"
    return _build_proposal(evidence, "action", question, "read")


def _derive_from_body(evidence: Evidence) -> str:
    """The behavior that a body comes to; what it may do counts where no word says that it reads."""
    hidden = all(e.depth and WHOLE.search(e.text) for e in evidence.sure)
    if (
        evidence.written == "put"
        and hidden
        and not evidence.body.of("sets", "guarded", "fresh")
    ):
        return (
            "action"  # a file is written as a whole; what has changed in it is not seen
        )
    return evidence.written or (
        derive_behavior(evidence.weak) if evidence.by_words != "read" else ""
    )
