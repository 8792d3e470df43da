"""Overrides of the texts that people and models see: read, checked, laid over what the code says.

Managed by the template. docs/metadata.md explains the file, docs/adr/policy/0004-metadata.md the choices.
"""

import difflib
import json
import logging
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, TypeVar

import yaml
from fastmcp import FastMCP
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.providers import Provider
from fastmcp.server.transforms import Transform
from fastmcp.tools import Tool
from mcp_types import Icon, ToolAnnotations
from pydantic import AfterValidator, BaseModel, Field, ValidationError
from pydantic_core import PydanticCustomError

from .errors import StartError
from .profile import WIRE_NAMES
from .serving import run_now
from .settings import SERVER_NAME
from .texts import HIDDEN, hidden, shortened

logger = logging.getLogger(__name__)
PACKAGED = Path(__file__).parent.parent / "metadata.yaml"
MOST_BYTES = 65_536
DEEPEST = 6
HINTS = {*WIRE_NAMES, *WIRE_NAMES.values(), "annotations", "hints"}
YAML_1_1: Any = yaml.SafeLoader("")  # knows which unquoted words some readers take for no text
Item = Tool | Resource | ResourceTemplate
T = TypeVar("T", Tool, Resource, ResourceTemplate)
Known = Mapping[str, Mapping[str, Iterable[str]]]  # section -> name or URI -> its arguments


def _clean(text: str) -> str:
    found = hidden(text, lines=True)
    if text.isspace() or found or not unicodedata.is_normalized("NFC", text):
        why = f"no {found}" if found else "more than blanks" if text.isspace() else "normal form C"
        raise PydanticCustomError("text", "Text should have {why}", {"why": why})
    return text


Line = Annotated[str, Field(pattern="^.+$", max_length=100), AfterValidator(_clean)]
Text = Annotated[str, Field(max_length=2000), AfterValidator(_clean)]
Image = Annotated[str, Field(pattern="^(https://[!-~]+|data:image/[!-~]+)$")]


class _Override(BaseModel, extra="forbid", strict=True, frozen=True):
    pass


class ArgOverride(_Override):
    """The text of one argument."""

    description: Text | None = None


class ToolOverride(_Override):
    """The texts of one tool, its icons, and whether it is served."""

    title: Line | None = None
    description: Text | None = None
    arguments: dict[str, ArgOverride] = Field(default_factory=dict)
    icons: list[Image] | None = None
    enabled: bool = True


class ResourceOverride(_Override):
    """The texts of one resource or resource template."""

    name: Line | None = None
    description: Text | None = None
    use_when: Text | None = None
    example: Text | None = None


class MetadataConfig(_Override):
    """A metadata file."""

    version: Annotated[int, Field(ge=1, le=1)] = 1
    strict: bool = True
    tools: dict[str, ToolOverride] = Field(default_factory=dict)
    resources: dict[str, ResourceOverride] = Field(default_factory=dict)
    resource_templates: dict[str, ResourceOverride] = Field(default_factory=dict)


def user_file(setting: Path | None) -> Path | None:
    """The user's own file: the one that is set, else the one in the home folder; `none` is none."""
    if setting == Path("none"):
        return None
    own = Path(f"~/.{SERVER_NAME}/metadata.yaml") if setting in (None, Path()) else setting
    return Path(os.path.expanduser(str(own)))  # Path.expanduser fails where nobody has a home


def text_of(path: Path, *, trusted: bool = False) -> str | None:
    """What a file holds, or None when there is none.

    Raises:
        StartError: It is no small, regular UTF-8 file that only its owner writes.
    """
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            problem = "is no regular file"
        elif os.name == "posix" and info.st_mode & 0o022 and not trusted:
            problem = f"can be written by others; run `chmod go-w {path}`"
        elif info.st_size > MOST_BYTES:
            problem = f"is {info.st_size} bytes long; at most {MOST_BYTES}"
        else:
            return path.read_bytes().decode()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        problem = "is not UTF-8; save it as UTF-8"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    raise StartError(f"{path} {problem}")


def _refused(event: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=event.start_mark)


