"""What a tool takes in: parameters as they are gather_tools."""

import re
from dataclasses import dataclass, field
from typing import Any

from ..tables import load_tables
from .operations import words
from .texts import sentence, sentences
from .typed import Typed

WIRE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
SECRET = re.compile(
    r"(?i)(^|_)(password|passwd|passphrase|cvv|cvc|card_?number|ssn|national_?id|tax_?id|pin)($|_)"
)
LONGEST_TEXT = 160
MIXED = "chooses between reading and writing"


class LeftOutError(Exception):
    """An operation that cannot be a tool, and why."""


@dataclass
class Inputs:
    """Parameters in the tool language, the query of the request, and what was left out."""

    params: list[dict[str, Any]] = field(default_factory=list)
    path: str = ""
    # The media type of the body, where neither application/json nor `request` names it
    type: str = ""
    request: str = "json"  # or form, or multipart
    query: list[str] = field(default_factory=list)
    # Fields of a PATCH that may be emptied
    nulls: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    plain: dict[str, str] = field(default_factory=dict)
    wires: set[str] = field(default_factory=set)  # what the path names

    def leave(self, required: bool, whole: str, part: str) -> None:
        """Leave a part out, as `part` says.

        Raises:
            LeftOutError: It is required, so that all of the operation is left out, as `whole` says.
        """
        if required:
            raise LeftOutError(whole)
        self.left_out.append(part)

    def send_in_both(self, name: str, *, required: bool) -> bool:
        """Send a parameter of the path in the body as well, where the body has to have it.

        Returns:
            Whether there is such a parameter, so that the field of the body needs none.
        """
        if not required or f"{{{name}}}" not in self.path:
            return False
        for param in self.params:
            if param["name"] == name:
                param["in"] = "body"
                return True
        return False

    def add(self, param: dict[str, Any]) -> bool:
        """Take a parameter unless another one has its name in Python."""
        name = python_name(str(param["name"])).lower()
        if name in self.plain:
            return False
        self.plain[name] = str(param["name"])
        self.params.append(param)
        if SECRET.search("_".join(words(param["name"]))):
            self.findings.append(
                f"{param['name']} looks like a secret, which a model should not hold"
            )
        return True


def is_version(name: str) -> bool:
    """Whether the template sends what has this name as If-Match, unless the answer names another place."""
    return name.lower().replace("-", "_") in ("etag", "if_match")


def mixed(parameter: dict[str, Any]) -> bool:
    """Whether a parameter chooses between reading and writing, so that no behavior is true of its tool."""
    names = load_tables()
    first = [str(name).lower().split("_")[0] for name in parameter.get("choices", ())]
    safe = [re.split("[ -]", word)[0] in names["safe_choices"] for word in first]
    return (
        parameter["name"] in names["action_parameters"] and any(safe) and not all(safe)
    )


def python_name(wire: str) -> str:
    """What a name is in Python, without the `_` behind a keyword: two that are the same here may be one there."""
    plain = re.sub("[-.]", "_", wire)
    plain = f"param_{plain.lstrip('_')}" if plain.startswith(("_", "model_")) else plain
    return plain.rstrip("_")


def snake(name: str) -> str:
    """A name in the form of names of the tool language; empty where nothing remains."""
    snake_name = "_".join(word for word in words(name) if word.isascii())
    snake_name = snake_name[:60].strip("_")
    return (
        snake_name
        if snake_name[:1].isalpha()
        else f"p_{snake_name}"
        if snake_name
        else ""
    )


def param(name: str, kind: Typed, required: bool, about: str) -> dict[str, Any]:
    """A parameter in the tool language, with a text in any case."""
    row: dict[str, Any] = {"name": name, **kind.keys}
    if row.get("type") == "str":
        del row["type"]
    if kind.has_default and not required:
        row["default"] = kind.default
    elif not required:
        row["required"] = False
    elif kind.nullable and "choices" not in row and "type" not in row:
        pass  # a required null has no form; the value is asked for
    text = sentences(about, LONGEST_TEXT) or sentences(kind.description, LONGEST_TEXT)
    row["description"] = sentence(text) or describe_by_name(name)
    return row


def describe_by_name(name: str) -> str:
    """Return the description of a parameter of which the document says nothing."""
    return f"The {' '.join(words(name)) or name}."
