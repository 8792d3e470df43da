"""`explain`: a rule in words."""

import json
from dataclasses import asdict
from typing import Annotated

from cyclopts import Parameter

from .errors import RefusedError
from .rules import RULES


def explain(rule: str, *, json_output: Annotated[bool, Parameter("--json")] = False) -> None:
    """Say what a rule asks, who asks for it, and how to mend what it finds.

    Args:
        rule: The rule's id, as a finding shows it.
        json_output: Print JSON.

    Raises:
        RefusedError: There is no such rule.
    """
    known = RULES.get(rule)
    if known is None:
        raise RefusedError(f"{rule!r} is not a rule; the rules are {', '.join(RULES)}")
    if json_output:
        print(json.dumps(asdict(known), indent=2, ensure_ascii=False))
        return
    print(f"{known.id}: {known.text}\nMend: {known.mend}")
    print(f"Source: {known.source}\nApplies to: {', '.join(known.profiles)}")
