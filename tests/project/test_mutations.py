"""Every rule broken once in a tool file: each mutation is caught by the rule meant, and by no other.

`pytest -s tests/project/test_mutations.py` prints the table; test_wire.py breaks what no file can.
"""

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import PYTEST, pin, python, render

from .test_wire import ON_THE_WIRE, TABLES

Change = tuple[str, str]
NAME = "mutants_mcp"


def decorator(old: str, new: str, arguments: str = "") -> list[Change]:
    """Declare another behavior."""
    return [
        (rf"import {old}\n", f"import {new}\n"),
        (rf"@{old}\(", f"@{new}({arguments}"),
    ]


def add_arguments(arguments: str) -> list[Change]:
    """Add arguments to the decorator."""
    return [(r"\n@(\w+)\(", rf"\n@\1({arguments}, ")]


def title(text: str) -> list[Change]:
    """Write another title."""
    return [(r'\btitle="[^"]*"', f'title="{text}"')]


def body(text: str) -> list[Change]:
    """Do something else before what the body does."""
    return [(r'(?s)("""\n)(    (?:result|await|return) .*)$', rf"\1    {text}\n\2")]


UNCHANGED = 'await backend().get("\\1", \\2)'
INSTEAD = r'await backend\(\)\.\w+\(\s*"(\w+)",\s*(\w+)(?:.|\n)*?\)\n'
ACTION = 'destructive=False, idempotent=True, why="It only counts.", '
BOTH = (
    'action: Annotated[Literal["get", "purge"], Field(description="What.")] = "get",\n)'
)
SWITCH = 'delete: Annotated[bool, Field(description="Whether.")] = False,\n'
TEXT = 'action: Annotated[str, Field(description="One of get, set and delete.")] = "get",\n'
UNRUN = {"get_blob"}  # whose probe cannot know its arguments

