"""What may not stand in a text that models and people read.

Managed by the template. Source: the directories' policies on hidden text, and the terminal's own safety.
"""

import unicodedata

_NAMES = {"Cc": "a control character", "Cf": "an invisible character", "Cs": "half a character"}


def hidden(text: str) -> str | None:
    """What unwelcome character a text holds, or None; a newline is welcome."""
    for character in text:
        category = unicodedata.category(character)
        if category in _NAMES and character != "\n":
            return f"{_NAMES[category]} (U+{ord(character):04X})"
        if character in "\u115f\u1160\u17b4\u17b5\u2028\u2029\u3164\uffa0\ufffe\uffff":
            return f"an invisible character (U+{ord(character):04X})"
    return None
