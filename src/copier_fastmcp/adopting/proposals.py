"""Proposals of a behavior for each tool of a server, with the evidence.

The body counts most, then the verb of the name, the description, the parameters, and last the hints
that it has. Where they agree, that is proposed; where they say read and write, it is a question,
and the cautious answer is the one that is destructive.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from copier_fastmcp_engine.testing.rules import Tool

from ..analysis.effects import Body, Effect, Reader
from ..auditing.definitions import parse_tools
from ..auditing.evidence import DESTRUCTIVE, IDEMPOTENT, READ_ONLY
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
    select_near_effects,
)
from .hints import derive_hints, find_relaxed_hints, format_hints
from .plumbing import find_plumbing

# Verbs of reads that APIs also take by POST.
QUERIES = {"search", "find", "query", "lookup", "check", "resolve", "validate"}
# Verbs that write a file, also over one that exists.
REPLACES = {"create", "copy", "generate", "export", "compose"}
# Parameters that name a file to write.
OUTPUTS = {"output", "outfile", "outpath", "dest", "out_path", "output_path"}
OUTPUTS |= {"output_file", "dest_path", "destination_path"}
# Verbs that add a record, or replace one.
STORES = {"keep", "remember", "save", "store"}
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
        tools: Its tools.
    """
    reader = Reader(project)
    definitions = map(build_definition, tools)
    subjects = parse_tools(list(map(Tool, definitions)))
    bodies: list[Body] = []
    reading_bodies: list[Body] = []
    for tool, subject in zip(tools, subjects, strict=True):
        body = Body()
        if tool.function and tool.home:
            body = reader.body(tool.function, tool.home)
        bodies.append(body)
        if is_named_as_read(subject):
            reading_bodies.append(body)
    shared = find_plumbing(reading_bodies)
    proposals = []
    for tool, subject, body in zip(tools, subjects, bodies, strict=True):
        evidence = Evidence(tool, body, subject, shared)
        proposal = _doubt_output(evidence, _weigh_evidence(evidence))
        proposals.append(_keep_written_hints(evidence, proposal))
    return proposals


def _doubt_output(evidence: Evidence, proposal: Proposal) -> Proposal:
    """A question instead of a read, where an unknown call may write to the output that a parameter names."""
    outputs = sorted(OUTPUTS & evidence.parameters)
    if proposal.behavior != "read" or proposal.asked or not outputs:
        return proposal
    if evidence.only_computes and not evidence.body.prepares:
        return proposal
    question = f"it takes {outputs[0]!r}, where its body may write a file"
    return _build_proposal(evidence, "action", question, "read")


def _keep_written_hints(evidence: Evidence, proposal: Proposal) -> Proposal:
    """A proposal that changes no hint of the author's without evidence, and relaxes none without a question."""
    written = evidence.tool.hints
    behavior = proposal.behavior
    is_agreed_read = behavior == "read" and written.get(READ_ONLY) is True
    is_unproven = behavior == "action" and not evidence.sure and not proposal.asked
    if is_agreed_read or is_unproven:
        kept_hints = _select_hints(written, (DESTRUCTIVE, IDEMPOTENT))
        return replace(proposal, kept_hints=kept_hints)
    proposed = derive_hints(evidence.tool.name, behavior, proposal.exceptions)
    relaxed = find_relaxed_hints(written, proposed)
    if not relaxed:
        return proposal
    written_hints = " and ".join(format_hints(relaxed))
    question = f"its author wrote {written_hints}, but {evidence.other_evidence}"
    if behavior == "read":
        return replace(
            proposal,
            behavior="action",
            kept_hints=_select_hints(written, (DESTRUCTIVE, IDEMPOTENT)),
            asked=proposal.asked or question,
            choices=("action", behavior),
            exceptions=(),
        )
    if not evidence.sure or proposal.asked:
        # Nothing shows that its author is wrong.
        return replace(proposal, kept_hints=relaxed)
    return replace(proposal, kept_hints=relaxed, asked=question, choices=(behavior,))


def _select_hints(written: Mapping[str, bool], hints: Sequence[str]) -> dict[str, bool]:
    return {hint: written[hint] for hint in hints if hint in written}


