"""The table of tools that `new` shows before it writes: behavior, hints, gate and the source of each."""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from copier_fastmcp_engine.policy import Policy

from ..behaviors import build_declaration, build_policy
from ..tables import load_tables
from ..terminal.text_tables import print_table
from ..tools_answer import (
    NAME,
    describe_source,
    infer_behavior,
    parse_entries,
    propose_behavior,
)

HEADS = ("Tool", "Behavior", "Hints", "Asks a person", "From")
NARROW = (
    "Tool",
    "Behavior",
    "read-\nonly",
    "destruc\u00ad\ntive",
    "idem\u00ad\npotent",
    "Asks a\nperson",
    "From",
)
NARROW_HINTS = ("read_only", "destructive", "idempotent")
CREATING = ("create", "ensure")
HINTS = {
    "readOnly": "It changes nothing; clients may run it without asking.",
    "destructive": "It may overwrite or remove data; clients may ask first.",
    "idempotent": "Repeating the call changes nothing further.",
    "Asks": "The server itself asks a person, and does nothing without approval.",
}


def is_known(behavior: str) -> bool:
    """Return whether the tables have a behavior."""
    return behavior in load_tables()["behaviors"]


def compute_hints(tool: Mapping[str, Any], policy: Policy) -> dict[str, bool]:
    """Return the hints of a tool on the wire, without openWorldHint, which only its author declares."""
    hints = policy.hints(build_declaration(tool))
    hints.pop(load_tables()["hints"]["open_world"], None)
    return hints


def describe_gate(tool: Mapping[str, Any], policy: Policy) -> str:
    """Return whether a person is asked before a tool runs, and whether the tool itself declares it."""
    is_gated = policy.is_gated(build_declaration(tool))
    confirm = tool.get("confirm")
    is_declared = bool(confirm) or (confirm is False and not is_gated)
    text = "yes" if is_gated else "no"
    return f"{text} (said)" if is_declared else text


def _format_hints(hints: Mapping[str, bool]) -> str:
    words = []
    for hint, value in hints.items():
        words.append(f"{hint.removesuffix('Hint')}={'yes' if value else 'no'}")
    return " ".join(words) or "none"


def build_rows(answers: Mapping[str, Any]) -> list[list[str]]:
    """Return the rows of the table, one for each tool."""
    policy = build_policy(answers)
    rows = []
    for tool in parse_entries(answers.get("tools")):
        name = str(tool.get("name"))
        behavior = infer_behavior(tool)
        if not is_known(behavior):
            rows.append([name, behavior or "?", "?", "?", "?"])
            continue
        hints = _format_hints(compute_hints(tool, policy))
        gate = describe_gate(tool, policy)
        rows.append([name, behavior, hints, gate, describe_source(tool)])
    return rows


def print_preview(answers: Mapping[str, Any]) -> None:
    """Print the table in a terminal: a line for each tool if there is room."""
    policy = build_policy(answers)
    words = {True: "yes", False: "no", None: "-"}
    lines = []
    tools = parse_entries(answers.get("tools"))
    for tool, row in zip(tools, build_rows(answers), strict=True):
        name, behavior, _, gate, source = row
        hints = compute_hints(tool, policy) if is_known(behavior) else {}
        cells = []
        for hint in NARROW_HINTS:
            wire_name = load_tables()["hints"][hint]
            cells.append(words[hints.get(wire_name)])
        short_source = re.sub("first word '.*'", "its name", source)
        lines.append([name, behavior, *cells, gate, short_source])
    print_table(NARROW, lines, ruled=False)


def find_created_record(tools: object) -> str:
    """Return the kind of record that the first creating tool creates; empty without such a tool."""
    for tool in parse_entries(tools):
        _, _, record = str(tool["name"]).partition("_")
        if infer_behavior(tool) in CREATING and record:
            return record
    return ""


