"""What an operation was found to do, and what says so."""

from dataclasses import dataclass

SAFE = ("GET", "HEAD", "OPTIONS", "TRACE", "QUERY")


@dataclass(frozen=True)
class Derived:
    """A behavior, the kind of its source, and the reason in words; `first` may replace a verb."""

    behavior: str
    source: str
    reason: str
    asked: bool = False
    confirm: bool = False
    destructive: bool | None = None
    idempotent: bool | None = None
    first: str = ""

    def __str__(self) -> str:
        """Source and reason, on one line."""
        return f"{self.source}: {self.reason}"
