"""What no text for people or models may hold. Managed by the template."""

import re

# Control characters (a newline aside), bidi, zero-width, tag and joining characters, lone surrogates.
HIDDEN = re.compile(
    r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
# A letter and its mark apart, where Unicode has one character for both.
DECOMPOSED = re.compile(
    r"[A-Za-z\u0370-\u04ff\u3041-\u30ff][\u0300-\u0345\u3099\u309a]|[\u1100-\u1112][\u1161-\u1175]"
)


def hidden(text: str, *, lines: bool = False) -> str | None:
    """The first control or invisible character as `U+202E`, or None; a newline passes with `lines`."""
    found = HIDDEN.search(text) or (None if lines else re.search("\n", text))
    return f"U+{ord(found[0]):04X}" if found else None
