"""What speaks for what one tool does: its body, its name, its description, its parameters, its hints."""

import ast
import re
from collections.abc import Sequence

from ..analysis.effects import Body, Effect
from ..auditing.definitions import collect_evidence
from ..auditing.evidence import READ_ONLY, WEAK, ToolTexts
from ..auditing.evidence import Evidence as DefinitionEvidence
from ..auditing.verbs import Verb, parse_name, split_name
from ..sources.registrations import SourceTool
from ..tables import load_tables
from .definitions import build_definition
from .plumbing import is_plumbing, is_requested

# The most cautious first: what each behavior loses and repeats.
CAUTION = ("action", "delete", "put", "update", "append", "create", "ensure")
OF_KIND = {"add": "create", "ensure": "ensure", "change": "put", "remove": "delete"}
OF_EFFECT = {"consume": "delete", "save": "put"}
# Reads by convention, whatever their body hides. `find` and `check` are not: find_my_ring makes it ring.
SURE_READS = {
    "get",
    "list",
    "fetch",
    "read",
    "show",
    "describe",
    "search",
    "lookup",
    "count",
}
CHOOSERS = {"action", "operation"}  # a parameter that says what to do
# A file is written as a whole, whatever has changed in it.
WHOLE = re.compile(r"\.(?:write\w*|dump|save\w*)\(\)|\(\) to write")
SCHEMA_SOURCES = {"parameters", "choices", "result", "phrases"}
REPEATS = {
    "put",
    "ensure",
    "delete",
}  # they say that the same call again changes nothing more


