"""`explain`: a rule in words."""

import json
from typing import Annotated

from cyclopts import Parameter

from .auditing.vocabulary import load_rules
from .errors import RefusedError
from .wrapping import print_text

WAIVER = 'waivers = [{"rule": "RULE", "until": "2027-01-31", "why": "The reason."}]'


def explain(
    rule: str, *, json_output: Annotated[bool, Parameter("--json")] = False
) -> None:
    """Print what a rule requires, who requires it, and how to fix a violation.

    Args:
        rule: The rule's id, as a finding shows it.
        json_output: Print JSON.

    Raises:
        RefusedError: There is no such rule.
    """
    if rule not in load_rules():
        raise RefusedError(
            f"{rule!r} is not a rule; the rules are {', '.join(load_rules())}"
        )
    entry = load_rules()[rule]
    if json_output:
        print(json.dumps({"id": rule, **entry}, indent=2, ensure_ascii=False))
        return
    print_text(f"{rule}: {entry['text']}\nFix: {entry['fix']}")
    print_text(f"Source: {entry['source']}\nApplies to: {', '.join(entry['profiles'])}")
    if "fails" in entry:
        print_text(f"When: warns since {entry['warns']}, fails from {entry['fails']}")
    if "policy" in entry["profiles"] and rule != "waiver-valid":
        print_text(
            f"Waive: in tests/tools/test_NAME.py write {WAIVER.replace('RULE', rule)}"
        )
