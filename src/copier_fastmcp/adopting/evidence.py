"""The evidence for the behavior of one tool: its body, name, description, parameters and hints."""

import ast
import re
from collections.abc import Iterator, Sequence

from ..analysis.effects import Body, Effect
from ..auditing.definitions import collect_evidence
from ..auditing.evidence import CERTAIN, DESTRUCTIVE, READ_ONLY, WEAK, ToolTexts
from ..auditing.evidence import Evidence as DefinitionEvidence
from ..auditing.verbs import Verb, parse_name, split_name
from ..auditing.vocabulary import get_word_list
from ..sources.registrations import SourceTool
from ..tables import load_tables
from ..tools_answer import infer_from_name
from .definitions import build_definition
from .plumbing import is_plumbing, is_requested, names_question

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
# Verbs that no other act is named by, where nothing else says that the tool writes.
PLAIN_READS = SURE_READS | {
    "calculate",
    "compare",
    "diagnose",
    "inspect",
    "parse",
    "preview",
    "summarize",
    "validate",
}
# Verbs of what changes a state, which is named behind them.
SETTERS = {"change", "clear", "mark", "reset", "set", "toggle", "update", "write"}
CHOOSERS = {"action", "operation"}  # a parameter that says what to do
# A verb that means to assess, where no parameter takes code.
ASSESSMENTS = {"evaluate"}
CODE = get_word_list("takes_statements") | get_word_list("takes_runs") | {"expression"}
# A file is written as a whole, whatever has changed in it.
WHOLE = re.compile(r"\.(?:write\w*|dump|save\w*)\(\)|\(\) to write")
# A parameter that names a folder: `download_dir`.
FOLDER = re.compile(r"(?:dir|directory|folder)'")
# A list of operations in a description.
LISTED = re.compile(
    r"(?is)\b(?:operations?|actions?)\b(?:\s+(?:is|are|must\s+be|can\s+be|one\s+of))*\s*[:=]\s*(.{1,500})"
)
PUTS_BACK = re.compile(r"(?i)returns?\s+(?:\w+\s+){1,3}to\b")
RUNS_A_QUERY = re.compile(
    r"(?i)(?:run|execute|perform)s?\s+(?:an?|the)\s+(?:[\w-]+\s+){0,2}(?:search|lookup|query)\b(?!\s+(?:that|which|to))"
)
SCHEMA_SOURCES = {"parameters", "choices", "result", "phrases"}
# Behaviors of which a second call changes nothing more.
REPEATS = {"put", "ensure", "delete"}


