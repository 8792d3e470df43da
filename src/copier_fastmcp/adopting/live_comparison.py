"""`--live`: the tools that a running server lists, compared with its source and with itself after an edit."""

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
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
Definition = dict[str, Any]
Listing = list[Definition]


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
    tools = survey.list_tools()
    unread: list[str] = []
    for name in names:
        if not _is_in_source(tools, name):
            unread.append(name)
    absent: list[str] = []
    for tool in tools:
        if tool.exact and tool.name not in names:
            absent.append(tool.name)
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
    """Compare two listings of a server, apart from hints and titles; a line for each tool that differs."""
    old = _index_tools(before)
    new = _index_tools(after)
    removed: list[str] = []
    added: list[str] = []
    changed: list[str] = []
    for name, definition in old.items():
        if name not in new:
            removed.append(f"{name}: not listed any more")
            continue
        keys = _list_changed_keys(definition, new[name])
        if keys:
            changed.append(f"{name}: {', '.join(keys)}")
    for name in new:
        if name not in old:
            added.append(f"{name}: not listed before")
    return [*removed, *added, *changed]


def _list_changed_keys(old: Definition, new: Definition) -> list[str]:
    keys: list[str] = []
    for key in sorted({*old, *new}):
        if old.get(key) != new.get(key):
            keys.append(key)
    return keys


@dataclass
class Backup:
    """The bytes of files before they were edited, and the digests of what was written over them."""

    before: dict[Path, bytes]
    digests: dict[Path, str]

    @classmethod
    def write(cls, files: Mapping[Path, bytes]) -> "Backup":
        """Keep the bytes of files, then write others in their place."""
        before: dict[Path, bytes] = {}
        digests: dict[Path, str] = {}
        for path, content in files.items():
            before[path] = path.read_bytes()
            digests[path] = _compute_digest(content)
        write_files(files)
        return cls(before, digests)

    def restore(self, root: Path) -> str:
        """Write the old bytes back, of each file that is still as it was written.

        Returns:
            A sentence that says what was restored, and what was not.
        """
        changed: list[str] = []
        for path, former in self.before.items():
            present = path.read_bytes() if path.is_file() else None
            if present == former:
                continue
            if present is None or _compute_digest(present) != self.digests[path]:
                changed.append(path.relative_to(root).as_posix())
            else:
                path.write_bytes(former)
        count = len(self.before) - len(changed)
        restored = f"{format_count(count, 'file')} restored"
        if not changed:
            return restored
        names = ", ".join(changed)
        return f"{restored}; not restored: {names}, changed by something else meanwhile"


def _compute_digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _index_tools(listing: Listing) -> dict[str, Definition]:
    """The tools of a listing without hints and titles; one that is listed twice has a name for each."""
    tools: dict[str, Definition] = {}
    for tool in listing:
        name = str(tool.get("name"))
        while name in tools:
            name += " (again)"
        definition = {**tool}
        definition.pop("title", None)
        annotations = definition.pop("annotations", None)
        other_annotations = _list_other_annotations(annotations)
        if other_annotations:
            definition["annotations"] = other_annotations
        sorted_json = json.dumps(definition, sort_keys=True)
        tools[name] = json.loads(sorted_json)
    return tools


def _list_other_annotations(annotations: object) -> Definition:
    """The annotations that are neither a hint nor a title."""
    extra: Definition = {}
    if not isinstance(annotations, dict):
        return extra
    for key, value in annotations.items():
        if value is not None and key != "title" and key not in HINTS:
            extra[key] = value
    return extra


def _is_in_source(tools: Sequence[SourceTool], name: str) -> bool:
    return any(_has_name(tool, name) for tool in tools)


def _has_name(tool: SourceTool, name: str) -> bool:
    """Whether a listed name is that of a tool in the source.

    Of a name that the source puts together, only some parts are known; they come in order.
    """
    if tool.exact or tool.name in (name, "*"):
        return tool.name == name
    words = iter(split_name(name))
    return all(part in words for part in split_name(tool.name))
