"""The annotation policy as rules: from a tool as the wire shows it to findings.

Managed by the template. A rule calls no tool. Each stands in the docstring of the function that checks it:
`id | where it applies | what and why | source | mend`; `policy explain ID` prints it. One that needs the
declaration is skipped on a server that is not ours, never guessed.
"""

import inspect
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from .behaviors import BEHAVIORS, DESTRUCTIVE, WIRE_NAMES, Behavior, Declaration, Hint
from .questions import NAMED
from .text import DECOMPOSED, hidden

Profile = Literal["policy", "foreign", "anthropic", "openai"]
HINTS = tuple(WIRE_NAMES.values())
LONGEST_TEXT = 4000
LINES = re.compile(r"(^|\.)(description|default|enum|const|examples)(\.|$)")
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
REPLACES = {"set", "put", "replace"}
OVERWRITES = {"set", "put", "replace", "write", "update", "edit", "modify", "patch", "rename"}
ACTION_PARAMETERS = {"action", "operation", "method", "command"}
SAFE = {*_VERBS["read"].split(), "status", "info", "view"}
WRITE_SCOPE = re.compile(r"(^|[:._/-])(write|admin|delete|manage|readwrite)([:._/-]|$)")


@dataclass(frozen=True)
class Rule:
    """One line of a checking function's docstring."""

    id: str
    profiles: str
    text: str
    source: str
    mend: str


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
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        """The parameters' schemas by name."""
        found = (self.wire.get("inputSchema") or {}).get("properties") or {}
        return {name: of if isinstance(of, Mapping) else {} for name, of in found.items()}

    @property
    def verb(self) -> str:
        """The word of the name that says what the tool does; up to two words in front are passed over."""
        words = re.split(r"[_.-]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", self.name).lower())
        return next((word for word in words[:3] if word in VERBS), "")

    @property
    def versioned(self) -> bool:
        """Whether it takes the version of what it changes."""
        return not VERSIONS.isdisjoint(self.parameters)

    def says(self, hint: Hint, value: bool) -> bool:
        """Whether a hint is on the wire with this value, and its file names no exception for it."""
        return self.annotations.get(WIRE_NAMES[hint]) is value and not self.exempt(hint)

    def exempt(self, hint: str) -> bool:
        """Whether its file names an exception to a hint, with the reason."""
        exceptions = self.declaration.exceptions if self.declaration else ()
        return any(e["hint"] == hint and e["why"].strip() for e in exceptions)


Found = Iterator[tuple[str, str]]
CHECKS: list[Callable[[Subject], Found]] = []
RULES: dict[str, Rule] = {}


def rules(check: Callable[[Subject], Found]) -> Callable[[Subject], Found]:
    """Register a function that answers (rule, message), and the rules in its docstring."""
    CHECKS.append(check)
    for line in (inspect.getdoc(check) or "").splitlines():
        if "|" in line:
            found = Rule(*(cell.strip() for cell in line.split("|")))
            RULES[found.id] = found
    return check


@rules
def hints_are_written(tool: Subject) -> Found:
    """Every hint that clients should see is there, well-formed and the behavior's.

    annotations-present | policy foreign anthropic openai | A tool without annotations counts as destructive and open-world. | directory policies; seed 001 | declare it with a decorator of the policy
    hints-known | policy foreign | A hint whose name has a typo is ignored by every client. | MCP specification, ToolAnnotations | write one of readOnlyHint, destructiveHint, idempotentHint, openWorldHint, title
    hints-boolean | policy foreign anthropic openai | A hint that is null or a text counts as left out. | MCP specification, ToolAnnotations | write true or false
    hints-complete | policy | Every hint that the profile demands is there. Needs the declaration. | docs/adr/policy, tool annotations | let the decorator write it; never type hints by hand
    hints-match-behavior | policy | Each hint is its behavior's, or an exception that gives its reason. Needs the declaration. | docs/adr/policy, tool annotations | change the behavior, or name the exception with its reason
    read-only-excludes-destructive | policy foreign anthropic openai | A tool that changes nothing cannot destroy. | MCP specification, destructiveHint | decide which
    default-contradicts | foreign | A hint left out means the protocol's default, which must not belie the verb. | MCP specification, defaults of the hints | write the hint out
    directory-hints | openai | Three hints are written out on every tool. | OpenAI's app directory | use the explicit profile
    applicable-hint | anthropic | A tool that reads says readOnlyHint, one that writes destructiveHint. | Anthropic's connectors directory | say the one that applies
    """
    if not tool.annotations:
        yield "annotations-present", "it has no annotations"
        return
    said = {hint: tool.annotations[hint] for hint in HINTS if hint in tool.annotations}
    unknown = tool.annotations.keys() - said.keys() - {"title"}
    for name in sorted(unknown):
        yield "hints-known", f"annotation {name!r} is unknown"
    for hint, value in said.items():
        if not isinstance(value, bool):
            yield "hints-boolean", f"{hint} is {value!r}"
    if said.get("readOnlyHint") is said.get("destructiveHint") is True:
        yield "read-only-excludes-destructive", "it is read-only and destructive at once"
    if unknown:  # a typo is not also a hint left out
        return
    if tool.declaration:
        wanted = tool.declaration.hints()
        for hint in sorted(wanted.keys() - said.keys()):
            yield "hints-complete", f"{hint} is missing"
        for hint, value in said.items():
            if isinstance(value, bool) and value is not wanted.get(hint):
                behavior = f"{tool.declaration.behavior} says {wanted.get(hint, 'nothing')}"
                yield "hints-match-behavior", f"{hint} is {value}, but {behavior}"
        for exception in tool.declaration.exceptions:
            if not exception["why"].strip():
                yield "hints-match-behavior", f"the exception to {exception['hint']} has no reason"
    if tool.verb:
        truth = BEHAVIORS[VERBS[tool.verb]]
        if truth.read_only and "readOnlyHint" not in said:
            yield "default-contradicts", "readOnlyHint is left out, so clients assume false"
        elif not truth.read_only and truth.destructive is False and "destructiveHint" not in said:
            yield "default-contradicts", "destructiveHint is left out, so clients assume true"
    for hint in sorted({"readOnlyHint", "destructiveHint", "openWorldHint"} - said.keys()):
        yield "directory-hints", f"{hint} is left out"
    if said.keys().isdisjoint({"readOnlyHint", "destructiveHint"}):
        yield "applicable-hint", "neither readOnlyHint nor destructiveHint is there"


