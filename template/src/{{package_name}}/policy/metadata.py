"""Lays metadata files over the texts of the code: words only, never a hint. Managed by the template."""

import difflib
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from fastmcp import FastMCP
from fastmcp.resources import Resource
from fastmcp.resources import ResourceTemplate as Template
from fastmcp.server.providers import Provider
from fastmcp.server.transforms import Transform
from fastmcp.tools import Tool
from mcp_types import Icon, ToolAnnotations

from .errors import StartError
from .metadata_file import PACKAGED, MetadataConfig, ResourceOverride, ToolOverride, layers, shown
from .serving import run_now
from .settings import SERVER_NAME

logger = logging.getLogger(__name__)
SECTIONS = {"tool": "tools", "resource": "resources", "template": "resource_templates"}
Item = Tool | Resource | Template
T = TypeVar("T", Tool, Resource, Template)
Texts = Mapping[str, Mapping[str, Mapping[str, Any]]]  # in the form of a metadata file


def mend(name: str, names: Iterable[str]) -> str:
    """What to do about an unknown name, given the known ones."""
    near = difflib.get_close_matches(name, names, 1)
    return f"did you mean {near[0]}?" if near else f"`{SERVER_NAME} metadata export` lists them all"


def unknown(config: MetadataConfig, texts: Texts) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Each name that a server does not have: what is wrong, the name, and those that it has."""
    for section, items in texts.items():
        for name, override in getattr(config, section).items():
            if name not in items:
                kind = section[:-1].replace("_", " ")
                yield f"Unknown {kind}: {shown(name)}", name, items
                continue
            arguments = items[name].get("arguments", {})
            for argument in [a for a in getattr(override, "arguments", {}) if a not in arguments]:
                yield f"Tool '{name}' has no argument '{shown(argument)}'", argument, arguments


def check(path: Path, config: MetadataConfig, texts: Texts) -> None:
    """Warn of each unknown name in a file; StartError at the first one if the file is strict."""
    for problem, name, names in unknown(config, texts):
        if config.strict:
            raise StartError(f"{path}: {problem}; {mend(name, names)}")
        logger.warning("%s: %s (skipped)", path, problem)


def merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Two layers as one, field by field; the upper one wins."""
    nested = {k: merged(lower.get(k, {}), v) for k, v in upper.items() if isinstance(v, dict)}
    return {**lower, **upper, **nested}


def _tool_changes(tool: Tool, override: ToolOverride) -> dict[str, Any]:
    """What differs from the code; an empty text is absent on the wire."""
    texts = override.model_dump(include={"title", "description"}, exclude_none=True)
    changes: dict[str, Any] = {key: text or None for key, text in texts.items()}
    if override.title is not None:
        annotations = tool.annotations or ToolAnnotations()
        changes["annotations"] = annotations.model_copy(update={"title": override.title})
    if override.icons is not None:
        changes["icons"] = [Icon(src=src) for src in override.icons] or None
    properties = dict(tool.parameters.get("properties", {}))
    for name in override.arguments.keys() & properties.keys():
        if (text := override.arguments[name].description) is not None:
            rest = {k: v for k, v in properties[name].items() if k != "description"}
            properties[name] = rest | ({"description": text} if text else {})
            changes["parameters"] = tool.parameters | {"properties": properties}
    return changes


def _resource_changes(item: Item, override: ResourceOverride) -> dict[str, Any]:
    text = item.description if override.description is None else override.description
    notes = [("When to use", override.use_when), ("Example", override.example)]
    lines = "\n".join(f"{label}: {note}" for label, note in notes if note)
    composed = "\n\n".join(filter(None, [text, lines]))
    return {"name": override.name or item.name, "description": composed or None}


def _texts(item: Item) -> dict[str, Any]:
    if not isinstance(item, Tool):
        return {"name": item.name, "description": item.description}
    schemas = item.parameters.get("properties", {}).items()
    arguments = {name: {"description": schema.get("description")} for name, schema in schemas}
    return {"title": item.title, "description": item.description, "arguments": arguments}


def _address(item: Item) -> tuple[str, str]:
    kind, _, name = item.key.rpartition("@")[0].partition(":")
    return SECTIONS[kind], name


class Overrides(Transform):
    """Lays what the files say over what was registered at start, in lists and look-ups alike."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.config = MetadataConfig()
        self.texts: dict[str, dict[str, dict[str, Any]]] = {s: {} for s in SECTIONS.values()}
        for item in items:
            section, name = _address(item)
            self.texts[section][name] = _texts(item)
        self._made: dict[str, tuple[Item, Any]] = {}

    def _one(self, item: T | None) -> T | None:
        """An item with its texts replaced; None for a tool that a file takes off the wire."""
        section, name = _address(item) if item else ("tools", "")
        override = getattr(self.config, section).get(name)
        if item is None or override is None or name not in self.texts[section]:
            return item
        if not getattr(override, "enabled", True):
            return None
        if self._made.get(item.key, (None,))[0] is not item:
            changes = _tool_changes if isinstance(item, Tool) else _resource_changes
            self._made[item.key] = item, item.model_copy(update=changes(item, override))
        return self._made[item.key][1]

    def _all(self, items: Iterable[T]) -> list[T]:
        return [overridden for item in items if (overridden := self._one(item))]

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        return self._all(tools)

    async def get_tool(self, name: str, call_next: Any, **more: Any) -> Tool | None:
        return self._one(await call_next(name, **more))

    async def list_resources(self, resources: Sequence[Resource]) -> Sequence[Resource]:
        return self._all(resources)

    async def get_resource(self, uri: str, call_next: Any, **more: Any) -> Resource | None:
        return self._one(await call_next(uri, **more))

    async def list_resource_templates(self, templates: Sequence[Template]) -> Sequence[Template]:
        return self._all(templates)

    async def get_resource_template(self, uri: str, call_next: Any, **more: Any) -> Template | None:
        return self._one(await call_next(uri, **more))


async def _registered(mcp: FastMCP) -> list[Item]:
    templates = await Provider.list_resource_templates(mcp)
    return [*await Provider.list_tools(mcp), *await Provider.list_resources(mcp), *templates]


def override(mcp: FastMCP, setting: Path | None) -> Overrides:
    """Lay the packaged file and the user's (a setting may name it) over a server; may raise StartError."""
    overrides, layered = Overrides(run_now(_registered(mcp))), dict[str, Any]()
    for path, config in layers(setting):
        if config:
            check(path, config, overrides.texts)
            layered = merged(layered, config.model_dump(exclude_unset=True))
        elif setting and path != PACKAGED:
            logger.warning("%s: no such file, so it overrides nothing", path)
    overrides.config = MetadataConfig.model_validate(layered)
    mcp.add_transform(overrides)
    return overrides
