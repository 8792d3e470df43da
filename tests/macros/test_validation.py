"""Mistakes in the answers: each is heard word for word, nothing is written, no validator ever breaks."""

import datetime as dt
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import copier
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import PARAM_NAMES, tool_names
from support import answered, environment, macro, specs

MISTAKES = yaml.safe_load((Path(__file__).parent / "mistakes.yml").read_text(encoding="utf-8"))
EXPLICIT = json.loads(macro("specs", "policy_of", "explicit", "", "", "", ""))
HIDDEN = ["\x00", "\x07", "\x1b", "\x7f", "\x85", "\u00ad", "\u061c", "\u200b", "\u200d", "\u200f"]
HIDDEN += [
    "\u202a",
    "\u202e",
    "\u2028",
    "\u2060",
    "\u2066",
    "\u2069",
    "\u3164",
    "\ufeff",
    "\U000e0041",
]


def spelled(said: Any) -> Any:
    """`x*101` in the file is 101 times x."""
    if isinstance(said, str) and (many := re.fullmatch(r"(.*)(.)\*(\d+)", said)):
        return many[1] + many[2] * int(many[3])
    if isinstance(said, list):
        return [spelled(item) for item in said]
    return {k: spelled(v) for k, v in said.items()} if isinstance(said, dict) else said


def heard(kind: str, said: Any) -> str:
    """What the validator of a question has to say."""
    arguments = {"tool": [said], "resource": [said, "get_note"], "policy": [said, EXPLICIT]}[kind]
    return macro("validate", f"{kind}_errors", *arguments)


@pytest.mark.parametrize(
    ("kind", "said", "message"),
    [
        (kind.removesuffix("s"), spelled(case["say"]), case["hear"])
        for kind, cases in MISTAKES.items()
        for case in cases
    ],
)
def test_one_mistake_one_message(kind: str, said: Any, message: str) -> None:
    assert heard(kind, said) == message


def test_several_mistakes_are_heard_together() -> None:
    said = [
        {"name": "Get note", "titel": "x"},
        "shelve_note",
        {"name": "get_note", "params": [{"name": "a", "type": "it"}, {"name": "a"}]},
        "get_note",
    ]
    assert heard("tool", said).splitlines() == [
        'tools[1] "Get note": unknown key "titel"; did you mean title?',
        'tools[1] "Get note": no good name; e.g. get_note (a lower-case letter, then a-z, 0-9 and _)',
        '"shelve_note": unknown verb; add =put or =read =create =ensure =append =update =delete '
        "=action, e.g. shelve_note=put (tools[2])",
        'tools[3] "get_note" param 1 "a": type "it" is unknown; use one of str int float bool date '
        "datetime uuid url email dict any, list[str], or choices: [a, b]",
        'tools[3] "get_note" param 2 "a": the name "a" is there twice; rename one, e.g. a_2',
        '"get_note": named twice; e.g. get_note_2 (tools[4])',
    ]


TEXTS: dict[str, Any] = {
    "title": lambda text: {"title": text},
    "description": lambda text: {"description": text},
    "why": lambda text: {"why": text},
    "confirm": lambda text: {"confirm": text},
    "param description": lambda text: {"params": [{"name": "a", "description": text}]},
    "default": lambda text: {"params": [{"name": "a", "default": text}]},
    "default of any": lambda text: {"params": [{"name": "a", "type": "any", "default": [text]}]},
    "choice": lambda text: {"params": [{"name": "a", "choices": [text]}]},
    "pattern": lambda text: {"params": [{"name": "a", "pattern": text}]},
    "returns": lambda text: {"returns": {"a": {"type": "int", "description": text}}},
    "result default": lambda text: {"returns": {"a": {"type": "str", "default": text}}},
    "exception": lambda text: {"exceptions": [{"hint": "idempotent", "value": True, "why": text}]},
    "scope": lambda text: {"scopes": [text]},
    "icon": lambda text: {"icon": f"https://{text}"},
    "name": lambda text: {"name": f"get_{text}"},
    "param name": lambda text: {"params": [{"name": text}]},
    "record": lambda text: {"record": text},
    "module": lambda text: {"module": text},
}


@pytest.mark.parametrize("place", TEXTS)
@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
def test_no_hidden_character_in_any_text(place: str, hidden: str) -> None:
    tool = {"name": "get_note"} | TEXTS[place](f"a{hidden}b")
    message = heard("tool", [tool])
    assert message
    assert "\n" not in message
    assert message.isprintable(), "what is hidden in the answer is spelled out in the message"


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
@pytest.mark.parametrize("key", ["description", "author", "domain", "server_name", "package_name"])
def test_no_hidden_character_in_the_other_answers(key: str, hidden: str) -> None:
    with pytest.raises(ValueError, match=f"^{key}: ") as caught:
        answered({key: f"a{hidden}b"})
    assert str(caught.value).isprintable()