def _value(events: Iterator[Any], event: Any, depth: int = 0) -> Any:
    """The plain data that begins with an event; what YAML readers disagree about is refused."""
    if event.anchor or event.tag or depth > DEEPEST:
        raise _refused(event, "anchors, aliases, tags and deep nesting are refused; write it out")
    if isinstance(event, yaml.SequenceStartEvent):
        items = takewhile(lambda e: not isinstance(e, yaml.SequenceEndEvent), events)
        return [_value(events, item, depth + 1) for item in items]
    if isinstance(event, yaml.MappingStartEvent):
        found: dict[str, Any] = {}
        for at in takewhile(lambda e: not isinstance(e, yaml.MappingEndEvent), events):
            key = _value(events, at, depth + 1)
            if not isinstance(key, str) or key in found:
                why = "is no text; quote it" if not isinstance(key, str) else "is there twice"
                raise _refused(at, f"the key {shortened(key)} {why}")
            found[key] = _value(events, next(events), depth + 1)
        return found
    text = str(event.value)
    tag = YAML_1_1.resolve(yaml.ScalarNode, text, (True, False)) if event.implicit[0] else "str"
    if tag.endswith("str"):
        return text
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if tag.endswith("int") and text.isdecimal():
        return int(text)
    if tag.endswith("null") and not depth:
        return {}
    why = f"{shortened(text)} is not text to every reader; quote it, or write true or false"
    raise _refused(event, why if text else "nothing stands here; fill it in, or take the key out")


def parse(path: Path, text: str) -> MetadataConfig:
    """A metadata file from its text.

    Raises:
        StartError: It has not the shape; the line names the file and the place in it.
    """
    text = text.replace("\r\n", "\n")
    if found := HIDDEN.search(text.replace("\t", " ")):
        line = text.count("\n", 0, found.start()) + 1
        raise StartError(f"{path}:{line}: {hidden(found[0])} is a hidden character; take it out")
    events = yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    try:
        _, first = next(events), next(events)
        data = {} if isinstance(first, yaml.StreamEndEvent) else _value(events, next(events))
        if more := [event for event in events if isinstance(event, yaml.DocumentStartEvent)]:
            raise _refused(more[0], "a second document begins; keep one")
        return MetadataConfig.model_validate(data)
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark
        why = f"{'' if type(error) is yaml.MarkedYAMLError else 'not YAML: '}{error.problem}"
        raise StartError(f"{path}:{mark.line + 1}:{mark.column + 1}: {why}") from error
    except ValidationError as error:
        raise StartError(f"{path}: {_explained(error)}") from error


def _shown(name: str) -> str:
    return shortened(name) if name.strip() else json.dumps(name)


def _explained(error: ValidationError) -> str:
    """The first thing wrong with the shape."""
    first = error.errors()[0]
    where = [_shown(str(part)) for part in first["loc"]]
    place, name, said = ".".join(where), (where or [""])[-1], shortened(first["input"])
    if first["type"] == "extra_forbidden" and name in HINTS:
        return f"{place}: overrides change words, never hints; change the tool itself"
    if first["type"] == "extra_forbidden":
        shapes: dict[int, type[BaseModel]] = {1: MetadataConfig, 5: ArgOverride}
        item = ToolOverride if where[0] == "tools" else ResourceOverride
        fields = shapes.get(len(where), item).model_fields
        near = difflib.get_close_matches(name, fields, 1, 0.5)
        mend = f"did you mean '{near[0]}'?" if near else f"the fields are {', '.join(fields)}"
        return f"{place}: Unknown field '{name}', {mend}"
    if place == "version":
        return f"version {said} is unknown; write version: 1, or update this server"
    return f"{place or 'the file'}: {first['msg']} (got {said})"


def read(path: Path, *, trusted: bool = False) -> MetadataConfig | None:
    """The metadata file at a path, or None when there is none."""
    text = text_of(path, trusted=trusted)
    return None if text is None else parse(path, text)


def mend(name: str, names: Iterable[str]) -> str:
    """What to do about an unknown name."""
    near = difflib.get_close_matches(name, names, 1)
    return f"did you mean {near[0]}?" if near else f"`{SERVER_NAME} metadata export` has them all"


def problems(config: MetadataConfig, known: Known) -> Iterator[tuple[str, str, Iterable[str]]]:
    """Each name that the server does not have: what is wrong, the name, and those there are."""
    for section, items in known.items():
        for name, said in getattr(config, section).items():
            if name not in items:
                kind = section[:-1].replace("_", " ")
                yield f"Unknown {kind}: {_shown(name)}", name, items
                continue
            for argument in getattr(said, "arguments", {}):
                if argument not in items[name]:
                    problem = f"Tool '{name}' has no argument '{_shown(argument)}'"
                    yield problem, argument, items[name]


def check(path: Path, config: MetadataConfig, known: Known) -> None:
    """Stop at the first unknown name of a strict file; warn of each in another.

    Raises:
        StartError: The file is strict, and names what the server does not have.
    """
    for problem, name, names in problems(config, known):
        if config.strict:
            raise StartError(f"{path}: {problem}; {mend(name, names)}")
        logger.warning("%s: %s (skipped)", path, problem)


