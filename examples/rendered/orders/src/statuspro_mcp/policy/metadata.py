"""Overrides of the texts that people and models see: read, checked, laid over what the code says.

Managed by the template. docs/metadata.md explains the file, docs/adr/policy/0004-metadata.md the choices.
"""

import difflib
import logging
import os
import stat
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml
from fastmcp import FastMCP
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.providers import Provider
from fastmcp.server.transforms import (
    GetResourceNext,
    GetResourceTemplateNext,
    GetToolNext,
    Transform,
)
from fastmcp.tools import Tool
from fastmcp.utilities.versions import VersionSpec
from mcp_types import Icon, ToolAnnotations
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from .behaviors import WIRE_NAMES
from .confirmation import shortened
from .registry import StartError, run_now
from .settings import SERVER_NAME
from .text import hidden

logger = logging.getLogger(__name__)
PACKAGED = Path(__file__).parent.parent / "metadata.yaml"
MOST_BYTES = 65_536
DEEPEST = 6
HINTS = {*WIRE_NAMES, *WIRE_NAMES.values(), "annotations", "hints"}
SECTIONS = {
    "tools": "tool",
    "resources": "resource",
    "resource_templates": "resource template",
}

C = TypeVar("C", Tool, Resource, ResourceTemplate)
Where = tuple[str, ...]
Known = Mapping[str, Mapping[str, frozenset[str]]]  # section -> name or URI -> its arguments


def _text(most: int, *, lines: bool, clears: bool) -> AfterValidator:
    def check(text: str) -> str:
        if not text.strip() and (text or not clears):
            mend = 'write "" to clear it' if clears else "take it out for the default"
            raise ValueError(f"the text is empty; {mend}")
        if len(text) > most:
            raise ValueError(f"the text is {len(text)} characters long; at most {most}")
        if found := hidden(text, lines=lines):
            raise ValueError(f"the text holds the hidden character {found}; take it out")
        if not unicodedata.is_normalized("NFC", text):
            raise ValueError("the text is not in Unicode's composed form (NFC); save it so")
        return text

    return AfterValidator(check)


Line = Annotated[str, _text(100, lines=False, clears=False)]
Text = Annotated[str, _text(2000, lines=True, clears=True)]
Image = Annotated[str, StringConstraints(pattern="^(https://[!-~]+|data:image/[!-~]+)$")]
empty = BeforeValidator(lambda value: {} if value is None else value)