LETTERS = "(a lower-case letter, then a-z, 0-9 and _, {most} at most)"
HYPHENS = "(lower-case letters, digits, single hyphens, 40 at most)"


@pytest.mark.parametrize(
    ("key", "said", "message"),
    [
        ("domain", "My Orders", f'write my_orders, not "My Orders" {LETTERS}'),
        ("domain", "n" * 33, f'write {"n" * 32}, not "{"n" * 18}… {LETTERS}'),
        ("domain", "a\n", f'write orders, not "a\\n" {LETTERS}'),
        ("domain", "", f'write orders, not "" {LETTERS}'),
        ("server_name", "My--Server", f'write my-server, not "My--Server" {HYPHENS}'),
        ("server_name", "s" * 41, f'write {"s" * 36}, not "{"s" * 18}… {HYPHENS}'),
        ("package_name", "a-b", f'write a_b, not "a-b" {LETTERS}'),
        ("package_name", "p" * 41, f'write {"p" * 36}, not "{"p" * 18}… {LETTERS}'),
        *(
            (
                "package_name",
                name,
                f'write {name}_mcp; "{name}" hides a module (Python or a dependency has that name)',
            )
            for name in (
                "json",
                "fastmcp",
                "pydantic",
                "class",
                "tests",
                "asyncio",
                "mcp",
                "concurrent",
            )
        ),
        ("description", "", '"" is empty; write something, or leave it out for the default'),
        ("description", "x" * 301, f'"{"x" * 58}… is 301 characters long; shorten it to 300'),
        (
            "author",
            "a\nb",
            '"a\\nb" holds a control or invisible character; take it out, e.g. "a b"',
        ),
    ],
)
def test_mistakes_in_the_other_answers(key: str, said: str, message: str) -> None:
    with pytest.raises(ValueError, match=key) as caught:
        answered({key: said})
    most = {"domain": 32, "package_name": 40}.get(key, 0)
    assert str(caught.value) == f"{key}: {message.format(most=most)}"


def test_every_module_of_this_python_is_refused() -> None:
    table: Any = environment().get_template("macros/tables.jinja").module
    public = {name for name in sys.stdlib_module_names if re.fullmatch("[a-z][a-z0-9_]*", name)}
    assert public <= set(table.STANDARD_LIBRARY)


# Through Copier -------------------------------------------------------------------------------------------

BAD = {"tools": ["get_note", {"name": "shelve_note"}, {"name": "get_note"}]}
LAST = '"get_note": named twice; e.g. get_note_2 (tools[3])'


@pytest.mark.parametrize("there", [False, True], ids=["new", "existing"])
def test_copier_stops_before_anything_is_written(
    there: bool, template: Path, tmp_path: Path
) -> None:
    project = tmp_path / "p"
    if there:
        project.mkdir()
        (project / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="Validation error for question 'tools'") as caught:
        copier.run_copy(
            str(template), project, data=BAD, defaults=True, quiet=True, skip_tasks=True
        )
    assert str(caught.value).splitlines()[-1] == LAST
    assert '"shelve_note": unknown verb; add =put' in str(caught.value)
    left = [path.name for path in tmp_path.rglob("*")]
    assert left == (["p", "mine.txt"] if there else [])


def test_the_last_line_on_the_terminal_is_ours(template: Path, tmp_path: Path) -> None:
    answers = tmp_path / "answers.yml"
    answers.write_text(yaml.safe_dump(BAD), encoding="utf-8")
    words = ["copy", "--defaults", "--skip-tasks", "--data-file", str(answers)]
    done = subprocess.run(
        [sys.executable, "-m", "copier", *words, str(template), str(tmp_path / "p")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, LAST)
    assert not (tmp_path / "p").exists()


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        (
            {"tools": [{"name": "get_note", "titel": "x"}]},
            'unknown key "titel"; did you mean title?',
        ),
        (
            {"resources": [{"uri": "x"}]},
            "its description is missing; e.g. description: Every note.",
        ),
        ({"tools": [{"name": "delete_note", "confirm": False}]}, "or take confirm out"),
        ({"domain": "Notes"}, "then a-z, 0-9 and _, 32 at most)"),
        ({"tools": [{dt.date(2026, 1, 31): 1}]}, 'put it in quotes, e.g. "name"'),
    ],
)
def test_every_question_stops_it(
    answers: dict[str, Any], message: str, template: Path, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="Validation error") as caught:
        copier.run_copy(
            str(template), tmp_path / "p", data=answers, defaults=True, quiet=True, skip_tasks=True
        )
    assert str(caught.value).endswith(message)
    assert not (tmp_path / "p").exists()


