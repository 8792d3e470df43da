"""Python text from answers: equal values, one form that ruff keeps."""

import ast
import re
import warnings
from typing import Any

import pytest
import strategies_values as strategies
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic_core import SchemaValidator
from support import draws, macro, specs

STEADY = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
ANY_TEXT = st.one_of(
    strategies.texts(200, lines=True), st.text("\"'\\\n\r\t{}%#aé漢🚀", max_size=20)
)


def test_strings() -> None:
    assert macro("python", "str", "it's") == '"it\'s"'
    assert macro("python", "str", 'say "hi"') == "'say \"hi\"'"
    assert macro("python", "str", "both ' and \"") == '"both \' and \\""'
    assert macro("python", "str", "\\N{BULLET} \\x41") == '"\\\\N{BULLET} \\\\x41"'
    assert macro("python", "str", "a\nb\tc\r") == '"a\\nb\\tc\\r"'


@STEADY
@given(ANY_TEXT)
def test_every_string_is_itself_again(text: str) -> None:
    written = macro("python", "str", text)
    assert ast.literal_eval(written) == text
    assert "\n" not in written


@STEADY
@given(strategies.JSON)
def test_every_value_is_itself_again(value: Any) -> None:
    written = macro("python", "literal", value, "", 4)
    assert repr(ast.literal_eval(written)) == repr(value)


@pytest.mark.parametrize(
    ("value", "kind", "written"),
    [
        ("2026-01-31", "date", 'dt.date.fromisoformat("2026-01-31")'),
        (
            "2026-01-31T12:00:00Z",
            "datetime",
            'dt.datetime.fromisoformat("2026-01-31T12:00:00+00:00")',
        ),
        ("123e4567-e89b-42d3-a456-426614174000", "uuid", None),
        ("https://example.com/", "url", 'AnyUrl("https://example.com/")'),
        ("ann@example.com", "email", '"ann@example.com"'),
        ([], "list[int]", "[]"),
        ({}, "dict", "{}"),
        (["2026-01-31"], "list[date]", '[dt.date.fromisoformat("2026-01-31")]'),
        (1e16, "float", "1e16"),
        (1e-7, "float", "1e-07"),
        (-0.0, "float", "-0.0"),
        (True, "bool", "True"),
        (None, "int", "None"),
    ],
)
def test_literals(value: object, kind: str, written: str | None) -> None:
    literal = macro("python", "literal", value, kind)
    assert literal == (written or f'UUID("{value}")')


@pytest.mark.parametrize(
    ("constraints", "written"),
    [
        ({"type": "int", "ge": 1}, 'a: Annotated[int, Field(description="A.", ge=1)]'),
        (
            {"required": False},
            'a: Annotated[str | None, Field(description="A.")] = None',
        ),
        (
            {"type": "bool", "default": False},
            'a: Annotated[bool, Field(description="A.")] = False',
        ),
        (
            {"choices": ["x", 1, True]},
            'a: Annotated[Literal["x", 1, True], Field(description="A.")]',
        ),
        (
            {"type": "list[uuid]", "min_items": 1, "max_items": 2},
            'a: Annotated[list[UUID], Field(description="A.", min_length=1, max_length=2)]',
        ),
        (
            {"pattern": "^\\d$", "min_length": 1},
            'a: Annotated[str, Field(description="A.", min_length=1, pattern="^\\\\d$")]',
        ),
        ({"type": "dict"}, 'a: Annotated[dict[str, Any], Field(description="A.")]'),
        ({"type": "any"}, 'a: Annotated[Any, Field(description="A.")]'),
        ({"type": "email"}, 'a: Annotated[EmailStr, Field(description="A.")]'),
        ({"type": "date"}, 'a: Annotated[dt.date, Field(description="A.")]'),
        ({"type": "float", "gt": 0, "lt": 0.5}, None),
    ],
)
def test_parameters(constraints: dict[str, Any], written: str | None) -> None:
    param = {"name": "a", "description": "A."} | constraints
    (tool,) = specs([{"name": "get_note", "params": [param]}])
    parameter = macro("python", "parameter", tool["params"][0], 4)
    assert parameter == (
        written or 'a: Annotated[float, Field(description="A.", gt=0, lt=0.5)]'
    )


def test_a_wire_name_becomes_an_alias_and_a_long_line_is_exploded() -> None:
    param = {
        "name": "from",
        "description": "x" * 90,
        "choices": ["é" * 30, "b"],
        "default": None,
    }
    (tool,) = specs([{"name": "get_note", "params": [param]}])
    assert macro("python", "parameter", tool["params"][0], 4).splitlines() == [
        "from_: Annotated[",
        "        Literal[",
        f'            "{"é" * 30}",',
        '            "b",',
        "        ]",
        "        | None,",
        "        Field(",
        f'            description="{"x" * 90}",',
        '            alias="from",',
        "        ),",
        "    ] = None",
    ]


# What fits a type, and which patterns are taken ------------------------------------------------------------

