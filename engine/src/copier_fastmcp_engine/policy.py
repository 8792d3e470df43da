"""The policy of one server: what each behavior means there, and which tools ask first.

A policy is a value, never a module: a process may serve several servers with different policies, one of them mounted in
another. Its data come from the project's `policy/profile.py`; the engine holds none of its own. This module needs the
standard library only, so that a command line can read a policy without loading FastMCP.
"""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

if TYPE_CHECKING:
    from .declarations import Declaration

API = 1  # the number that a project's policy/__init__.py asks for; it changes when the facade would break
Behavior = Literal[
    "read", "create", "ensure", "append", "update", "put", "delete", "action"
]
Hint = Literal["read_only", "destructive", "idempotent", "open_world"]
Exempted = Literal["read_only", "destructive", "idempotent", "open_world", "confirm"]
Confirm = Literal["none", "deletes", "destructive", "writes"]
Fallback = Literal["two_step", "page", "refuse"]
TWO_STEPS = "Two-step confirmation"  # in the description of a tool that has it

BEHAVIORS: tuple[Behavior, ...] = get_args(Behavior)
# The hints by their wire names (ToolAnnotations in the MCP specification)
WIRE_NAMES: dict[Hint, str] = {
    "read_only": "readOnlyHint",
    "destructive": "destructiveHint",
    "idempotent": "idempotentHint",
    "open_world": "openWorldHint",
}
TRUTHS = ("true", "false", "declared")  # declared: by each tool's own declaration
ON_THE_WIRE = ("always", "never", "true", "false")  # true, false: only with that value


