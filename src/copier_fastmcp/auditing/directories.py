"""What directories check besides the truth of hints: which are there, the texts, the parameters."""

import re
from collections.abc import Iterator

from ..lock import HINTS
from ..rules import Tool
from .reading import tokens, words
from .vocabulary import vocabulary


def checks(tool: Tool) -> Iterator[tuple[str, str]]:
    """Each rule that a tool breaks, with what is wrong; the directories differ in which they apply."""
    description = str(tool.wire.get("description") or "")
    phrases = vocabulary()["phrases"]
    read_only, destructive, _, open_world = HINTS
    left_out = set(HINTS) - tool.annotations.keys()
    if tool.annotations and tool.annotations.keys() <= {"title", *HINTS}:  # no typo
        for hint in sorted({read_only, destructive, open_world} & left_out):
            yield "directory-hints", f"{hint} is left out"
        if {read_only, destructive} <= left_out:
            yield "applicable-hint", f"neither {read_only} nor {destructive} is there"
    if not tool.wire.get("outputSchema"):
        yield "output-schema", "it has no output schema"
    for name in tool.parameters:
        spoken = " ".join(tokens(name))
        if found := re.search(phrases["sensitive"], spoken):
            yield "sensitive-input", f"parameter {name!r} asks for a {found[0]}"
    if found := re.search(phrases["commands"], description, re.IGNORECASE):
        quoted = " ".join(found[0].split())
        yield "text-commands", f"its description tells the model: {quoted!r}"
    free = [
        name
        for name, schema in tool.parameters.items()
        if name.lower() in words("takes_paths") and not schema.get("enum")
    ]
    request = any(name.lower() in ("method", "http_method", "verb") for name in tool.parameters)
    if free and request and not re.search(r"\b[A-Z]\w+ (REST )?API\b|https?://", description):
        yield "free-path-named", f"it takes any {free[0]!r}, and its description names no API"
