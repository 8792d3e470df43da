"""Each example renders to a canonical project with its texts intact."""

import json
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from support import (
    COMMITTED,
    EXAMPLES,
    Renders,
    answers,
    committed_renders,
    git,
    python,
    render,
)

ROOT = Path(__file__).parents[2]


def read_contents(folder: Path) -> dict[str, bytes]:
    """Read every file below a folder by its path, except caches and data."""
    byproducts = {
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
        ".data",
    }
    contents = {}
    for path in folder.rglob("*"):
        relative = path.relative_to(folder)
        if path.is_file() and not byproducts.intersection(relative.parts):
            contents[relative.as_posix()] = path.read_bytes()
    return contents


@pytest.mark.parametrize("name", EXAMPLES)
@pytest.mark.parametrize(
    "words", [("format", "--check"), ("check",)], ids=["format", "lint"]
)
def test_a_render_is_canonical(
    example: Renders, name: str, words: tuple[str, ...]
) -> None:
    done = python(example(name), "-m", "ruff", *words, "--no-cache", ".")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_answers_come_back_whole(example: Renders, name: str) -> None:
    example_answers = answers(name)
    recorded = yaml.safe_load(
        (example(name) / ".copier-answers.yml").read_text(encoding="utf-8")
    )
    assert {key: recorded.get(key) for key in example_answers} == example_answers
    assert "&id" not in (example(name) / ".copier-answers.yml").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_data_files_hold_the_texts_unchanged(example: Renders, name: str) -> None:
    given_answers, project = answers(name), example(name)
    metadata = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert metadata["description"] == given_answers["description"]
    assert metadata.get("authors", [{"name": ""}]) == [
        {"name": given_answers.get("author", "")}
    ]
    for path in project.rglob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))
    for path in project.rglob("*.y*ml"):
        yaml.safe_load(path.read_text(encoding="utf-8"))


def test_notes_is_what_the_defaults_make(example: Renders, project: Path) -> None:
    assert read_contents(example("notes")) == read_contents(project)


def test_the_same_answers_give_the_same_bytes(
    template: Path, example: Renders, tmp_path: Path
) -> None:
    assert read_contents(
        render(template, tmp_path, answers("unusual"))
    ) == read_contents(example("unusual"))


def test_the_committed_renders_are_fresh(template: Path, tmp_path: Path) -> None:
    committed_renders(template, tmp_path)
    for name in COMMITTED:
        fresh = read_contents(tmp_path / name)
        committed = read_contents(ROOT / "examples/rendered" / name)
        stale_paths = []
        for path in fresh | committed:
            if fresh.get(path) != committed.get(path):
                stale_paths.append(path)
        stale = sorted(stale_paths)
        assert not stale, (
            f"examples/rendered/{name} is stale; run scripts/render-examples: {stale}"
        )


def test_the_committed_renders_can_be_reviewed() -> None:
    """They exclude the engine and stay short enough to review."""
    lines = 0
    for path in (ROOT / "examples/rendered").rglob("*"):
        if path.is_file():
            assert "engine" not in path.parts
            lines += len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= 8000


def test_no_path_of_the_template_is_forbidden_on_windows() -> None:
    reserved = re.compile(r"(?i)^(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
    names = git(
        ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z"
    ).split("\0")
    assert len(names) > 100
    for name in filter(None, names):
        assert not re.search(r'[<>:"|?*\\\x00-\x1f]', name), name
        assert not any(
            reserved.match(part) or part[-1] in ". " for part in name.split("/")
        ), name
        assert len(name) < 180, name
    assert len(set(map(str.lower, names))) == len(names)
