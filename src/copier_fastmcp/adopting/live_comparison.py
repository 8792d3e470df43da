"""`--live`: the tools that a running server lists, compared with its source and with itself after an edit."""

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from copier_fastmcp_engine.testing.lock import HINTS

from ..auditing.verbs import split_name
from ..errors import format_count, one_line
from ..project.guarded_writes import write_files
from ..sources.registrations import SourceTool
from .survey import Survey

SECONDS = 60
Listing = list[dict[str, Any]]


def list_tools(command: str) -> Listing:
    """The tools that a command lists as a server over stdio.

    Raises:
        UnableError: The command does not answer as a server.
    """
    from ..auditing.servers import fetch_tools

    return fetch_tools(command, None, {}, SECONDS)


def compare_with_source(survey: Survey, listing: Listing) -> Survey:
    """The survey, with the tools that only the running server shows; differences are printed to stderr."""
    names = [str(tool.get("name")) for tool in listing]
    tools = [proposal.tool for proposal in survey.proposals] + survey.left
    unread: list[str] = []
    for name in names:
        if not any(_has_name(tool, name) for tool in tools):
            unread.append(name)
    absent = [tool.name for tool in tools if tool.exact and tool.name not in names]
    agreement = "the same that its source shows"
    if unread or absent:
        agreement = f"{len(unread)} not found in the source"
    print(f"it lists {len(names)} tools, {agreement}", file=sys.stderr)
    if absent:
        text = f"found in the source and not listed: {', '.join(absent)}"
        print(f"{text}; a setting may leave them out", file=sys.stderr)
    return replace(survey, unread=tuple(unread))


def announce_command(command: str) -> None:
    """Print that code of the server is about to run."""
    print(f"--live runs the server's code: {one_line(command)}", file=sys.stderr)


def find_differences(before: Listing, after: Listing) -> list[str]:
    """What differs between two listings of a server, other than hints and titles; a line for each tool."""
    old, new = _index_tools(before), _index_tools(after)
    lines = [f"{name}: not listed any more" for name in old if name not in new]
    lines += [f"{name}: not listed before" for name in new if name not in old]
    for name, tool in old.items():
        new_tool = new.get(name, tool)
        keys = sorted({*tool, *new_tool})
        changed: list[str] = []
        for key in keys:
            if tool.get(key) != new_tool.get(key):
                changed.append(key)
        if changed:
            lines.append(f"{name}: {', '.join(changed)}")
    return lines


@dataclass
class Backup:
    """The bytes of files before they were edited, and the digests of what was written over them."""

    before: dict[Path, bytes]
    digests: dict[Path, str]

    @classmethod
    def write(cls, files: Mapping[Path, bytes]) -> "Backup":
        """Keep the bytes of files, then write others in their place."""
        before = {path: path.read_bytes() for path in files}
        write_files(files)
        digests = {path: _digest(content) for path, content in files.items()}
        return cls(before, digests)

    def restore(self, root: Path) -> str:
        """Write the old bytes back, of each file that is still as it was written.

        Returns:
            A sentence that says what was restored, and what was not.
        """
        changed = []
        for path, held in self.before.items():
            if path.is_file() and _digest(path.read_bytes()) == self.digests[path]:
                path.write_bytes(held)
            elif not (path.is_file() and path.read_bytes() == held):
                changed.append(path.relative_to(root).as_posix())
        restored = f"{format_count(len(self.before) - len(changed), 'file')} restored"
        if changed:
            names = ", ".join(changed)
            return f"{restored}; not restored: {names}, changed by something else meanwhile"
        return restored


def _digest(held: bytes) -> str:
    return hashlib.sha256(held).hexdigest()


def _index_tools(listing: Listing) -> dict[str, dict[str, Any]]:
    """The tools of a listing without hints and titles; one that is listed twice has a name for each."""
    tools: dict[str, dict[str, Any]] = {}
    for tool in listing:
        name = str(tool.get("name"))
        while name in tools:
            name += " (again)"
        annotations = tool.get("annotations")
        definition = {**tool}
        definition.pop("annotations", None)
        definition.pop("title", None)
        if isinstance(annotations, dict):
            extra_hints: dict[str, Any] = {}
            for key, value in annotations.items():
                if key not in (*HINTS, "title") and value is not None:
                    extra_hints[key] = value
            if extra_hints:
                definition["annotations"] = extra_hints
        tools[name] = json.loads(json.dumps(definition, sort_keys=True))
    return tools


def _has_name(tool: SourceTool, name: str) -> bool:
    """Whether a listed name is that of a tool in the source; of a name that is put together, its parts come in order."""
    if tool.exact or tool.name == name:
        return tool.name == name
    words = iter(split_name(name))
    return tool.name != "*" and all(part in words for part in split_name(tool.name))