GOOD: dict[str, list[Any]] = {
    "int": [0, -1, 2**63],
    "float": [0, 1.5, -1e300],
    "str": ["", "a"],
    "bool": [True, False],
    "date": ["2026-01-31", "2024-02-29", "2000-02-29"],
    "datetime": [
        "2026-01-31T12:00:00",
        "2026-01-31 23:59:59.5Z",
        "2026-01-31T12:00:00+14:00",
    ],
    "uuid": ["123e4567-e89b-42d3-a456-426614174000"],
    "url": [
        "https://example.com",
        "ftp://a.b:21/x?y#z",
        "http://localhost:65535/",
        "http://a?x=1",
    ],
    "email": ["ann@example.com", "a.b+c@x-y.co.uk"],
    "dict": [{}, {"a": [1]}],
    "any": [None, 1, "a", [], {}],
    "list[int]": [[], [1]],
    "list[date]": [["2026-01-31"]],
}
BAD: dict[str, list[Any]] = {
    "int": [1.0, "1", True, None],
    "float": ["1", True, float("nan"), float("inf")],
    "str": [1, None, ["a"]],
    "bool": [0, "true", None],
    "date": [
        "2026-02-29",
        "1900-02-29",
        "2026-13-01",
        "0000-01-01",
        "2026-01-31\n",
        "31.1.2026",
    ],
    "datetime": [
        "2026-01-31",
        "2026-01-31T24:00:00",
        "2026-01-31T12:00",
        "2026-02-30T12:00:00",
    ],
    "uuid": ["123e4567", 1],
    "url": [
        "example.com",
        "https://",
        "https://a b",
        "http://a:65536/",
        "http://a:123456/",
    ],
    "email": ["ann", "ann@example", "a@b@c.de", "a..b@c.de", "ä@example.com"],
    "dict": [[], "a"],
    "list[int]": [["a"], [1, True], 1, {"a": 1}],
    "list[date]": [["2026-02-29"]],
}


def list_pairs(values: dict[str, Any]) -> list[tuple[str, object]]:
    """List each value with its kind."""
    pairs = []
    for kind, members in values.items():
        for member in members:
            pairs.append((kind, member))
    return pairs


@pytest.mark.parametrize(("kind", "value"), list_pairs(GOOD))
def test_values_that_fit(kind: str, value: object) -> None:
    assert macro("values", "fits", value, kind) == "true"


@pytest.mark.parametrize(("kind", "value"), list_pairs(BAD))
def test_values_that_do_not_fit(kind: str, value: object) -> None:
    assert macro("values", "fits", value, kind) == ""


def compiles(pattern: str) -> bool:
    """Whether both Python and Pydantic's engine accept a pattern without warnings."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(pattern)
        SchemaValidator({"type": "str", "pattern": pattern})
    except Exception:
        return False
    return True


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "^st\\d{6}$",
            "a|b",
            "(ab)+",
            "[a-z]{2,4}",
            "^[A-Z]{2}-\\d{3,}$",
            "^order-id$",
            "^$",
        ),
        *(
            "^(\\d{1,3}\\.){3}\\d{1,3}$",
            "(((a|b)*c)*d)?",
            "^[\\w.-]{1,64}@[\\w-]{1,64}$",
            "[^\"']",
        ),
        *("^\\+?[0-9 ]{3,20}$", "^#[0-9a-f]{6}$", "é+", "^/[a-z0-9._~/-]*$", "x*?"),
        *("^[^*]+$", "[()]", "[$]", "[{}]", "[&]", "[?|]", "[^()\\s]{2,5}"),
    ],
)
def test_patterns_that_people_write(pattern: str) -> None:
    assert macro("values", "regex", pattern) == "true"
    assert compiles(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            "(",
            "[",
            "x{4,2}",
            "[z-a]",
            "(?=a)",
            "(?<!a)b",
            "\\1",
            "a**",
            "a{2}{3}",
            "a{,2}",
            "(?i)a",
        ),
        *(
            "\\w{999}",
            "(\\w{90}){9}",
            "((((a))))",
            "[a~~b]",
            "[a&&b]",
            "[a||b]",
            "a\n",
            "\\Z",
            "\\p{L}",
            "[[:alpha:]]",
        ),
    ],
)
def test_patterns_that_one_engine_or_both_refuse(pattern: str) -> None:
    assert macro("values", "regex", pattern) == ""


PIECES = [
    *"ab09_-.^$*+?{}()[]|\\/,: \"'é漢",
    *(
        "\\d",
        "\\w",
        "\\W",
        "\\s",
        "{2}",
        "{1,3}",
        "{3,1}",
        "{,2}",
        "{2,}",
        "{150}",
        "{999}",
        "){40}",
    ),
    *(
        "[a-z]",
        "[^a]",
        "[z-a]",
        "[\\w-z]",
        "[]",
        "&&",
        "--",
        "~~",
        "(?:",
        "(a|b)",
        "\\b",
        "\\n",
        "\\]",
    ),
]


@settings(STEADY, max_examples=draws(1500))
@given(st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join))
def test_a_pattern_that_is_taken_compiles_everywhere(pattern: str) -> None:
    if macro("values", "regex", pattern):
        assert compiles(pattern)


@pytest.mark.parametrize(
    "pattern", ["(" * 200, "(a" * 100, "((a*)*)*" * 20 + "(", "(?:a?)?" * 28 + "("]
)
def test_no_pattern_takes_long(pattern: str) -> None:
    assert macro("values", "regex", pattern) == ""