class Evidence:
    """What is known of one tool before it is weighed.

    Attributes:
        tool: The tool as its source registers it.
        body: What its body does.
        by_name: The behavior that its name says, and `word` the verb that says it; empty: none does.
        by_words: The behavior that its description says; empty: it says none.
        upserts: Words of a description that both creates and changes.
        sure: Effects of its body that write for certain, and `weak` those that may.
        reads: Effects that read.
        again: Effects by which the same call changes more the second time.
        stores: The one effect that shows best how it stores.
        written: The behavior that `sure` comes to; empty: none.
        against: Signals of its definition that it writes, and `for_reads` that it reads.
        hinted: Its readOnlyHint, None where it has none.
        tagged: Its tags.
        vague: Whether neither its verb nor its description is sure.
        chooses: Whether a parameter says what it does.
        texts: All of it in words, the strongest first.
    """

    def __init__(
        self,
        tool: SourceTool,
        body: Body,
        subject: ToolTexts,
        shared: frozenset[ast.AST] = frozenset(),
    ) -> None:
        """Gather it.

        Args:
            tool: The tool.
            body: What its body does.
            subject: Its texts.
            shared: Helpers that say nothing about any one tool.
        """
        self.tool, self.body, self.described = tool, body, subject.description_verbs
        self.shared = shared
        parameters = set(build_definition(tool)["inputSchema"]["properties"])
        self.chooses = bool(CHOOSERS & parameters)
        self.by_name, self.word = _choose_verb(subject.name_verbs)
        if self.by_name == "update" and not parameters & set(load_tables()["versions"]):
            self.by_name = "put"
        self.vague = not self.describes_surely and self.word not in SURE_READS
        self.by_words = ""
        if self.described:
            self.by_words = _choose_described_behavior(self.described)
        creates = self.by_words == "create"
        self.upserts: list[str] = []
        for verb in self.described:
            if verb.kind == "change" and creates:
                self.upserts.append(verb.word)
        self.by_words = "put" if self.upserts else self.by_words  # `create or update`
        self.against: list[DefinitionEvidence] = []
        self.for_reads: list[DefinitionEvidence] = []
        for signal in collect_evidence(subject):
            if signal.hint != READ_ONLY or signal.weight <= WEAK:
                continue
            if signal.value:
                self.for_reads.append(signal)
            elif signal.source in SCHEMA_SOURCES:
                self.against.append(signal)
        self.hinted = tool.hints.get("readOnlyHint")
        self.tagged = {tag.lower() for tag in tool.tags}
        self.sure = self._select_effects(body.writes(sure=True))
        self.weak = self._select_effects(body.writes(sure=False))
        self.reads = self._select_effects(body.of("read"))
        self.again = [effect for effect in body.of("again") if effect.depth < 3]
        may_write = self.sure or self.weak or self.by_name in REPEATS
        self.stores = (
            [*self.again, *body.of("guarded", "fresh")][:1] if may_write else []
        )
        self.texts = self._describe_evidence()
        if self.by_words == "read" and self.hinted and self.by_name in ("read", ""):
            # Its author says so three times.
            self.sure = [effect for effect in self.sure if effect.depth <= 1]
        self.written = derive_behavior(self.sure)

    @property
    def describes_surely(self) -> bool:
        """Whether a word of its description, other than its verb, says alone what it does."""
        return any(verb.sure and verb.word != self.word for verb in self.described)

    @property
    def reads_by_convention(self) -> bool:
        """Whether its name says that it reads, or without a verb its description, in a word that means it."""
        if self.by_name:
            return self.word in SURE_READS
        return self.by_words == "read" and self.described[0].word in SURE_READS

    def is_requested(self, effect: Effect, *, queries: bool) -> bool:
        """Whether a text or the name of a helper asks for a write."""
        return is_requested(effect, self.body, self.shared, queries=queries)

    @property
    def only_computes(self) -> bool:
        """Whether every call of its body is known, and none of them writes."""
        return self.body.whole and not self.sure and not self.weak

    @property
    def shown_reads(self) -> list[Effect]:
        """The reads that more than an unclear verb shows, as `ping` and `find` are."""
        clear_reads = []
        for effect in self.reads:
            callee_verbs = parse_name(effect.callee)
            if effect.sure or (callee_verbs and callee_verbs[0].word in SURE_READS):
                clear_reads.append(effect)
        return clear_reads

    def _select_effects(self, effects: Sequence[Effect]) -> list[Effect]:
        """The effects that are evidence of their own.

        A call that has the name of the tool says what the name says, and nothing more. What only sets up
        or remembers is no effect of a tool whose name is not that of a write.
        """
        names = {split_name(self.tool.name), split_name(self.tool.local)}
        if self.tool.function:
            names.add(split_name(self.tool.function.name))
        asks_only = self._has_graphql_query()
        counted = []
        for effect in effects:
            if effect.sends and asks_only:
                continue  # a query of GraphQL is sent by POST
            repeats_the_name = not effect.sure and split_name(
                effect.callee
            ) in names - {()}
            hidden = effect.depth > 0 or self.by_name in ("read", "")
            aside = effect.aside and effect.kind != "read" and hidden
            if self.reads_by_convention and effect.kind != "read":
                aside = aside or is_plumbing(effect, self.body, self.shared)
            if not repeats_the_name and not aside:
                counted.append(effect)
        return counted

    def _has_graphql_query(self) -> bool:
        """Whether the body contains a query of GraphQL."""
        for effect in self.body.of("read"):
            if effect.text.startswith("its GraphQL"):
                return True
        return False

    def _describe_evidence(self) -> tuple[str, ...]:
        shown_reads = self.reads[: 1 if self.sure else 2]
        effects = (*self.stores, *self.sure[:2], *self.weak[:1], *shown_reads)
        texts = [format_effect(effect) for effect in effects]
        texts += [self.name_says] if self.word else []
        texts += [self.description_says] if self.described else []
        texts += [signal.text for signal in self.against]
        if self.hinted is not None:
            texts.append(f"its hints say readOnly={str(self.hinted).lower()}")
        if tags := sorted(self.tagged & {"read", "write"}):
            texts.append(f"its tags say {', '.join(tags)}")
        return tuple(dict.fromkeys(texts))

    @property
    def name_says(self) -> str:
        """Its verb, in words."""
        return f"its name says {self.word!r}"

    @property
    def description_says(self) -> str:
        """The verb of its description that says what it does, in words: the first that writes, else the first."""
        for verb in self.described:
            if verb.kind != "read":
                return f"its description says {verb.word!r}"
        return f"its description says {self.described[0].word!r}"

    @property
    def besides_its_name(self) -> str:
        """The strongest evidence of a write that is not the tool's name."""
        effects = [*self.stores, *self.sure, *self.weak]
        if effects:
            return format_effect(effects[0])
        if self.by_words not in ("read", ""):
            return self.description_says
        if self.against:
            return self.against[0].text
        own_texts = {self.name_says, self.description_says if self.described else ""}
        other_texts = [text for text in self.texts if text not in own_texts]
        return other_texts[-1] if other_texts else "something else says that it writes"

    @property
    def names_a_target(self) -> bool:
        """Whether a parameter names the place that it writes to."""
        return any(signal.text.startswith("it can write to") for signal in self.against)

    @property
    def besides_hints(self) -> str:
        """The strongest evidence that is not a hint."""
        for text in self.texts:
            if not text.startswith("its hints say"):
                return text
        return "nothing else says so"

    def resolve_stored_behavior(self, behavior: str) -> str:
        """A behavior, or what is said in its place where the way in which it stores contradicts it."""
        if behavior in REPEATS and self.again:
            deletes = behavior == "delete" and self.body.of("delete", "consume")
            return behavior if deletes else "action"
        if behavior == "put" and self.body.of("guarded", "fresh") and self.only_inserts:
            return "create"
        return behavior

    @property
    def only_inserts(self) -> bool:
        """Whether all that is stored is new: a file that is written as a whole holds nothing else."""
        adds = ("create", "append", "ensure")
        if self.body.of("sets", "again"):
            return False
        for effect in self.body.writes(sure=True):
            if effect.kind not in adds and not WHOLE.search(effect.text):
                return False
        return True


