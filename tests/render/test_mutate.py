"""Mutation testing of the engine: which mutants there are, and what scripts/mutate reports."""

import json
import os
import runpy
import subprocess
from pathlib import Path

import pytest
import yaml
from support import ROOT

SCRIPT = runpy.run_path(str(ROOT / "scripts/mutate"))
LIMITS = '''
def check(names, limit=2):
    """Refuse."""
    if not names or (
        len(names) > limit
        and limit
    ):
        raise ValueError
    if "root" in names:
        raise PermissionError
    print(names)

class Names:
    @property
    def count(self):
        return self.names and len(self.names)
'''
TESTS = """
import pytest
from limits.check import Names, check

def test_names_are_counted():
    names = Names()
    names.names = ""
    assert names.count == ""

def test_names_are_printed(capsys):
    check(["a"])
    assert capsys.readouterr().out
    check(["a", "b"])

def test_too_many():
    with pytest.raises(ValueError):
        check([])
    with pytest.raises(ValueError):
        check(["a"] * 3)
"""
CONFIGURATION = """
[tool.mutmut]
source_paths = ["src"]
pytest_add_cli_args = ["-p", "no:cacheprovider"]
pytest_add_cli_args_test_selection = ["tests"]
"""


def test_each_explanation_is_of_a_statement_in_the_engine() -> None:
    assert list(SCRIPT["list_stale"]()) == []


def test_a_stale_explanation_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    function = "confirmation.pending.ByteBudget.add"
    entries = []
    for name, removed in ((function, "gone()"), (f"{function}_all", "return None")):
        entries.append({"function": name, "removed": removed, "added": "", "why": "."})
    path = tmp_path / "survivors.yml"
    path.write_text(yaml.safe_dump(entries), encoding="utf-8")
    monkeypatch.setitem(SCRIPT["list_stale"].__globals__, "EXPLAINED", path)
    assert list(SCRIPT["list_stale"]()) == [
        f"{function}: no such statement: gone(); correct or remove its explanation in survivors.yml",
        f"{function}_all: no such function; rename it in survivors.yml",
    ]


@pytest.mark.parametrize(
    ("removed", "added", "only_words"),
    [
        ("say('a text of words')", "say('XXa text of wordsXX')", True),
        ("if 'a text of words':", "if 'A TEXT OF WORDS':", True),
        ("elif 'a text of words':", "elif 'A TEXT OF WORDS':", True),
        ("say(f'a text of {one}')", "say(f'A TEXT OF {one}')", True),
        ("say(f'a text of {one or two}')", "say(f'a text of {one}')", False),
        ("way = 'url' if shows else 'none'", "way = 'url' if 1 else 'none'", False),
        ("say('name')", "say('NAME')", False),
        ("call()", "pass", False),
    ],
)
def test_a_sentence_is_words_and_what_it_computes_is_not(
    removed: str, added: str, only_words: bool
) -> None:
    mutant = SCRIPT["Mutant"]("gate.ask", removed, added)
    assert SCRIPT["changes_only_words"](mutant) is only_words


@pytest.mark.nightly
def test_a_guard_without_a_test_survives(tmp_path: Path) -> None:
    for path, text in (
        ("pyproject.toml", CONFIGURATION),
        ("src/limits/__init__.py", ""),
        ("src/limits/check.py", LIMITS),
        ("tests/test_check.py", TESTS),
    ):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "mutants/src")}
    explained = [
        {
            "function": "check.check",
            "removed": "def check(names, limit=2):",
            "added": "def check(names, limit=3):",
        }
    ]
    output = ""
    for words in (["make"], ["run", "--max-children", "1"], ["list"]):
        done = subprocess.run(
            [*SCRIPT["MUTMUT"], *words],
            cwd=tmp_path,
            env=environment,
            input=json.dumps(explained),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        output = done.stdout
    statuses = {}
    for mutant in json.loads(output):
        statuses[mutant["added"]] = mutant["status"]
    assert statuses == {
        "def check(names, limit=3):": "skipped",
        "if (not names or (len(names) > limit and limit)) or True:": "killed",
        "if len(names) > limit and limit:": "killed",
        "if not names:": "killed",
        "if not names or len(names) > limit:": "survived",
        "if not names or limit:": "killed",
        "if not names or (len(names) >= limit and limit):": "killed",
        "if 'root' in names and False:": "survived",
        "if 'root' in names or True:": "killed",
        "pass": "killed",
        "return self.names": "survived",
        "return len(self.names)": "killed",
    }
