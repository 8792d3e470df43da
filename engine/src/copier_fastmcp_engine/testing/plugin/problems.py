"""What a proof or a comparison finds: each finding ends with the remedy and the rule."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

import pytest

from ..rules import format_finding


@dataclass(frozen=True)
class Problem:
    """A rule of the suite that is broken.

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
        remedy = self.remedy or tables["rules"][self.rule]["fix"]
        return format_finding(self.text, remedy, self.rule)


def fail_with(findings: list[str]) -> NoReturn:
    """Fail the test with findings, and nothing else on the screen."""
    pytest.fail("\n".join(findings), pytrace=False)


def fail_unless(good: object, problem: Problem, tables: Mapping[str, Any]) -> None:
    """Fail the test with a problem, unless a condition holds."""
    if not good:
        fail_with([problem.format(tables)])
