"""The checks behind the annotation rules of tables.json: from a tool as it is served to findings.

Managed by the template. The same file, byte for byte, is in copier-fastmcp and in the suite of
every generated project: standard library only, the tables are an argument. No check calls a tool;
one that needs a tool's declaration is skipped where there is none, never guessed.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Tables = Mapping[str, Any]
Violations = Iterator[tuple[str, str]]  # each a rule and a message
LONGEST_TEXT = 4000
MANY_LINES = re.compile(r"(^|\.)(description|default|enum|const|examples)(\.|$)")
# A description that says which fields an object takes, as "Fields: a, b" or "Any fields".
SAYS_FIELDS = re.compile(r"\b[Ff]ields\b")
DAY = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
PLACEHOLDER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
CAMEL_CASE = re.compile(r"(?<=[a-z])(?=[A-Z])")
VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)")


def format_finding(text: str, remedy: str, rule: str) -> str:
    """Return a finding as it is printed: what was seen, the remedy, and the rule that `explain` knows.

    Args:
        text: What was seen; of several lines, the remedy has one of its own.
        remedy: What to do about it.
        rule: The rule that is broken.
    """
    separator = "\n" if "\n" in text else "; "
    return f"{text}{separator}{remedy} ({rule})"


@dataclass(frozen=True)
class Finding:
    """A violation of a rule: the rule, the tool, the message, the fix, and the source of the rule."""

    rule: str
    tool: str
    message: str
    fix: str
    source: str

    def __str__(self) -> str:
        return format_finding(f"{self.tool}: {self.message}", self.fix, self.rule)


@dataclass(frozen=True)
class Tool:
    """A tool as it is served: its wire form (camelCase JSON), and what else is known of it.

    `declared` holds the facts of its declaration, None for a tool of another server. `probed` is
    True when a test runs the tool, False when its owner says why none can, None when unknown.
    `waivers` are its owner's exceptions to rules, as they are written. `proof` is what the lock
    records of the test.
    """

    wire: Mapping[str, Any]
    declared: Mapping[str, Any] | None = None
    copies: int = 1
    probed: bool | None = None
    waivers: Sequence[Any] = ()
    proof: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        return str(self.wire.get("name", ""))

    @property
    def annotations(self) -> Mapping[str, Any]:
        return _mapping(self.wire.get("annotations"))

    @property
    def description(self) -> str:
        return str(self.wire.get("description") or "").strip()

    @property
    def input_schema(self) -> Mapping[str, Any]:
        return _mapping(self.wire.get("inputSchema"))

    @property
    def parameters(self) -> Mapping[str, Mapping[str, Any]]:
        schemas = _mapping(self.input_schema.get("properties"))
        return {name: _mapping(schema) for name, schema in schemas.items()}

    def exempt(self, hint: str) -> bool:
        """Tell whether the declaration has an exception to a hint, with its reason."""
        if not self.declared:
            return False
        for exception in self.declared.get("exceptions", ()):
            if exception["hint"] == hint and exception["why"].strip():
                return True
        return False


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def list_alternatives(
    schema: Mapping[str, Any], keywords: Sequence[str] = ("anyOf",)
) -> list[Mapping[str, Any]]:
    """Return a schema and the members of its unions.

    Args:
        schema: The schema.
        keywords: The keywords of the unions. Pydantic writes `anyOf`; other servers also have `oneOf`.
    """
    alternatives = [schema]
    for keyword in keywords:
        for member in schema.get(keyword) or ():
            alternatives.append(_mapping(member))
    return alternatives


def list_verb_forms(word: str) -> list[str]:
    """Return a word and what it may be without the ending of the third person: `copies` has `copy`."""
    forms = [word]
    if word.endswith("s") and not word.endswith("ss"):
        forms.append(word.removesuffix("s"))
    if word.endswith("es"):
        forms.append(word.removesuffix("es"))
    if word.endswith("ies"):
        forms.append(word.removesuffix("ies") + "y")
    return forms


def _find_behavior(verb: str, tables: Tables) -> str | None:
    for behavior, verbs in tables["verbs"].items():
        if verb in verbs:
            return str(behavior)
    return None


def _check_hints(tool: Tool, tables: Tables) -> Violations:
    """Every hint that clients should see is there, well-formed and the behavior's."""
    if not tool.annotations:
        yield "annotations-present", "it has no annotations"
        return
    served = dict(tool.annotations)
    served.pop("title", None)
    known = set(tables["hints"].values())
    unknown = sorted(served.keys() - known)
    for name in unknown:
        yield "hints-known", f"annotation {name!r} is unknown"
    for hint, value in served.items():
        if hint not in unknown and not isinstance(value, bool):
            yield "hints-boolean", f"{hint} is {value!r}"
    if served.get("readOnlyHint") is served.get("destructiveHint") is True:
        yield (
            "read-only-excludes-destructive",
            "it is read-only and destructive at once",
        )
    if unknown or not tool.declared:  # a typo is not also a hint left out
        return
    yield from _check_declared_hints(tool.declared, served)