@rules
def hints_agree_with_the_name(tool: Subject) -> Found:
    """What a tool is called and what its hints say agree, but for exceptions that give their reason.

    verb-writes | policy foreign anthropic openai | Clients run a read-only tool without asking: no hint is worse to get wrong. | field lessons 6 | say readOnlyHint: false, as every behavior but read does, or name the exception
    verb-reads | policy foreign | A read that is not called one is asked about each time. | field lessons 6 | say readOnlyHint: true, as @read does, or name the exception
    replace-is-idempotent | policy foreign | A replacement without a version ends in the same state each time. | docs/adr/policy, idempotency; seed 000 | say idempotentHint: true, as @put does, or name the exception
    versioned-is-not-idempotent | policy foreign | An update with a version fails the second time. | docs/adr/policy, idempotency; seed 000 | say idempotentHint: false, as @update does, or name the exception
    overwrite-is-destructive | policy foreign | What removes destroys, and what overwrites where the policy counts that. | docs/adr/policy, destructive; seed 001 | say destructiveHint: true, or name the exception
    """
    behavior = VERBS.get(tool.verb)
    if behavior not in (None, "read") and tool.says("read_only", True):
        yield "verb-writes", f"{tool.verb!r} writes, but readOnlyHint is true"
    if tool.annotations.get("readOnlyHint") is True:
        return
    if behavior == "read" and tool.says("read_only", False):
        yield "verb-reads", f"{tool.verb!r} reads, but readOnlyHint is false"
    if tool.verb in REPLACES and not tool.versioned and tool.says("idempotent", False):
        yield "replace-is-idempotent", "it replaces without a version, but idempotentHint is false"
    if behavior == "update" and tool.versioned and tool.says("idempotent", True):
        yield "versioned-is-not-idempotent", "it takes a version, but idempotentHint is true"
    loses = DESTRUCTIVE == "deletes_and_overwrites" and tool.verb in OVERWRITES
    if (behavior == "delete" or loses) and tool.says("destructive", False):
        verb = f"{tool.verb!r} {'removes' if behavior == 'delete' else 'overwrites'}"
        yield "overwrite-is-destructive", f"{verb}, but destructiveHint is false"


@rules
def texts_are_written(tool: Subject) -> Found:
    """What people and models read is there, unambiguous and visible.

    name-valid | policy foreign anthropic openai | Clients and model APIs take no other names. | MCP specification, tool names; model APIs cap them at 64 | rename it
    name-unique | policy foreign anthropic openai | Of two tools with one name a client calls either. | MCP specification, tools/list | rename all but one
    title-written | policy foreign anthropic openai | Frameworks derive a title; only annotations.title shows that one was written. | directory policies; field lessons 6 | write title= in the decorator
    titles-equal | policy foreign | Some clients read title, others annotations.title. | MCP specification, title precedence | write one title in both places
    title-not-name | policy foreign anthropic | A title that repeats the name tells people nothing. | directory policies | write it for people
    description-present | policy foreign anthropic openai | Models choose a tool by its description. | directory policies | write a docstring
    parameters-described | policy foreign openai | Models fill in a parameter by its description. | seed 000, phase 3; field lessons 7 | write Annotated[..., Field(description=...)]
    text-clean | policy foreign anthropic openai | Nothing that people cannot see stands in what models read. | directory policies | write visible, composed text of at most 4,000 characters
    """
    title, hinted = tool.wire.get("title"), tool.annotations.get("title")
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", tool.name):
        yield "name-valid", f"the name ({len(tool.name)} long) is not 1 to 64 of A-Z a-z 0-9 _ . -"
    if tool.copies > 1:
        yield "name-unique", f"{tool.copies} tools have this name"
    if tool.annotations and not str(hinted or "").strip():
        yield "title-written", "annotations.title is missing"
    if hinted and title != hinted and (title or tool.declaration):
        yield "titles-equal", f"title {title!r} and annotations.title {hinted!r} differ"
    if tool.name in (title, hinted):
        yield "title-not-name", "the title is only the name"
    if not str(tool.wire.get("description") or "").strip():
        yield "description-present", "it has no description"
    for name, schema in tool.parameters.items():
        if not str(schema.get("description") or "").strip():
            yield "parameters-described", f"parameter {name!r} has no description"
    shown = {key: of for key, of in sorted(tool.wire.items()) if key != "icons"}
    for place, text in _texts(shown, ""):
        if found := hidden(text, lines=LINES.search(place) is not None):
            yield "text-clean", f"{place} holds the hidden character {found}"
        elif len(text) > LONGEST_TEXT:
            yield "text-clean", f"{place} is {len(text)} characters long"
        elif DECOMPOSED.search(text) and unicodedata.normalize("NFC", text) != text:
            yield "text-clean", f"{place} is not in Unicode normal form C"


