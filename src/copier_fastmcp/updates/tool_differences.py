"""Tools whose answers and files differ: an update leaves an author's file, so the difference is reported.

The files are parsed; the server is never imported.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UnableError, one_line
from ..project.repository import PLAIN_DIFF, git
from ..project.tool_files import (
    FILES,
    FUNCTIONS,
    find_function_names,
    parse_behavior,
)
from ..tools_answer import infer_behavior, parse_entries

Tool = dict[str, Any]


@dataclass(frozen=True)
class ToolFile:
    """What a file declares of a tool.

    Attributes:
        path: The file, as a path in the project.
        behavior: The name of the decorator.
        parameters: The names of the function's parameters.
    """

    path: str
    behavior: str
    parameters: frozenset[str]


def parse_tool_files(project: Path) -> dict[str, ToolFile]:
    """Return the tools that the files of a project declare; a file that is not Python declares none."""
    tools = {}
    for path in sorted(project.glob(FILES)):
        try:
            body = ast.parse(path.read_bytes()).body
        except (SyntaxError, ValueError):
            continue
        for node in body:
            if not isinstance(node, FUNCTIONS):
                continue
            behavior = parse_behavior(node)[0]
            if behavior:
                arguments = [*node.args.args, *node.args.kwonlyargs]
                parameters = frozenset(argument.arg for argument in arguments)
                name = path.relative_to(project).as_posix()
                tools[node.name] = ToolFile(name, behavior, parameters)
    return tools


def find_outdated_files(
    project: Path, old: Mapping[str, Any], new: Mapping[str, Any]
) -> list[str]:
    """Return a line for each tool whose answers changed and whose file did not, with the fix.

    Args:
        project: The project after the update.
        old: Its answers before.
        new: Its answers now.
    """
    files = parse_tool_files(project)
    before = _tools_by_name(old)
    after = _tools_by_name(new)
    lines = []
    for name, tool in after.items():
        if name not in before or name not in files or tool == before[name]:
            continue
        changes = _find_clashes(tool, files[name])
        changes += _describe_changes(before[name], tool, files[name])
        if changes:
            lines.append(_format_change(name, changes, files[name]))
    new_tools: dict[str, str] = {}
    for name, tool in after.items():
        if name not in before:
            new_tools.setdefault(str(tool.get("http")), str(tool["name"]))
    for name in before.keys() - after.keys() & files.keys():
        request = before[name].get("http")
        same_request = ""
        if request and str(request) in new_tools:
            new_name = new_tools[str(request)]
            same_request = f" beside {new_name}, which sends the same request"
        lines.append(_format_removal(name, files[name], same_request))
    return sorted(lines)


def find_tool_differences(project: Path, answers: Mapping[str, Any]) -> list[str]:
    """Return the same lines for a project as it is; git tells whether the answers ever named a tool."""
    tools = _tools_by_name(answers)
    lines = []
    for name, file in parse_tool_files(project).items():
        if name not in tools:
            if _was_answered(project, name):
                lines.append(_format_removal(name, file, ""))
            continue
        tool = tools[name]
        changes = _find_clashes(tool, file)
        if not tool.get("request_model"):
            missing = _collect_parameters(tool).keys() - _find_parameters(tool, file)
            for parameter in sorted(missing):
                changes.append(f"its file has no parameter {parameter}, its answers do")
        if changes:
            lines.append(_format_change(name, changes, file))
    return lines


def find_unmatched_tools(project: Path, answers: Mapping[str, Any]) -> list[str]:
    """Return a line for tools that only files declare, and one for those that only the answers name.

    Args:
        project: The project; of an adopted one the answers name no tools.
        answers: Its answers.
    """
    if answers.get("adopted"):
        return []
    files = parse_tool_files(project)
    lines: list[str] = []
    by_hand = sorted(files.keys() - tool_names(answers))
    if by_hand:
        names = ", ".join(by_hand)
        lines.append(
            f"tools that you added by hand, and the answers do not name: {names}"
        )
    unread = _find_unread_functions(project)
    without_file = sorted(_tools_by_name(answers).keys() - files.keys() - unread)
    if without_file:
        names = ", ".join(without_file)
        problem = f"tools that the answers name, and no file declares: {names}"
        fix = f"copier-fastmcp restore writes the file that you name, remove {without_file[0]} takes it out"
        lines.append(f"{problem}; {fix}")
    return lines


def _find_unread_functions(project: Path) -> set[str]:
    """Return the names of functions in files that are not Python, as those with the markers of a conflict."""
    names: set[str] = set()
    for path in project.glob(FILES):
        try:
            ast.parse(path.read_bytes())
        except (SyntaxError, ValueError):
            names |= find_function_names(path)
    return names


def tool_names(answers: Mapping[str, Any]) -> set[str]:
    """Return the names of the tools in the answers, former names included."""
    tools = _tools_by_name(answers)
    names = set(tools)
    for tool in tools.values():
        names.update(map(str, tool.get("formerly") or ()))
    return names


def _tools_by_name(answers: Mapping[str, Any]) -> dict[str, Tool]:
    tools = {}
    for tool in parse_entries(answers.get("tools")):
        tools[str(tool.get("name")).strip()] = tool
    return tools


def _find_clashes(tool: Tool, file: ToolFile) -> list[str]:
    behavior = infer_behavior(tool)
    if behavior == file.behavior:
        return []
    return [f"its answers say {behavior}, its file says {file.behavior}"]


def _describe_changes(old: Tool, new: Tool, file: ToolFile) -> list[str]:
    """Return what else differs between two answers, without what the file has already."""
    before = _collect_parameters(old)
    after = _collect_parameters(new)
    added = (after.keys() - before.keys()) - _find_parameters(new, file)
    removed = (before.keys() - after.keys()) & _find_parameters(old, file)
    changed = _list_changed_keys(before, after) & before.keys() & after.keys()
    lines: list[str] = []
    for word, names in (("new", added), ("no more", removed), ("another", changed)):
        if names:
            noun = "parameters" if len(names) > 1 else "parameter"
            listed = ", ".join(sorted(names))
            lines.append(f"its answers changed: {word} {noun} {listed}")
    other_keys = sorted(_list_changed_keys(old, new) - {"params", "behavior"})
    if other_keys:
        lines.append(f"its answers changed: {', '.join(other_keys)}")
    return lines


def _list_changed_keys(old: Mapping[str, Any], new: Mapping[str, Any]) -> set[str]:
    """Return the keys whose values differ; a missing key has the value None."""
    changed: set[str] = set()
    for key in old.keys() | new.keys():
        if old.get(key) != new.get(key):
            changed.add(key)
    return changed


def _collect_parameters(tool: Tool) -> dict[str, Any]:
    listed = tool.get("params")
    parameters: dict[str, Any] = {}
    if isinstance(listed, list):
        for row in parse_entries(listed):
            parameters[str(row.get("name"))] = row
    return parameters


def _to_python_name(name: str) -> str:
    """Return the name that a parameter of the answers has in a Python function."""
    plain = re.sub("[-.]", "_", name)
    if plain.startswith(("_", "model_")):
        return f"param_{plain.lstrip('_')}"
    return plain


def _find_parameters(tool: Tool, file: ToolFile) -> set[str]:
    """Return the parameters of the answers that the file's function has."""
    names = set()
    for name in _collect_parameters(tool):
        python_name = _to_python_name(name)
        if {python_name, f"{python_name}_"} & file.parameters:
            names.add(name)
    return names


def _format_change(name: str, changes: list[str], file: ToolFile) -> str:
    fix = f"write it there, or have it written anew: copier-fastmcp restore {file.path}"
    problem = "; ".join(changes)
    state = f"{file.path} is yours and stays as it was"
    return one_line(f"{name}: {problem}; {state}; {fix}")


def _format_removal(name: str, file: ToolFile, same_request: str) -> str:
    served = f"{file.path} still serves it{same_request}"
    fix = f"if it may go: copier-fastmcp remove {name}; if not, put it back into the answers"
    return one_line(f"{name}: is no longer in the answers, but {served}; {fix}")


def _was_answered(project: Path, name: str) -> bool:
    """Return whether the answers named a tool in an earlier commit."""
    pattern = rf"(name: |- |^tools:.*[ ,])['\"]?{re.escape(name)}(['\"=, ]|$)"
    words = ["log", "-1", "--format=%h", *PLAIN_DIFF]
    words += ["--extended-regexp", "-G", pattern]
    try:
        return bool(git(project, *words, "--", ".copier-answers.yml"))
    except UnableError:
        return False
