"""Texts of a stranger as the tool language takes them: visible, composed, short."""

import re
import unicodedata
from functools import cache

from ..tables import load_tables

LONGEST = 20_000  # characters of a text in which sentences are looked for
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
# The markup of a text in Markdown, in the order in which it is removed, and what replaces it
MARKUP = (
    (re.compile(r"(?m)^\s*>\s*\[![A-Z]+\]\s*$"), ""),  # > [!NOTE]
    (re.compile(r"<[^<>\n]{1,200}>"), " "),  # a tag
    (re.compile(r"\[([^\[\]\n]*)\]\([^()\n]*\)"), r"\1"),  # a link
    (re.compile(r"(?m)^\s*(>|#+)\s*"), ""),  # a quote or a heading
    (re.compile(r"\*\*|`"), ""),  # bold, or code
)


@cache
def _hidden() -> re.Pattern[str]:
    return re.compile(load_tables()["hidden"])


def clean(text: object, most: int, *, lines: bool = False) -> str:
    """A text without what nobody sees, composed, and cut at a word; empty where it is none.

    Args:
        text: Whatever stands where a text should.
        most: How many characters it may have.
        lines: Whether it may have several lines.
    """
    if not isinstance(text, str):
        return ""
    composed = unicodedata.normalize("NFC", text.replace("\r\n", "\n"))
    spaced = composed.replace("\t", " ").replace("\r", " ")
    visible = _hidden().sub("", spaced)
    plain = _strip_lines(visible) if lines else " ".join(visible.split())
    plain = _decomposed(plain).strip()
    if len(plain) <= most:
        return plain
    head = plain[: most - 1]
    whole_words, *_ = head.rsplit(" ", 1)
    shortened = whole_words.rstrip(" ,;:.")
    return (shortened or head) + "…"


def _strip_lines(text: str) -> str:
    """Return a text without spaces at the ends of its lines, and with one empty line in place of several."""
    lines = [line.rstrip() for line in text.split("\n")]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def _decomposed(text: str) -> str:
    """Without accents that no character has with its letter."""
    return re.sub(load_tables()["decomposed"], lambda letters: letters[0][0], text)


def sentences(text: object, most: int) -> str:
    """The first sentences of a text in Markdown, as many as fit; links become their words."""
    plain = clean(text, LONGEST, lines=True)
    for markup, replacement in MARKUP:
        plain = markup.sub(replacement, plain)
    first_paragraph, *_ = plain.split("\n\n")
    first_line = " ".join(first_paragraph.split())
    chosen = ""
    for part in SENTENCE_END.split(first_line):
        if chosen and len(chosen) + len(part) + 1 > most:
            break
        chosen = f"{chosen} {part}".strip()
    return clean(chosen, most)


def sentence(text: str) -> str:
    """A text that ends as a sentence does."""
    if not text or text[-1] in ".!?…":
        return text
    return f"{text}."
