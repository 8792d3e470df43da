"""What answers come to, before anything is written: each tool with its hints, its gate and what says so."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from copier_fastmcp_engine.policy import Policy

from ..behaviors import build_declaration, build_policy
from ..tables import load_tables
from ..terminal.text_tables import print_table
from ..tools_answer import NAME, describe_source, infer_behavior, parse_entries

HEADS = ("Tool", "Behavior", "Hints", "Asks a person", "From")
NARROW = (
    "Tool",
    "Behavior",
    "read-\nonly",
    "destruc-\ntive",
    "idem-\npotent",
    "Asks a\nperson",
    "From",
)
CREATING = ("create", "ensure")
HINTS = {
    "readOnly": "It changes nothing; clients may run it without asking.",
    "destructive": "It may overwrite or remove what was there; clients may ask first.",
    "idempotent": "The same call again changes nothing more.",
    "Asks": "The server itself asks a person, and does nothing without a yes.",
}


def compute_hints(tool: Mapping[str, Any], policy: Policy) -> dict[str, bool]:
    """The hints that clients will see, but for openWorldHint, which its author alone says."""
    hints = policy.hints(build_declaration(tool))
    hints.pop(load_tables()["hints"]["open_world"], None)
    return hints


def describe_gate(tool: Mapping[str, Any], policy: Policy) -> str:
    """Whether a person is asked before it runs, and whether the tool itself says so."""
    gated = policy.is_gated(build_declaration(tool))
    said = (
        " (said)"
        if tool.get("confirm") or (tool.get("confirm") is False and not gated)
        else ""
    )
    return f"{'yes' if gated else 'no'}{said}"


def build_rows(answers: Mapping[str, Any]) -> list[list[str]]:
    """The whole table."""
    policy, made = build_policy(answers), []
    for tool in parse_entries(answers.get("tools")):
        name, behavior = str(tool.get("name")), infer_behavior(tool)
        if behavior not in load_tables()["behaviors"]:
            made.append([name, behavior or "?", "?", "?", "?"])
            continue
        hints = compute_hints(tool, policy).items()
        shown = " ".join(
            f"{of.removesuffix('Hint')}={'yes' if so else 'no'}" for of, so in hints
        )
        made.append(
            [
                name,
                behavior,
                shown or "none",
                describe_gate(tool, policy),
                describe_source(tool),
            ]
        )
    return made


def print_preview(answers: Mapping[str, Any]) -> None:
    """Print the whole table in a terminal: a line for each tool where there is room."""
    policy, lines = build_policy(answers), []
    tools = parse_entries(answers.get("tools"))
    for tool, (name, behavior, _, gate, source) in zip(
        tools, build_rows(answers), strict=True
    ):
        known = (
            compute_hints(tool, policy)
            if behavior in load_tables()["behaviors"]
            else {}
        )
        wire = [
            load_tables()["hints"][hint]
            for hint in ("read_only", "destructive", "idempotent")
        ]
        cells = [
            {True: "yes", False: "no", None: "-"}[known.get(hint)] for hint in wire
        ]
        short = re.sub("first word '.*'", "its name", source)
        lines.append([name, behavior, *cells, gate, short])
    print_table(NARROW, lines, ruled=False)


def find_created_record(tools: object) -> str:
    """The kind of record that the first creating tool is about; empty where there is none."""
    for tool in parse_entries(tools):
        _, _, record = str(tool["name"]).partition("_")
        if infer_behavior(tool) in CREATING and record:
            return record
    return ""


def list_signatures(project: Path) -> list[str]:
    """What the creating tools of a rendered project take, a line each."""
    lines = []
    for path in sorted(project.glob("src/*/tools/**/*.py")):
        for node in ast.parse(path.read_bytes()).body:
            if not isinstance(node, ast.AsyncFunctionDef):
                continue
            decorators = [ast.unparse(each) for each in node.decorator_list]
            if any(each.startswith(CREATING) for each in decorators):
                parameters = node.args.args + node.args.kwonlyargs
                types = [f"{each.arg}: {_type_of(each)}" for each in parameters]
                lines.append(f"{node.name}({', '.join(types)})")
    return lines


def _type_of(parameter: ast.arg) -> str:
    """The type of a parameter, without what describes it."""
    annotation = parameter.annotation
    if isinstance(annotation, ast.Subscript) and isinstance(
        annotation.slice, ast.Tuple
    ):
        return ast.unparse(annotation.slice.elts[0])
    return ast.unparse(annotation) if annotation else "Any"


def find_name_mistake(text: str) -> str:
    """The first mistake in names typed with commas between, with its mend; empty without one.

    Names that leave their behavior unsaid are one mistake.
    """
    found = parse_entries(text)
    if not found:
        return "name at least one tool, as in search_notes, get_note"
    seen, unsaid = set[str](), []
    for one in found:
        name, behavior = one["name"], one.get("behavior")
        if not NAME.fullmatch(name):
            joined = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
            hint = joined if NAME.fullmatch(joined) else "get_note"
            return f"{name!r} is not a good name; write it as {hint}, with commas between names"
        if name in seen:
            return f"{name!r} is named twice; take one out"
        if behavior is not None and behavior not in load_tables()["behaviors"]:
            return f"{behavior!r} is not a behavior; use one of {', '.join(load_tables()['behaviors'])}"
        if not infer_behavior(one):
            unsaid.append(name)
        seen.add(name)
    if not unsaid:
        return ""
    first, whole = unsaid[0], " and ".join(unsaid)
    verbs = " and ".join(repr(name.split("_")[0]) for name in unsaid)
    say, do = ("say", "do") if len(unsaid) > 1 else ("says", "does")
    return f"{verbs} {say} nothing of what {whole} {do}; add it, as in {first}=put or {first}=action"