def _check_declared_hints(
    declared: Mapping[str, Any], served: Mapping[str, Any]
) -> Violations:
    """Every hint is the declared one, and each exception has its reason."""
    hints, behavior = declared["hints"], declared["behavior"]
    for hint in sorted(hints.keys() - served.keys()):
        yield "hints-complete", f"{hint} is missing"
    for hint, value in served.items():
        declared_value = hints.get(hint, "nothing")
        if isinstance(value, bool) and value is not declared_value:
            text = f"{hint} is {value}, but {behavior} says {declared_value}"
            yield "hints-match-behavior", text
    for exception in declared["exceptions"]:
        if not exception["why"].strip():
            text = f"the exception to {exception['hint']} has no reason"
            yield "hints-match-behavior", text


def _check_name(tool: Tool, tables: Tables) -> Violations:
    """A name counts against a hint where nothing can be run, if the description agrees with it."""
    name = CAMEL_CASE.sub("_", tool.name).lower()
    words = re.split(r"[_.-]+", name)
    verb = _find_first_verb(words[:3], tables)
    behavior = _find_behavior(verb, tables)
    described_verbs = _find_verbs(_get_first_word(tool.description), tables)
    is_proven = tool.declared and tool.probed is not False
    if not behavior or behavior not in described_verbs.values() or is_proven:
        return
    versioned = not tool.parameters.keys().isdisjoint(tables["versions"])
    overwriting_verbs: Sequence[str] = ()
    if tables.get("destructive") != "deletes":
        overwriting_verbs = tables["overwriting_verbs"]
    replaces = verb in tables["replacing_verbs"] and not versioned
    stale = behavior == "update" and versioned
    erases = behavior == "delete" or verb in overwriting_verbs
    for rule, hint, value, contrary in (
        ("verb-writes", "read_only", True, behavior != "read"),
        ("verb-reads", "read_only", False, behavior == "read"),
        ("replace-is-idempotent", "idempotent", False, replaces),
        ("versioned-is-not-idempotent", "idempotent", True, stale),
        ("overwrite-is-destructive", "destructive", False, erases),
    ):
        if hint != "read_only" and tool.annotations.get("readOnlyHint") is True:
            return  # the others mean nothing then
        wire_name = tables["hints"][hint]
        is_declared = tool.annotations.get(wire_name) is value
        if contrary and is_declared and not tool.exempt(hint):
            evidence = f"its name and its description say {verb!r}"
            yield rule, f"{evidence}, but {wire_name} is {value}"


def _get_first_word(text: str) -> str:
    word, _, _ = text.partition(" ")
    return word


def _find_first_verb(words: Iterable[str], tables: Tables) -> str:
    """Return the first verb among some words; nothing where there is none."""
    for word in words:
        if _find_behavior(word, tables):
            return word
    return ""


def _find_verbs(text: str, tables: Tables) -> dict[str, str]:
    """Return the known verbs of a text, each with its behavior."""
    words = re.findall("[a-z]+", text.lower())
    verbs: dict[str, str] = {}
    for word in words:
        for form in list_verb_forms(word):
            behavior = _find_behavior(form, tables)
            if behavior:
                verbs[form] = behavior
    return verbs


def find_contradiction(text: str, name: str, tables: Tables, *, reads: bool) -> str:
    """Return the first verb of a text where it contradicts the tool; else nothing."""
    text = text.strip()
    sentence, *_ = re.split(r"[.\n]", text)
    verbs = _find_verbs(sentence, tables)
    first = ""
    if _find_verbs(_get_first_word(text), tables):
        first = next(iter(verbs), "")
    kinds = {behavior == "read" for behavior in verbs.values()}
    agrees = first in _find_verbs(name, tables) or reads in kinds
    return "" if agrees else first


def _check_words(tool: Tool, tables: Tables) -> Violations:
    """A title or description does not begin with the contrary of what its tool declares."""
    if not tool.declared:
        return
    is_read = bool(tool.declared["truth"]["read_only"])
    effect = "changes nothing" if is_read else "changes something"
    for place in ("title", "description"):
        text = str(tool.wire.get(place) or "")
        first = find_contradiction(text, tool.name, tables, reads=is_read)
        if first:
            yield "words-match-behavior", f"its {place} says {first!r}, but it {effect}"


