"""Hypothesis strategies for texts, names, parameters and results, as hostile as the tool language allows."""

import builtins
import keyword
import re
import unicodedata
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from tables import BEHAVIOR_OF

Answers = dict[str, Any]


def words(text: str, between: str | None = None) -> list[str]:
    """The words of a text."""
    return text.split(between)


# What ends a literal, opens a block, or means something, in some language that a render is written in.
FRAGMENTS = [
    *words(
        r"""" ' \ \\ \n \N{BULLET} \x41 \u0041 \' \" { } {{ }} {{7*7}} {%raw%} {%endraw%} {#x#}"""
    ),
    *words(
        "{%endyield%} %s %(x)s {0} $HOME $(id) `id` # #noqa @x !x ~ &a *a ... !!python/name:os"
    ),
    *words(
        "[table] [x](y) **b** _i_ ``` <!--x--> <script> &amp; |---| 0.0.0.0 /tmp/x /dev/shm null"
    ),
    *words(
        "password TODO true 1e3 0x1f 2026-01-31 yes a word é ﬁ İ 漢字 ｗｉｄｅ かな 한국어 שלום 🚀 🇩🇪 👍🏽"
    ),
    *words(
        "  ¦\u00a0¦\u3000¦: ¦- ¦--- ¦| ¦> ¦? ¦1. ¦+ ¦# H¦= 1¦# type: ignore¦# fmt: off¦{% set x %}",
        "¦",
    ),
    *(" ", '"""', "'''", "SELECT * FROM x", "The note."),
]
UNSEEN = "\u115f\u1160\u17b4\u17b5\u180e\u3164\ufeff\uffa0\ufffe\uffff"
LETTERS = st.characters(
    exclude_categories=["Cc", "Cf", "Cs", "Cn", "Zl", "Zp", "Mn"],
    exclude_characters=UNSEEN,
)
PLACEHOLDER = re.compile(r"\{[A-Za-z_][A-Za-z0-9_.-]*\}")


def texts(most: int, *, lines: bool = False) -> SearchStrategy[str]:
    """Any text of `most` characters that people could have written; `lines` allows line breaks."""
    piece = st.one_of(
        st.sampled_from([*FRAGMENTS, "\n", "\n\n  "] if lines else FRAGMENTS),
        st.text(LETTERS, min_size=1, max_size=8),
    )
    mixed = st.lists(piece, min_size=1, max_size=10).map(
        lambda parts: "".join(parts)[:most]
    )
    long = piece.map(lambda chunk: (chunk * most)[:most])
    plain = st.sampled_from(
        ["Get a note.", "Do it, then say so (twice)!", "It's 100% done."]
    ).map(lambda text: text[:most])
    drawn = st.one_of(mixed, mixed, mixed, plain, long)
    return drawn.map(compose_accents).filter(
        lambda text: 0 < len(text.strip()) <= len(text) <= most
    )


def compose_accents(text: str) -> str:
    """The form in which a keyboard types a letter with its accent."""
    return unicodedata.normalize("NFC", text)


# Names ---------------------------------------------------------------------------------------------------

WORDS = st.one_of(
    st.sampled_from(
        words("note notes order status address a of the x1 2 url class json ids box")
    ),
    st.text("abcxyz019", min_size=1, max_size=9),
)
# What a tool file itself is written with; a tool of that name is refused.
TAKEN = set(
    words(
        "action annotated any append backend bool create ctx delete dict dt ensure field float int len "
        "list put read resource str update uuid4"
    )
) | set(keyword.kwlist)
FIELDS = [
    *(
        "title",
        "content",
        "amount",
        "state",
        "a",
        "l",
        "O",
        "I",
        "fooBar",
        "Foo",
        "X",
        "order-id",
    ),
    *(
        "from",
        "class",
        "id",
        "type",
        "filter",
        "query",
        "limit",
        "cursor",
        "etag",
        "version",
        "name",
    ),
    *(
        "self",
        "cls",
        "json",
        "copy",
        "schema",
        "model_name",
        "request",
        "result",
        "each",
        "str",
    ),
    *(
        "note_id",
        "note_ids",
        "order_id",
        "x.y",
        "tags",
        "note",
        "data",
        "args",
        "kwargs",
        "len",
    ),
    *(
        "field",
        "read",
        "backend",
        "ctx",
        "None",
        "match",
        "print",
        "validate",
        "dict",
        "uuid4",
    ),
    *("p" * 64, "p-" * 32),
]