def _weigh_evidence(evidence: Evidence) -> Proposal:
    """The behavior that the evidence of one tool shows."""
    if not evidence.by_name:
        return _weigh_without_verb(evidence)
    if evidence.by_name == "read":
        return _weigh_read_name(evidence)
    if evidence.names_a_status and evidence.describes_read and not evidence.may_write:
        return _build_proposal(evidence, "read")
    if evidence.by_name in ("create", "ensure", "append"):
        return _weigh_addition_name(evidence)
    if evidence.by_name == "action":
        return _weigh_action_name(evidence)
    return _weigh_change_name(evidence)


def _weigh_change_name(evidence: Evidence) -> Proposal:
    """A name that changes or removes, unless everything else says that it reads."""
    is_marked_read = evidence.hinted or "read" in evidence.tagged
    describes_read = evidence.by_words == "read" and not evidence.may_write
    if describes_read and is_marked_read:
        question = f"{evidence.name_says}, its words and hints say read"
        return _build_proposal(evidence, evidence.by_name, question, "read")
    if evidence.word in STORES and evidence.only_adds_rows:
        return _build_proposal(evidence, "create")
    near = select_near_effects(evidence.sure, 1)
    if near and _list_kinds(evidence.sure) == {"delete"}:
        return _build_proposal(evidence, "delete")  # it writes nothing in its place
    return _build_proposal(evidence, evidence.by_name)


def _build_proposal(
    evidence: Evidence, behavior: str, question: str = "", *choices: str
) -> Proposal:
    """A proposal of a behavior, or of the one that the body shows where it stores in another way.

    Args:
        evidence: The evidence.
        behavior: The behavior that it shows.
        question: Why only the user can decide; empty where the evidence agrees.
        choices: Other possible behaviors.
    """
    if behavior == "put" and edits_a_part(evidence.tool):
        behavior = "update"
    stored = evidence.resolve_stored_behavior(behavior)
    counts_on = stored == "action"  # the cautious one, which promises nothing
    is_named = behavior == evidence.by_name
    if stored != behavior and is_named and not (question or counts_on):
        question = f"{evidence.name_says}, but {format_effect(evidence.stores[0])}"
    elif stored != behavior and question:
        choices = (*choices, behavior)
    exceptions: tuple[dict[str, Any], ...] = ()
    kinds = _list_kinds(evidence.sure)
    if stored == "delete" and "consume" in kinds:
        exceptions = ({"hint": "idempotent", "value": False, "why": POPS},)
    options = tuple(dict.fromkeys([stored, *choices])) if question else ()
    return Proposal(
        evidence.tool, stored, evidence.texts, question, options, exceptions
    )


def _weigh_read_name(evidence: Evidence) -> Proposal:
    """A name that reads, unless something else says that it writes."""
    clash = _find_write_clash(evidence)
    if clash:
        question = f"{evidence.name_says}, but {evidence.other_write_evidence}"
        return _build_proposal(evidence, choose_cautious([clash]), question, "read")
    if evidence.hinted:
        return _build_proposal(evidence, "read")
    question = ""
    if evidence.chooses and not evidence.shows_only_reads:
        question = f"{evidence.name_says}, but a parameter chooses what it does"
        return _build_proposal(evidence, "action", question, "read")
    if evidence.side_effect and not evidence.only_computes:
        question = f"{evidence.name_says}, but {evidence.side_effect}"
        return _build_proposal(evidence, "action", question, "read")
    doubted = _list_doubted_effects(evidence)
    is_shown = bool(evidence.shown_reads) or evidence.only_computes
    if doubted:
        question = f"{evidence.name_says}, but {format_effect(doubted[0])}"
    elif evidence.vague and not is_shown:
        unproven = "its body does not show that it does not"
        question = f"{evidence.word!r} may write, and {unproven}"
    if question:
        return _build_proposal(evidence, "action", question, "read")
    return _build_proposal(evidence, "read")


def _list_doubted_effects(evidence: Evidence) -> list[Effect]:
    """The effects that may write, and that a name which reads does not explain."""
    is_undescribed = not evidence.reads and evidence.by_words != "read"
    doubted: list[Effect] = []
    for effect in evidence.weak:
        if evidence.only_asks(effect):
            continue
        is_used = effect.sends and not effect.discards
        is_query = is_used and evidence.word in QUERIES
        if is_undescribed and not is_query:
            doubted.append(effect)
            continue
        is_near = (effect.depth <= 1 or effect.sends) and not is_query
        if is_near or evidence.is_requested(effect, queries=is_query):
            doubted.append(effect)
    return doubted


