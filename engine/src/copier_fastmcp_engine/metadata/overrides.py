"""Metadata files, read and laid over the texts of the code: words only."""

import difflib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any, cast

import yaml
from fastmcp import FastMCP
from fastmcp.resources import Resource, ResourceTemplate
from fastmcp.server.providers import Provider
from fastmcp.server.transforms import Transform
from fastmcp.tools import Tool
from mcp_types import Icon, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from ..errors import StartError
from ..policy import WIRE_NAMES, Policy
from ..project import package_folder
from ..texts import (
    HIDDEN,
    Image,
    Line,
    Text,
    find_hidden_character,
    format_value,
    shorten_value,
)
from ..tools import run_now

SECTIONS = {"tool": "tools", "resource": "resources", "template": "resource_templates"}
Item = Tool | Resource | ResourceTemplate
# Texts as in a file: by section, then by name or URI
Texts = dict[str, dict[str, dict[str, Any]]]
MOST_BYTES = 65_536
HINTS = {*WIRE_NAMES, *WIRE_NAMES.values(), "annotations", "hints"}
# Takes what is wrong, and where
REFUSED: Any = partial(yaml.MarkedYAMLError, None, None)
# Knows which unquoted words some readers do not take for text
YAML_1_1: Any = yaml.SafeLoader("")


class _Described(BaseModel, extra="forbid", strict=True):
    description: Text = ""


class _Tool(_Described):
    title: Line = ""
    arguments: dict[str, _Described] = Field(default_factory=dict)
    icons: list[Image] = Field(default_factory=list)
    enabled: bool = True


class _Resource(_Described):
    name: Line = ""
    use_when: Text = ""
    example: Text = ""


class _File(BaseModel, extra="forbid", strict=True):
    version: Annotated[int, Field(ge=1, le=1)] = 1
    strict: bool = True
    tools: dict[str, _Tool] = Field(default_factory=dict)
    resources: dict[str, _Resource] = Field(default_factory=dict)
    resource_templates: dict[str, _Resource] = Field(default_factory=dict)


def packaged_file(policy: Policy) -> Path:
    """The file that comes with the server."""
    return package_folder(policy.package) / "metadata.yaml"


def user_file(policy: Policy, setting: Path | None) -> Path | None:
    """The user's own file: the one in the setting, else the one in the home folder; None for `none`."""
    location = (
        f"~/.{policy.server_name}/metadata.yaml"
        if setting in (None, Path())
        else str(setting)
    )
    if location == "none":
        return None
    # Path.expanduser() fails without a home folder
    return Path(os.path.expanduser(location))


def _find_shared_folder(path: Path) -> Path | None:
    """Return a parent folder in which any user can rename files: writable by all, without the sticky bit."""
    folders = {*path.absolute().parents, *Path(os.path.realpath(path)).parents}
    for folder in sorted(folders) if os.name == "posix" else ():
        # A volume of settings in a container is mounted read-only, whatever its mode says
        if folder.stat().st_mode & 0o1002 == 0o002 and os.access(folder, os.W_OK):
            return folder
    return None


def read_text(path: Path, *, trusted: bool = False) -> str | None:
    """The text of a file, or None; StartError if it is odd, large or (unless trusted) others can change it."""
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            problem = "is not a regular file"
        elif os.name == "posix" and info.st_mode & 0o022 and not trusted:
            problem = f"can be written by others; run `chmod go-w {path}`"
        elif not trusted and (folder := _find_shared_folder(path)):
            problem = f"can be replaced by others; run `chmod o-w {folder}`"
        elif info.st_size > MOST_BYTES:
            problem = f"is {info.st_size} bytes long; the limit is {MOST_BYTES}"
        else:
            # Windows writes a mark before the text
            return path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        problem = "is not UTF-8; save it as UTF-8"
    except OSError as error:
        problem = f"cannot be read: {error.strerror}"
    raise StartError(f"{path} {problem}")


