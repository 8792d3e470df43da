"""Texts of a stranger as the tool language takes them: visible, composed, short."""

import re
import unicodedata
from functools import cache

from ..tables import load_tables


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
    plain = unicodedata.normalize("NFC", text.replace("\r\n", "\n"))
    plain = _hidden().sub("", plain.replace("\t", " ").replace("\r", " "))
    if not lines:
        plain = " ".join(plain.split())
    else:
        stripped = "\n".join(map(str.rstrip, plain.split("\n")))
        plain = re.sub(r"\n{3,}", "\n\n", stripped)
    plain = _decomposed(plain).strip()
    if len(plain) <= most:
        return plain
    head = plain[: most - 1]
    return (head.rsplit(" ", 1)[0].rstrip(" ,;:.") or head) + "…"


def _decomposed(text: str) -> str:
    """Without accents that no character has with its letter."""
    return re.sub(load_tables()["decomposed"], lambda letters: letters[0][0], text)


def sentences(text: object, most: int) -> str:
    """The first sentences of a text in Markdown, as many as fit; links become their words."""
    plain = clean(text, 20_000, lines=True)
    plain = re.sub(r"(?m)^\s*>\s*\[![A-Z]+\]\s*$", "", plain)
    plain = re.sub(r"<[^<>\n]{1,200}>", " ", plain)
    plain = re.sub(r"\[([^\[\]\n]*)\]\([^()\n]*\)", r"\1", plain)
    plain = re.sub(r"(?m)^\s*(>|#+)\s*", "", plain).replace("**", "").replace("`", "")
    first = " ".join(plain.split("\n\n")[0].split())
    parts = ""
    for part in re.split(r"(?<=[.!?])\s+(?=[A-Z])", first):
        if parts and len(parts) + len(part) + 1 > most:
            break
        parts = f"{parts} {part}".strip()
    return clean(parts, most)


def sentence(text: str) -> str:
    """A text that ends as a sentence does."""
    return text if not text or text[-1] in ".!?…" else f"{text}."
