"""Validators report every invalid answer in lines and never fail."""

import json
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies_values import PARAM_NAMES, tool_names
from support import draws, macro, specs
from tables import TABLES

WORDS = st.sampled_from(
    [
        *(
            "get_x",
            "update",
            "int",
            "list[int]",
            "list[",
            "list[x]",
            "date",
            "confirm",
            "{x}",
            "a=put",
        ),
        *(
            "=",
            "=put",
            ",",
            "^a$",
            "[",
            "https://x",
            "notes://a",
            "notes://{x}",
            "_",
            "__",
            "\n",
            "",
        ),
    ]
)
LEAVES = st.one_of(
    *(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), WORDS),
    *(
        st.dates(),
        st.datetimes(),
        st.binary(max_size=3),
        st.builds(lambda: 1 << 20_000),
    ),
)
TOOL_KEYS = "name behavior title description module record params returns destructive idempotent"
PARAM_KEYS = (
    "name type choices description required default ge le gt lt min_length max_length"
)
ALL_KEYS = [
    *TOOL_KEYS.split(),
    *PARAM_KEYS.split(),
    "pattern",
    "min_items",
    "hint",
    "value",
    "uri",
]
KEYS = st.one_of(
    st.sampled_from(ALL_KEYS),
    st.text(max_size=3),
    LEAVES.filter(lambda k: k is not None),
)
JUNK = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.dictionaries(KEYS, inner, max_size=4),
        st.sets(st.integers(), max_size=2),
    ),
    max_leaves=10,
)


def field(*good: Any) -> st.SearchStrategy[Any]:
    """Draw mostly valid values, and sometimes arbitrary ones."""
    return st.integers(0, 20).flatmap(lambda n: st.sampled_from(good) if n else JUNK)


PARAMS = st.fixed_dictionaries(
    {"name": st.one_of(PARAM_NAMES, field("a", "note_id", "etag", "confirm"))},
    optional={
        "type": field(
            "int",
            "str",
            "float",
            "bool",
            "date",
            "list[int]",
            "list[str]",
            "any",
            "dict",
        ),
        "choices": field(["a", "b"], [1, 2], []),
        "description": field("x"),
        "required": field(True, False),
        "default": field(1, "a", None, [], {}, "2026-01-31", 0.5),
        **{key: field(0, 1, 2.5) for key in ("ge", "gt")},
        **{key: field(1, 5, 9.5) for key in ("le", "lt")},
        **{key: field(0, 1) for key in ("min_length", "min_items")},
        **{key: field(1, 5, 10**9) for key in ("max_length", "max_items")},
        "pattern": field("^a$", "(a|b){2}", "("),
    },
)
EXCEPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "hint": field(
            "read_only", "destructive", "idempotent", "open_world", "confirm"
        ),
        "value": field(True, False),
        "why": field("w"),
    },
)
TOOLS = st.fixed_dictionaries(
    {
        "name": st.one_of(
            tool_names(), field("get_x", "edit_x", "delete_xs", "send_x", "count_x")
        )
    },
    optional={
        "behavior": field(
            "read", "create", "ensure", "append", "update", "put", "delete", "action"
        ),
        **{key: field("Words") for key in ("title", "description", "why")},
        **{key: field("notes") for key in ("module", "record")},
        "params": st.one_of(st.lists(PARAMS, max_size=4), field([])),
        "returns": field(
            {"id": "int"}, {"deleted": "bool", "x": {"type": "str", "default": None}}
        ),
        **{
            key: field(True)
            for key in ("destructive", "idempotent", "request_model", "open_world")
        },
        "scopes": field(["a"], []),
        "confirm": field(True, False, "Do {a}?", "Do it?"),
        "exceptions": st.one_of(st.lists(EXCEPTIONS, max_size=2), field([])),
        "icon": field("https://a.b/c.png"),
    },
)
RESOURCES = st.fixed_dictionaries(
    {},
    optional={
        "uri": field("notes://a", "notes://{x}", "a://", "x://{a}/{a}"),
        "name": field("n"),
        "description": field("d"),
        "mime_type": field("a/b"),
    },
)
SETTINGS = settings(
    max_examples=draws(400),
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@SETTINGS
@given(st.one_of(JUNK, TOOLS, st.lists(st.one_of(TOOLS, WORDS), max_size=3), WORDS))
def test_whatever_the_tools_are_the_validator_answers(tools: Any) -> None:
    for confirm in TABLES["confirm"]:
        message = macro("validate", "tool_errors", tools, confirm)
        assert message.replace("\n", "").isprintable()
        assert message or specs(tools)


@SETTINGS
@given(
    st.one_of(JUNK, st.lists(st.one_of(RESOURCES, JUNK), max_size=3)),
    st.one_of(JUNK, WORDS),
)
def test_whatever_the_resources_are_the_validator_answers(
    resources: Any, tools: Any
) -> None:
    message = macro("validate", "resource_errors", resources, tools)
    assert message.replace("\n", "").isprintable()
    if not message:
        json.loads(macro("specs", "resource_specs", resources, []))