def _value(events: Iterator[Any], event: Any, depth: int = 0) -> Any:
    """The plain data that begins with an event; what YAML readers disagree about is refused."""
    if event.anchor or event.tag or depth > 6:
        problem = "anchors, aliases, tags and deep nesting are not allowed; write the text out"
        raise REFUSED(problem, event.start_mark)
    if isinstance(event, yaml.SequenceStartEvent):
        items = takewhile(lambda e: not isinstance(e, yaml.SequenceEndEvent), events)
        return [_value(events, item, depth + 1) for item in items]
    if isinstance(event, yaml.MappingStartEvent):
        pairs: dict[str, Any] = {}
        for start in takewhile(
            lambda e: not isinstance(e, yaml.MappingEndEvent), events
        ):
            key = _value(events, start, depth + 1)
            if not isinstance(key, str) or key in pairs:
                problem = (
                    "appears twice; keep one"
                    if isinstance(key, str)
                    else "is not text; quote it"
                )
                raise REFUSED(
                    f"the key {shorten_value(key)} {problem}", start.start_mark
                )
            pairs[key] = _value(events, next(events), depth + 1)
        return pairs
    text = str(event.value)
    tag = (
        YAML_1_1.resolve(yaml.ScalarNode, text, (True, False))
        if event.implicit[0]
        else "str"
    )
    if tag.endswith("str"):
        return text
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if text.isdecimal():
        return int(text)
    if tag.endswith("null") and not depth:
        return {}
    problem = f"{shorten_value(text)} is not text to every YAML reader; quote it, or write true or false"
    raise REFUSED(
        problem if text else "a value is missing; add it or remove the key",
        event.start_mark,
    )


def parse(path: Path, text: str) -> dict[str, Any]:
    """Parse a metadata file; StartError names the file and the place of an error."""
    text = text.replace("\r\n", "\n")
    if unseen := HIDDEN.search(text.replace("\t", " ")):
        line = text.count("\n", 0, unseen.start()) + 1
        raise StartError(
            f"{path}:{line}: {find_hidden_character(unseen[0])} is a hidden character; remove it"
        )
    events = yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    try:
        _, first = next(events), next(events)
        data = (
            {}
            if isinstance(first, yaml.StreamEndEvent)
            else _value(events, next(events))
        )
        starts = [
            event for event in events if isinstance(event, yaml.DocumentStartEvent)
        ]
        if starts:
            problem = "a second document begins here; keep only one"
            raise REFUSED(problem, starts[0].start_mark)
        return _File.model_validate(data).model_dump(exclude_unset=True)
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark
        problem = f"{'' if type(error) is yaml.MarkedYAMLError else 'not YAML: '}{error.problem}"
        raise StartError(
            f"{path}:{mark.line + 1}:{mark.column + 1}: {problem}"
        ) from error
    except ValidationError as error:
        raise StartError(f"{path}: {_describe_form_error(error)}") from error


def layers(
    policy: Policy, setting: Path | None
) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    """Load the packaged file, then the user's; the data of a missing file is None. Raises StartError."""
    packaged = packaged_file(policy)
    for path in filter(None, [packaged, user_file(policy, setting)]):
        text = read_text(path, trusted=path == packaged)
        yield path, None if text is None else parse(path, text)


def all_names(policy: Policy) -> str:
    """Return the command that lists all names."""
    return f"`{policy.server_name} metadata export` lists them all"


def suggest_fix(name: str, names: Iterable[str], otherwise: str) -> str:
    """Suggest a fix for an unknown name from the known names."""
    near = difflib.get_close_matches(name, names, 1, 0.5)
    return f"did you mean '{near[0]}'?" if near else otherwise