def _choose_verb(parsed_verbs: Sequence[Verb]) -> tuple[str, str]:
    """The behavior that a name says, and the word that says so."""
    words = [verb.word for verb in parsed_verbs]
    for behavior, verbs in load_tables()["verbs"].items():
        for word in words[:1]:
            if word in verbs:
                return str(behavior), word
    for verb in sorted(parsed_verbs, key=lambda verb: verb.kind == "read"):
        return _behavior_of_verb(verb), verb.word
    return "", ""


def _choose_described_behavior(verbs: Sequence[Verb]) -> str:
    """The behavior of the first verb that writes; `read` where none does."""
    for verb in verbs:
        if verb.kind != "read":
            return _behavior_of_verb(verb)
    return "read"


def is_named_as_read(subject: ToolTexts) -> bool:
    """Whether the name of a tool says for certain that it reads."""
    behavior, word = _choose_verb(subject.name_verbs)
    return behavior == "read" and word in SURE_READS


def _behavior_of_verb(verb: Verb) -> str:
    return "read" if verb.kind == "read" else OF_KIND.get(verb.kind, "action")


def choose_cautious(behaviors: Sequence[str]) -> str:
    """The one of some behaviors that loses most."""
    for behavior in CAUTION:
        if behavior in behaviors:
            return behavior
    return "action"


def format_effect(effect: Effect) -> str:
    """An effect, and how far down it is."""
    return effect.text + (f" ({effect.depth} calls down)" if effect.depth > 1 else "")


def derive_behavior(effects: Sequence[Effect]) -> str:
    """The behavior that writing effects come to; empty where there is none."""
    if not effects:
        return ""
    kinds = [OF_EFFECT.get(effect.kind, effect.kind) for effect in effects]
    return choose_cautious(kinds)
