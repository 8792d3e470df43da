"""The operations of a document, each with all that is said of it in one place."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from .document import Document, UnresolvedError
from .json_values import list_objects, list_strings
from .verbs import ALL_VERBS, READ

METHODS = ("get", "head", "options", "trace", "query", "post", "put", "patch", "delete")
FORM = "application/x-www-form-urlencoded"
VERSION_SEGMENT = re.compile(
    r"v\d+([._]\d+)*((alpha|beta)\d*)?|\d{4}-\d\d-\d\d|api|rest|latest"
)


def words(text: object) -> list[str]:
    """The words of a name in any style: camelCase, kebab-case, paths, dots."""
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", str(text))
    parts = [word.lower() for word in re.findall(r"[A-Za-z]+|\d+", apart)]
    return (
        [f"re{parts[1]}", *parts[2:]]
        if parts[:1] == ["re"] and len(parts) > 1
        else parts
    )


def split_words(texts: Iterable[str]) -> list[str]:
    """Return the words of several names, in their order."""
    split = []
    for text in texts:
        split += words(text)
    return split


@dataclass
class Operation:
    """One method of one path. `raw` is the operation's own object, `parameters` have the path's."""

    document: Document
    method: str
    path: str
    raw: Mapping[str, Any]
    parameters: list[dict[str, Any]]
    siblings: Mapping[str, Any]
    broken: str = ""
    extensions: dict[str, Any] = field(default_factory=dict)
    # The field of its body that is fixed, and its value
    chosen: tuple[str, str] = (
        "",
        "",
    )

    @property
    def key(self) -> str:
        """What tells it from all others: its name, and the choice that it stands for."""
        return f"{self.name} {'='.join(self.chosen)}" if self.chosen[0] else self.name

    @property
    def name(self) -> str:
        """What people call it: `POST /a/{b}`."""
        return f"{self.method} {self.path}"

    @property
    def operation_id(self) -> str:
        value = self.raw.get("operationId")
        return value if isinstance(value, str) else ""

    def text(self, key: str) -> str:
        value = self.raw.get(key)
        return value if isinstance(value, str) else ""

    def split_sentence(self, key: str) -> list[str]:
        """The words of the first sentence of a text, without markup."""
        plain = re.sub(r"<[^<>]{1,200}>", " ", self.text(key)[:2000]).strip()
        return words(re.split(r"[.!?;:\n]\s", plain, maxsplit=1)[0])

    @property
    def tags(self) -> list[str]:
        value = self.raw.get("tags")
        return list_strings(value)

    @property
    def servers(self) -> Any:
        """The servers that are its own, in place of those of the document."""
        return self.raw.get("servers") or self.siblings.get("servers")

    @cached_property
    def segments(self) -> list[str]:
        """The parts of the path, without versions; a custom method (`:cancel`) is a part."""
        parts = re.sub(r"(?<=[^/]):(?=[A-Za-z])", "/", self.path).split("/")
        segments = [part for part in parts if part]
        while len(segments) > 1 and VERSION_SEGMENT.fullmatch(segments[0]):
            segments = segments[1:]
        return segments

    @property
    def ends_in_parameter(self) -> bool:
        return bool(self.segments) and "{" in self.segments[-1]

    @property
    def _literal_segments(self) -> list[str]:
        return [part for part in self.segments if "{" not in part]

    @property
    def tail(self) -> str:
        """The last part of the path that is not a parameter, without a file's ending."""
        literal = self._literal_segments
        return re.sub(r"\.(json|xml|php|do)$", "", literal[-1]) if literal else ""

    @cached_property
    def id_words(self) -> list[str]:
        """The words of the operationId without its tag in front: issues/list-for-repo is `list for repo`."""
        if self.chosen[0]:
            return words(self.chosen[1])
        generated = f"{re.sub(r'[^A-Za-z0-9_]', '_', self.path)}_{self.method.lower()}"
        named = re.sub(f"^{self.method}_", "", self.operation_id[:400])
        last = named.removesuffix(generated)  # as FastAPI writes it behind a name
        front, last = re.fullmatch(r"(?:(.*)[/.:#])?(.*)", last, re.DOTALL).groups()  # type: ignore[union-attr]
        parts = words(last)
        if front and front in READ:  # search/repos
            parts = [front, *parts]
        if len(parts) > 2 and parts[-1] == self.method.lower():
            parts.pop()
        if (
            len(parts) > 2
            and parts[0] in ("post", "put", "patch")
            and parts[1] in ALL_VERBS
        ):
            parts = parts[1:]
        whole = split_words(self._literal_segments)
        end = words(self.tail)
        if (
            parts == whole[-len(parts) :]
            and len(end) < len(parts)
            and end[0] in ALL_VERBS
        ):
            return end  # /transfer/intent/get is transferIntentGet
        prefixes = {tuple(words(text)) for text in (*self.tags, *self.segments)}
        for size in range(len(parts) - 1, 0, -1):
            front, later = tuple(parts[:size]), parts[size]
            if front in prefixes and later in ALL_VERBS and parts[0] not in ALL_VERBS:
                return parts[size:]
        return parts

    @cached_property
    def generated(self) -> bool:
        """Whether its operationId is its method and its path, as in PostChargesChargeRefund."""
        named = words(self.operation_id[:400])
        method, *path = named or [""]
        if method != self.method.lower() or not path:
            return False
        whole = split_words(self.path.split("/"))
        return path in (whole, split_words(self.segments))

    @cached_property
    def statuses(self) -> list[str]:
        answers = self.raw.get("responses")
        return list(map(str, answers)) if isinstance(answers, dict) else []

    @cached_property
    def success(self) -> dict[str, dict[str, Any]]:
        """The answers with 2xx by their code."""
        answers = self.raw.get("responses")
        if not isinstance(answers, dict):
            return {}
        success = {}
        for code, response in answers.items():
            if str(code).startswith("2"):
                success[code] = self.document.resolve_if_possible(response)
        return success

    @cached_property
    def body(self) -> dict[str, Any]:
        """Its request body, with references followed; empty without one."""
        request_body = self.raw.get("requestBody")
        return self.document.resolve_if_possible(request_body) if request_body else {}

    @property
    def contents(self) -> dict[str, Any]:
        """The media types of its body."""
        content = self.body.get("content")
        return content if isinstance(content, dict) else {}

    @cached_property
    def json_body(self) -> tuple[str, dict[str, Any]]:
        """The media type and the schema of a body in JSON, else of a form; empty without one."""
        for kind, about in sorted(
            self.contents.items(), key=lambda item: not is_json(item[0])
        ):
            if is_json(kind) or is_form(kind):
                media = self.document.resolve_if_possible(about)
                schema = media.get("schema")
                return kind, self.document.resolve_if_possible(schema) if isinstance(
                    schema, dict
                ) else {}
        return "", {}

    @cached_property
    def scopes(self) -> list[list[str]]:
        """The scopes that it asks for, a list for each way to be let in."""
        security = self.raw.get("security", self.document.root.get("security"))
        scopes = []
        for requirement in list_objects(security):
            required: list[str] = []
            for names in requirement.values():
                required += list_strings(names)
            scopes.append(required)
        return scopes

    def parameter(self, place: str, name: str) -> dict[str, Any]:
        """A parameter by its place and name, the name in any case; empty where there is none."""
        for parameter in self.parameters:
            if (
                parameter.get("in") == place
                and str(parameter.get("name", "")).lower() == name.lower()
            ):
                return parameter
        return {}