def _describe_form_error(error: ValidationError) -> str:
    """Describe the first error in the form of a file."""
    first = error.errors()[0]
    where = [format_value(str(part)) for part in first["loc"]]
    value = format_value(first["input"])
    place, name = ".".join(where), "".join(where[-1:])
    if first["type"] == "extra_forbidden" and name in HINTS:
        return f"{place}: overrides change words, never hints; change the tool itself"
    if first["type"] == "extra_forbidden":
        shapes: dict[int, type[BaseModel]] = {1: _File, 5: _Described}
        item = _Tool if where[0] == "tools" else _Resource
        fields = shapes.get(len(where), item).model_fields
        near = suggest_fix(name, fields, f"the fields are {', '.join(fields)}")
        return f"{place}: Unknown field '{name}', {near}"
    if place == "version":
        return f"version {value} is not supported; write `version: 1` or update this server"
    if first["type"] == "string_pattern_mismatch":
        kind = (
            "an https:// or data:image/ address"
            if "icons" in where
            else "one line of text"
        )
        return f"{place}: Input should be {kind} (got {value})"
    return f"{place or 'the file'}: {first['msg'].partition(' or instance')[0]} (got {value})"


@dataclass(frozen=True)
class Problem:
    """An error in a metadata file.

    Attributes:
        text: What is wrong.
        name: The name that it is about.
        known_names: The names that there are, where this one is unknown.
        is_unknown_name: Whether it is that.
    """

    text: str
    name: str
    known_names: Iterable[str] = ()
    is_unknown_name: bool = False


def find_problems(config: Mapping[str, Any], texts: Texts) -> Iterator[Problem]:
    """Yield what is wrong with the content of a file, given the texts of the code."""
    for section, items in texts.items():
        kind = section[:-1].replace("_", " ")
        for name, override in config.get(section, {}).items():
            if name not in items:
                text = f"Unknown {kind}: {format_value(name)}"
                yield Problem(text, name, items, is_unknown_name=True)
            else:
                yield from _find_item_problems(name, override, items[name])


def _find_item_problems(
    name: str,
    override: Mapping[str, Any],
    item: Mapping[str, Any],
) -> Iterator[Problem]:
    """Yield what is wrong with the override of one tool or resource."""
    known_names = item.get("arguments", {})
    arguments = override.get("arguments", {})
    for argument in arguments:
        if argument not in known_names:
            text = f"Tool '{name}' has no argument '{format_value(argument)}'"
            yield Problem(text, argument, known_names, is_unknown_name=True)
    described = {name: override}
    for argument, words in arguments.items():
        described[f"{name}.{argument}"] = words
    for place, words in described.items():
        if words.get("description") == "":
            yield Problem(f"{format_value(place)} is left without a description", place)


def check(policy: Policy, path: Path, config: Mapping[str, Any], texts: Texts) -> None:
    """Warn of each unknown name in a file; StartError at the first one if the file is strict."""
    for problem in find_problems(config, texts):
        if problem.is_unknown_name and config.get("strict", True):
            remedy = suggest_fix(problem.name, problem.known_names, all_names(policy))
            raise StartError(f"{path}: {problem.text}; {remedy}")
        suffix = " (skipped)" if problem.is_unknown_name else ""
        policy.logger("metadata").warning("%s: %s%s", path, problem.text, suffix)