# What an owner may write in a tool file -> the rule, or the words of the behavior probe, that must say so.
FILES: list[tuple[str, str, str, list[Change]]] = [
    ("parameter undescribed", "parameters-described", "get_undescribed", [(r'Field\(description="[^"]*", ', "Field(")]),
    ("title blank", "title-written", "get_untitled", title(" ")),
    ("title equal to the name", "title-not-name", "get_echo", title("get_echo")),
    ("description missing", "description-present", "get_wordless", [(r'    """Get.*?"""\n', "")]),
    ("zero-width space in the description", "text-clean", "get_ghost", [('"""Get a', '"""Get\u200ba')]),
    ("right-to-left override in the title", "text-clean", "get_reversed", title("Get \u202eesrever")),
    ("newline in the title", "text-clean", "get_broken", title(r"Get\\nBroken")),
    ("accent apart from its letter", "text-clean", "get_accent", title("Get Cafe\u0301")),
    ("text beyond 4,000 characters", "text-clean", "get_novel", [('"""Get a', '"""' + "Get " * 1500)]),
    ("read with a write scope", "read-needs-no-write-scope", "get_scoped", add_arguments('scopes=["a:write"]')),
    ("write without why", "write-justified", "create_unexplained", [(r',\s*why="[^"]*"', "")]),
    ("get_* not read-only", "verb-reads", "get_counted", decorator("read", "action", ACTION)),
    ("delete_* read-only", "verb-writes", "delete_reader", [*decorator("delete", "read"), (r"await backend.*\n", "False\n")]),
    ("set_* not idempotent", "replace-is-idempotent", "set_flag", decorator("put", "action")),
    ("put_* not idempotent", "replace-is-idempotent", "put_flag", decorator("put", "action")),
    ("replace_* not idempotent", "replace-is-idempotent", "replace_flag", decorator("put", "action")),
    ("update with an etag idempotent", "versioned-is-not-idempotent", "update_stamped", decorator("update", "put")),
    ("overwrite not destructive", "overwrite-is-destructive", "write_over", [*decorator("put", "ensure"), (r'\.put\(\s*("\w+"),\s*(\w+),\s*', r".ensure(\1, id=\2, fields=")]),
    ("delete_* not destructive", "overwrite-is-destructive", "remove_softly", [*decorator("delete", "action", "destructive=False, "), (r"await backend.*\n", "False\n")]),
    ("exception without reason", "hints-match-behavior", "delete_unreasoned", add_arguments('exceptions=[{"hint": "idempotent", "value": False, "why": " "}]')),
    ("read-only and destructive at once", "read-only-excludes-destructive", "get_destroyer", add_arguments('exceptions=[{"hint": "destructive", "value": True, "why": "Who knows."}]')),
    ("gate taken away without reason", "gate-present", "delete_ungated", add_arguments("confirm=False")),
    ("question that names no parameter", "question-names-parameters", "delete_asker", add_arguments('confirm="Delete {nope}?"')),
    ("result without a type", "output-described", "get_untyped", [(r"\) -> \w+:", "):")]),
    ("one tool for reading and purging", "one-action", "run_both", [("import Annotated", "import Annotated, Literal"), (r"(?m)^\) ->", f"    {BOTH} ->")]),
    ("a switch that deletes, in a read", "one-action", "get_switch", [(r"(?m)^\) ->", f"    {SWITCH}) ->")]),
    ("an action as free text", "one-action", "run_text", [(r"(?m)^\) ->", f"    {TEXT}) ->")]),
    ("result that is any object", "output-described", "get_anything", [("import Annotated", "import Annotated, Any"), (r"\) -> \w+:", ") -> dict[str, Any]:"), (r"return \w+\(\*\*(result.model_dump\(\))\)", r"return \1")]),
    ("one argument that is any object", "parameters-typed", "get_blob", [("import Annotated", "import Annotated, Any"), (r"Annotated\[int, Field\((.*), ge=1\)", r"Annotated[dict[str, Any], Field(\1)")]),
    ("title says the contrary", "words-match-behavior", "get_contrary", title("Delete Contrary")),
    ("description says the contrary", "words-match-behavior", "delete_contrary", [('"""Delete', '"""Show')]),
    ("body writes under @read", "says read-only: put", "get_writer", body('await backend().put("writer", writer_id, {"title": "seen"})')),
    ("body not idempotent under @put", "says idempotent: append", "set_again", [(r"\.put\(", ".append(")]),
    ("body not idempotent under @ensure", "says idempotent: create", "ensure_again", [(r"\.ensure\(", ".create(")]),
    ("body not idempotent under @delete", "says idempotent: action", "delete_again", body('await backend().act("log", {})')),
    ("body erases under @append", "says not destructive: put", "append_eraser", [(r"\.append\(", ".put(")]),
    ("body erases under @create", "says not destructive: action", "create_eraser", body('await backend().delete("eraser", None)')),
    ("body erases under @action(destructive=False)", "says not destructive", "send_eraser", [*add_arguments("destructive=False"), *body('await backend().delete("eraser", 1)')]),
    ("create that creates nothing", "changed nothing", "create_nothing", [(r"await backend\(\)\.create\(.*\)\n", 'await backend().get("nothing", 1000)\n')]),
    ("append that appends nothing", "changed nothing", "append_nothing", [(INSTEAD, UNCHANGED + "\n")]),
    ("update that takes a stale etag", "stale", "update_stale", [(r",\s*etag=etag", "")]),
    ("action once, said to be more", "says not idempotent: ensure", "send_once", [*add_arguments("idempotent=False"), (r"\}\)\n", "}, once=True)\n")]),
    ("body deletes under @put", "says put: delete", "set_gone", [(r"\n    return", '\n    await backend().delete("gone", gone_id)\n    return')]),
    ("body puts under @delete", "says delete", "delete_putter", [(r"await backend.*\n", 'bool(await backend().put("putter", putter_id, {"seen": True}))\n')]),
    ("delete that removes nothing", "says delete", "delete_nothing", [(r"await backend.*\n", "False\n")]),
    ("declined delete that deletes anyway", "declined", "delete_anyway", [
        (r"\n@delete\(", '\nasync def look(anyway_id: int) -> dict[str, bool]:\n    return {"gone": await backend().delete("anyway", anyway_id)}\n\n\n@delete(preview=look, '),
    ]),
    ("no probe", "no probe", "get_unproved", []),
    ("a waiver that has ended", "waiver-valid", "get_waived", []),
    ("probe that returns nothing", "no arguments", "get_silent", []),
]  # fmt: skip
# Rules that hold a name against a hint: their rows say `unprobed`, and the same change with a probe passes.
WAIVER = '\nwaivers = [{"rule": "one-action", "until": "2026-01-31", "why": "It was one."}]\n'
BY_NAME = {"verb-reads", "verb-writes", "replace-is-idempotent", "versioned-is-not-idempotent", "overwrite-is-destructive"}  # fmt: skip
CLEAN = ["get_clean", "create_clean", "delete_clean"]
PROVEN = [
    (f"{name}_proven", changes) for _, rule, name, changes in FILES if rule in BY_NAME
]


