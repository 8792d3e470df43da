"""A metadata file: what it may say, and how it is read without trusting it. Managed by the template."""

import difflib
import os
import stat
import unicodedata
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import AfterValidator, BaseModel, Field, ValidationError
from pydantic_core import PydanticCustomError

from .errors import StartError
from .profile import WIRE_NAMES
from .settings import SERVER_NAME
from .texts import HIDDEN, hidden, shortened

PACKAGED = Path(__file__).parent.parent / "metadata.yaml"
MOST_BYTES = 65_536
ALL = f"`{SERVER_NAME} metadata export` lists them all"
HINTS = {*WIRE_NAMES, *WIRE_NAMES.values(), "annotations", "hints"}
REFUSED: Any = partial(yaml.MarkedYAMLError, None, None)  # takes what is wrong, and where
YAML_1_1: Any = yaml.SafeLoader("")  # knows which unquoted words some readers do not take for text


def _clean(text: str) -> str:
    unseen, blank = hidden(text, lines=True), text.isspace()
    if unseen or blank or not unicodedata.is_normalized("NFC", text):
        why = f"not contain {unseen}" if unseen else "not be blank" if blank else "be in form NFC"
        raise PydanticCustomError("text", "Text should {why}", {"why": why})
    return text


Line = Annotated[str, Field(pattern="^.+$", max_length=100), AfterValidator(_clean)]
Text = Annotated[str, Field(max_length=2000), AfterValidator(_clean)]
Image = Annotated[str, Field(pattern="^(https://[!-~]+|data:image/[!-~]+)$")]


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


def user_file(setting: Path | None) -> Path | None:
    """The user's own file: the one in the setting, else the one in the home folder; None for `none`."""
    own = f"~/.{SERVER_NAME}/metadata.yaml" if setting in (None, Path()) else str(setting)
    return None if own == "none" else Path(os.path.expanduser(own))  # Path's own needs a home


def _shared(path: Path) -> Path | None:
    """A folder on the way to a file in which everybody can rename: all may write, and no sticky bit."""
    ways = {*path.absolute().parents, *Path(os.path.realpath(path)).parents}
    # A volume of settings in a container is mounted read-only, whatever its mode says
    open_ = [
        w for w in sorted(ways) if w.stat().st_mode & 0o1002 == 0o002 and os.access(w, os.W_OK)
    ]
    return open_[0] if open_ and os.name == "posix" else None


def read_text(path: Path, *, trusted: bool = False) -> str | None:
    """The text of a file, or None; StartError if it is odd, large or (unless trusted) others can change it."""
    try:
        info = path.stat()
        if not stat.S_ISREG(info.st_mode):
            problem = "is not a regular file"
        elif os.name == "posix" and info.st_mode & 0o022 and not trusted:
            problem = f"can be written by others; run `chmod go-w {path}`"
        elif not trusted and (folder := _shared(path)):
            problem = f"can be replaced by others; run `chmod o-w {folder}`"
        elif info.st_size > MOST_BYTES:
            problem = f"is {info.st_size} bytes long; the limit is {MOST_BYTES}"
        else:
            return path.read_bytes().decode()
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
        why = "anchors, aliases, tags and deep nesting are not allowed; write the text out"
        raise REFUSED(why, event.start_mark)
    if isinstance(event, yaml.SequenceStartEvent):
        items = takewhile(lambda e: not isinstance(e, yaml.SequenceEndEvent), events)
        return [_value(events, item, depth + 1) for item in items]
    if isinstance(event, yaml.MappingStartEvent):
        pairs: dict[str, Any] = {}
        for start in takewhile(lambda e: not isinstance(e, yaml.MappingEndEvent), events):
            key = _value(events, start, depth + 1)
            if not isinstance(key, str) or key in pairs:
                why = "appears twice; keep one" if isinstance(key, str) else "is not text; quote it"
                raise REFUSED(f"the key {shortened(key)} {why}", start.start_mark)
            pairs[key] = _value(events, next(events), depth + 1)
        return pairs
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
    why = f"{shortened(text)} is not text to every YAML reader; quote it, or write true or false"
    raise REFUSED(why if text else "a value is missing; add it or remove the key", event.start_mark)


def parse(path: Path, text: str) -> dict[str, Any]:
    """What a metadata file says; StartError names the file and the place where its form is wrong."""
    text = text.replace("\r\n", "\n")
    if unseen := HIDDEN.search(text.replace("\t", " ")):
        line = text.count("\n", 0, unseen.start()) + 1
        raise StartError(f"{path}:{line}: {hidden(unseen[0])} is a hidden character; remove it")
    events = yaml.parse(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    try:
        _, first = next(events), next(events)
        data = {} if isinstance(first, yaml.StreamEndEvent) else _value(events, next(events))
        if more := [event for event in events if isinstance(event, yaml.DocumentStartEvent)]:
            raise REFUSED("a second document begins here; keep only one", more[0].start_mark)
        return _File.model_validate(data).model_dump(exclude_unset=True)
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark
        why = f"{'' if type(error) is yaml.MarkedYAMLError else 'not YAML: '}{error.problem}"
        raise StartError(f"{path}:{mark.line + 1}:{mark.column + 1}: {why}") from error
    except ValidationError as error:
        raise StartError(f"{path}: {_explained(error)}") from error


def layers(setting: Path | None) -> Iterator[tuple[Path, dict[str, Any] | None]]:
    """The packaged file, then the user's, and what each says (None: there is none), or StartError."""
    for path in filter(None, [PACKAGED, user_file(setting)]):
        text = read_text(path, trusted=path == PACKAGED)
        yield path, None if text is None else parse(path, text)


def shown(name: str) -> str:
    """A name from a file as one short line, visible even when it is empty or blank."""
    return shortened(name) if name.strip() else repr(name)


def mend(name: str, names: Iterable[str], otherwise: str = ALL) -> str:
    """What to do about an unknown name, given the known ones."""
    near = difflib.get_close_matches(name, names, 1, 0.5)
    return f"did you mean '{near[0]}'?" if near else otherwise


def _explained(error: ValidationError) -> str:
    """The first thing wrong with the form."""
    first = error.errors()[0]
    where = [shown(str(part)) for part in first["loc"]]
    place, name, value = ".".join(where), (where or [""])[-1], shortened(first["input"])
    if first["type"] == "extra_forbidden" and name in HINTS:
        return f"{place}: overrides change words, never hints; change the tool itself"
    if first["type"] == "extra_forbidden":
        shapes: dict[int, type[BaseModel]] = {1: _File, 5: _Described}
        item = _Tool if where[0] == "tools" else _Resource
        fields = shapes.get(len(where), item).model_fields
        near = mend(name, fields, f"the fields are {', '.join(fields)}")
        return f"{place}: Unknown field '{name}', {near}"
    if place == "version":
        return f"version {value} is not supported; write `version: 1` or update this server"
    if first["type"] == "string_pattern_mismatch":
        kind = "an https:// or data:image/ address" if "icons" in where else "one line of text"
        return f"{place}: Input should be {kind} (got {value})"
    return f"{place or 'the file'}: {first['msg']} (got {value})"