class Evidence:
    """The evidence about one tool, before it is weighed.

    Attributes:
        tool: The tool as its source registers it.
        body: The effects of its body.
        by_name: The behavior that its name says, and `word` the verb that says it; empty: none does.
        by_words: The behavior that its description says; empty: it says none.
        upserts: Words of a description that both creates and changes.
        sure: Effects of its body that write for certain, and `weak` those that may.
        reads: Effects that read.
        again: Effects by which the same call changes more the second time.
        stores: The one effect that shows best how it stores.
        written: The behavior that `sure` comes to; empty: none.
        against: Signals of its definition that it writes, and `for_reads` that it reads.
        overwrites: Whether its definition says for certain that it may replace what exists.
        side_effect: A sentence of its description that states a write; empty: there is none.
        hinted: Its readOnlyHint, None where it has none.
        tagged: Its tags.
        vague: Whether neither its verb nor its description is sure.
        parameters: The names of its parameters.
        chooses: Whether a parameter says what it does.
        runs_code: Whether a parameter takes code.
        texts: All of it in words, the strongest first.
    """

    def __init__(
        self,
        tool: SourceTool,
        body: Body,
        subject: ToolTexts,
        shared: frozenset[ast.AST] = frozenset(),
    ) -> None:
        """Collect the evidence.

        Args:
            tool: The tool.
            body: The effects of its body.
            subject: Its texts.
            shared: Helpers whose effects are set aside.
        """
        self.tool = tool
        self.body = body
        self.shared = shared
        self.described = _select_described(tool, subject.description_verbs)
        parameters = set(build_definition(tool)["inputSchema"]["properties"])
        self.parameters = parameters
        self.chooses = bool(CHOOSERS & parameters)
        self.runs_code = not parameters.isdisjoint(CODE)
        self.by_name, self.word = _choose_verb(subject.name_verbs)
        has_version = not parameters.isdisjoint(load_tables()["versions"])
        if self.by_name == "update" and not has_version:
            self.by_name = "put"
        self.vague = not self.describes_surely and self.word not in PLAIN_READS
        self._weigh_description()
        self._weigh_definition(subject)
        self.hinted = tool.hints.get(READ_ONLY)
        self.tagged = {tag.lower() for tag in tool.tags}
        self.sure = self._select_effects(body.writes(sure=True))
        self.weak = self._select_effects(body.writes(sure=False))
        self.reads = self._select_effects(body.of("read"))
        self.again = select_near_effects(body.of("again"), 2)
        self.stores = self._find_store()
        self.texts = self._describe_evidence()
        if self.by_words == "read" and self.hinted and self.by_name in ("read", ""):
            # Its author says so three times.
            self.sure = select_near_effects(self.sure, 1)
        self.written = derive_behavior(self.sure)

    def _weigh_description(self) -> None:
        """Set the behavior that the description shows, and the words of an upsert."""
        self.by_words = ""
        self.upserts: list[str] = []
        if not self.described:
            return
        self.by_words = _choose_described_behavior(self.described)
        if self.by_words != "create":
            return
        for verb in self.described:
            if verb.kind == "change":
                self.upserts.append(verb.word)
        if self.upserts:
            self.by_words = "put"  # `create or update`

    @property
    def offers_writes(self) -> bool:
        """Whether a parameter that chooses what it does can choose a write."""
        if any(signal.source == "choices" for signal in self.against):
            return True
        return any(map(_names_write, self._list_choices()))

    def _list_choices(self) -> Iterator[str]:
        """What the function compares a parameter with that chooses, and what its docstring lists as operations."""
        function = self.tool.function
        if function is None:
            return
        for node in ast.walk(function):
            if not isinstance(node, ast.Compare) or not isinstance(node.left, ast.Name):
                continue
            if node.left.id in CHOOSERS:
                for part in ast.walk(node.comparators[0]):
                    if isinstance(part, ast.Constant) and isinstance(part.value, str):
                        yield part.value
        listed = LISTED.search(ast.get_docstring(function) or "")
        if listed:
            yield from re.findall(r"[a-z_]+", listed[1])

    def _weigh_definition(self, subject: ToolTexts) -> None:
        """Set the signals of the definition for and against a read."""
        self.against: list[DefinitionEvidence] = []
        self.for_reads: list[DefinitionEvidence] = []
        self.overwrites = False
        self.side_effect = ""
        for signal in collect_evidence(subject):
            if signal.source == "statements":
                self.side_effect = signal.text
            if signal.hint == DESTRUCTIVE and signal.weight >= CERTAIN:
                self.overwrites = self.overwrites or signal.value
            if signal.hint != READ_ONLY or signal.weight <= WEAK:
                continue
            if signal.value:
                self.for_reads.append(signal)
            elif signal.source in SCHEMA_SOURCES:
                self.against.append(signal)

    def _find_store(self) -> list[Effect]:
        """The one effect that shows best how the tool stores."""
        if not self.may_write and self.by_name not in REPEATS:
            return []
        stores = [*self.again, *self.body.of("guarded", "fresh")]
        return stores[:1]

    @property
    def describes_surely(self) -> bool:
        """Whether a word of its description, other than its verb, says alone what it does."""
        return any(verb.sure and verb.word != self.word for verb in self.described)

    @property
    def tagged_write(self) -> bool:
        """Whether a tag says that it writes, and none that it reads."""
        return "write" in self.tagged and "read" not in self.tagged

    @property
    def marked_write(self) -> bool:
        """Whether its author says in a tag or a hint that it writes, and in no tag that it reads."""
        is_hinted = self.hinted is False and "read" not in self.tagged
        return self.tagged_write or is_hinted

    @property
    def describes_a_thing(self) -> bool:
        """Whether its description has no verb but `is`, which may introduce whatever it does."""
        return {verb.word for verb in self.described} <= {"is", "are"}

    @property
    def describes_read(self) -> bool:
        """Whether its description says read, the word of its name apart."""
        others = [verb for verb in self.described if verb.word != self.word]
        only_reads = bool(others) and all(verb.kind == "read" for verb in others)
        return self.by_words == "read" or only_reads

    @property
    def describes_vaguely(self) -> bool:
        """Whether none of the verbs of its description means a read by convention: `see`."""
        words = {verb.word for verb in self.described if not verb.sure}
        is_sure = any(verb.sure for verb in self.described)
        return not is_sure and words.isdisjoint(PLAIN_READS | {"return", "returns"})

    @property
    def reads_by_convention(self) -> bool:
        """Whether its name says that it reads, or without a verb its description, in a word that means it."""
        if self.by_name:
            return self.word in SURE_READS
        return self.by_words == "read" and self.described[0].word in SURE_READS

    def is_requested(self, effect: Effect, *, queries: bool) -> bool:
        """Whether a text or the name of a helper asks for a write."""
        return is_requested(effect, self.body, self.shared, queries=queries)

    def only_asks(self, effect: Effect) -> bool:
        """Whether an effect is a request whose address names a question, and whose result is used."""
        if not effect.sends or effect.discards or not names_question(effect, self.body):
            return False
        return not self.is_requested(effect, queries=True)

    @property
    def only_computes(self) -> bool:
        """Whether every call of its body is known, and none of them writes."""
        return self.body.whole and not self.sure and not self.weak

    @property
    def returns_what_it_computes(self) -> bool:
        """Whether its body only computes what it returns, with no helper that is known by its name alone."""
        is_hidden = self.body.prepares or self.body.changes_others
        if not self.only_computes or is_hidden or self.against:
            return False
        nodes = ast.walk(self.tool.function) if self.tool.function else ()
        for node in nodes:
            if isinstance(node, ast.Return) and node.value is not None:
                return True
        return False

    @property
    def only_assesses(self) -> bool:
        """Whether its name says that it evaluates, every call of its body is known, and no parameter is code."""
        is_quiet = self.only_computes and not self.against and not self.runs_code
        return self.word in ASSESSMENTS and is_quiet

    @property
    def may_write(self) -> bool:
        """Whether its body writes, or may write."""
        return bool(self.sure or self.weak)

    @property
    def shows_only_reads(self) -> bool:
        """Whether every call of its body is known, at least one reads, and nothing writes."""
        is_pure = self.only_computes and not self.against
        return is_pure and bool(self.reads)

    @property
    def shown_reads(self) -> list[Effect]:
        """The reads that more than an unclear verb shows, as `ping` and `find` are."""
        clear_reads: list[Effect] = []
        for effect in self.reads:
            callee_verbs = parse_name(effect.callee)
            has_sure_name = bool(callee_verbs) and callee_verbs[0].word in SURE_READS
            if effect.sure or has_sure_name:
                clear_reads.append(effect)
        return clear_reads

    def _select_effects(self, effects: Sequence[Effect]) -> list[Effect]:
        """The effects that are evidence of their own.

        A call that has the name of the tool shows what the name shows, and nothing more. What only sets up
        or remembers is no effect of a tool whose name is not that of a write.
        """
        names = self._list_own_names()
        is_query = self._has_graphql_query()
        counted: list[Effect] = []
        for effect in effects:
            if effect.sends and is_query:
                continue  # a query of GraphQL is sent by POST
            repeats_name = not effect.sure and split_name(effect.callee) in names
            if not repeats_name and not self._is_set_aside(effect):
                counted.append(effect)
        return counted

    def _list_own_names(self) -> set[tuple[str, ...]]:
        """The names of the tool and of its function, as words."""
        names = {split_name(self.tool.name), split_name(self.tool.local)}
        if self.tool.function:
            names.add(split_name(self.tool.function.name))
        return names - {()}

    def _is_set_aside(self, effect: Effect) -> bool:
        """Whether a writing effect serves the server, and not the purpose of the tool."""
        if effect.kind == "read":
            return False
        is_hidden = effect.depth > 0 or self.by_name in ("read", "")
        if effect.aside and is_hidden:
            return True
        if not self.reads_by_convention:
            return False
        if effect.is_upkeep:
            return True
        return is_plumbing(effect, self.body, self.shared)

    def _has_graphql_query(self) -> bool:
        """Whether the body contains a query of GraphQL."""
        for effect in self.body.of("read"):
            if effect.text.startswith("its GraphQL"):
                return True
        return False

    def _describe_evidence(self) -> tuple[str, ...]:
        shown_reads = self.reads[: 1 if self.sure else 2]
        effects = (*self.stores, *self.sure[:2], *self.weak[:1], *shown_reads)
        texts = list(map(format_effect, effects))
        if self.word:
            texts.append(self.name_says)
        if self.described:
            texts.append(self.description_says)
        texts += [signal.text for signal in self.against]
        if self.hinted is not None:
            value = str(self.hinted).lower()
            texts.append(f"its hints say readOnly={value}")
        tags = sorted(self.tagged & {"read", "write"})
        if tags:
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
    def other_write_evidence(self) -> str:
        """The strongest evidence of a write that is not the tool's name."""
        effects = [*self.stores, *self.sure, *self.weak]
        if effects:
            return format_effect(effects[0])
        if self.by_words not in ("read", ""):
            return self.description_says
        if self.against:
            return self.against[0].text
        own_texts = {self.name_says}
        if self.described:
            own_texts.add(self.description_says)
        for text in reversed(self.texts):
            if text not in own_texts:
                return text
        return "something else says that it writes"

    @property
    def names_a_status(self) -> bool:
        """Whether its name is that of the state of an act: `upload_status`, and not `set_status`."""
        is_set = self.word in SETTERS
        return self.tool.name.endswith("_status") and not is_set

    @property
    def names_a_target(self) -> bool:
        """Whether a parameter names the place that it writes to."""
        return bool(self._list_targets())

    @property
    def names_a_file(self) -> bool:
        """Whether one of these parameters names a file, which may exist, and not a folder."""
        return any(not FOLDER.search(text) for text in self._list_targets())

    def _list_targets(self) -> list[str]:
        texts = [signal.text for signal in self.against]
        return [text for text in texts if text.startswith("it can write to")]

    @property
    def other_evidence(self) -> str:
        """The strongest evidence that is not a hint."""
        for text in self.texts:
            if not text.startswith("its hints say"):
                return text
        return "nothing else says so"

    @property
    def only_adds_rows(self) -> bool:
        """Whether all that its body writes for certain are new rows, by statements that replace none."""
        if not self.sure or self.body.of("again"):
            return False
        return all(
            effect.kind == "create" and effect.text.startswith("its SQL says")
            for effect in self.sure
        )

    def resolve_stored_behavior(self, behavior: str) -> str:
        """A behavior, or another one where the way in which the tool stores contradicts it."""
        if behavior in REPEATS and self.again:
            deletes = behavior == "delete" and self.body.of("delete", "consume")
            return behavior if deletes else "action"
        if behavior == "put" and self.sends_to_device:
            return "action"
        is_guarded = bool(self.body.of("guarded", "fresh"))
        if behavior == "put" and is_guarded and self.only_inserts:
            return "create"
        return behavior

    @property
    def sends_to_device(self) -> bool:
        """Whether its body sends something to a device, which acts on it each time."""
        return any(effect.text.endswith(" on a device") for effect in self.sure)

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