ROWS: list[str] = []


@pytest.fixture(scope="module", autouse=True)
def table() -> Iterator[None]:
    """Print what was broken and what caught it."""
    yield
    print("", *sorted(ROWS), f"{len(ROWS)} mutations", sep="\n")


@pytest.fixture(scope="module")
def mutants(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One project with a mutated tool file for each row of FILES, its lock and table written anew."""
    rows = [(name, changes) for _, _, name, changes in FILES] + PROVEN
    answers = {
        "server_name": "mutants-mcp",
        "tools": [*CLEAN, *(name for name, _ in rows)],
    }
    project = render(template, tmp_path_factory.mktemp("mutants"), answers)
    for name, changes in rows:
        path = project / f"src/{NAME}/tools/{name}.py"
        text = path.read_text(encoding="utf-8")
        for pattern, new in changes:
            text, count = re.subn(pattern, new, text)
            assert count, f"{pattern} is not in {name}.py"
        path.write_text(text, encoding="utf-8")
    probes = project / "tests/tools"
    for _, rule, name, _ in FILES:
        if rule in BY_NAME or name in UNRUN:
            (probes / f"test_{name}.py").write_text(
                '"""Mine."""\n\nunprobed = "it moves a motor"\n'
            )
    (probes / "test_get_unproved.py").unlink()
    with (probes / "test_get_waived.py").open("a", encoding="utf-8") as waived:
        waived.write(WAIVER)
    silent = probes / "test_get_silent.py"
    silent.write_text(silent.read_text().replace("return {", "_ = {"))
    pin(project, "--released")
    return project


def suite(project: Path, *only: str) -> dict[str, str]:
    """The failures of the project's own annotation suite: each test with what it printed."""
    report = project / "report.xml"
    files = ["tests/policy/test_annotations.py", "tests/policy/test_behavior.py"]
    python(project, *PYTEST, f"--junitxml={report}", *only, *files)
    messages = {}
    for case in ET.parse(report).iter("testcase"):
        for failure in [*case.findall("failure"), *case.findall("error")]:
            message = failure.text or ""
            messages[case.attrib["name"]] = message.removeprefix("Failed: ")
    return messages


@pytest.fixture(scope="module")
def failures(mutants: Path) -> dict[str, str]:
    """What the suite of the mutants says, once for all rows."""
    return suite(mutants)


def summarize(message: str) -> str:
    """Summarize what a behavior probe found."""
    if match := re.search(
        r"it says ([\w -]+), but .* behavior '(\w+)' would be true", message
    ):
        return f"says {match[1]}: {match[2]}"
    labels = {
        "it says not destructive, but lost": "says not destructive",
        "has no probe": "no probe",
        "the user declined": "declined",
        "with a stale etag it was accepted": "stale",
        "but changed nothing that snapshot() shows": "changed nothing",
        "it says delete": "says delete",
        "has to return its arguments": "no arguments",
    }
    return next((short for words, short in labels.items() if words in message), message)


@pytest.fixture(scope="module")
def findings_of_tools(failures: dict[str, str]) -> dict[str, set[str]]:
    """Each tool with what caught it: rules, and probes in both eras."""
    findings: dict[str, set[str]] = {}
    eras: dict[tuple[str, str], set[str]] = {}
    for test, message in failures.items():
        if test.startswith("test_hints_are_true["):
            era, _, tool = test[len("test_hints_are_true[") : -1].rpartition("-")
            findings.setdefault(tool, set()).add(summarize(message))
            eras.setdefault((tool, summarize(message)), set()).add(era)
        else:
            for tool, rule in re.findall(r"(?m)^(\S+): .* \(([\w-]+)\)$", message):
                findings.setdefault(tool, set()).add(rule)
    for versions in eras.values():
        assert "2026-07-28" in versions, eras
    assert len([versions for versions in eras.values() if len(versions) == 2]) > 12
    return findings


@pytest.mark.parametrize(
    ("what", "rule", "tool"), [pytest.param(*row[:3], id=row[0]) for row in FILES]
)
def test_a_mutated_tool_file(
    what: str, rule: str, tool: str, findings_of_tools: dict[str, set[str]]
) -> None:
    assert findings_of_tools.get(tool) == {rule}
    ROWS.append(f"tool file  {what:46} {rule}")


def test_nothing_else_was_caught(
    findings_of_tools: dict[str, set[str]], failures: dict[str, str]
) -> None:
    assert findings_of_tools.keys() == {name for _, _, name, _ in FILES}
    for test in failures:
        assert "[" in test, f"{test}: the lock and the table were written anew"


def test_a_name_alone_contradicts_nothing(
    findings_of_tools: dict[str, set[str]],
) -> None:
    assert len(PROVEN) == len([rule for _, rule, _, _ in FILES if rule in BY_NAME]) >= 8
    assert findings_of_tools.keys() & dict(PROVEN).keys() == set()


def test_every_rule_is_broken_once() -> None:
    broken = {row[1] for row in (*FILES, *ON_THE_WIRE)} | {"name-unique"}
    policy_rules = set()
    for name, rule in TABLES["rules"].items():
        if "policy" in rule["profiles"]:
            policy_rules.add(name)
    assert policy_rules <= broken


def test_the_suite_names_a_stale_lock_and_a_stale_table(mutants: Path) -> None:
    lock, page = mutants / "annotations.lock.json", mutants / "docs/tools.md"
    originals = lock.read_text(encoding="utf-8"), page.read_text(encoding="utf-8")
    pinned = json.loads(originals[0])
    pinned["tools"]["get_clean"]["hints"]["openWorldHint"] = True
    del pinned["tools"]["create_clean"]
    lock.write_text(json.dumps(pinned), encoding="utf-8")
    page.write_text(originals[1].replace("Get Clean", "Get"), encoding="utf-8")
    failures = suite(mutants, "-k", "lock or table")
    lock.write_text(originals[0], encoding="utf-8")
    page.write_text(originals[1], encoding="utf-8")
    assert failures == {
        "test_the_lock_pins_every_hint_and_gate": "create_clean: is new\nget_clean: RELAXED: openWorldHint true -> false\n"
        "review it, then run `uv run tests/policy/pin.py` (lock-current)",
        "test_the_tool_table_is_up_to_date": "docs/tools.md is stale; run `uv run tests/policy/pin.py` (table-current)",
    }
    ROWS.append(f"suite      {'lock and tool table stale':46} their tests")
