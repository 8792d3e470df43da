"""Whole answer sets, drawn by Hypothesis: whatever is valid renders clean, in one process.

ANSWER_SETS and ANSWER_SEED choose how many sets are drawn, and which.
"""

import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, seed
from strategies import answer_sets, drawn
from strategies_values import Answers
from support import draws, rendered
from written import check_tool_file, list_tools, parse_file

SETS = int(os.environ.get("ANSWER_SETS", draws(300)))
SEED = int(os.environ.get("ANSWER_SEED", "20261121"))


PARSERS: dict[str, Callable[[str], Any]] = {
    ".toml": tomllib.loads,
    ".json": json.loads,
    ".yaml": yaml.safe_load,
    ".yml": yaml.safe_load,
}


@cache
def parse_document(suffix: str, text: str) -> Any:
    """Parse a document; most documents do not depend on the answers."""
    return PARSERS[suffix](text)


def check_documents(files: dict[str, str], answers: Answers) -> None:
    """Check that TOML, YAML and JSON files parse and hold the answers."""
    suffixes = {path: Path(path).suffix for path in files}
    data = {}
    for path, suffix in suffixes.items():
        if suffix in PARSERS:
            data[path] = parse_document(suffix, files[path])
    project = data["pyproject.toml"]["project"]
    if "description" in answers:
        assert project["description"] == answers["description"]
    if answers.get("author"):
        assert project["authors"] == [{"name": answers["author"]}]
    recorded = data[".copier-answers.yml"]
    for name, answer in answers.items():
        assert recorded[name] == answer, name


def check_files(files: dict[str, str], answers: Answers) -> None:
    """Check that every rendered file holds the answers, and that no text breaks out of its literal."""
    for path, text in files.items():
        if path.endswith(".py"):
            parse_file(text)
    package = next(path.split("/")[1] for path in files if path.startswith("src/"))
    expected = set()
    for tool in list_tools(answers):
        path = f"src/{package}/tools/{'/'.join(filter(None, [tool.get('module'), tool['name']]))}.py"
        check_tool_file(files[path], tool, answers)
        expected |= {path, f"tests/tools/test_{tool['name']}.py"}
    assert expected <= set(files)
    check_documents(files, answers)


def test_every_answer_set_renders_clean(tmp_path: Path) -> None:
    """One process renders all sets, then ruff looks at all of them once, each under its own settings."""
    sets: list[Answers] = []
    files_before: set[tuple[str, str, str]] = set()

    @seed(SEED)
    @drawn(SETS)
    @given(answer_sets())
    def render_one(answers: Answers) -> None:
        files = rendered(answers)
        check_files(files, answers)
        for path, text in files.items():
            key = (answers["consent"], path, text)  # what imports a file is beside it
            imported = (
                path.startswith("src/") and "/tools/" not in path
            )  # so ruff knows it as ours
            fresh = path.endswith(".py") and (imported or key not in files_before)
            if path.endswith(".toml") or fresh:
                files_before.add(key)
                place = tmp_path / str(len(sets)) / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8", newline="\n")
        sets.append(answers)

    render_one()
    assert len(sets) >= SETS
    for words in (["format", "--check"], ["check"]):
        tool = [sys.executable, "-m", "ruff", *words, "--output-format", "concise"]
        done = subprocess.run(
            [*tool, "--no-cache", "--quiet", "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        complaints = (done.stdout + done.stderr).splitlines()
        failing_sets = []
        for line in complaints[:1]:
            if line[0].isdigit():
                failing_sets.append(sets[int(line.split("/")[0])])
        assert not complaints, (len(complaints), complaints[:20], failing_sets)