def _select_described(tool: SourceTool, verbs: Sequence[Verb]) -> Sequence[Verb]:
    """The verbs of a description that say what a tool does.

    `Return the instrument to local control` changes it, and `Run a search` only asks.
    """
    function = tool.function
    description = (ast.get_docstring(function) or "") if function else ""
    ignored: set[str] = set()
    if PUTS_BACK.match(description):
        ignored |= {"return", "returns"}
    if RUNS_A_QUERY.match(description):
        ignored |= {"run", "runs", "execute", "executes", "perform", "performs"}
    return [verb for verb in verbs if verb.word not in ignored]


def _choose_verb(parsed_verbs: Sequence[Verb]) -> tuple[str, str]:
    """The behavior that a name says, and the word that says so."""
    if not parsed_verbs:
        return "", ""
    first_word = parsed_verbs[0].word
    behavior = infer_from_name(first_word)
    if behavior:
        return behavior, first_word
    verb = _find_writing_verb(parsed_verbs) or parsed_verbs[0]
    return _map_kind(verb.kind), verb.word


def _choose_described_behavior(verbs: Sequence[Verb]) -> str:
    """The behavior of the first verb that writes; `read` where none does."""
    verb = _find_writing_verb(verbs)
    return _map_kind(verb.kind) if verb else "read"


