"""What a text may contain, and how a value is shown on one line."""

import json
import re
import unicodedata
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError, to_jsonable_python

# Control characters (a newline aside), bidi, zero-width, tag and joining characters, lone surrogates. tables.json has the
# same pattern, for the macros and the suite; a server in production has no tables.json. A test keeps both equal.
HIDDEN = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]|(?<![#*0-9\xa9\xae\u203c-\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f]"
)
IN_A_QUESTION = 80


def find_hidden_character(text: str, *, lines: bool = False) -> str | None:
    """The first control or invisible character as `U+202E`, or None; a newline passes with `lines`."""
    match = HIDDEN.search(text)
    if match is None and not lines:
        match = re.search("\n", text)
    return f"U+{ord(match[0]):04X}" if match else None


def _clean(text: str) -> str:
    requirement = _find_broken_requirement(text)
    if requirement:
        raise PydanticCustomError("text", "Text should {why}", {"why": requirement})
    return text


def _find_broken_requirement(text: str) -> str:
    """Return what a text should do and does not; nothing where it is valid."""
    hidden = find_hidden_character(text, lines=True)
    if hidden:
        return f"not contain {hidden}"
    if text.isspace():
        return "not be blank"
    if not unicodedata.is_normalized("NFC", text):
        return "be in form NFC"
    return ""


Line = Annotated[str, Field(pattern="^.+$", max_length=100), AfterValidator(_clean)]
Text = Annotated[str, Field(max_length=2000), AfterValidator(_clean)]
Image = Annotated[str, Field(pattern="^(https://[!-~]+|data:image/[!-~]+)$")]


def cut(text: str, longest: int, count: str = "") -> str:
    """A text with nothing hidden in it that can steer a terminal; where it is cut, a sign and the `count` say so."""
    if len(text) > longest:
        text = text[: longest - 1] + "…" + count
    return HIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def join_lines(text: str) -> str:
    """A text with a sign in place of each newline, so that no value pushes what follows out of sight."""
    return text.replace("\n", "⏎")


def shorten_value(value: object, longest: int = IN_A_QUESTION) -> str:
    """A value on one line: all of it, or its beginning and how much there is."""
    plain = to_jsonable_python(value, fallback=str)
    if isinstance(plain, str):
        text = plain
        count = f" ({len(plain):,} characters)"
    else:
        text = json.dumps(plain, ensure_ascii=False)
        size = len(plain) if isinstance(plain, list | dict) else len(text)
        count = f" ({size:,} entries)"
    shortened = cut(text, longest, count)
    return join_lines(shortened)


def format_value(name: object) -> str:
    """A name or value from a file as one short line, visible even when it is empty or blank."""
    return shorten_value(name) if str(name).strip() else repr(name)
