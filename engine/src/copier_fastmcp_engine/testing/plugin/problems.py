"""What a proof finds: each finding ends with the remedy and the rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Problem:
    """A declaration that a proof has shown to be untrue.

    Attributes:
        rule: The rule of tables.json that it breaks.
        text: What was seen.
        remedy: What to do about it; that of the rule when left out.
    """

    rule: str
    text: str
    remedy: str = ""

    def format(self, tables: Mapping[str, Any]) -> str:
        """Return the finding in one line."""
        remedy = self.remedy or tables["rules"][self.rule]["mend"]
        return f"{self.text}; {remedy} ({self.rule})"
