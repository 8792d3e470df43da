"""Validation messages for mistakes in the answers, word for word."""

import datetime as dt
import re
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from support import complete_answers, environment, macro, specs

from copier_fastmcp.tables import load_tables
from copier_fastmcp.tools_answer import propose_behavior
from copier_fastmcp_engine import texts


def load_mistakes() -> dict[tuple[str, int], Any]:
    """Load the mistakes by file and number."""
    mistakes = {}
    for path in sorted(Path(__file__).with_name("mistakes").glob("*.yml")):
        cases = yaml.safe_load(path.read_text(encoding="utf-8"))
        for number, case in enumerate(cases, start=1):
            mistakes[path.stem, number] = case
    return mistakes


MISTAKES = load_mistakes()
HIDDEN = [
    "\x00",
    "\x07",
    "\x1b",
    "\x7f",
    "\x85",
    "\u00ad",
    "\u061c",
    "\u200b",
    "\u200d",
    "\u200f",
]
HIDDEN += ["\u2800", "\ufe00", "\ufe0f", "\U000e0100"]
HIDDEN += [
    "\u180b",
    "\u180f",
    "\ufff0",
    "\U0001bca0",
    "\U0001d173",
    "\U0001d17a",
]  # drawn by no font
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


def expand_text(value: Any) -> Any:
    """Expand `x*101` in a text to 101 times x."""
    if isinstance(value, str) and (many := re.fullmatch(r"(.*)(.)\*(\d+)", value)):
        return many[1] + many[2] * int(many[3])
    if isinstance(value, list):
        return list(map(expand_text, value))
    if isinstance(value, dict):
        return {key: expand_text(item) for key, item in value.items()}
    return value


def validate_tools(tools: Any, confirm: str = "deletes") -> str:
    """Return every error in the answer `tools`."""
    return macro("validate", "tool_errors", tools, confirm, True)


@pytest.mark.parametrize(("file", "number"), MISTAKES)
def test_one_mistake_one_message(file: str, number: int) -> None:
    case = MISTAKES[file, number]
    answer = expand_text(case["answer"])
    resources = file == "resources"
    message = (
        macro("validate", "resource_errors", answer, "get_note", True)
        if resources
        else validate_tools(answer)
    )
    assert message == case["error"]


@pytest.mark.parametrize("pattern", ["^(a+)+$", "a*a*a*a*a*a*a*a*b"])
def test_a_pattern_that_may_be_matched_for_ever_is_not_tried(pattern: str) -> None:
    param = {"name": "q", "type": "str", "pattern": pattern, "default": "a" * 60 + "!"}
    began = time.process_time()
    assert validate_tools([{"name": "get_note", "params": [param]}]) == ""
    assert time.process_time() - began < 5


SEVERAL = [
    {"name": "Get note", "titel": "x"},
    "shelve_note",
    {"name": "get_note", "params": [{"name": "a", "type": "it"}, {"name": "a"}]},
    "get_note",
]
SEVERAL_ERRORS = [
    'tools[1] "Get note": write get_note, not "Get note" (a lower-case letter, then a-z, 0-9 and _)',
    'tools[1] "Get note": unknown key "titel"; write title',
    'write shelve_note=put; "shelve" is no known verb (or =read, =create, =ensure, =append, =update, =delete, '
    "=action) (tools[2])",
    'get_note param a: type "it" is unknown; write str (one of str int float bool date datetime uuid url email '
    "dict any object file, list[str], or choices: [a, b]) (tools[3])",
    "get_note param a: used twice; rename one, e.g. a_2 (tools[3])",
    '"get_note" is named twice; remove one, or write get_note_2 (tools[4])',
]


def test_the_command_lists_every_error() -> None:
    assert validate_tools(SEVERAL).splitlines() == SEVERAL_ERRORS


def test_copier_shows_the_first_error_and_counts_the_others() -> None:
    message = macro("validate", "tool_errors", SEVERAL, "deletes")
    remainder = "and 5 more: copier-fastmcp new --from FILE lists all"
    assert message.splitlines() == [SEVERAL_ERRORS[0], remainder]


SHORT_ENOUGH = 70
REMEDY = re.compile(r"(; |^write |: write )\S+")


@pytest.mark.parametrize(("file", "number"), MISTAKES)
def test_location_error_and_remedy_begin_a_message(file: str, number: int) -> None:
    message = MISTAKES[file, number]["error"].split(" (tools[")[0]
    match = REMEDY.search(message)
    assert match, message
    assert match.end() <= SHORT_ENOUGH, message