def _find_write_clash(evidence: Evidence) -> str:
    """The behavior of a tool whose name reads, where other evidence shows a write; empty: none does."""
    describes_write = evidence.by_words not in ("read", "")
    clash = evidence.written
    if not clash and describes_write:
        clash = derive_behavior(evidence.weak)
    if clash:
        return clash
    if evidence.against:
        return "action"
    tagged_read = "read" in evidence.tagged
    if describes_write and not evidence.hinted and not tagged_read:
        return evidence.by_words
    tagged_write = "write" in evidence.tagged and not tagged_read
    shows_read = bool(evidence.reads) or evidence.by_words == "read"
    hinted_write = evidence.hinted is False and not shows_read
    return "action" if tagged_write or hinted_write else ""


def _weigh_addition_name(evidence: Evidence) -> Proposal:
    """A name that adds, unless its body takes away or replaces."""
    named, new = evidence.by_name, evidence.body.of("guarded", "fresh")
    near = select_near_effects(evidence.sure, 1)
    for effect in near:
        if effect.kind in ("delete", "consume"):
            question = f"{evidence.name_says}, but {format_effect(effect)}"
            return _build_proposal(evidence, "action", question, named, "put")
    if named == "ensure" and _list_kinds(evidence.sure) & {"delete", "consume"}:
        return _build_proposal(evidence, "action")  # what it takes away is used up
    if named == "create" and evidence.upserts and not new:
        question = f"{evidence.name_says}, its description says {evidence.upserts[0]!r}"
        return _build_proposal(evidence, "put", question, named, "ensure")
    kinds = _list_kinds(near)
    if evidence.again and kinds <= {"put", "append", "save"} and named != "ensure":
        return _build_proposal(evidence, "append")
    whole = _list_whole_writes(evidence)
    whole_kinds = _list_kinds(whole)
    inserts = new and evidence.only_inserts and named == "create"
    replaces_near = "put" in whole_kinds and whole_kinds <= {"put", "save"}
    if replaces_near and named != "ensure" and not inserts:
        effect_text = format_effect(whole[0])
        question = f"{evidence.name_says}, but {effect_text}, which may replace"
        return _build_proposal(evidence, "put", question, named, "ensure")
    replaces = evidence.word in REPLACES and bool(kinds & {"save", "put"})
    is_target_replaced = evidence.names_a_file and not new
    may_replace = named == "create" and (is_target_replaced or evidence.overwrites)
    is_declared = replaces and bool(evidence.tool.hints.get(DESTRUCTIVE))
    behavior = named
    if is_declared or may_replace:
        behavior = "put"
    elif named == "create" and kinds == {"append"}:
        behavior = "append"
    return _build_proposal(evidence, behavior)


def _list_kinds(effects: Iterable[Effect]) -> set[str]:
    return {effect.kind for effect in effects}


def _list_whole_writes(evidence: Evidence) -> list[Effect]:
    """The certain effects that are near, or that write a file as a whole."""
    whole: list[Effect] = []
    for effect in evidence.sure:
        if effect.is_built_request:
            continue  # an update may well be how a record is added to a document
        if effect.depth <= 1 or WHOLE.search(effect.text):
            whole.append(effect)
    return whole


def _weigh_action_name(evidence: Evidence) -> Proposal:
    """A name that says that something runs, which may only read."""
    describes_read = evidence.describes_read
    if describes_read and evidence.only_assesses:
        return _build_proposal(evidence, "read")
    question = ""
    if not evidence.sure and ("query" in evidence.tool.name or evidence.for_reads):
        question = f"it may {evidence.word} what only reads"
    if describes_read and evidence.hinted and not evidence.written:
        question = "its name and its words say two things"
    if not evidence.written and evidence.reads and not evidence.weak:
        if describes_read and (evidence.hinted or evidence.for_reads):
            return _build_proposal(evidence, "read")
        if describes_read or evidence.hinted:
            effect_text = format_effect(evidence.reads[0])
            question = f"{evidence.name_says}, but {effect_text}"
    if question:
        return _build_proposal(evidence, "action", question, "read")
    return _build_proposal(evidence, "action")


def _weigh_without_verb(evidence: Evidence) -> Proposal:
    """A name without a verb: its parameters, its body and its words show what it does."""
    only_reads = evidence.by_words == "read" and not evidence.may_write
    is_shown = evidence.shows_only_reads or evidence.hinted
    if evidence.chooses and not (only_reads and is_shown):
        return _weigh_chooser(evidence)
    body_behavior = _derive_from_body(evidence)
    if body_behavior:
        return _weigh_writing_body(evidence, body_behavior)
    if evidence.by_words == "read":
        return _weigh_described_read(evidence)
    if evidence.by_words:
        return _weigh_described_write(evidence)
    return _weigh_undescribed(evidence)