def camel(name: str) -> str:
    """The class of a tool, which no two tools share."""
    return "".join(word[:1].upper() + word[1:] for word in name.split("_"))


def python_name(wire: str) -> str:
    """What two parameters of one tool must not share."""
    return re.sub("[-.]", "_", wire).rstrip("_").removeprefix("param_")


def result_name(wire: str) -> str:
    """What two fields of one result must not share."""
    return python_name(wire).lstrip("_").removeprefix("field_")


BUILTINS = [
    name
    for name in [*dir(builtins), "l"]
    if re.fullmatch("[a-z]+", name) and name not in TAKEN
]


@st.composite
def tool_names(draw: DrawFn) -> str:
    """A name whose verb is known or not, up to the longest, or one that Python has already."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.sampled_from(BUILTINS))
    verb = draw(
        st.one_of(st.sampled_from(sorted(BEHAVIOR_OF)), WORDS.filter(str.isalpha))
    )
    name = "_".join([verb, *draw(st.lists(WORDS, max_size=4))])
    name += draw(st.sampled_from(["", "", "", "", "_", "__x", "_" + "x" * 60]))
    return name[:64]


# What Python already calls something, and what linters have an opinion of: ASYNC109, E741, N803, N815, S105.
ODD = """timeout userId HTTPServer If-Match UPPER mixedCASE Content-Type pageToken dot.case kebab-case
    l O I ID id_ cls self password secret token logger i18n x-amz-id"""
PYTHON = [*dir(builtins), *keyword.kwlist, *keyword.softkwlist, *words(ODD)]
PARAM_NAMES = st.one_of(
    st.sampled_from(FIELDS),
    st.sampled_from([name for name in PYTHON if name[0] != "_"]),
    st.from_regex("[A-Za-z][A-Za-z0-9_.-]{0,63}", fullmatch=True),
).filter(lambda name: name != "confirm")
MODULES = st.sampled_from(["notes", "sub", "x1", "m" * 40])

# Parameters ----------------------------------------------------------------------------------------------

INTEGERS = st.one_of(
    st.integers(-20, 20), st.sampled_from([2**53 + 1, -(2**63), 2**63 - 1])
)
FLOATS = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([1e16, 1e22, 1e-7, 5e-324, 1.7976931348623157e308, -0.0, 0.1]),
    st.integers(-9, 9).map(float),
    st.integers(-9, 9),
)
PATTERNS = {
    "^[a-z]{2}[0-9]+$": "ab12",
    "^st\\d{6}$": "st000003",
    "^(a|b|\\.)*$": "a.b",
    "^[^@ ]+@[^@ ]+$": "a@b",
    "\"'\\\\": "x\"'\\x",
    "^[A-Z\"']{1,3}$": "A'\"",
    "^[\\w.-]+$": "a.b-c",
}
JSON: SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), INTEGERS, FLOATS, texts(30)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(texts(10), inner, max_size=3)
    ),
    max_leaves=5,
)
SAMPLES: dict[str, SearchStrategy[Any]] = {
    "int": INTEGERS,
    "float": FLOATS,
    "bool": st.booleans(),
    "str": texts(60, lines=True),
    "date": st.dates().map(str),
    "datetime": st.sampled_from(
        ["2026-01-31T12:00:00Z", "2024-02-29 23:59:59.5+14:00"]
    ),
    "uuid": st.uuids().map(str),
    "url": st.sampled_from(
        ["https://example.com/a?b=c#d", "ftp://x.org:8080", "a+b://h/%20~"]
    ),
    "email": st.sampled_from(["ann@example.com", "a.b+c@x-y.co.uk"]),
    "dict": st.dictionaries(texts(10), JSON, max_size=3),
    "any": JSON,
}
TYPES = [*SAMPLES, *(f"list[{name}]" for name in SAMPLES)]


@st.composite
def numbers(draw: DrawFn, kind: str) -> Answers:
    """Bounds that leave room, and perhaps a default between them."""
    values = sorted(draw(st.lists(SAMPLES[kind], min_size=3, max_size=3)))
    low, value, high = values
    bounds: Answers = {}
    if draw(st.booleans()):
        bounds["gt" if low < value and draw(st.booleans()) else "ge"] = low
    if draw(st.booleans()):
        bounds["lt" if value < high and draw(st.booleans()) else "le"] = high
    return bounds | ({"default": value} if draw(st.booleans()) else {})


@st.composite
def strings(draw: DrawFn) -> Answers:
    """A pattern or lengths, and perhaps a default that keeps them."""
    pattern = draw(st.sampled_from([None, None, *PATTERNS]))
    value = PATTERNS[pattern] if pattern else draw(SAMPLES["str"])
    constraints: Answers = {"pattern": pattern} if pattern else {}
    if draw(st.booleans()):
        constraints["min_length"] = draw(st.integers(0, len(value)))
    if draw(st.booleans()):
        constraints["max_length"] = draw(st.integers(len(value), 5000))
    return constraints | ({"default": value} if draw(st.booleans()) else {})


@st.composite
def lists(draw: DrawFn, item_type: str) -> Answers:
    """How many, and perhaps a default of that many."""
    values = draw(st.lists(SAMPLES[item_type], max_size=4))
    constraints: Answers = {}
    if draw(st.booleans()):
        constraints["min_items"] = draw(st.integers(0, len(values)))
    if draw(st.booleans()):
        constraints["max_items"] = draw(st.integers(len(values), 200))
    return constraints | ({"default": values} if draw(st.booleans()) else {})


@st.composite
def choices(draw: DrawFn) -> Answers:
    """Texts, whole numbers and booleans to choose from."""
    scalar = st.one_of(texts(36), st.integers(-5, 5), st.booleans())
    offered = draw(st.lists(scalar, min_size=1, max_size=5, unique=True))
    default = {"default": draw(st.sampled_from(offered))} if draw(st.booleans()) else {}
    return {"choices": offered} | default


@st.composite
def params(draw: DrawFn, name: str) -> Answers:
    """One parameter under a given name."""
    kind = draw(st.sampled_from([*TYPES, "str", "str", "int", "choices"]))
    if kind == "choices":
        param = draw(choices())
    else:
        param = {"type": kind} if kind != "str" or draw(st.booleans()) else {}
        if kind in ("int", "float"):
            param |= draw(numbers(kind))
        elif kind == "str":
            param |= draw(strings())
        elif kind.startswith("list["):
            param |= draw(lists(kind[5:-1]))
        elif draw(st.booleans()):
            param["default"] = draw(SAMPLES[kind])
    if draw(st.booleans()):
        param["description"] = draw(texts(1000, lines=True))
    if "default" not in param and draw(st.booleans()):
        param |= draw(
            st.sampled_from(
                [{"required": False}, {"required": True}, {"default": None}]
            )
        )
    return {"name": name} | param


RESULT_NAMES = st.one_of(
    st.sampled_from(
        words(
            "id etag deleted count items total next_cursor title content ok valid action_id field read "
            "amount state note_id name type query tags createdAt from list order-id _links Total model_x"
        )
    ),
    st.sampled_from(PYTHON),
    st.from_regex("[A-Za-z_][A-Za-z0-9_.-]{0,63}", fullmatch=True),
)
RESULT_DEFAULTS: dict[str, SearchStrategy[Any]] = {
    **{name: SAMPLES[name] for name in SAMPLES if name not in ("dict", "any")},
    "dict": st.just({}),
    "any": st.one_of(texts(20), INTEGERS, st.just([])),
}


@st.composite
def results(draw: DrawFn) -> Any:
    """A field of `returns`: its type, or a mapping."""
    kind = draw(st.sampled_from(TYPES))
    if draw(st.booleans()):
        return kind
    result: Answers = {"type": kind}
    if draw(st.booleans()):
        result["description"] = draw(texts(1000, lines=True))
    if draw(st.booleans()):
        default = RESULT_DEFAULTS.get(kind, st.just([]))
        result["default"] = draw(st.one_of(default, st.none()))
    return result
