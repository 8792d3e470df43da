"""Add a tool to an adopted server: a file next to the author's, and a line that registers it."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import RefusedError
from ..project import copier_process
from ..project.guarded_writes import require_reachable
from . import layout
from .edits import Edited
from .survey import Survey, survey_server


def plan_new_tool(
    answers: Mapping[str, Any],
    tool: Mapping[str, Any],
    written: Callable[[Path, str], Path],
) -> tuple[Path, dict[Path, bytes], str]:
    """Plan a new tool of an adopted server.

    Args:
        known: The answers of the project in this folder.
        tool: One entry of the answer `tools`.
        written: Which file of a render is the tool's.

    Returns:
        The file of the tool, the new content of every file, and what is left to the user; empty if nothing.

    Raises:
        RefusedError: The tool, a file or a name exists already.
    """
    root, name, place = Path.cwd(), str(tool["name"]), answers["adopted"]["place"]
    if tool.get("module") or tool.get("http"):
        raise RefusedError(
            "an adopted server has its own layout and client; leave --module and --http out"
        )
    survey = survey_server(root)
    for proposal in survey.proposals:
        if proposal.tool.name == name:
            sibling_file = survey.locate_tool(proposal.tool)
            raise RefusedError(
                f"{name} is a tool of {sibling_file}; choose another name"
            )
    path = root / place / f"{name}.py"
    package = layout.get_policy_package(place)
    plain = {key: value for key, value in answers.items() if key != "adopted"}
    with copier_process.render_project(
        plain | {"tools": [dict(tool)], "backend": "none"}
    ) as fresh:
        module_path = written(fresh, name)
        text = (fresh / module_path).read_text(encoding="utf-8")
        probe = (fresh / f"tests/tools/test_{name}.py").read_bytes()
    text = re.sub(r"(?m)^from \.\.+policy import", f"from {package} import", text)
    # The remarks of the file name its place in this project
    text = text.replace(module_path.as_posix(), path.relative_to(root).as_posix())
    files = {path: text.encode(), root / f"tests/tools/test_{name}.py": probe}
    require_reachable(root, files)
    for file in files:
        if file.exists():
            obstacle = file.relative_to(root).as_posix()
            raise RefusedError(f"{obstacle} is there; choose another name")
    server = _find_server(survey, answers["adopted"]["serves"])
    if server is None:
        return (
            path.relative_to(root),
            files,
            f"register it where your server is made: mcp.tool({name})",
        )
    edited = Edited(server.module)
    if re.search(rf"\b{name}\b", server.module.text):
        raise RefusedError(
            f"{name} is a name in {server.module.path.name}; choose another name"
        )
    above = package.rpartition(".")[0]
    edited.add_import(f"from {above + '.' if above else ''}{name} import {name}")
    edited.insert_below(server.statement, f"{server.held}.tool({name})")
    files[server.module.path] = edited.encode_edits()
    require_reachable(root, [server.module.path])
    return path.relative_to(root), files, ""


def _find_server(survey: Survey, entry_point: str) -> layout.Server | None:
    """The server that the recorded entry point names."""
    for server in layout.find_servers(survey):
        if server.entry_point == entry_point:
            return server
    return None
