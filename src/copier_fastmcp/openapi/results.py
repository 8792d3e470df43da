"""What a document says of an operation's responses, cut to the fields that matter."""

import re
from dataclasses import dataclass, field
from typing import Any

from .bodies import inside
from .document import UnresolvedError
from .inputs import LeftOutError, python_name, snake
from .media import STREAM, TEXTUAL
from .operations import Operation, bare, is_json
from .schemas import merged, properties_of, required_of
from .texts import sentence, sentences
from .typed import Typed, typed

# What people and models look for first, in this order.
FIRST = [
    "id",
    "key",
    "number",
    "name",
    "title",
    "full_name",
    "login",
    "email",
    "slug",
    "code",
    "identifier",
    "state",
    "status",
    "type",
    "kind",
    "description",
    "summary",
    "body",
    "text",
    "content",
    "message",
    "value",
    "amount",
    "currency",
    "price",
    "total",
    "url",
    "html_url",
    "web_url",
    "created_at",
    "updated_at",
    "created",
    "updated",
    "date",
    "due_date",
    "owner",
    "author",
    "user",
    "assignee",
]
NOISE = re.compile(r"(^_|_url$|^links$|^node_id$|gravatar|^etag$|_links$|^object$|^x_)")
ALWAYS = 6
NAME = re.compile("[A-Za-z_][A-Za-z0-9_.-]{0,63}")
LONGEST_TEXT = 90
FILE = "file"  # the key `returns` of a tool whose responses are binary


@dataclass
class Answer:
    """What a document says of a tool's responses, for readers: nothing of it is enforced.

    `fields` are those of an object, or of the items of a list, which is under `key` or the whole body.
    """

    fields: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    paged: bool = False
    key: str = ""
    file: bool = False
    left_out: list[str] = field(default_factory=list)

    def returns(self) -> Any:
        """The key `returns` of the tool; None where nothing is known."""
        if self.file:
            return FILE
        if not self.fields:
            return None
        rows = {}
        for name, row in self.fields:
            rows[name] = row["type"] if row.keys() == {"type"} else row
        if not self.paged:
            return rows
        return {self.key: [rows]} if self.key else [rows]


def _list_contents(operation: Operation) -> list[tuple[str, Any]]:
    """Return the media types of all successes, with what the document has about each."""
    contents = []
    for _, response in sorted(operation.success.items()):
        content = response.get("content")
        if isinstance(content, dict):
            for kind, about in content.items():
                contents.append((str(kind), about))
    return contents


def answer(operation: Operation) -> Answer:
    """What an operation answers when all goes well. No media type but an endless stream excludes it.

    Raises:
        LeftOutError: Every response is a stream of events, which has no end.
    """
    contents = _list_contents(operation)
    kinds = [bare(kind) for kind, _ in contents]
    media = next((about for kind, about in contents if is_json(kind)), None)
    if media is None:
        if kinds and {*kinds} == {STREAM}:
            raise LeftOutError("it answers with a stream of events, which has no end")
        return Answer(file=bool(kinds) and not any(map(TEXTUAL.fullmatch, kinds)))
    result = Answer()
    if STREAM in kinds:
        result.left_out.append("the answer as a stream of events")
    schema_of = operation.document.resolve_if_possible(media).get("schema")
    if schema_of is None:
        return result
    try:
        schema = merged(operation.document, schema_of)
        if schema.get("type") == "array":
            result.paged, schema = (
                True,
                merged(operation.document, schema.get("items") or {}),
            )
        elif key := _list_key(operation, schema):
            result.paged, result.key = True, key
            listed = merged(operation.document, properties_of(schema)[key])
            schema = merged(operation.document, listed.get("items") or {})
        _fields(operation, schema, result)
    except UnresolvedError:
        result.fields = []
    return result


def _of_a_page(name: str) -> bool:
    return bool(
        re.search(
            r"(?i)^(total|count|next|prev|page|per_page|has_more|offset|limit|cursor|self|pagination|incomplete)",
            name,
        )
    )


def _list_key(operation: Operation, schema: dict[str, Any]) -> str:
    """The name of the one list of objects that a page holds; empty where it is not a page."""
    if operation.method not in ("GET", "POST", "QUERY"):
        return ""
    lists = []
    for name, inner in properties_of(schema).items():
        try:
            plain = merged(operation.document, inner)
            if plain.get("type") == "array" and properties_of(
                merged(operation.document, plain.get("items") or {})
            ):
                lists.append(name)
        except UnresolvedError:
            continue
    if len(lists) != 1:
        return ""
    other_keys = []
    for name in properties_of(schema):
        if name not in lists and not _of_a_page(name):
            other_keys.append(name)
    if not NAME.fullmatch(lists[0]) or len(other_keys) > 2:
        return ""
    return lists[0] if operation.method == "GET" or len(other_keys) < 2 else ""


def _fields(operation: Operation, schema: dict[str, Any], fields_found: Answer) -> None:
    """Every field that can be one, those that matter first. Others arrive all the same."""
    needed = required_of(schema)
    rows, names = [], set[str]()
    for place, (name, inner) in enumerate(properties_of(schema).items()):
        same = re.sub("^param_", "field_", python_name(name))
        if not NAME.fullmatch(name) or same in names:
            continue
        names.add(same)
        try:
            plain = merged(operation.document, inner)
            value = typed(operation.document, inner)
        except UnresolvedError:
            continue
        if plain.get("writeOnly") is True:
            continue
        kind = value.keys.get("type")
        if kind is None:
            first = value.keys["choices"][0]
            kind = (
                "bool"
                if isinstance(first, bool)
                else "int"
                if isinstance(first, int)
                else "str"
            )
        kind = {"date": "str", "datetime": "str", "uuid": "str"}.get(kind, kind)
        entry: dict[str, Any] = {"type": kind}
        if text := _about(operation, value, plain):
            entry["description"] = text
        if name not in needed or value.nullable or kind == "any":
            entry["default"] = None
        rows.append((_rank(name, kind, name in needed, place), name, entry))
    rows.sort(key=lambda row: row[0])
    fields_found.fields = [(name, entry) for _, name, entry in rows]


def _about(operation: Operation, value: Typed, plain: dict[str, Any]) -> str:
    """What a field is, with its choices or what is in it where that is short."""
    text = sentence(sentences(value.description, LONGEST_TEXT))
    about_text = ", ".join(map(str, value.keys.get("choices", ())[:9]))
    if (
        "choices" in value.keys
        and len(value.keys["choices"]) < 9
        and len(about_text) <= LONGEST_TEXT
    ):
        return f"{text} One of: {about_text}.".strip()
    if value.type in ("dict", "list[dict]") and (inner := inside(operation, plain, 6)):
        return f"{text} Fields: {inner}.".strip()
    return text


def _rank(name: str, kind: str, needed: bool, place: int) -> tuple[int, int, int]:
    common = snake(name)
    if common in FIRST:
        return (0, FIRST.index(common), place)
    plain = kind not in ("dict", "any") and not kind.startswith("list[")
    noise = bool(NOISE.search(name) or NOISE.search(common))
    return (1 + 2 * noise + (not plain) + (not needed and not plain), 0, place)