def merged(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Two layers as one, field by field."""
    return {**lower} | {
        key: merged(lower.get(key, {}), value) if isinstance(value, dict) else value
        for key, value in upper.items()
    }


def _changes(item: Item, said: Any) -> dict[str, Any]:
    """The fields that differ from the code; an empty text is absent on the wire."""
    text = item.description if said.description is None else said.description
    if not isinstance(item, Tool):
        notes = [("When to use", said.use_when), ("Example", said.example)]
        lines = "\n".join(f"{label}: {note}" for label, note in notes if note)
        composed = "\n\n".join(filter(None, [text, lines]))
        return {"name": said.name or item.name, "description": composed or None}
    changes: dict[str, Any] = {"description": text or None}
    if said.title is not None:
        annotations = item.annotations or ToolAnnotations()
        changes["title"] = said.title
        changes["annotations"] = annotations.model_copy(update={"title": said.title})
    if said.icons is not None:
        changes["icons"] = [Icon(src=src) for src in said.icons] or None
    properties = dict(item.parameters.get("properties", {}))
    for name in said.arguments.keys() & properties.keys():
        if (text := said.arguments[name].description) is not None:
            rest = {k: v for k, v in properties[name].items() if k != "description"}
            properties[name] = rest | ({"description": text} if text else {})
            changes["parameters"] = item.parameters | {"properties": properties}
    return changes


def _address(item: Item) -> tuple[str, str]:
    if isinstance(item, Tool):
        return "tools", item.name
    if isinstance(item, Resource):
        return "resources", str(item.uri)
    return "resource_templates", item.uri_template


class Overrides(Transform):
    """Lays what the files say over what was registered at start: `found`, by section and name."""

    def __init__(self, said: MetadataConfig, found: Mapping[str, Mapping[str, Any]]) -> None:
        self.said, self.found = said, found
        self.known: Known = {
            s: {n: getattr(i, "parameters", {}).get("properties", {}) for n, i in items.items()}
            for s, items in found.items()
        }
        self._made: dict[str, tuple[Any, Any]] = {}

    def _laid(self, items: Iterable[T]) -> list[T]:
        laid = []
        for item in items:
            section, name = _address(item)
            said = getattr(self.said, section).get(name)
            if said is None or name not in self.found[section]:
                laid.append(item)
            elif getattr(said, "enabled", True):
                if self._made.get(item.key, (None,))[0] is not item:
                    self._made[item.key] = item, item.model_copy(update=_changes(item, said))
                laid.append(self._made[item.key][1])
        return laid

    def _one(self, item: T | None) -> T | None:
        return next(iter(self._laid([item])), None) if item else None

    async def list_tools(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        return self._laid(tools)

    async def get_tool(self, name: str, call_next: Any, **version: Any) -> Tool | None:
        return self._one(await call_next(name, **version))

    async def list_resources(self, resources: Sequence[Resource]) -> Sequence[Resource]:
        return self._laid(resources)

    async def get_resource(self, uri: str, call_next: Any, **version: Any) -> Resource | None:
        return self._one(await call_next(uri, **version))

    async def list_resource_templates(
        self, templates: Sequence[ResourceTemplate]
    ) -> Sequence[ResourceTemplate]:
        return self._laid(templates)

    async def get_resource_template(
        self, uri: str, call_next: Any, **version: Any
    ) -> ResourceTemplate | None:
        return self._one(await call_next(uri, **version))


async def _registered(mcp: FastMCP) -> list[Item]:
    templates = await Provider.list_resource_templates(mcp)
    return [*await Provider.list_tools(mcp), *await Provider.list_resources(mcp), *templates]


def override(mcp: FastMCP, setting: Path | None) -> Overrides:
    """Read the packaged file and the user's, check them against the server, lay them over it.

    Raises:
        StartError: A file has not the shape, or is strict and names what the server does not have.
    """
    found: dict[str, dict[str, Any]] = {"tools": {}, "resources": {}, "resource_templates": {}}
    for item in run_now(_registered(mcp)):
        section, name = _address(item)
        found[section][name] = item
    said, known = dict[str, Any](), Overrides(MetadataConfig(), found).known
    for path in filter(None, [PACKAGED, user_file(setting)]):
        if config := read(path, trusted=path == PACKAGED):
            check(path, config, known)
            said = merged(said, config.model_dump(exclude_unset=True))
        elif setting and path != PACKAGED:
            logger.warning("%s: no such file, so it overrides nothing", path)
    overrides = Overrides(MetadataConfig.model_validate(said), found)
    mcp.add_transform(overrides)
    return overrides
