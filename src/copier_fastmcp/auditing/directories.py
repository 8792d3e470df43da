"""Further rules of directories: the presence of hints, the texts, the parameters."""

import re
from collections.abc import Iterator, Mapping

from copier_fastmcp_engine.testing.lock import HINTS
from copier_fastmcp_engine.testing.rules import Tool, is_free_schema

from .evidence import DESTRUCTIVE, OPEN_WORLD, READ_ONLY
from .verbs import split_name
from .vocabulary import get_phrase_pattern, get_word_list

Violation = tuple[str, str]
REQUIRED_HINTS = (DESTRUCTIVE, OPEN_WORLD, READ_ONLY)
METHOD_PARAMETERS = {"method", "http_method", "verb"}
NAMED_API = re.compile(r"\b[A-Z]\w+ (REST )?API\b|https?://")


def find_violations(tool: Tool) -> Iterator[Violation]:
    """The rules that a tool violates, each with a message; each directory applies some of them."""
    yield from _find_missing_hints(tool)
    free_input = find_free_input(tool)
    if free_input:
        yield "parameters-typed", free_input
    if not tool.wire.get("outputSchema"):
        yield "output-schema", "it has no output schema"
    for name in tool.parameters:
        sensitive = re.search(
            get_phrase_pattern("sensitive"), " ".join(split_name(name))
        )
        if sensitive:
            yield "sensitive-input", f"parameter {name!r} asks for a {sensitive[0]}"
    description = str(tool.wire.get("description") or "")
    command = re.search(get_phrase_pattern("commands"), description, re.IGNORECASE)
    if command:
        quoted = " ".join(command[0].split())
        yield "text-commands", f"its description tells the model: {quoted!r}"
    free_path = _find_free_path(tool)
    if free_path and not NAMED_API.search(description):
        text = f"it takes any {free_path!r}, and its description names no API"
        yield "free-path-named", text


def _find_missing_hints(tool: Tool) -> Iterator[Violation]:
    has_typo = not tool.annotations.keys() <= {"title", *HINTS}
    if not tool.annotations or has_typo:
        return
    missing = set(HINTS) - tool.annotations.keys()
    for hint in REQUIRED_HINTS:
        if hint in missing:
            yield "directory-hints", f"{hint} is left out"
    if {READ_ONLY, DESTRUCTIVE} <= missing:
        yield "applicable-hint", f"neither {READ_ONLY} nor {DESTRUCTIVE} is there"


def find_free_input(tool: Tool) -> str | None:
    """The problem with an input that consists of undescribed objects; None if it is described."""
    if tool.parameters:
        is_free = all(map(is_free_schema, tool.parameters.values()))
        names = ", ".join(tool.parameters)
        return f"it takes any object as {names}" if is_free else None
    schema = tool.wire.get("inputSchema")
    if not isinstance(schema, Mapping):
        return None
    is_open = schema.get("additionalProperties") in (True, {})
    return "it takes any object as its whole input" if is_open else None


def _find_free_path(tool: Tool) -> str | None:
    """The parameter that accepts any path, in a tool that sends any request."""
    names = {name.lower() for name in tool.parameters}
    if names.isdisjoint(METHOD_PARAMETERS):
        return None
    path_names = get_word_list("takes_paths")
    for name, schema in tool.parameters.items():
        if name.lower() in path_names and not schema.get("enum"):
            return name
    return None