@rules
def contract_is_kept(tool: Subject) -> Found:
    """Schemas, scopes, gate and justification are what the policy asks.

    input-closed | policy | An argument that the tool does not know is refused, not ignored. | MCP specification, inputSchema | let the registry build it
    output-described | policy | Clients validate what a tool answers. | MCP specification, outputSchema | annotate what the function returns with a Pydantic model
    one-action | policy foreign anthropic openai | A tool that reads or writes as an argument says cannot be annotated truly. | directory policies; field lessons 4 | make a tool of each
    read-needs-no-write-scope | policy | A read that needs a write scope is no read, or asks for too much. Needs the declaration. | field lessons 6 | ask for the scope that reads
    write-justified | policy openai | A tool that writes says why its hints are what they are. Needs the declaration. | OpenAI's app directory | write one sentence in why=
    question-names-parameters | policy | A person reads the values in a question, not a name in braces. Needs the declaration. | docs/adr/policy, confirmation | name a parameter of the tool in confirm=
    gate-present | policy | A tool that the profile gates asks a person first. Needs the declaration. | docs/adr/policy, confirmation | take confirm=False out, or name the exception to confirm with its reason
    """
    if (tool.wire.get("inputSchema") or {}).get("additionalProperties") is not False:
        yield "input-closed", "the input schema is open"
    if not tool.wire.get("outputSchema"):
        yield "output-described", "it has no output schema"
    for name in sorted(ACTION_PARAMETERS & tool.parameters.keys()):
        parts = [tool.parameters[name], *tool.parameters[name].get("anyOf", ())]
        words = [str(choice).lower() for part in parts for choice in part.get("enum", ())]
        safe = [word for word in words if re.split(r"[_\s-]", word)[0] in SAFE]
        if safe and len(safe) < len(words):
            yield "one-action", f"{name!r} mixes safe choices ({', '.join(safe)}) with others"
    said = tool.declaration
    if said is None:
        return
    for scope in filter(WRITE_SCOPE.search, said.scopes):
        if tool.annotations.get("readOnlyHint") is True:
            yield "read-needs-no-write-scope", f"it reads, but demands the scope {scope!r}"
    if not said.behaves()["read_only"] and not (said.why or "").strip():
        yield "write-justified", "it writes and has no why"
    asked = said.confirm if isinstance(said.confirm, str) else ""
    for name in dict.fromkeys(NAMED.findall(asked)):
        if name not in tool.parameters:
            unknown = f"its question names {{{name}}}, which is no parameter"
            yield "question-names-parameters", unknown
    answered = ((tool.wire.get("outputSchema") or {}).get("properties") or {}).keys()
    closed = "confirm" in tool.parameters and {"confirmed", "outcome"} <= answered
    if said.gate_demanded() and said.confirm is False and not tool.exempt("confirm"):
        yield "gate-present", "it says confirm=False, but the profile asks a person before it"
    elif said.gated() and not closed:
        yield "gate-present", "a person has to be asked before it, but it has no gate"


def _texts(value: object, place: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield place, value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield f"{place}.key", str(key)
            yield from _texts(inner, f"{place}.{key}" if place else str(key))
    elif isinstance(value, Sequence):
        for inner in value:
            yield from _texts(inner, place)


def examine(tools: Iterable[Subject], profile: Profile = "policy") -> list[Finding]:
    """Every finding on a server's tools.

    Args:
        tools: The tools as the wire shows them, with declarations where they are known.
        profile: `policy` for our own server, `foreign` for any other, or a directory's rules.
    """
    subjects = list(tools)
    counted = Counter(subject.name for subject in subjects)
    return [
        Finding(found, subject.name, message, RULES[found].mend, RULES[found].source)
        for subject in (replace(one, copies=counted[one.name]) for one in subjects)
        for check in CHECKS
        for found, message in check(subject)
        if profile in RULES[found].profiles.split()
    ]
