"""What an operation was found to do, and what says so."""

import re
from dataclasses import dataclass

VOICE = r"its (path|operationId|summary) (?:ends in|says) ('[^']*'|\"[^\"]*\")"
SAFE = ("GET", "HEAD", "OPTIONS", "TRACE", "QUERY")


@dataclass(frozen=True)
class Derived:
    """A behavior, the kind of its source, and the reason in words.

    `first` may replace a verb; `family` names the operations of a document that one question settles.
    """

    behavior: str
    source: str
    reason: str
    asked: bool = False
    confirm: bool = False
    destructive: bool | None = None
    idempotent: bool | None = None
    first: str = ""
    family: str = ""

    def __str__(self) -> str:
        """Source and reason, on one line."""
        return f"{self.source}: {self.reason}"


def shorten_reason(reason: str) -> tuple[str, int]:
    """A reason with what says the same word brought together, and how many say it at most."""
    most = 0

    def joined(run: re.Match[str]) -> str:
        nonlocal most
        by_word: dict[str, list[str]] = {}
        for place, word in re.findall(VOICE, run[0]):
            by_word.setdefault(word, []).append(place)
        most = max(most, sum(map(len, by_word.values())))
        phrases = []
        for word, places in by_word.items():
            if len(places) == 1:
                phrases.append(f"its {places[0]} says {word}")
            else:
                listed = f"{', '.join(places[:-1])} and {places[-1]}"
                phrases.append(f"its {listed} say {word}")
        return " and ".join(phrases)

    return re.sub(f"{VOICE}(?: and {VOICE})*", joined, reason), most