def _check_texts(tool: Tool, tables: Tables) -> Violations:
    """Names, titles and descriptions are present, unambiguous and visible."""
    title, hinted = tool.wire.get("title"), tool.annotations.get("title")
    if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", tool.name):
        yield (
            "name-valid",
            f"the name ({len(tool.name)} long) is not 1 to 64 of A-Z a-z 0-9 _ . -",
        )
    if tool.copies > 1:
        yield "name-unique", f"{tool.copies} tools have this name"
    written_title = hinted
    if not hinted and not tool.declared:
        written_title = title
    if tool.annotations and not str(written_title or "").strip():
        yield "title-written", "annotations.title is missing"
    if hinted and title != hinted and (title or tool.declared):
        yield "titles-equal", f"title {title!r} and annotations.title {hinted!r} differ"
    if tool.name in (title, hinted):
        yield "title-not-name", "the title is only the name"
    if not tool.description:
        yield "description-present", "it has no description"
    for name, schema in tool.parameters.items():
        if not str(schema.get("description") or "").strip():
            yield "parameters-described", f"parameter {name!r} has no description"
    yield from _check_characters(tool, tables)


def _check_characters(tool: Tool, tables: Tables) -> Violations:
    """No text holds a hidden character, is too long, or is decomposed."""
    wire = dict(sorted(tool.wire.items()))
    wire.pop("icons", None)
    for place, text in _iterate_strings(wire, ""):
        is_decomposed = re.search(tables["decomposed"], text)
        hidden = re.search(tables["hidden"], text)
        if not hidden and not MANY_LINES.search(place):
            hidden = re.search("\n", text)
        if hidden:
            code = f"U+{ord(hidden[0]):04X}"
            yield "text-clean", f"{place} holds the hidden character {code}"
        elif len(text) > LONGEST_TEXT:
            yield "text-clean", f"{place} is {len(text)} characters long"
        elif is_decomposed and unicodedata.normalize("NFC", text) != text:
            yield "text-clean", f"{place} is not in Unicode normal form C"


def _iterate_strings(value: object, place: str) -> Violations:
    if isinstance(value, str):
        yield place, value
    for key, inner in _mapping(value).items():
        yield f"{place}.key", str(key)
        yield from _iterate_strings(inner, f"{place}.{key}" if place else str(key))
    if isinstance(value, list):
        for item in value:
            yield from _iterate_strings(item, place)


def _check_contract(tool: Tool, tables: Tables) -> Violations:
    """The schemas, and what the tool declares, are what the policy asks."""
    if tool.input_schema.get("additionalProperties") is not False:
        yield "input-closed", "the input schema is open"
    output_schema = _mapping(tool.wire.get("outputSchema"))
    results = _mapping(output_schema.get("properties"))
    has_content = bool(tool.declared and tool.declared.get("content"))
    if not output_schema and not has_content:
        yield "output-described", "it has no output schema"
    elif is_free_schema(results.get("result", output_schema)):
        yield "output-described", "its result is any object"
    is_untyped = all(map(_is_unexplained, tool.parameters.values()))
    if tool.declared and tool.parameters and is_untyped:
        yield "parameters-typed", f"it takes any object as {', '.join(tool.parameters)}"
    for name in sorted(tool.parameters):
        yield from _check_action(tool, name, tables)
    if tool.declared:
        yield from _check_declaration(tool, tool.declared, tables, results)


def _check_action(tool: Tool, name: str, tables: Tables) -> Violations:
    """A parameter does not choose between a safe action and another one."""
    schema = tool.parameters[name]
    parts = list_alternatives(schema)
    if name in tables["action_parameters"]:
        choices: list[str] = []
        for part in parts:
            for choice in part.get("enum") or ():
                choices.append(str(choice).lower())
        safe: list[str] = []
        for choice in choices:
            first_word, *_ = re.split(r"[_\s-]", choice)
            if first_word in tables["safe_choices"]:
                safe.append(choice)
        if safe and len(safe) < len(choices):
            text = f"{name!r} mixes safe choices ({', '.join(safe)}) with others"
            yield "one-action", text
        verbs = _find_verbs(str(schema.get("description") or ""), tables)
        if not choices and {"read", "delete"} <= set(verbs.values()):
            yield "one-action", f"{name!r} takes any text: {', '.join(verbs)}"
    verb = re.sub("_(it|them|after|afterwards)$", "", name)
    erases = verb in tables["verbs"]["delete"]
    switch = any(part.get("type") == "boolean" for part in parts)
    if erases and switch and tool.annotations.get("readOnlyHint") is True:
        yield "one-action", f"it reads, but {name!r} removes"


