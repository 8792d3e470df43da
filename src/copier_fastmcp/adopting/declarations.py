"""Decorators for the tools of an existing server: the behavior and the reason."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..sources.modules import Function, Module
from ..tables import load_tables
from .annotations import title_of
from .edits import Edited
from .hints import behavior_hints
from .proposals import Proposal

WORD = "policy"
WHY = {
    "create": "each call adds a new one and loses nothing",
    "ensure": "the same call again finds what is there",
    "append": "each call adds to what is there and loses nothing",
    "update": "it changes what is there, and the same call again may fail",
    "put": "it replaces what is there, and the same call again changes nothing more",
    "delete": "what is gone stays gone",
    "pop": "each call takes away another one",
    "action": "nothing shows that it can be taken back or repeated",
}


def add_declaration(
    proposal: Proposal, edits: dict[Path, Edited], package: str
) -> None:
    """Insert the decorator of a tool right above its function, below the present ones."""
    function, home = proposal.tool.function, proposal.tool.home
    if function is None or home is None or is_declared(function, home, package):
        return
    edited = edits.setdefault(home.path, Edited(home))
    arguments: list[Any] = [
        f"title={json.dumps(title_of(proposal), ensure_ascii=False)}"
    ]
    if reason := _explain_behavior(proposal):
        arguments.append(f"why={json.dumps(reason, ensure_ascii=False)}")
    arguments += _format_kept_arguments(proposal)
    if proposal.tool.hints.get("openWorldHint") is False:
        arguments.append("open_world=False")  # no body shows it; its author knows
    exceptions = [*proposal.exceptions, *_build_kept_exceptions(proposal)]
    if exceptions:
        arguments.append(["exceptions=[", *map(_format_exception, exceptions), "]"])
    lines = _format_call(
        f"@{add_policy_import(edited, package)}.{proposal.behavior}", arguments
    )
    place = edited.line_starts[function.lineno - 1]
    for start, _, inserted_text in edited.edits:
        if start == place and inserted_text.lstrip().startswith("@"):
            return  # one function, registered under several names
    note = f"# review: {proposal.asked}" if proposal.asked else ""
    for text in filter(None, (note, *lines)):
        edited.insert_above(function.lineno, text)


def _select_kept_hints(proposal: Proposal) -> dict[str, bool]:
    """The author's hints that the behavior alone would change, by decorator argument."""
    if proposal.behavior == "read":
        return {}  # of a read the other hints mean nothing
    usual = behavior_hints(proposal.tool.name, proposal.behavior, proposal.exceptions)
    names = {wire: hint for hint, wire in load_tables()["hints"].items()}
    selected: dict[str, bool] = {}
    for wire, value in proposal.kept_hints.items():
        if usual.get(wire) is not value:
            selected[names[wire]] = value
    return selected


def _format_kept_arguments(proposal: Proposal) -> list[str]:
    """The author's hints of an action, as arguments of the decorator."""
    if proposal.behavior != "action":
        return []
    return [f"{hint}={value}" for hint, value in _select_kept_hints(proposal).items()]


def _build_kept_exceptions(proposal: Proposal) -> list[dict[str, Any]]:
    if proposal.behavior == "action":
        return []
    exceptions: list[dict[str, Any]] = []
    for hint, value in _select_kept_hints(proposal).items():
        reason = "Its author declared it so."
        exceptions.append({"hint": hint, "value": value, "why": reason})
    return exceptions


def _format_exception(exception: dict[str, Any]) -> list[Any]:
    pairs: list[Any] = []
    for key, value in exception.items():
        pairs.append(f'"{key}": {_format_literal(value)}')
    return ["{", *pairs, "}"]


def _format_literal(value: object) -> str:
    return (
        json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)
    )


def _format_call(call: str, arguments: list[Any]) -> list[str]:
    """A call on one line if it is short, else spread over lines as formatters do."""
    plain = [argument for argument in arguments if isinstance(argument, str)]
    if plain == arguments and len(line := f"{call}({', '.join(plain)})") <= 75:
        return [line]

    def spread(parts: list[Any], depth: int) -> list[str]:
        lines = []
        for part in parts:
            if isinstance(part, str):
                lines.append(f"{'    ' * depth}{part},")
            else:
                lines += [f"{'    ' * depth}{part[0]}", *spread(part[1:-1], depth + 1)]
                lines.append(f"{'    ' * depth}{part[-1]},")
        return lines

    return [f"{call}(", *spread(arguments, 1), ")"]


def _explain_behavior(proposal: Proposal) -> str:
    """One sentence that justifies the hints of a writing tool: the effect and its consequence."""
    if proposal.behavior == "read":
        return ""
    evidence_text = _find_effect_text(proposal.evidence)
    effect_text = re.sub(r" \(\d calls down\)", "", evidence_text)
    consequence = WHY["pop" if proposal.exceptions else proposal.behavior]
    return (
        f"{effect_text[:1].upper()}{effect_text[1:]}; {consequence}."
        if effect_text
        else f"{consequence[:1].upper()}{consequence[1:]}."
    )


def _find_effect_text(evidence: Iterable[str]) -> str:
    """The first evidence that is an effect of the body."""
    for text in evidence:
        if text.startswith(("it ", "its SQL")):
            return text
    return ""


def is_declared(function: Function, home: Module, package: str) -> bool:
    """Whether a function has a decorator of policy/ already; a namesake does not count."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        first, *attributes = ast.unparse(called).split(".")
        dotted = ".".join([home.imports.get(first, first), *attributes])
        if (
            dotted.removeprefix(f"{package}.") in load_tables()["behaviors"]
            and dotted != first
        ):
            return True
    return False


def add_policy_import(edited: Edited, package: str) -> str:
    """The name of policy/ in a file, which imports it."""
    module: Module = edited.module
    above, _, name = package.rpartition(".")
    for local, target in module.imports.items():
        if target == package:
            return local
    taken = {*_list_bound_names(module), *module.imports}
    word = name
    while word in taken:
        word = f"tool_{word}"
    line = f"from {above} import {name}" if above else f"import {name}"
    edited.add_import(line if word == name else f"{line} as {word}")
    return word


def _list_bound_names(module: Module) -> Iterator[str]:
    """Every name that a file binds or uses, at any depth."""
    for node in module.nodes:
        for key in ("id", "arg", "name"):
            if isinstance(name := getattr(node, key, None), str):
                yield name
