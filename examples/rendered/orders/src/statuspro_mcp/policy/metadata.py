"""Lays metadata files over the texts of the code: words only, never a hint. Managed by the template."""

import contextlib
import logging
import os
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from fastmcp import FastMCP
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.providers import Provider
from fastmcp.server.transforms import Transform
from fastmcp.tools import Tool
from mcp_types import Icon, ToolAnnotations

from .errors import StartError
from .metadata_file import MOST_BYTES, PACKAGED, layers, mend, parse, read_text, shown
from .serving import run_now

if sys.platform != "win32":
    import fcntl

logger = logging.getLogger(__name__)
SECTIONS = {"tool": "tools", "resource": "resources", "template": "resource_templates"}
Item = Tool | Resource | ResourceTemplate
Texts = dict[str, dict[str, dict[str, Any]]]  # as in a file: by section, then by name or URI


def unknown(config: Mapping[str, Any], texts: Texts) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Each name that a server does not have: what is wrong, the name, and those that it has."""
    for section, items in texts.items():
        for name, override in config.get(section, {}).items():
            if name not in items:
                yield f"Unknown {section[:-1].replace('_', ' ')}: {shown(name)}", name, items
                continue
            known = items[name].get("arguments", {})
            for argument in [n for n in override.get("arguments", {}) if n not in known]:
                yield f"Tool '{name}' has no argument '{shown(argument)}'", argument, known


def wordless(config: Mapping[str, Any]) -> list[str]:
    """What a file leaves without the description by which models choose and fill it in."""
    named = []
    for name, it in (pair for each in SECTIONS.values() for pair in config.get(each, {}).items()):
        arguments = it.get("arguments", {}).items()
        named += [(name, it), *((f"{name}.{arg}", words) for arg, words in arguments)]
    return [name for name, it in named if it.get("description") == ""]


def check(path: Path, config: Mapping[str, Any], texts: Texts) -> None:
    """Warn of each unknown name in a file; StartError at the first one if the file is strict."""
    for problem, name, names in unknown(config, texts):
        if config.get("strict", True):
            raise StartError(f"{path}: {problem}; {mend(name, names)}")
        logger.warning("%s: %s (skipped)", path, problem)
    for name in wordless(config):
        logger.warning("%s: %s is left without a description", path, shown(name))


def merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Two layers as one, field by field; the upper one wins."""
    nested = {k: merged(lower.get(k, {}), v) for k, v in upper.items() if isinstance(v, dict)}
    return {**lower, **upper, **nested}


def _address(item: Item) -> tuple[str, str]:
    kind, _, name = item.key.rpartition("@")[0].partition(":")
    return SECTIONS[kind], name


def _texts(item: Item) -> dict[str, Any]:
    if not isinstance(item, Tool):
        return {"name": item.name, "description": item.description}
    schemas = item.parameters.get("properties", {}).items()
    arguments = {name: {"description": schema.get("description")} for name, schema in schemas}
    return {"title": item.title, "description": item.description, "arguments": arguments}


def _changes(item: Item, override: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that differ from the code; an empty text is absent on the wire."""
    text = override.get("description", item.description)
    if not isinstance(item, Tool):
        notes = [("When to use", override.get("use_when")), ("Example", override.get("example"))]
        lines = "\n".join(f"{label}: {note}" for label, note in notes if note)
        composed = "\n\n".join(filter(None, [text, lines]))
        return {"name": override.get("name", item.name), "description": composed or None}
    changes: dict[str, Any] = {"description": text or None}
    if "title" in override:
        changes["title"], annotations = override["title"], item.annotations or ToolAnnotations()
        changes["annotations"] = annotations.model_copy(update={"title": override["title"]})
    if "icons" in override:
        changes["icons"] = [Icon(src=src) for src in override["icons"]] or None
    properties = dict(item.parameters.get("properties", {}))
    for name, argument in override.get("arguments", {}).items():
        if name in properties and argument:
            rest = {k: v for k, v in properties[name].items() if k != "description"}
            properties[name] = rest | {k: text for k, text in argument.items() if text}
            changes["parameters"] = item.parameters | {"properties": properties}
    return changes


class Overrides(Transform):
    """Lays what the files say over what was registered at start, in lists and look-ups alike."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.layered: Texts = {}
        self.texts: Texts = {section: {} for section in SECTIONS.values()}
        for item in items:
            section, name = _address(item)
            self.texts[section][name] = _texts(item)
        self._made: dict[str, tuple[Item, Item]] = {}

    def _one(self, item: Item) -> Item | None:
        """An item with its texts replaced; None for a tool that a file takes off the wire."""
        section, name = _address(item)
        override = self.layered.get(section, {}).get(name)
        if override is None or name not in self.texts[section]:
            return item
        if self._made.get(item.key, (None, None))[0] is not item:
            self._made[item.key] = item, item.model_copy(update=_changes(item, override))
        return self._made[item.key][1] if override.get("enabled", True) else None

    async def _all(self, items: Iterable[Item]) -> list[Item]:
        return [overridden for item in items if (overridden := self._one(item))]

    async def _look_up(self, name: str, call_next: Any, **more: Any) -> Item | None:
        return self._one(item) if (item := await call_next(name, **more)) else None

    list_tools = list_resources = list_resource_templates = cast("Any", _all)
    get_tool = get_resource = get_resource_template = cast("Any", _look_up)


def override(mcp: FastMCP, setting: Path | None) -> None:
    """Lay the packaged and the user's file over a server; StartError if one is wrong."""
    kinds: Any = (Provider.list_tools, Provider.list_resources, Provider.list_resource_templates)
    overrides = Overrides([item for kind in kinds for item in run_now(kind(mcp), mcp)])
    for path, config in layers(setting):
        if config is not None:
            said, former = config.get("tools", {}), getattr(mcp, "formerly", {})
            named = {former.get(name, name): it for name, it in said.items()}
            now = {name: it for name, it in said.items() if name not in former}
            config = {**config, "tools": named | now}
            check(path, config, overrides.texts)
            overrides.layered = merged(overrides.layered, config)
        elif setting and path != PACKAGED:
            logger.warning("%s: no such file, so it overrides nothing", path)
    mcp.add_transform(overrides)


def change(path: Path, edit: Callable[[str | None], str], texts: Texts) -> None:
    """Write what `edit` makes of a file (None: there is none), whole or not at all, and say so.

    Its folder is locked, so that commands wait for each other and a kill leaves nothing behind; what other programs
    change meanwhile is seen. StartError: the server or the disk refuses it.
    """
    target = Path(os.path.realpath(path))
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as opened:
            if sys.platform != "win32":
                opened.callback(os.close, folder := os.open(target.parent, os.O_RDONLY))
                with contextlib.suppress(OSError):  # some network drives
                    fcntl.flock(folder, fcntl.LOCK_EX)
            text = edit(before := read_text(path))
            check(path, parse(path, text), texts)
            if len(text.encode()) > MOST_BYTES:
                raise StartError(f"{path} would exceed {MOST_BYTES} bytes; nothing was changed")
            if read_text(path) != before:
                raise StartError(f"{path} was changed in the meantime; nothing was changed")
            handle, draft = tempfile.mkstemp(prefix=".metadata-", dir=target.parent)
            opened.callback(Path(draft).unlink, missing_ok=True)
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(handle)
            Path(draft).replace(target)
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}; nothing was changed") from error
    print(f"{path} is saved. Restart the server for the change to take effect.")