def _find_writing_verb(verbs: Sequence[Verb]) -> Verb | None:
    for verb in verbs:
        if verb.kind != "read":
            return verb
    return None


def select_near_effects(effects: Sequence[Effect], deepest: int) -> list[Effect]:
    """The effects that are at most so many calls down."""
    return [effect for effect in effects if effect.depth <= deepest]


def is_named_as_read(subject: ToolTexts) -> bool:
    """Whether the name of a tool says for certain that it reads."""
    behavior, word = _choose_verb(subject.name_verbs)
    return behavior == "read" and word in SURE_READS


def _names_write(operation: str) -> bool:
    """Whether an operation names a write: `set_by_id`."""
    verbs = parse_name(operation)
    return bool(verbs) and verbs[0].kind in OF_KIND


def _map_kind(kind: str) -> str:
    """The behavior of a kind of verbs."""
    if kind == "read":
        return "read"
    return OF_KIND.get(kind, "action")


def choose_cautious(behaviors: Sequence[str]) -> str:
    """The behavior that loses most."""
    for behavior in CAUTION:
        if behavior in behaviors:
            return behavior
    return "action"


def format_effect(effect: Effect) -> str:
    """An effect, and how far down it is."""
    if effect.depth > 1:
        return f"{effect.text} ({effect.depth} calls down)"
    return effect.text


def derive_behavior(effects: Sequence[Effect]) -> str:
    """The behavior of writing effects; empty if there are none."""
    if not effects:
        return ""
    kinds = [OF_EFFECT.get(effect.kind, effect.kind) for effect in effects]
    return choose_cautious(kinds)