def _check_declaration(
    tool: Tool,
    declared: Mapping[str, Any],
    tables: Tables,
    results: Mapping[str, Any],
) -> Violations:
    """Scopes, justification, question and gate are what the policy asks."""
    is_read = tool.annotations.get("readOnlyHint") is True
    for scope in declared["scopes"]:
        if is_read and re.search(tables["write_scope"], scope):
            text = f"it reads, but demands the scope {scope!r}"
            yield "read-needs-no-write-scope", text
    if not declared["truth"]["read_only"] and not (declared["why"] or "").strip():
        yield "write-justified", "it writes and has no why"
    placeholders = PLACEHOLDER.findall(declared["question"] or "")
    for name in dict.fromkeys(placeholders):
        if name not in tool.parameters:
            unknown = "{" + name + "}, which is not a parameter"
            yield "question-names-parameters", f"its question names {unknown}"
    closed = "confirm" in tool.parameters and {"confirmed", "outcome"} <= results.keys()
    waived = declared["confirm_said"] is False and not tool.exempt("confirm")
    if waived and declared["gate_demanded"]:
        text = "it says confirm=False, but the profile asks a person before it"
        yield "gate-present", text
    elif declared["gated"] and not closed:
        yield "gate-present", "a person has to be asked before it, but it has no gate"


def _is_unexplained(schema: Mapping[str, Any]) -> bool:
    """Tell whether a parameter accepts any object, and its description says nothing of the fields."""
    description = str(schema.get("description") or "")
    return is_free_schema(schema) and not SAYS_FIELDS.search(description)


def is_free_schema(schema: object) -> bool:
    """Tell whether a schema accepts any object, without describing its fields."""
    whole = _mapping(schema)
    items = _mapping(whole.get("items"))
    return any(map(_is_free_object, [*list_alternatives(whole), items]))


def _is_free_object(schema: Mapping[str, Any]) -> bool:
    """Tell whether a schema is that of an object with any properties."""
    if schema.get("type") != "object" or schema.get("properties"):
        return False
    return schema.get("additionalProperties", True) in (True, {})


def find_waiver_mistake(waiver: Any, tables: Tables) -> str:
    """Return the error in a waiver, or nothing."""
    if _mapping(waiver).keys() != {"rule", "until", "why"}:
        return f"a waiver has rule, until and why, and {waiver!r} has not"
    rule = str(waiver["rule"])
    until = str(waiver["until"])
    reason = str(waiver["why"])
    row = tables["rules"].get(rule, {})
    profiles = row.get("profiles", ())
    unwaivable = not {"proof", "suite"}.isdisjoint(profiles)
    if not profiles or unwaivable or rule == "waiver-valid":
        return f"{rule!r} is not a rule that can be waived"
    if not DAY.fullmatch(until) or not reason.strip():
        return f"the waiver of {rule} lacks its last day, as 2027-01-31, or its reason"
    return f"the waiver of {rule} ended on {until}" if until < tables["today"] else ""


def _check_waivers(tool: Tool, tables: Tables) -> Violations:
    """A waiver names a rule and gives its reason, and its last day is not over."""
    for waiver in tool.waivers:
        if mistake := find_waiver_mistake(waiver, tables):
            yield "waiver-valid", mistake


CHECKS = (
    _check_hints,
    _check_name,
    _check_words,
    _check_texts,
    _check_contract,
    _check_waivers,
)


def examine(
    tools: Iterable[Tool], tables: Tables, profile: str = "policy"
) -> list[Finding]:
    """Return every finding on a server's tools.

    Args:
        tools: The tools as they are served, with their declarations where these are known.
        tables: tables.json, with "destructive": "deletes" where overwriting does not count as such,
            and "today" where there are waivers.
        profile: `policy` for our server, `foreign` for another, `anthropic` or `openai`.
    """
    served, rules = list(tools), tables["rules"]
    copies = Counter(tool.name for tool in served)
    findings = []
    for tool in served:
        counted_tool = replace(tool, copies=copies[tool.name])
        for check in CHECKS:
            for name, message in check(counted_tool, tables):
                rule = rules[name]
                if profile not in rule["profiles"]:
                    continue
                fix, source = rule["fix"], rule["source"]
                findings.append(Finding(name, tool.name, message, fix, source))
    return findings


def only_warns(fails: str, today: str, release: str) -> bool:
    """Tell whether a rule with a first failing day or version still only warns; in doubt it does not."""
    first_version = _parse_version(fails)
    version = _parse_version(release)
    if first_version and version:
        return version < first_version
    return not first_version and today < fails


def _parse_version(text: str) -> list[int]:
    """Return the numbers of a version; empty where a text is none."""
    match = VERSION.match(text)
    return list(map(int, match.groups())) if match else []