def merge_layers(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two layers field by field; the upper layer wins."""
    merged = {**lower, **upper}
    for key, value in upper.items():
        if isinstance(value, dict):
            merged[key] = merge_layers(lower.get(key, {}), value)
    return merged


def _address(item: Item) -> tuple[str, str]:
    kind, _, name = item.key.rpartition("@")[0].partition(":")
    return SECTIONS[kind], name


def _texts(item: Item) -> dict[str, Any]:
    if not isinstance(item, Tool):
        return {"name": item.name, "description": item.description}
    schemas = item.parameters.get("properties", {}).items()
    arguments = {
        name: {"description": schema.get("description")} for name, schema in schemas
    }
    return {
        "title": item.title,
        "description": item.description,
        "arguments": arguments,
    }


def _changes(item: Item, override: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that differ from the code; an empty text is absent on the wire."""
    text = override.get("description", item.description)
    if not isinstance(item, Tool):
        notes = [
            ("When to use", override.get("use_when")),
            ("Example", override.get("example")),
        ]
        lines = "\n".join(f"{label}: {note}" for label, note in notes if note)
        composed = "\n\n".join(filter(None, [text, lines]))
        return {
            "name": override.get("name", item.name),
            "description": composed or None,
        }
    changes: dict[str, Any] = {"description": text or None}
    if "title" in override:
        title = {"title": override["title"]}
        annotations = item.annotations or ToolAnnotations()
        changes |= title
        changes["annotations"] = annotations.model_copy(update=title)
    if "icons" in override:
        changes["icons"] = [Icon(src=src) for src in override["icons"]] or None
    properties = dict(item.parameters.get("properties", {}))
    for name, argument in override.get("arguments", {}).items():
        if name in properties and argument:
            schema = dict(properties[name])
            schema.pop("description", None)
            for key, words in argument.items():
                if words:
                    schema[key] = words
            properties[name] = schema
            changes["parameters"] = item.parameters | {"properties": properties}
    return changes


class Overrides(Transform):
    """Lays what the files say over what was registered at start, in lists and look-ups alike."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.layered, self._became = Texts(), dict[str, list[Item | None]]()
        self.texts: Texts = {section: {} for section in SECTIONS.values()}
        for item in items:
            section, name = _address(item)
            self.texts[section][name] = _texts(item)

    def _replace_texts(self, item: Item) -> Item | None:
        """Return an item with its texts replaced; None for a tool that a file disables."""
        section, name = _address(item)
        override = self.layered.get(section, {}).get(name)
        if override is None or name not in self.texts[section]:
            return item
        if self._became.get(item.key, [None])[0] is not item:
            replacement = item.model_copy(update=_changes(item, override))
            is_enabled = override.get("enabled", True)
            self._became[item.key] = [item, replacement if is_enabled else None]
        return self._became[item.key][1]

    async def _all(self, items: Iterable[Item]) -> list[Item]:
        replacements = []
        for item in items:
            if replacement := self._replace_texts(item):
                replacements.append(replacement)
        return replacements

    async def _look_up(self, name: str, call_next: Any, **options: Any) -> Item | None:
        item = await call_next(name, **options)
        return self._replace_texts(item) if item else None

    list_tools = list_resources = list_resource_templates = cast("Any", _all)
    get_tool = get_resource = get_resource_template = cast("Any", _look_up)


def overridden_tools(policy: Policy, setting: Path | None) -> frozenset[str]:
    """Return the names of the tools that the packaged or the user's file names.

    Args:
        policy: The server's policy.
        setting: The setting `metadata`.

    Raises:
        StartError: A file is wrong.
    """
    names: set[str] = set()
    for _, config in layers(policy, setting):
        if config is not None:
            names |= config.get("tools", {}).keys()
    return frozenset(names)


def override(
    policy: Policy,
    mcp: FastMCP[Any],
    setting: Path | None,
    formerly: Mapping[str, str] | None = None,
    gated: Iterable[str] = (),
) -> dict[str, Any]:
    """Lay the packaged and the user's file over a server.

    Args:
        policy: The server's policy.
        mcp: The server.
        setting: The setting `metadata`.
        formerly: The present names of its tools by former ones.
        gated: The names of the tools that ask, and so have an argument `confirm`.

    Returns:
        What the files say of each tool.

    Raises:
        StartError: A file is wrong.
    """
    former = formerly or {}
    lists: Any = (
        Provider.list_tools,
        Provider.list_resources,
        Provider.list_resource_templates,
    )
    items: list[Item] = []
    for list_items in lists:
        items += run_now(list_items(mcp), mcp)
    overrides = Overrides(items)
    for name in gated:
        if name in overrides.texts["tools"]:
            overrides.texts["tools"][name]["arguments"].setdefault("confirm", {})
    packaged = packaged_file(policy)
    for path, config in layers(policy, setting):
        if config is not None:
            texts = config.get("tools", {})
            old_first = sorted(texts, key=lambda name: name not in former)
            present = {former.get(name, name): texts[name] for name in old_first}
            config = {**config, "tools": present}
            check(policy, path, config, overrides.texts)
            overrides.layered = merge_layers(overrides.layered, config)
        elif setting and path != packaged:
            line = "%s: no such file, so it overrides nothing"
            policy.logger("metadata").warning(line, path)
    mcp.add_transform(overrides)
    return overrides.layered.get("tools", {})