@dataclass(frozen=True)
class Meaning:
    """The meaning of a behavior: the truth of each hint, and when it is on the wire.

    Attributes:
        truth: For each hint "true", "false", or "declared" where each tool declares it itself.
        on_the_wire: For each hint "always", "never", or the one value ("true", "false") with which it is sent.
    """

    truth: Mapping[Hint, str]
    on_the_wire: Mapping[Hint, str]

    @classmethod
    def parse(cls, behavior: str, truth: str, on_the_wire: str) -> "Meaning":
        """Read a row of the profile, whose words are in the order of `WIRE_NAMES`.

        Raises:
            ValueError: A word is unknown, or one is missing.
        """
        rows = (("truth", truth, TRUTHS), ("on the wire", on_the_wire, ON_THE_WIRE))
        for column, words, allowed in rows:
            for word in words.split():
                if word not in allowed:
                    choices = ", ".join(allowed)
                    raise ValueError(
                        f"profile.py: {behavior}, {column}: {word!r} is not one of {choices}"
                    )
            if len(words.split()) != len(WIRE_NAMES):
                raise ValueError(
                    f"profile.py: {behavior}, {column}: write {len(WIRE_NAMES)} words"
                )
        return cls(
            truth=dict(zip(WIRE_NAMES, truth.split(), strict=True)),
            on_the_wire=dict(zip(WIRE_NAMES, on_the_wire.split(), strict=True)),
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Policy:
    """What a server's profile decides, and where its parts are.

    Attributes:
        server_name: The command that starts the server.
        package: The project's package, whose `tools/` and `resources/` are loaded.
        env_prefix: The prefix of its environment variables.
        behaviors: What each behavior means.
        finer: Hints that differ for tools by the first word of their name or the whole of it: rows
            `{"hint", "value", "why", "by"}` by "BEHAVIOR WORD".
        destructive: "deletes", or "deletes_and_overwrites" where replacing destroys too.
        confirm: Which tools ask first.
        confirm_fallback: What a client gets that cannot be asked.
        preview_first: Whether a call without `confirm` only previews.
        has_consent: Whether tools may wait for access to an account elsewhere.
        domain: What the server is about, in the names of its consent tools.
        domain_title: The same for people.
    """

    server_name: str
    package: str
    env_prefix: str
    behaviors: Mapping[Behavior, Meaning]
    finer: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    destructive: str = "deletes_and_overwrites"
    confirm: Confirm = "deletes"
    confirm_fallback: Fallback = "two_step"
    preview_first: bool = False
    has_consent: bool = False
    domain: str = ""
    domain_title: str = ""

    @classmethod
    def from_profile(cls, profile: Any) -> "Policy":
        """Read the constants of a project's `policy/profile.py`.

        Raises:
            ValueError: A word of its table is unknown.
            AttributeError: A constant is missing.
        """
        behaviors = {
            name: Meaning.parse(name, truth, on_the_wire)
            for name, (truth, on_the_wire) in profile.BEHAVIORS.items()
        }
        if missing := [name for name in BEHAVIORS if name not in behaviors]:
            raise ValueError(f"profile.py: no row for {', '.join(missing)}")
        choices = (("CONFIRM", Confirm), ("CONFIRM_FALLBACK", Fallback))
        for name, allowed in choices:
            if getattr(profile, name) not in get_args(allowed):
                listed = ", ".join(get_args(allowed))
                raise ValueError(
                    f"profile.py: {name}: {getattr(profile, name)!r} is not one of {listed}"
                )
        return cls(
            server_name=profile.SERVER_NAME,
            package=profile.__name__.rpartition(".policy")[0],
            env_prefix=profile.ENV_PREFIX,
            behaviors=cast("Mapping[Behavior, Meaning]", behaviors),
            finer=profile.FINER,
            destructive=profile.DESTRUCTIVE,
            confirm=profile.CONFIRM,
            confirm_fallback=profile.CONFIRM_FALLBACK,
            preview_first=profile.PREVIEW_FIRST,
            has_consent=hasattr(profile, "DOMAIN"),
            domain=getattr(profile, "DOMAIN", ""),
            domain_title=getattr(profile, "DOMAIN_TITLE", ""),
        )

    def logger(self, part: str) -> logging.Logger:
        """Return the logger of a part of the engine, named after the server's package.

        The engine may be a package of its own, whose loggers nobody has configured.
        """
        return logging.getLogger(f"{self.package or self.server_name}.{part}")

    def exceptions(self, declaration: "Declaration") -> list[dict[str, Any]]:
        """Return what differs from the behavior: the policy's finer rows, and over them the declaration's own."""
        declared_rows = [dict(row) for row in declaration.exceptions]
        declared_hints = {row["hint"] for row in declared_rows}
        finer_rows = []
        for word in dict.fromkeys(
            (declaration.name.partition("_")[0], declaration.name)
        ):
            for row in self.finer.get(f"{declaration.behavior} {word}", ()):
                if row["hint"] not in declared_hints:
                    finer_rows.append(dict(row))
        return finer_rows + declared_rows

    def truth(self, declaration: "Declaration") -> dict[Hint, bool]:
        """Return what is true of a tool, whether or not the profile puts it on the wire."""
        truth: dict[Hint, bool] = {}
        for hint, word in self.behaviors[declaration.behavior].truth.items():
            truth[hint] = (
                bool(getattr(declaration, hint))
                if word == "declared"
                else word == "true"
            )
        for row in self.exceptions(declaration):
            if row["hint"] in truth:
                truth[row["hint"]] = row["value"]
        return truth

    def hints(self, declaration: "Declaration") -> dict[str, bool]:
        """Return the hints on the wire by their wire names; one that the profile leaves out is absent."""
        modes = self.behaviors[declaration.behavior].on_the_wire
        hints = {}
        for hint, value in self.truth(declaration).items():
            if self.is_exempt(declaration, hint) or modes[hint] in (
                "always",
                str(value).lower(),
            ):
                hints[WIRE_NAMES[hint]] = value
        return hints

    def is_exempt(self, declaration: "Declaration", hint: Exempted) -> bool:
        """Tell whether there is an exception to a hint or to the gate."""
        return any(row["hint"] == hint for row in self.exceptions(declaration))

    def demands_gate(self, declaration: "Declaration") -> bool:
        """Tell whether the profile asks before this tool runs (docs/adr/policy)."""
        truth = self.truth(declaration)
        if truth["read_only"] or self.confirm == "none":
            return False
        if self.confirm == "destructive":
            return truth["destructive"]
        if self.confirm == "deletes":
            is_destructive_action = (
                declaration.behavior == "action" and truth["destructive"]
            )
            return declaration.behavior == "delete" or is_destructive_action
        return declaration.behavior != "read"

    def is_gated(self, declaration: "Declaration") -> bool:
        """Tell whether this tool asks before it runs."""
        if declaration.confirm:
            return True
        is_waived = declaration.confirm is False and self.is_exempt(
            declaration, "confirm"
        )
        return self.demands_gate(declaration) and not is_waived

    def facts(self, declaration: "Declaration") -> dict[str, Any]:
        """Return a declaration and its meaning as plain JSON, for the suite, the lock and the tool table."""
        truth = self.truth(declaration)
        effect = declaration.public_effect
        if effect is None:
            effect = declaration.open_world and not truth["read_only"]
        return {
            "behavior": declaration.behavior,
            "hints": self.hints(declaration),
            "truth": truth,
            "gated": self.is_gated(declaration),
            "gate_demanded": self.demands_gate(declaration),
            "question": declaration.confirm
            if isinstance(declaration.confirm, str)
            else None,
            "why": declaration.why,
            "confirm_said": declaration.confirm,
            "public_effect": effect,
            "deprecated": declaration.deprecated,
            "scopes": [*declaration.scopes],
            "formerly": [*declaration.formerly],
            "exceptions": self.exceptions(declaration),
        }


def mention_two_steps(description: str | None) -> str:
    """Return the description of a tool whose call is previewed, then applied, where the user cannot be asked."""
    text = description or ""
    if TWO_STEPS.lower() in text.lower():
        return text
    separator = "\n\n" if "\n" in text else " "
    return separator.join(filter(None, [text, f"{TWO_STEPS}."]))