@pytest.mark.parametrize(
    ("name", "proposal"),
    [
        ("shelve_note", "put"),
        ("frobnicate_order", "put"),
        ("nc_notes_delete_note", "delete"),
        ("nc_notes_get_note", "read"),
        ("nc_notes_update_note", "update"),
        ("deck_create_card", "create"),
        ("shopping_list_delete", "delete"),
        ("nc_semantic_search", "read"),
        ("erase_note", "delete"),
        ("nc_wipe_notes", "delete"),
        ("publish_post", "action"),
        ("rss_mark_article", "put"),
        ("it_is", "put"),
        ("retrieve_note", "read"),
    ],
)
def test_the_proposal_for_an_unknown_verb(name: str, proposal: str) -> None:
    """Never `=put` where a word of the name deletes: that would be a delete without a gate."""
    assert validate_tools(name).startswith(f"write {name}={proposal}; ")
    assert validate_tools([{"name": name, "title": "A"}]).startswith(
        f"{name}: no such verb; add behavior: {proposal} "
    )
    assert propose_behavior(name) == proposal


TEXTS: dict[str, Any] = {
    "title": lambda text: {"title": text},
    "description": lambda text: {"description": text},
    "why": lambda text: {"why": text},
    "confirm": lambda text: {"confirm": text},
    "param description": lambda text: {"params": [{"name": "a", "description": text}]},
    "default": lambda text: {"params": [{"name": "a", "default": text}]},
    "default of any": lambda text: {
        "params": [{"name": "a", "type": "any", "default": [text]}]
    },
    "choice": lambda text: {"params": [{"name": "a", "choices": [text]}]},
    "pattern": lambda text: {"params": [{"name": "a", "pattern": text}]},
    "returns": lambda text: {"returns": {"a": {"type": "int", "description": text}}},
    "result default": lambda text: {"returns": {"a": {"type": "str", "default": text}}},
    "exception": lambda text: {
        "exceptions": [{"hint": "idempotent", "value": True, "why": text}]
    },
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
    message = validate_tools([tool])
    assert message
    assert "\n" not in message
    assert message.isprintable(), (
        "what is hidden in the answer is spelled out in the message"
    )


@pytest.mark.parametrize("hidden", HIDDEN, ids=ascii)
@pytest.mark.parametrize(
    "key", ["description", "author", "domain", "server_name", "package_name"]
)
def test_no_hidden_character_in_the_other_answers(key: str, hidden: str) -> None:
    with pytest.raises(ValueError, match=f"^{key}: ") as caught:
        complete_answers({key: f"a{hidden}b"})
    assert str(caught.value).isprintable()


LETTERS = "(a lower-case letter, then a-z, 0-9 and _, {most} at most)"
HYPHENS = "(lower-case letters, digits, single hyphens, 40 at most)"


@pytest.mark.parametrize(
    ("key", "answer", "message"),
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
        (
            "description",
            "",
            '"" is empty; write some text, or remove it for the default',
        ),
        (
            "description",
            "x" * 301,
            f'"{"x" * 10}… has 301 characters; write at most 300',
        ),
        (
            "author",
            "a\nb",
            '"a\\nb" has a hidden character; write "a b"',
        ),
    ],
)
def test_mistakes_in_the_other_answers(key: str, answer: str, message: str) -> None:
    with pytest.raises(ValueError, match=key) as caught:
        complete_answers({key: answer})
    most = {"domain": 32, "package_name": 40}.get(key, 0)
    assert str(caught.value) == f"{key}: {message.format(most=most)}"


def test_every_module_of_this_python_is_refused() -> None:
    table: Any = environment().get_template("macros/tables.jinja").module
    public = {"profiling"}  # since 3.15, whichever Python runs this
    for name in sys.stdlib_module_names:
        if re.fullmatch("[a-z][a-z0-9_]*", name):
            public.add(name)
    assert public <= set(table.NAMES["standard_library"])


def test_a_list_in_itself_is_a_mistake_like_any_other() -> None:
    tools: list[Any] = ["get_note"]
    tools.append(tools)
    place = "tools" + "[2]" * 13
    assert validate_tools(tools) == f"{place}: nested too deeply; remove some brackets"


def test_a_date_without_quotes_is_the_text_that_was_written() -> None:
    param = {"name": "day", "type": "date", "default": dt.date(2026, 1, 31)}
    tools = [{"name": "get_note", "title": dt.date(2026, 1, 31), "params": [param]}]
    assert validate_tools(tools) == ""
    (tool,) = specs(tools)
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
        *(
            ("idempotant", "idempotent"),
            ("Behavior", "behavior"),
            ("behaviour", "behavior"),
        ),
        *(("zzz", None), ("x" * 100_000, None), ("args", "params"), ("", None)),
    ],
)
def test_the_nearest_key(key: str, nearest: str | None) -> None:
    message = validate_tools([{"name": "get_note", key: 1}])
    remedy = f"; write {nearest} (" if nearest else "; the keys are "
    assert remedy in message


def test_the_tables_and_the_engine_have_one_pattern_of_hidden_characters() -> None:
    """Jinja reads the pattern from the tables; the engine has a copy."""
    assert load_tables()["hidden"] == texts.HIDDEN.pattern
