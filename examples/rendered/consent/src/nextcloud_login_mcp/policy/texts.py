"""What no text may hold, and the words of a question. Managed by the template."""

import json
import re
import unicodedata
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError, to_jsonable_python

from .declarations import Declaration

# Control characters (a newline aside), bidi, zero-width, tag and joining characters, lone surrogates.
HIDDEN = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|(?<![#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
)
NAMED = re.compile(r"\{([A-Za-z_][A-Za-z0-9_.-]*)\}")
IN_A_QUESTION, LONGEST, MOST_DETAILS = 80, 2000, 50
SECRET = '"writeOnly": true'  # as Pydantic marks one in a schema


def hidden(text: str, *, lines: bool = False) -> str | None:
    """The first control or invisible character as `U+202E`, or None; a newline passes with `lines`."""
    match = HIDDEN.search(text) or (None if lines else re.search("\n", text))
    return f"U+{ord(match[0]):04X}" if match else None


def _clean(text: str) -> str:
    unseen, blank = hidden(text, lines=True), text.isspace()
    if unseen or blank or not unicodedata.is_normalized("NFC", text):
        why = f"not contain {unseen}" if unseen else "not be blank" if blank else "be in form NFC"
        raise PydanticCustomError("text", "Text should {why}", {"why": why})
    return text


Line = Annotated[str, Field(pattern="^.+$", max_length=100), AfterValidator(_clean)]
Text = Annotated[str, Field(max_length=2000), AfterValidator(_clean)]
Image = Annotated[str, Field(pattern="^(https://[!-~]+|data:image/[!-~]+)$")]


def cut(text: str, longest: int, count: str = "") -> str:
    """A text with nothing hidden in it that can steer a terminal; where it is cut, a sign and the `count` say so."""
    text = text if len(text) <= longest else text[: longest - 1] + "…" + count
    return HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def shortened(value: object, longest: int = IN_A_QUESTION) -> str:
    """A value on one line: all of it, or its beginning and how much there is."""
    plain = to_jsonable_python(value, fallback=str)
    text = plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)
    kind = "characters" if plain is text else "entries"
    size = len(plain) if isinstance(plain, str | list | dict) else len(text)
    return cut(text, longest, f" ({size:,} {kind})").replace("\n", "⏎")


def shown(name: object) -> str:
    """A name or value from a file as one short line, visible even when it is empty or blank."""
    return shortened(name) if str(name).strip() else repr(name)


def _defaults(schema: Mapping[str, Any]) -> dict[str, object]:
    known = {name: it for name, it in schema.get("properties", {}).items() if it is not True}
    return {name: each["default"] for name, each in known.items() if "default" in each}


def filled(arguments: Mapping[str, object], schema: Mapping[str, Any]) -> dict[str, object]:
    """The arguments as the client sent them, with the defaults of the others, and no secret."""
    rest = json.dumps(schema.get("$defs", {}))
    texts = {name: json.dumps(each) for name, each in schema.get("properties", {}).items()}
    secret = [n for n in texts if SECRET in texts[n] or ("$ref" in texts[n] and SECRET in rest)]
    return {**_defaults(schema), **arguments, **dict.fromkeys(secret, "**********")}


def changed(arguments: Mapping[str, object], schema: Mapping[str, Any]) -> dict[str, object]:
    """Those that were sent, and are not what they would be anyway; true is not 1."""
    known, default = filled(arguments, schema), _defaults(schema)
    usual = {name for name in default if _json(default[name]) == _json(arguments.get(name))}
    return {name: known[name] for name in arguments if name not in usual}


def _json(value: object) -> str:
    return json.dumps(to_jsonable_python(value, fallback=str), sort_keys=True)


def question_of(declaration: Declaration, values: Mapping[str, object]) -> str:
    """The author's question with the values filled in, or the title's."""

    def value(name: re.Match[str]) -> str:
        found = values.get(name[1], name[0])
        return "none" if found is None else shortened(found)

    if isinstance(declaration.confirm, str):
        return NAMED.sub(value, declaration.confirm)
    return f"{declaration.title}?"


def message_of(server: str, question: str, arguments: Mapping[str, object], details: object) -> str:
    """What a person reads: who asks, the question, each argument, and what would happen."""
    lines = [f"{server} asks: " + cut(question, LONGEST, f" ({len(question):,} characters)")]
    lines += [f"{shortened(name)}: {shortened(arguments[name], LONGEST)}" for name in arguments]
    if isinstance(details, Mapping):
        shown = list(details.items())[:MOST_DETAILS]
        lines += [f"{shortened(name)}: {shortened(value, LONGEST)}" for name, value in shown]
        lines += [f"… ({len(details)} lines)"] * (len(details) > MOST_DETAILS)
    elif details is not None:
        lines += [shortened(details, LONGEST)]
    return "\n".join(lines)