# Whatever is said -----------------------------------------------------------------------------------------

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
    *(st.dates(), st.datetimes(), st.binary(max_size=3), st.builds(lambda: 1 << 20_000)),
)
TOOL_KEYS = "name behavior title description module record params returns destructive idempotent"
PARAM_KEYS = "name type choices description required default ge le gt lt min_length max_length"
ALL_KEYS = [*TOOL_KEYS.split(), *PARAM_KEYS.split(), "pattern", "min_items", "hint", "value", "uri"]
KEYS = st.one_of(
    st.sampled_from(ALL_KEYS), st.text(max_size=3), LEAVES.filter(lambda k: k is not None)
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
    """Mostly a good value, now and then anything."""
    return st.integers(0, 20).flatmap(lambda n: st.sampled_from(good) if n else JUNK)


PARAMS = st.fixed_dictionaries(
    {"name": st.one_of(PARAM_NAMES, field("a", "note_id", "etag", "confirm"))},
    optional={
        "type": field(
            "int", "str", "float", "bool", "date", "list[int]", "list[str]", "any", "dict"
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
        "hint": field("read_only", "destructive", "idempotent", "open_world", "confirm"),
        "value": field(True, False),
        "why": field("w"),
    },
)
TOOLS = st.fixed_dictionaries(
    {"name": st.one_of(tool_names(), field("get_x", "edit_x", "delete_xs", "send_x", "count_x"))},
    optional={
        "behavior": field(
            "read", "create", "ensure", "append", "update", "put", "delete", "action"
        ),
        **{key: field("Words") for key in ("title", "description", "why")},
        **{key: field("notes") for key in ("module", "record")},
        "params": st.one_of(st.lists(PARAMS, max_size=4), field([])),
        "returns": field({"id": "int"}, {"deleted": "bool", "x": {"type": "str", "default": None}}),
        **{
            key: field(True) for key in ("destructive", "idempotent", "request_model", "open_world")
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
    max_examples=400,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@SETTINGS
@given(st.one_of(JUNK, TOOLS, st.lists(st.one_of(TOOLS, WORDS), max_size=3), WORDS))
def test_whatever_the_tools_are_the_validator_answers(said: Any) -> None:
    message = heard("tool", said)
    assert message.replace("\n", "").isprintable()
    if not message:
        for profile in ("explicit", "end-state", "confirm-all"):
            assert specs(said, profile)
        assert heard("policy", said).replace("\n", "").isprintable()


@SETTINGS
@given(st.one_of(JUNK, st.lists(st.one_of(RESOURCES, JUNK), max_size=3)), st.one_of(JUNK, WORDS))
def test_whatever_the_resources_are_the_validator_answers(said: Any, tools: Any) -> None:
    message = macro("validate", "resource_errors", said, tools)
    assert message.replace("\n", "").isprintable()
    if not message:
        json.loads(macro("specs", "resource_specs", said, []))


def test_a_list_in_itself_is_a_mistake_like_any_other() -> None:
    tools: list[Any] = ["get_note"]
    tools.append(tools)
    place = "tools" + "[2]" * 13
    assert heard("tool", tools) == f"{place}: it is nested too deep; take some brackets out"


def test_a_date_without_quotes_is_the_text_that_was_written() -> None:
    param = {"name": "day", "type": "date", "default": dt.date(2026, 1, 31)}
    said = [{"name": "get_note", "title": dt.date(2026, 1, 31), "params": [param]}]
    assert heard("tool", said) == ""
    (tool,) = specs(said)
    assert (tool["title"], tool["params"][0]["default"]) == ("2026-01-31", "2026-01-31")


@pytest.mark.parametrize(
    ("key", "nearest"),
    [
        *(
            ("nmae", "name"),
            ("titel", "title"),
            ("describe", "description"),
            ("desc", "description"),
        ),
        *(
            ("parms", "params"),
            ("parameters", "params"),
            ("return", "returns"),
            ("scope", "scopes"),
        ),
        *(("idempotant", "idempotent"), ("Behavior", "behavior"), ("behaviour", "behavior")),
        *(("zzz", None), ("x" * 100_000, None), ("args", None), ("", None)),
    ],
)
def test_the_nearest_key(key: str, nearest: str | None) -> None:
    message = heard("tool", [{"name": "get_note", key: 1}])
    assert (f"did you mean {nearest}?" in message) is (nearest is not None)
