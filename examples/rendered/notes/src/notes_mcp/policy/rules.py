"""The annotation policy as rules: from a tool as the wire shows it to findings.

Managed by the template. A rule never calls a tool. `explain` prints a rule's docstring, which names its
source; a rule that needs the declaration is skipped on a server that is not ours.
"""

import inspect
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .behaviors import BEHAVIORS, DESTRUCTIVE, WIRE_NAMES, Behavior, Declaration
from .text import hidden

Profile = Literal["policy", "foreign", "anthropic", "openai"]
Reading = Iterator[tuple[str, str]]
OURS: tuple[Profile, ...] = ("policy",)
ALL: tuple[Profile, ...] = ("policy", "foreign", "anthropic", "openai")
DEFAULTS = {
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
_VERBS: dict[Behavior, str] = {
    "read": "get list search find lookup fetch read show count check describe validate resolve ping",
    "create": "create add new insert",
    "ensure": "ensure",
    "append": "append",
    "update": "update edit modify patch rename",
    "put": "set put write replace assign unassign link unlink attach detach enable disable archive unarchive",
    "delete": "delete remove purge clear drop revoke cancel",
    "action": "send run start stop execute trigger",
}
VERBS = {verb: behavior for behavior, verbs in _VERBS.items() for verb in verbs.split()}
VERSIONS = {"etag", "version", "if_match", "revision"}
OVERWRITES = {"set", "put", "write", "replace", "update", "edit", "modify", "patch", "rename"}
SAFE = {*(v for v, behavior in VERBS.items() if behavior == "read"), "status", "info", "view"}


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong: which rule, where, what, how to mend it, and who asks for it."""

    rule: str
    tool: str
    message: str
    mend: str
    source: str


@dataclass(frozen=True)
class Subject:
    """One tool as the wire shows it (camelCase JSON), and what its file declared, where that is known."""

    wire: Mapping[str, Any]
    declaration: Declaration | None = None
    copies: int = 1

    @property
    def name(self) -> str:
        """The tool's name."""
        return str(self.wire.get("name", ""))

    @property
    def annotations(self) -> Mapping[str, Any]:
        """The annotations, empty when there are none."""
        return self.wire.get("annotations") or {}

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters' schemas by name."""
        found = (self.wire.get("inputSchema") or {}).get("properties") or {}
        return found if isinstance(found, Mapping) else {}

    @property
    def verb(self) -> str:
        """The first word of the name that says what the tool does; a prefix in front is passed over."""
        words = re.split(r"[_.-]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).lower())
        return next((word for word in words[:3] if word in VERBS), "")

    @property
    def versioned(self) -> bool:
        """Whether it takes the version of what it changes."""
        return bool(VERSIONS & set(self.parameters))

    def exempt(self, hint: str) -> bool:
        """Whether its file names an exception to a hint, with the reason."""
        return self.declaration is not None and any(
            e["hint"] == hint and e["why"].strip() for e in self.declaration.exceptions
        )


@dataclass(frozen=True)
class Rule:
    """A named check."""

    id: str
    profiles: tuple[Profile, ...]
    source: str
    check: Callable[[Subject], Reading]

    @property
    def text(self) -> str:
        """What it asks and why."""
        return inspect.getdoc(self.check) or ""


RULES: dict[str, Rule] = {}


def rule(
    source: str, profiles: tuple[Profile, ...] = ALL
) -> Callable[[Callable[[Subject], Reading]], Callable[[Subject], Reading]]:
    """Register a check under its own name, with hyphens."""

    def register(check: Callable[[Subject], Reading]) -> Callable[[Subject], Reading]:
        name = check.__name__.replace("_", "-")
        RULES[name] = Rule(name, profiles, source, check)
        return check

    return register


@rule("MCP directory policies; seed of this policy: every tool is annotated")
def annotations_present(tool: Subject) -> Reading:
    """A tool without annotations is taken for destructive and open-world by every client."""
    if not tool.annotations:
        yield "it has no annotations", "declare it with a decorator of the policy"


@rule("MCP specification, ToolAnnotations", ("policy", "foreign"))
def hints_known(tool: Subject) -> Reading:
    """FastMCP drops a hint whose name has a typo; an unknown one on the wire is one too."""
    for key in set(tool.annotations) - {*WIRE_NAMES.values(), "title"}:
        yield f"annotation {key!r} is unknown", f"one of {', '.join(WIRE_NAMES.values())}, title"


@rule("MCP specification, ToolAnnotations: hints are booleans")
def hints_boolean(tool: Subject) -> Reading:
    """Clients compare hints with true and false; null or a string counts as left out."""
    for hint in WIRE_NAMES.values():
        if hint in tool.annotations and not isinstance(tool.annotations[hint], bool):
            yield f"{hint} is {tool.annotations[hint]!r}", "write true or false"


@rule("docs/adr/policy, annotations: what the profile puts on the wire", OURS)
def hints_complete(tool: Subject) -> Reading:
    """Every hint that the profile demands is there. Needs the declaration."""
    for hint in tool.declaration.hints() if tool.declaration else {}:
        if hint not in tool.annotations:
            yield f"{hint} is missing", "let the decorator write it; never type hints by hand"


@rule("docs/adr/policy, annotations: a hint follows from the behavior", OURS)
def hints_match_behavior(tool: Subject) -> Reading:
    """Each hint equals the declared behavior's, or a named exception. Needs the declaration."""
    wanted = tool.declaration.hints() if tool.declaration else {}
    for hint in WIRE_NAMES.values():
        found = tool.annotations.get(hint)
        if isinstance(found, bool) and tool.declaration and found is not wanted.get(hint):
            behavior = tool.declaration.behavior
            yield (
                f"{hint} is {found}, but {behavior} says {wanted.get(hint, 'nothing')}",
                "change the behavior, or name the exception with its reason",
            )


@rule("MCP specification: destructiveHint has no meaning on a read-only tool")
def read_only_excludes_destructive(tool: Subject) -> Reading:
    """A tool that changes nothing cannot destroy."""
    if (
        tool.annotations.get("readOnlyHint") is True
        and tool.annotations.get("destructiveHint") is True
    ):
        yield "it is read-only and destructive at once", "decide which"


@rule("MCP specification: what a hint left out stands for", ("foreign",))
def default_contradicts(tool: Subject) -> Reading:
    """A hint left out means the protocol's default; that must not be the opposite of what the verb says."""
    if tool.verb not in VERBS or not tool.annotations:
        return
    behavior = BEHAVIORS[VERBS[tool.verb]]
    truth = {"readOnlyHint": behavior.read_only}
    if not behavior.read_only and tool.annotations.get("readOnlyHint") is not True:
        truth["destructiveHint"] = bool(behavior.destructive is not False)
    for hint, value in truth.items():
        if hint not in tool.annotations and DEFAULTS[hint] is not value:
            yield (
                f"{hint} is left out, so clients assume {DEFAULTS[hint]}",
                f"say {hint}: {str(value).lower()}",
            )


@rule("MCP directory policies: a title people can read, in annotations.title too")
def title_written(tool: Subject) -> Reading:
    """Frameworks derive a title when none is written; only annotations.title shows that one was."""
    if not str(tool.annotations.get("title") or "").strip():
        yield "annotations.title is missing", "write title= in the decorator"


@rule("MCP specification: title precedence differs between clients", ("policy", "foreign"))
def titles_equal(tool: Subject) -> Reading:
    """Clients read one or the other, so both say the same."""
    both = (tool.wire.get("title"), tool.annotations.get("title"))
    if all(both) and both[0] != both[1]:
        yield f"title {both[0]!r} and annotations.title {both[1]!r} differ", "write one title"


@rule("MCP directory policies: a title is not the name", ("policy", "foreign", "anthropic"))
def title_not_name(tool: Subject) -> Reading:
    """A title that repeats the name tells people nothing."""
    if tool.name in (tool.wire.get("title"), tool.annotations.get("title")):
        yield "the title is only the name", "write it for people"


@rule("MCP specification, tool names; model APIs cap them at 64")
def name_valid(tool: Subject) -> Reading:
    """1 to 64 of letters, digits, underscore, hyphen and dot."""
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", tool.name):
        yield f"the name is not 1 to 64 of A-Z a-z 0-9 _ . - (it has {len(tool.name)})", "rename it"


@rule("MCP directory policies: a description on every tool")
def description_present(tool: Subject) -> Reading:
    """Models choose a tool by its description."""
    if not str(tool.wire.get("description") or "").strip():
        yield "it has no description", "write a docstring"


@rule("seed of this policy: parameters are described, all of them", ("policy", "foreign", "openai"))
def parameters_described(tool: Subject) -> Reading:
    """What no test demands does not happen: a description on every parameter."""
    for name, schema in tool.parameters.items():
        if not (isinstance(schema, Mapping) and str(schema.get("description") or "").strip()):
            yield f"parameter {name!r} has no description", "Annotated[..., Field(description=...)]"


def _texts(value: object, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _texts(str(key), f"{place} key")
            yield from _texts(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner, place)


@rule("MCP directory policies: no hidden text in what a model reads")
def text_clean(tool: Subject) -> Reading:
    """No control, bidi, zero-width or tag characters; NFC; no text beyond 4,000 characters."""
    for place, text in _texts(tool.wire, ""):
        what = hidden(text)
        if what:
            yield f"{place} holds {what}", "take it out"
        elif len(text) > 4000 and not place.startswith("icons"):
            yield f"{place} is {len(text)} characters long", "shorten it to 4,000"
        elif (
            "default" not in place
            and "enum" not in place
            and unicodedata.normalize("NFC", text) != text
        ):
            yield f"{place} is not in Unicode normal form C", "normalize it"


@rule("MCP specification, inputSchema: unknown arguments are mistakes", OURS)
def input_closed(tool: Subject) -> Reading:
    """An argument the tool does not know is refused, not ignored."""
    if (tool.wire.get("inputSchema") or {}).get("additionalProperties") is not False:
        yield "the input schema is open", "let the registry build it"


@rule("MCP specification, outputSchema: a structured result has a schema", OURS)
def output_described(tool: Subject) -> Reading:
    """Clients validate what a tool answers."""
    if not tool.wire.get("outputSchema"):
        yield "it has no output schema", "annotate what it returns with a Pydantic model"


@rule("the most dangerous defect in the field: clients run a read-only tool without asking")
def verb_writes(tool: Subject) -> Reading:
    """A verb that writes is not read-only, but for a named exception."""
    if tool.annotations.get("readOnlyHint") is True and not tool.exempt("read_only"):
        if VERBS.get(tool.verb, "read") != "read":
            yield (
                f"{tool.verb!r} is no reading verb, but readOnlyHint is true",
                "use another behavior",
            )


@rule(
    "field: a read that is not called one is never cached, always asked about",
    ("policy", "foreign"),
)
def verb_reads(tool: Subject) -> Reading:
    """A verb that reads is read-only, but for a named exception."""
    if tool.annotations.get("readOnlyHint") is False and not tool.exempt("read_only"):
        if VERBS.get(tool.verb) == "read":
            yield (
                f"{tool.verb!r} reads, but readOnlyHint is false",
                "use @read, or name the exception",
            )


@rule("docs/adr/policy, idempotency: same input, same end state", ("policy", "foreign"))
def replace_is_idempotent(tool: Subject) -> Reading:
    """A replacement without a version ends in the same state each time."""
    if (
        tool.verb in {"set", "put", "replace"}
        and not tool.versioned
        and not tool.exempt("idempotent")
    ):
        if tool.annotations.get("idempotentHint") is False:
            yield "it replaces without a version, but idempotentHint is false", "use @put"


@rule(
    "docs/adr/policy, idempotency: the version differs after the first call", ("policy", "foreign")
)
def versioned_is_not_idempotent(tool: Subject) -> Reading:
    """An update with a version fails the second time, so it is not idempotent."""
    if VERBS.get(tool.verb) == "update" and tool.versioned and not tool.exempt("idempotent"):
        if tool.annotations.get("idempotentHint") is True:
            yield "it takes a version, but idempotentHint is true", "use @update"


@rule("docs/adr/policy, destructive: what counts", OURS)
def overwrite_is_destructive(tool: Subject) -> Reading:
    """Where the policy counts overwrites as destructive, a verb that overwrites is."""
    if DESTRUCTIVE == "deletes_and_overwrites" and tool.verb in OVERWRITES:
        if tool.annotations.get("destructiveHint") is False and not tool.exempt("destructive"):
            yield f"{tool.verb!r} overwrites, but destructiveHint is false", "use @update or @put"


@rule("least privilege; needs the declaration", OURS)
def read_needs_no_write_scope(tool: Subject) -> Reading:
    """A read that demands a write scope is no read, or asks for too much."""
    if tool.declaration and tool.annotations.get("readOnlyHint") is True:
        for scope in tool.declaration.scopes:
            if re.search(r"(^|[:._-])(write|admin|delete|manage)$", scope):
                yield f"it reads, but demands the scope {scope!r}", "ask for the reading scope"


@rule("MCP directory policies: safe and unsafe actions are separate tools")
def one_action(tool: Subject) -> Reading:
    """One tool with an `action` that reads or writes cannot be annotated truly."""
    for name in {"action", "operation", "method", "command"} & set(tool.parameters):
        schema = tool.parameters[name]
        words = [str(choice).lower() for choice in schema.get("enum", [])]
        safe = [w for w in words if re.split(r"[_\s-]", w)[0] in SAFE]
        if safe and len(safe) < len(words):
            yield f"{name!r} mixes safe ({safe[0]}) and unsafe choices", "make a tool of each"


@rule("directories ask one sentence for each write; needs the declaration", ("policy", "openai"))
def write_justified(tool: Subject) -> Reading:
    """Each tool that writes says why its hints are what they are."""
    if tool.declaration and not tool.declaration.behaves()["read_only"]:
        if not (tool.declaration.why or "").strip():
            yield "it writes and has no why", "one sentence in why="


@rule("docs/adr/policy, confirmation; needs the declaration", OURS)
def gate_present(tool: Subject) -> Reading:
    """A tool that the profile gates has the gate's parameter and envelope."""
    fields = (tool.wire.get("outputSchema") or {}).get("properties") or {}
    closed = "confirm" in tool.parameters and {"confirmed", "outcome"} <= set(fields)
    if tool.declaration and tool.declaration.gate_demanded() and not closed:
        if not tool.exempt("confirm"):
            yield (
                "the profile asks a person before it, but it has no gate",
                "take confirm=False out",
            )


@rule("OpenAI's directory: readOnly, openWorld and destructive explicit", ("openai",))
def directory_hints(tool: Subject) -> Reading:
    """Three hints are written out on every tool."""
    for hint in ("readOnlyHint", "destructiveHint", "openWorldHint"):
        if not isinstance(tool.annotations.get(hint), bool):
            yield f"{hint} is not explicit", "use the explicit profile"


@rule("Anthropic's directory: the applicable hint on every tool", ("anthropic",))
def applicable_hint(tool: Subject) -> Reading:
    """A reading tool says readOnlyHint, a writing one destructiveHint."""
    if not {"readOnlyHint", "destructiveHint"} & set(tool.annotations):
        yield "neither readOnlyHint nor destructiveHint is there", "say the one that applies"


@rule("MCP specification, tools/list: names are unique")
def name_unique(tool: Subject) -> Reading:
    """Of two tools with one name clients call either, and nobody knows which."""
    if tool.copies > 1:
        yield f"{tool.copies} tools have this name", "rename all but one"


def examine(tools: Iterable[Subject], profile: Profile = "policy") -> list[Finding]:
    """Every finding on a server's tools.

    Args:
        tools: The tools as the wire shows them, with declarations where they are known.
        profile: `policy` for our own server, `foreign` for any other, or a directory's rules.
    """
    subjects = list(tools)
    counted = Counter(subject.name for subject in subjects)
    return [
        Finding(each.id, subject.name, message, mend, each.source)
        for subject in (replace(one, copies=counted[one.name]) for one in subjects)
        for each in RULES.values()
        if profile in each.profiles
        for message, mend in each.check(subject)
    ]
