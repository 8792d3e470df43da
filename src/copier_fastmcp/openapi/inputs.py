"""What a tool takes in: parameters as they are gathered."""

import re
from dataclasses import dataclass, field
from typing import Any

from .operations import words
from .texts import sentence, sentences
from .typed import Typed

WIRE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}")
SECRET = re.compile(
    r"(?i)(^|_)(password|passwd|passphrase|cvv|cvc|card_?number|ssn|national_?id|tax_?id|pin)($|_)"
)
LONGEST_TEXT = 160


class LeftOutError(Exception):
    """An operation that cannot be a tool, and why."""


@dataclass
class Inputs:
    """Parameters in the tool language, the query of the request, and what was left out."""

    params: list[dict[str, Any]] = field(default_factory=list)
    path: str = ""
    type: str = ""  # of the body, where it is not application/json
    query: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)
    plain: dict[str, str] = field(default_factory=dict)

    def add(self, param: dict[str, Any]) -> bool:
        """Take a parameter unless another one has its name in Python."""
        name = re.sub(r"[.-]", "_", str(param["name"])).lower()
        if name in self.plain:
            return False
        self.plain[name] = str(param["name"])
        self.params.append(param)
        if SECRET.search("_".join(words(param["name"]))):
            self.findings.append(
                f"{param['name']} looks like a secret, which a model should not hold"
            )
        return True


def snake(name: str) -> str:
    """A name in the form of names of the tool language; empty where nothing remains."""
    made = "_".join(word for word in words(name) if word.isascii())
    made = made[:60].strip("_")
    return made if made[:1].isalpha() else f"p_{made}" if made else ""


def param(name: str, one: Typed, required: bool, about: str) -> dict[str, Any]:
    """A parameter in the tool language, with a text in any case."""
    made: dict[str, Any] = {"name": name, **one.keys}
    if made.get("type") == "str":
        del made["type"]
    if one.has_default and not required:
        made["default"] = one.default
    elif not required:
        made["required"] = False
    elif one.nullable and "choices" not in made and "type" not in made:
        pass  # a required null has no form; the value is asked for
    text = sentences(about, LONGEST_TEXT) or sentences(one.description, LONGEST_TEXT)
    made["description"] = sentence(text) or f"The {' '.join(words(name)) or name}."
    return made
