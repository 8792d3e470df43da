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
        made = {
            name: (one["type"] if one.keys() == {"type"} else one)
            for name, one in self.fields
        }
        if not self.paged:
            return made
        return {self.key: [made]} if self.key else [made]


def answer(operation: Operation) -> Answer:
    """What an operation answers when all goes well. No media type but an endless stream excludes it.

    Raises:
        LeftOutError: Every response is a stream of events, which has no end.
    """
    contents = [
        (str(kind), about)
        for code, one in sorted(operation.success.items())
        if isinstance(one.get("content"), dict)
        for kind, about in one["content"].items()
    ]
    kinds = [bare(kind) for kind, _ in contents]
    media = next((about for kind, about in contents if is_json(kind)), None)
    if media is None:
        if kinds and {*kinds} == {STREAM}:
            raise LeftOutError("it answers with a stream of events, which has no end")
        return Answer(file=bool(kinds) and not any(map(TEXTUAL.fullmatch, kinds)))
    found = Answer()
    if STREAM in kinds:
        found.left_out.append("the answer as a stream of events")
    given = operation.document.followed(media).get("schema")
    if given is None:
        return found
    try:
        schema = merged(operation.document, given)
        if schema.get("type") == "array":
            found.paged, schema = (
                True,
                merged(operation.document, schema.get("items") or {}),
            )
        elif key := _list_key(operation, schema):
            found.paged, found.key = True, key
            listed = merged(operation.document, properties_of(schema)[key])
            schema = merged(operation.document, listed.get("items") or {})
        _fields(operation, schema, found)
    except UnresolvedError:
        found.fields = []
    return found


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
    others = [
        name
        for name in properties_of(schema)
        if name not in lists and not _of_a_page(name)
    ]
    if not NAME.fullmatch(lists[0]) or len(others) > 2:
        return ""
    return lists[0] if operation.method == "GET" or len(others) < 2 else ""


def _fields(operation: Operation, schema: dict[str, Any], found: Answer) -> None:
    """Every field that can be one, those that matter first. Others arrive all the same."""
    needed = required_of(schema)
    rows, seen = [], set[str]()
    for place, (name, inner) in enumerate(properties_of(schema).items()):
        same = re.sub("^param_", "field_", python_name(name))
        if not NAME.fullmatch(name) or same in seen:
            continue
        seen.add(same)
        try:
            plain = merged(operation.document, inner)
            one = typed(operation.document, inner)
        except UnresolvedError:
            continue
        if plain.get("writeOnly") is True:
            continue
        kind = one.keys.get("type")
        if kind is None:
            first = one.keys["choices"][0]
            kind = (
                "bool"
                if isinstance(first, bool)
                else "int"
                if isinstance(first, int)
                else "str"
            )
        kind = {"date": "str", "datetime": "str", "uuid": "str"}.get(kind, kind)
        made: dict[str, Any] = {"type": kind}
        if text := _about(operation, one, plain):
            made["description"] = text
        if name not in needed or one.nullable or kind == "any":
            made["default"] = None
        rows.append((_rank(name, kind, name in needed, place), name, made))
    found.fields = [
        (name, made) for _, name, made in sorted(rows, key=lambda row: row[0])
    ]


def _about(operation: Operation, one: Typed, plain: dict[str, Any]) -> str:
    """What a field is, with its choices or what is in it where that is short."""
    text = sentence(sentences(one.description, LONGEST_TEXT))
    known = ", ".join(map(str, one.keys.get("choices", ())[:9]))
    if (
        "choices" in one.keys
        and len(one.keys["choices"]) < 9
        and len(known) <= LONGEST_TEXT
    ):
        return f"{text} One of: {known}.".strip()
    if one.type in ("dict", "list[dict]") and (inner := inside(operation, plain, 6)):
        return f"{text} Fields: {inner}.".strip()
    return text


def _rank(name: str, kind: str, needed: bool, place: int) -> tuple[int, int, int]:
    common = snake(name)
    if common in FIRST:
        return (0, FIRST.index(common), place)
    plain = kind not in ("dict", "any") and not kind.startswith("list[")
    noise = bool(NOISE.search(name) or NOISE.search(common))
    return (1 + 2 * noise + (not plain) + (not needed and not plain), 0, place)
