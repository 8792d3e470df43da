"""Tools whose answers and files say different things: an update leaves the files, so it is told.

A tool's file is its author's and no update writes in it. Nothing here imports the server.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import UnableError, one_line
from ..listing import behavior_of, entries
from ..project.repository import git
from ..project.tools import FILES, FUNCTIONS, declared

Tool = dict[str, Any]


@dataclass(frozen=True)
class Served:
    """What a file says of a tool.

    Attributes:
        file: Where it is, as a path in the project.
        behavior: What its decorator is called.
        takes: The names of its parameters.
    """

    file: str
    behavior: str
    takes: frozenset[str]


def served(project: Path) -> dict[str, Served]:
    """The tools that the files of a project declare; what is not Python declares none."""
    found = {}
    for path in sorted(project.glob(FILES)):
        try:
            body = ast.parse(path.read_bytes()).body
        except (SyntaxError, ValueError):
            continue
        for node in body:
            if isinstance(node, FUNCTIONS) and (behavior := declared(node)[0]):
                takes = frozenset(one.arg for one in [*node.args.args, *node.args.kwonlyargs])
                file = path.relative_to(project).as_posix()
                found[node.name] = Served(file, behavior, takes)
    return found


def after_update(project: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """What new answers say of tools and the author's files do not, a line each with the mend.

    Args:
        project: The project, updated.
        old: Its answers before.
        new: Its answers now.
    """
    files, was, now = served(project), _tools(old), _tools(new)
    lines = [
        _line(name, changes, files[name])
        for name, tool in now.items()
        if name in was and name in files and tool != was[name]
        if (changes := [*_clash(tool, files[name]), *_changes(was[name], tool, files[name])])
    ]
    fresh = [tool for name, tool in now.items() if name not in was]
    for name in was.keys() - now.keys() & files.keys():
        request = was[name].get("http")
        twins = [str(tool["name"]) for tool in fresh if request and tool.get("http") == request]
        beside = f" beside {twins[0]}, which sends the same request" if twins else ""
        lines.append(_gone(name, files[name], beside))
    return sorted(lines)


def standing(project: Path, answers: Mapping[str, Any]) -> list[str]:
    """The same for answers as they are; of a tool that they do not name, git knows whether they did."""
    files, now = served(project), _tools(answers)
    lines = []
    for name, file in files.items():
        if tool := now.get(name):
            lacks = () if tool.get("request_model") else _names(tool) - _taken(tool, file)
            said = [f"its file has no parameter {one}, its answers do" for one in sorted(lacks)]
            if changes := [*_clash(tool, file), *said]:
                lines.append(_line(name, changes, file))
        elif _once(project, name):
            lines.append(_gone(name, file, ""))
    return lines


def _tools(answers: Mapping[str, Any]) -> dict[str, Tool]:
    return {str(one.get("name")).strip(): one for one in entries(answers.get("tools"))}


def _clash(tool: Tool, file: Served) -> Iterator[str]:
    if (said := behavior_of(tool)) != file.behavior:
        yield f"its answers say {said}, its file says {file.behavior}"


def _changes(was: Tool, now: Tool, file: Served) -> Iterator[str]:
    """What else differs between two answers on a tool, but for what its file has already."""
    old, new = _params(was), _params(now)
    added = (new.keys() - old.keys()) - _taken(now, file)
    gone = (old.keys() - new.keys()) & _taken(was, file)
    other = {name for name in old.keys() & new.keys() if old[name] != new[name]}
    for word, names in (("new", added), ("no more", gone), ("another", other)):
        if names:
            many = "s" if len(names) > 1 else ""
            yield f"its answers changed: {word} parameter{many} {', '.join(sorted(names))}"
    keys = {key for key in was.keys() | now.keys() if was.get(key) != now.get(key)}
    if rest := sorted(keys - {"params", "behavior"}):
        yield f"its answers changed: {', '.join(rest)}"


def _params(tool: Tool) -> dict[str, Any]:
    listed = tool.get("params")
    rows = entries(listed if isinstance(listed, list) else None)
    return {str(one.get("name")): one for one in rows}


def _names(tool: Tool) -> set[str]:
    return set(_params(tool))


def _taken(tool: Tool, file: Served) -> set[str]:
    """The parameters of a tool that its file takes, under the name that Python lets them have."""

    def python(name: str) -> str:
        plain = re.sub("[-.]", "_", name)
        return f"param_{plain.lstrip('_')}" if plain.startswith(("_", "model_")) else plain

    return {name for name in _names(tool) if {python(name), f"{python(name)}_"} & file.takes}


def _line(name: str, changes: list[str], file: Served) -> str:
    way = f"write it there, or have it written anew: copier-fastmcp restore {file.file}"
    return one_line(
        f"{name}: {'; '.join(changes)}; {file.file} is yours and stays as it was; {way}"
    )


def _gone(name: str, file: Served, beside: str) -> str:
    serves = f"{file.file} still serves it{beside}"
    way = f"if it may go: copier-fastmcp remove {name}; if not, put it back into the answers"
    return one_line(f"{name}: is no longer in the answers, but {serves}; {way}")


def _once(project: Path, name: str) -> bool:
    """Whether the answers named a tool once, as far as git remembers."""
    said = rf"(name: |- |^tools:.*[ ,])['\"]?{re.escape(name)}(['\"=, ]|$)"
    words = ["log", "-1", "--format=%h", "--extended-regexp", "-G", said]
    try:
        return bool(git(project, *words, "--", ".copier-answers.yml"))
    except UnableError:
        return False