def _weigh_undescribed(evidence: Evidence) -> Proposal:
    """A tool that neither its name nor its description explains."""
    is_declared_read = evidence.hinted and not (evidence.may_write or evidence.against)
    if evidence.shows_only_reads or is_declared_read:
        return _build_proposal(evidence, "read")
    if evidence.returns_what_it_computes and not evidence.marked_write:
        return _build_proposal(evidence, "read")
    if evidence.names_a_target and not evidence.weak:
        return _build_proposal(evidence, "put")
    if evidence.marked_write:
        return _build_proposal(evidence, "action")
    question = "nothing in its name, its words or its body says what it does"
    if evidence.reads and not evidence.weak:
        question = "only its body shows that it reads, and not that it keeps nothing"
    return _build_proposal(evidence, "action", question, "read")


def _weigh_chooser(evidence: Evidence) -> Proposal:
    """A parameter that chooses what a tool does, which may be a write."""
    question = ""
    if evidence.by_words == "read" and not (evidence.sure or evidence.offers_writes):
        reason = "a parameter chooses what it does"
        if evidence.weak:
            reason = format_effect(evidence.weak[0])
        question = f"its words say read, but {reason}"
    return _build_proposal(evidence, "action", question, "read")


def _weigh_writing_body(evidence: Evidence, body_behavior: str) -> Proposal:
    """A body that writes, whose tool has a name without a verb."""
    described = evidence.by_words
    if described == "read" and evidence.hinted is not False:
        effect_text = format_effect(evidence.sure[0])
        question = f"{evidence.description_says}, but {effect_text}"
        return _build_proposal(evidence, body_behavior, question, "read")
    if described in ("", "read"):
        described = body_behavior
    if described == "create" and body_behavior != "delete":
        behavior = "put" if evidence.names_a_file else "create"
        return _build_proposal(evidence, behavior)
    behavior = choose_cautious([described, body_behavior])
    own_kinds = _list_kinds(select_near_effects(evidence.sure, 0))
    removes_only = evidence.body.whole or "delete" in own_kinds
    is_own = removes_only and not evidence.by_words
    if behavior == "delete" and evidence.by_words != "delete" and not is_own:
        behavior = "action"  # it takes something away on the side, and not only that
    return _build_proposal(evidence, behavior)


def _weigh_described_read(evidence: Evidence) -> Proposal:
    """A description that says read, of a tool whose body does not visibly write."""
    is_shown = bool(evidence.reads or evidence.hinted or evidence.only_computes)
    is_vague = evidence.describes_a_thing or evidence.describes_vaguely
    is_supported = is_shown or not (evidence.weak or is_vague)
    if is_supported and evidence.tagged_write:
        question = f"{evidence.description_says}, but its tags say write"
        return _build_proposal(evidence, "action", question, "read")
    if is_supported and not evidence.against:
        return _build_proposal(evidence, "read")
    if evidence.marked_write and not is_shown:
        return _build_proposal(evidence, "action")
    question = "its words are all that says read"
    return _build_proposal(evidence, "action", question, "read")


def _weigh_described_write(evidence: Evidence) -> Proposal:
    """A description that says write, of a tool whose body does not visibly write."""
    if evidence.by_words == "create" and evidence.names_a_file:
        return _build_proposal(evidence, "put")  # also over a file that exists
    if not evidence.shows_only_reads or evidence.describes_surely:
        return _build_proposal(evidence, evidence.by_words)
    word = evidence.described[0].word
    question = f"its words say {word!r}, but {format_effect(evidence.reads[0])}"
    return _build_proposal(evidence, evidence.by_words, question, "read")


def _derive_from_body(evidence: Evidence) -> str:
    """The behavior of a body; possible writes count where no word says that it reads."""
    is_hidden = all(map(_is_hidden_write, evidence.sure))
    shows_change = bool(evidence.body.of("sets", "guarded", "fresh"))
    if evidence.written == "put" and is_hidden and not shows_change:
        # A file is written as a whole; what has changed in it is not seen.
        return "action"
    if evidence.written or evidence.by_words == "read":
        return evidence.written
    return derive_behavior(evidence.weak)


def _is_hidden_write(effect: Effect) -> bool:
    """Whether an effect writes a whole file, further down than the body itself."""
    return bool(effect.depth and WHOLE.search(effect.text))
