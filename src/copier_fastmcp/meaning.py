"""What a behavior means for one tool under a policy: what is true of it, what clients see, whether it asks.

A running server computes the same from its declarations (policy/declarations.py), and both from tables.json.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .tables import tables

# What an action says where it says nothing: what the protocol assumes.
UNSAID = {"destructive": True, "idempotent": False, "open_world": True}


def policy_of(answers: Mapping[str, Any]) -> dict[str, Any]:
    """What the answer `profile` stands for; where it is none of the table, what is answered in its place."""
    profiles: dict[str, dict[str, Any]] = tables()["profiles"]
    default = profiles["explicit"]
    own = {key: value for key, value in answers.items() if key in default}
    return {**default, **profiles.get(str(answers.get("profile", "explicit")), own)}


@dataclass(frozen=True)
class Meaning:
    """One tool under a policy.

    Attributes:
        name: The tool's name, for which the policy may be finer.
        behavior: One of the tables.
        policy: As `policy_of` makes it.
        said: What the tool itself says, by the keys of the answer `tools`.
    """

    name: str
    behavior: str
    policy: Mapping[str, Any]
    said: Mapping[str, Any] = field(default_factory=dict)

    def differences(self) -> dict[str, bool]:
        """The hints that differ from the behavior: where the policy is finer, and over it the exceptions."""
        found = {
            row["hint"]: bool(row["value"])
            for word in (self.name.partition("_")[0], self.name)
            for row in tables()["finer"]
            if row["behavior"] == self.behavior and word in row["tools"]
        }
        for one in self.said.get("exceptions") or ():
            if isinstance(one, Mapping) and "hint" in one:
                found[str(one["hint"])] = one.get("value") is True
        return found

    def behaves(self) -> dict[str, bool]:
        """What is true of the tool, whether or not clients are told."""
        overwrites = self.policy["destructive"] == "deletes_and_overwrites"
        truth = {}
        for hint in tables()["hints"]:
            value = tables()["behaviors"][self.behavior].get(hint, "said")
            if value == "said":
                value = self.said.get(hint, UNSAID[hint])
            truth[hint] = overwrites if value == "policy" else value is True
        return truth | {hint: is_so for hint, is_so in self.differences().items() if hint in truth}

    def hints(self) -> dict[str, bool]:
        """What clients see, by the names on the wire; a hint that the profile leaves out is absent."""
        modes = tables()["on_the_wire"][self.policy["hints"]][self.behavior]
        return {
            tables()["hints"][hint]: value
            for hint, value in self.behaves().items()
            if hint in self.differences() or modes[hint] in ("always", str(value).lower())
        }

    def gated(self) -> bool:
        """Whether a person is asked before it runs."""
        if self.said.get("confirm"):
            return True
        truth = self.behaves()
        loses = self.behavior == "delete" or (self.behavior == "action" and truth["destructive"])
        gates = {"none": False, "deletes": loses, "destructive": truth["destructive"]}
        demanded = gates.get(self.policy["confirm"], self.behavior != "read")
        waived = self.said.get("confirm") is False and "confirm" in self.differences()
        return demanded and not truth["read_only"] and not waived