def bare(kind: str) -> str:
    """A media type without its parameters, as in `application/json; charset=utf-8`."""
    return kind.partition(";")[0].strip().lower()


def is_json(kind: str) -> bool:
    """Whether a media type holds JSON."""
    plain = bare(kind)
    return plain in ("application/json", "text/json", "*/*") or plain.endswith("+json")


def is_form(kind: str) -> bool:
    """Whether a media type is that of a plain form."""
    return bare(kind) == FORM


def operations(document: Document) -> Iterator[Operation]:
    """Every operation of a document, in its order; one that cannot be read says so in `broken`."""
    for path, path_item in (document.root.get("paths") or {}).items():
        if not path.startswith("/"):
            if not path.startswith("x-"):
                reason = "its path does not begin with /"
                yield Operation(document, "ANY", path, {}, [], {}, reason)
            continue
        try:
            item = document.resolve(path_item)
        except UnresolvedError as error:
            yield Operation(document, "ANY", path, {}, [], {}, str(error))
            continue
        additional = item.get("additionalOperations")
        named = {key: value for key, value in item.items() if key.lower() in METHODS}
        for method, raw in {
            **named,
            **(additional if isinstance(additional, dict) else {}),
        }.items():
            yield _operation(document, method.upper(), path, raw, item)


def _operation(
    document: Document,
    method: str,
    path: str,
    raw: Any,
    item: Mapping[str, Any],
) -> Operation:
    broken = ""
    try:
        raw = document.resolve(raw)
    except UnresolvedError as error:
        raw, broken = {}, str(error)
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for source in (item, raw):
        listed = source.get("parameters")
        for parameter in listed if isinstance(listed, list) else ():
            try:
                resolved = document.resolve(parameter)
                merged[str(resolved.get("in")), str(resolved.get("name"))] = resolved
            except UnresolvedError as error:
                broken = broken or f"a parameter: {error}"
    extensions = {}
    for key, value in {**item, **raw}.items():
        if key.startswith("x-"):
            extensions[key] = value
    parameters = [*merged.values()]
    return Operation(document, method, path, raw, parameters, item, broken, extensions)