def strip_record(fields: str, record: str) -> str:
    """Return fields without the name of their record in front, as an answers file has it."""
    name, _, rest = fields.partition(":")
    return rest.strip() if name.strip() == record else fields


def list_signatures(project: Path) -> list[str]:
    """Return the signatures of the creating tools of a rendered project, a line each; outlines are left out."""
    lines = []
    for behavior, function in _list_tool_functions(project):
        is_outline = isinstance(function.body[-1], ast.Raise)
        if behavior in CREATING and not is_outline:
            parameters = function.args.args + function.args.kwonlyargs
            types = [f"{arg.arg}: {_format_type(arg)}" for arg in parameters]
            lines.append(f"{function.name}({', '.join(types)})")
    return lines


def list_behaviors(project: Path) -> dict[str, str]:
    """Return the behavior of each tool of a rendered project by the tool's name."""
    behaviors = {}
    for behavior, function in _list_tool_functions(project):
        behaviors[function.name] = behavior
    return behaviors


def _list_tool_functions(project: Path) -> Iterator[tuple[str, ast.AsyncFunctionDef]]:
    """Yield the function of each tool of a rendered project, after its behavior."""
    for path in sorted(project.glob("src/*/tools/**/*.py")):
        for node in ast.parse(path.read_bytes()).body:
            if not isinstance(node, ast.AsyncFunctionDef):
                continue
            for decorator in node.decorator_list:
                behavior, _, _ = ast.unparse(decorator).partition("(")
                if is_known(behavior):
                    yield behavior, node


def _format_type(parameter: ast.arg) -> str:
    """Return the type of a parameter, without its description."""
    annotation = parameter.annotation
    if annotation is None:
        return "Any"
    if isinstance(annotation, ast.Subscript):
        arguments = annotation.slice
        if isinstance(arguments, ast.Tuple):
            return ast.unparse(arguments.elts[0])
    return ast.unparse(annotation)


def _suggest_name(name: str) -> str:
    suggestion = re.sub(r"[^a-z0-9]+", "_", name.lower()).strip("_")
    return suggestion if NAME.fullmatch(suggestion) else "get_note"


def _describe_undetermined(names: list[str]) -> str:
    """Return the error for names whose first words imply no behavior; empty without names."""
    if not names:
        return ""
    words = [repr(name.split("_")[0]) for name in names]
    verbs = f"{words[0]} is no known verb"
    if len(words) > 1:
        verbs = f"{', '.join(words[:-1])} and {words[-1]} are no known verbs"
    proposals = [f"{name}={propose_behavior(name)}" for name in names]
    return f"{verbs}; write {', '.join(proposals)}"


def add_behaviors(text: str) -> str:
    """Return names typed with commas between them, with the proposed behavior where a name implies none."""
    names = []
    for part in text.split(","):
        (tool,) = parse_entries(part) or [{}]
        name = tool.get("name", "")
        if NAME.fullmatch(name) and not infer_behavior(tool):
            names.append(f"{name}={propose_behavior(name)}")
        elif part.strip():
            names.append(part.strip())
    return ", ".join(names)


def find_name_mistake(text: str) -> str:
    """Return the first error in names typed with commas between them, with its fix; empty without one.

    Names that do not imply a behavior are reported together.
    """
    tools = parse_entries(text)
    if not tools:
        return "no tool is named; e.g. search_notes, get_note"
    names: set[str] = set()
    undetermined = []
    for tool in tools:
        name = tool["name"]
        behavior = tool.get("behavior")
        if not NAME.fullmatch(name):
            suggestion = _suggest_name(name)
            return f"{name!r} is not a valid name; write {suggestion}, with commas between names"
        if name in names:
            return f"{name!r} is named twice; remove one"
        if behavior is not None and not is_known(behavior):
            behaviors = ", ".join(load_tables()["behaviors"])
            return f"{behavior!r} is not a behavior; write one of {behaviors}"
        if not infer_behavior(tool):
            undetermined.append(name)
        names.add(name)
    return _describe_undetermined(undetermined)