class _Override(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @field_validator("*", mode="before")
    @classmethod
    def _says_something(cls, value: object, info: ValidationInfo) -> object:
        if value is None and cls.model_fields[str(info.field_name)].default_factory is dict:
            return {}
        if value is None:
            raise ValueError("nothing stands after the colon; fill it in, or take it out")
        return value


class ArgOverride(_Override):
    """The texts of one argument."""

    description: Text | None = None


class ToolOverride(_Override):
    """The texts of one tool, its icons, and whether it is served."""

    title: Line | None = None
    description: Text | None = None
    arguments: dict[str, Annotated[ArgOverride, empty]] = Field(default_factory=dict)
    icons: list[Image] | None = None
    enabled: bool | None = None


class ResourceOverride(_Override):
    """The texts of one resource or resource template."""

    name: Line | None = None
    description: Text | None = None
    use_when: Text | None = None
    example: Text | None = None


class MetadataConfig(_Override):
    """A metadata file."""

    version: Literal[1] = 1
    strict: bool = True
    tools: dict[str, Annotated[ToolOverride, empty]] = Field(default_factory=dict)
    resources: dict[str, Annotated[ResourceOverride, empty]] = Field(default_factory=dict)
    resource_templates: dict[str, Annotated[ResourceOverride, empty]] = Field(default_factory=dict)


@dataclass(frozen=True)
class Layer:
    """One metadata file, and where in it each field stands."""

    path: Path
    config: MetadataConfig
    places: Mapping[Where, str]

    def at(self, where: Sequence[str | int]) -> str:
        """The place of a field, or of the nearest one around it."""
        parts = tuple(map(str, where))
        return next(
            (self.places[parts[:n]] for n in range(len(parts), 0, -1) if parts[:n] in self.places),
            str(self.path),
        )


class _Reader:
    """YAML without aliases, tags, duplicate keys and guessed types; every key's place is kept."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.places = path, dict[Where, str]()
        self.resolve = yaml.SafeLoader("").resolve
        self.events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))

    def refused(self, mark: Any, problem: str) -> StartError:
        return StartError(f"{self.path}:{mark.line + 1}:{mark.column + 1}: {problem}")

    def document(self) -> Any:
        """The one document of the file, as plain data."""
        try:
            next(self.events)
            if isinstance(next(self.events), yaml.StreamEndEvent):
                return None
            data = self.value(next(self.events), ())
            next(self.events)
            if not isinstance(event := next(self.events), yaml.StreamEndEvent):
                raise self.refused(event.start_mark, "a second document begins; keep one")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            raise self.refused(mark, f"not YAML: {error.problem}") from error
        return data

    def value(self, event: Any, where: Where) -> Any:
        if isinstance(event, yaml.AliasEvent) or event.anchor:
            raise self.refused(event.start_mark, "an anchor or alias; write the text out")
        if event.tag:
            raise self.refused(event.start_mark, f"the tag {shortened(event.tag)}; take it out")
        if len(where) > DEEPEST:
            raise self.refused(event.start_mark, "nested too deep; docs/metadata.md shows the shape")
        if isinstance(event, yaml.ScalarEvent):
            return self.scalar(event)
        if isinstance(event, yaml.SequenceStartEvent):
            items: list[Any] = []
            while not isinstance(event := next(self.events), yaml.SequenceEndEvent):
                items.append(self.value(event, (*where, str(len(items)))))
            return items
        found: dict[str, Any] = {}
        while not isinstance(event := next(self.events), yaml.MappingEndEvent):
            mark, key = event.start_mark, self.value(event, where)
            if not isinstance(key, str):
                raise self.refused(mark, f"the key {shortened(key)} is no text; put it in quotes")
            if key in found:
                raise self.refused(mark, f"the key {shortened(key)} is there twice; keep one")
            self.places[*where, key] = f"{self.path}:{mark.line + 1}:{mark.column + 1}"
            found[key] = self.value(next(self.events), (*where, key))
        return found

    def scalar(self, event: Any) -> Any:
        """Text, true, false, a whole number or nothing; what readers of YAML disagree about is refused."""
        text, plain = event.value, event.implicit[0]
        tag = self.resolve(yaml.ScalarNode, text, (True, False)) if plain else "str"
        if tag.endswith("str"):
            return text
        if tag.endswith("null"):
            return None
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        if tag.endswith("int") and text.isdecimal():
            return int(text)
        raise self.refused(
            event.start_mark,
            f"{shortened(text)} means different things to different readers; put it in quotes, "
            "or write true or false",
        )


def user_file(setting: Path | None) -> Path | None:
    """The user's own file: as set, else in the home folder; `none` is none."""
    if setting in (None, Path()):
        return Path.home() / f".{SERVER_NAME}" / "metadata.yaml"
    return None if setting == Path("none") else setting.expanduser() if setting else None


def text_of(path: Path, *, trusted: bool = False) -> str | None:
    """What a file holds, or None when there is none.

    Raises:
        StartError: It is no regular, small UTF-8 file that only its owner writes.
    """
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            raise StartError(f"{path}: is no regular file")
        if os.name == "posix" and info.st_mode & 0o022 and not trusted:
            raise StartError(f"{path}: others can write it; run `chmod go-w {path}`")
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StartError(f"{path}: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise StartError(f"{path}: is larger than {MOST_BYTES} bytes")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise StartError(f"{path}:{line}: is not UTF-8; save it as UTF-8") from error
    if text.startswith("\ufeff"):
        raise StartError(f"{path}:1:1: begins with a byte-order mark; save it without one")
    for number, line in enumerate(text.replace("\r\n", "\n").replace("\t", " ").split("\n"), 1):
        if found := hidden(line):
            column = next(i for i, c in enumerate(line, 1) if hidden(c))
            raise StartError(f"{path}:{number}:{column}: holds {found}, which is hidden; take it out")
    return text


def parse(path: Path, text: str) -> Layer:
    """A metadata file from its text.

    Raises:
        StartError: It does not have the shape; the line names file, line and column.
    """
    reader = _Reader(path, text)
    data = reader.document()
    try:
        config = MetadataConfig.model_validate({} if data is None else data)
    except ValidationError as error:
        first = error.errors()[0]
        at = Layer(path, MetadataConfig(), reader.places).at(first["loc"])
        raise StartError(f"{at}: {_explained(first)}") from error
    return Layer(path, config, reader.places)


def _explained(error: Any) -> str:
    where, said = [shortened(str(part)) for part in error["loc"]], shortened(error["input"])
    if error["type"] == "extra_forbidden":
        if (name := where[-1]) in HINTS:
            return f"Unknown field '{name}': overrides change words, never hints; change the tool"
        section = ToolOverride if where[0] == "tools" else ResourceOverride
        of = {1: MetadataConfig, 5: ArgOverride}.get(len(where), section)
        near = difflib.get_close_matches(name, of.model_fields, 1, 0.5)
        fields = f", did you mean '{near[0]}'?" if near else f"; there are {', '.join(of.model_fields)}"
        return f"Unknown field '{name}'{fields}"
    reasons = {
        "literal_error": f"version {said} is unknown; this server reads version 1, so write "
        "version: 1 or update the server",
        "string_type": f"{said} is no text; put it in quotes",
        "bool_type": f"{said} is neither true nor false; write one of them without quotes",
        "list_type": f"{said} is no list",
        "string_pattern_mismatch": f"{said} is no https address; e.g. https://example.com/a.png",
    }
    reason = reasons.get(error["type"]) or str(error.get("ctx", {}).get("error") or "")
    return ": ".join(filter(None, [".".join(where), reason or f"{said} is no mapping"]))


def read(path: Path, *, trusted: bool = False) -> Layer | None:
    """The metadata file at `path`, or None when there is none."""
    text = text_of(path, trusted=trusted)
    return None if text is None else parse(path, text)


def load(setting: Path | None) -> list[Layer]:
    """The packaged file, then the user's."""
    path = user_file(setting)
    mine = read(path) if path else None
    if path and setting and not mine and setting != Path():
        logger.warning("%s: no such file; the texts are those of the code", path)
    return [layer for layer in (read(PACKAGED, trusted=True), mine) if layer]


def problems(layer: Layer, known: Known) -> list[tuple[Where, str, str]]:
    """The names in a file that the server does not have: where, what, and how to mend it."""
    found = []

    def check(where: Where, problem: str, there: Mapping[str, Any] | frozenset[str]) -> bool:
        if where[-1] in there:
            return True
        near = difflib.get_close_matches(where[-1], there, 1)
        mend = f"did you mean {near[0]}?" if near else f"`{SERVER_NAME} metadata export` has all"
        found.append((where, problem, mend))
        return False

    for section, kind in SECTIONS.items():
        for name, said in getattr(layer.config, section).items():
            shown = shortened(name)
            if check((section, name), f"Unknown {kind}: {shown}", known[section]):
                for argument in getattr(said, "arguments", ()):
                    problem = f"Tool '{shown}' has no argument '{shortened(argument)}'"
                    check(("tools", name, "arguments", argument), problem, known["tools"][name])
    return found


def accepted(layer: Layer, known: Known) -> dict[str, Any]:
    """What a file says about what the server has.

    Raises:
        StartError: It is strict and names something else.
    """
    found = problems(layer, known)
    if found and layer.config.strict:
        (where, problem, mend), more = found[0], len(found) - 1
        rest = f" (and {more} more: `{SERVER_NAME} metadata validate`)" if more else ""
        raise StartError(f"{layer.at(where)}: {problem}; {mend}{rest}")
    said = layer.config.model_dump(exclude_unset=True)
    for where, problem, _ in found:
        logger.warning("%s: %s (skipped)", layer.at(where), problem)
        parent = said
        for part in where[:-1]:
            parent = parent[part]
        del parent[where[-1]]
    return said


def merged(lower: dict[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Two layers as one, field by field."""
    return lower | {
        key: merged(lower.get(key, {}), value) if isinstance(value, dict) else value
        for key, value in upper.items()
    }


def composed(description: str | None, use_when: str | None, example: str | None) -> str | None:
    """What models read about a resource."""
    notes = [("When to use", use_when), ("Example", example)]
    lines = "\n".join(f"{label}: {note}" for label, note in notes if note)
    return "\n\n".join(filter(None, [description, lines])) or None


def _tool(said: ToolOverride, tool: Tool) -> Tool:
    changes: dict[str, Any] = {}
    if said.title is not None:
        annotations = tool.annotations or ToolAnnotations()
        changes["title"] = said.title
        changes["annotations"] = annotations.model_copy(update={"title": said.title})
    if said.description is not None:
        changes["description"] = said.description or None
    if said.icons is not None:
        changes["icons"] = [Icon(src=src) for src in said.icons] or None
    if said.arguments:
        properties = dict(tool.parameters.get("properties", {}))
        for name in said.arguments.keys() & properties.keys():
            text = said.arguments[name].description
            if text is not None:
                kept = {k: v for k, v in properties[name].items() if k != "description"}
                properties[name] = kept | ({"description": text} if text else {})
        changes["parameters"] = tool.parameters | {"properties": properties}
    return tool.model_copy(update=changes)


def _resource(said: ResourceOverride, item: Any) -> Any:
    text = item.description if said.description is None else said.description
    description = composed(text, said.use_when, said.example)
    return item.model_copy(update={"name": said.name or item.name, "description": description})


class Overrides(Transform):
    """Lays what the files say over what is registered, for lists and for single look-ups alike."""

    def __init__(self, said: MetadataConfig, found: Mapping[str, Mapping[str, Any]]) -> None:
        self.said, self.found = said, found
        self._made: dict[str, tuple[Any, Any]] = {}

    def _over(self, item: C, make: Callable[[C], C]) -> C:
        """`make(item)`, kept for as long as the server hands out the same object."""
        before, after = self._made.get(item.key, (None, item))
        if before is not item:
            after = make(item)
            self._made[item.key] = (item, after)
        return after

    def _tool(self, tool: Tool) -> Tool | None:
        if (said := self.said.tools.get(tool.name)) is None:
            return tool
        return None if said.enabled is False else self._over(tool, partial(_tool, said))

    def _resource(self, item: Resource) -> Resource:
        said = self.said.resources.get(str(item.uri))
        return self._over(item, partial(_resource, said)) if said else item

    def _template(self, item: ResourceTemplate) -> ResourceTemplate:
        said = self.said.resource_templates.get(item.uri_template)
        return self._over(item, partial(_resource, said)) if said else item

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        """The tools that are not taken off the wire, with their texts."""
        return [laid for tool in tools if (laid := self._tool(tool))]

    async def get_tool(
        self, name: str, call_next: GetToolNext, *, version: VersionSpec | None = None
    ) -> Tool | None:
        """One tool, or None when it is taken off the wire."""
        tool = await call_next(name, version=version)
        return tool and self._tool(tool)

    async def list_resources(self, resources: Sequence[Resource]) -> Sequence[Resource]:
        """The resources with their texts."""
        return [self._resource(item) for item in resources]

    async def get_resource(
        self, uri: str, call_next: GetResourceNext, *, version: VersionSpec | None = None
    ) -> Resource | None:
        """One resource with its texts."""
        item = await call_next(uri, version=version)
        return item and self._resource(item)

    async def list_resource_templates(
        self, templates: Sequence[ResourceTemplate]
    ) -> Sequence[ResourceTemplate]:
        """The resource templates with their texts."""
        return [self._template(item) for item in templates]

    async def get_resource_template(
        self, uri: str, call_next: GetResourceTemplateNext, *, version: VersionSpec | None = None
    ) -> ResourceTemplate | None:
        """One resource template with its texts."""
        item = await call_next(uri, version=version)
        return item and self._template(item)


async def _registered(mcp: FastMCP) -> dict[str, dict[str, Any]]:
    # The server's own lists leave out what this caller may not see; every provider's has all.
    return {
        "tools": {tool.name: tool for tool in await Provider.list_tools(mcp)},
        "resources": {str(item.uri): item for item in await Provider.list_resources(mcp)},
        "resource_templates": {
            item.uri_template: item for item in await Provider.list_resource_templates(mcp)
        },
    }


def apply(mcp: FastMCP, layers: Sequence[Layer]) -> Overrides:
    """Check the files against what is registered by now, then lay them over it.

    Raises:
        StartError: A strict file names something that the server does not have.
    """
    found = run_now(_registered(mcp))
    known = {
        section: {
            name: frozenset(item.parameters.get("properties", {}) if section == "tools" else ())
            for name, item in items.items()
        }
        for section, items in found.items()
    }
    said: dict[str, Any] = {}
    for layer in layers:
        said = merged(said, accepted(layer, known))
    overrides = Overrides(MetadataConfig.model_validate(said), found)
    mcp.add_transform(overrides)
    return overrides
