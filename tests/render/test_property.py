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
from written import asked_tools, check_tool_file, parsed

SETS = int(os.environ.get("ANSWER_SETS", draws(300)))
SEED = int(os.environ.get("ANSWER_SEED", "20261121"))


PARSERS: dict[str, Callable[[str], Any]] = {
    ".toml": tomllib.loads,
    ".json": json.loads,
    ".yaml": yaml.safe_load,
    ".yml": yaml.safe_load,
}


@cache
def said_in(suffix: str, text: str) -> Any:
    """What a document holds; most are the same whatever was answered."""
    return PARSERS[suffix](text)


def check_documents(files: dict[str, str], answers: Answers) -> None:
    """TOML, YAML, JSON and Markdown parse and hold what was answered."""
    suffixes = {path: Path(path).suffix for path in files}
    data = {
        path: said_in(of, files[path]) for path, of in suffixes.items() if of in PARSERS
    }
    project = data["pyproject.toml"]["project"]
    if "description" in answers:
        assert project["description"] == answers["description"]
    if answers.get("author"):
        assert project["authors"] == [{"name": answers["author"]}]
    kept = data[".copier-answers.yml"]
    for name, said in answers.items():
        assert kept[name] == said, name


def check_files(files: dict[str, str], answers: Answers) -> None:
    """Every file of a render says what was answered, and none breaks out of its literal."""
    for path, text in files.items():
        if path.endswith(".py"):
            parsed(text)
    package = next(path.split("/")[1] for path in files if path.startswith("src/"))
    expected = set()
    for tool in asked_tools(answers):
        path = f"src/{package}/tools/{'/'.join(filter(None, [tool.get('module'), tool['name']]))}.py"
        check_tool_file(files[path], tool, answers)
        expected |= {path, f"tests/tools/test_{tool['name']}.py"}
    assert expected <= set(files)
    check_documents(files, answers)


def test_every_answer_set_renders_clean(tmp_path: Path) -> None:
    """One process renders all sets, then ruff looks at all of them once, each under its own settings."""
    sets: list[Answers] = []
    seen: set[tuple[str, str, str]] = set()

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
            fresh = path.endswith(".py") and (imported or key not in seen)
            if path.endswith(".toml") or fresh:
                seen.add(key)
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
        said = (done.stdout + done.stderr).splitlines()
        behind = [
            sets[int(line.split("/")[0])] for line in said[:1] if line[0].isdigit()
        ]
        assert not said, (len(said), said[:20], behind)
