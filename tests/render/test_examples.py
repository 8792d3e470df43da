"""Each example becomes a project that is canonical and has its texts intact."""

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


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder by its path, what programs leave behind aside."""
    left = {
        "__pycache__",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
        ".data",
    }
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in files
        if not left & set(path.relative_to(folder).parts)
    }


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
    said = answers(name)
    kept = yaml.safe_load(
        (example(name) / ".copier-answers.yml").read_text(encoding="utf-8")
    )
    assert {key: kept.get(key) for key in said} == said
    assert "&id" not in (example(name) / ".copier-answers.yml").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize("name", EXAMPLES)
def test_data_files_hold_the_texts_unchanged(example: Renders, name: str) -> None:
    said, project = answers(name), example(name)
    about = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))[
        "project"
    ]
    assert about["description"] == said["description"]
    assert about.get("authors", [{"name": ""}]) == [{"name": said.get("author", "")}]
    for path in project.rglob("*.json"):
        json.loads(path.read_text(encoding="utf-8"))
    for path in project.rglob("*.y*ml"):
        yaml.safe_load(path.read_text(encoding="utf-8"))


def test_notes_is_what_the_defaults_make(example: Renders, project: Path) -> None:
    assert contents(example("notes")) == contents(project)


def test_the_same_answers_give_the_same_bytes(
    template: Path, example: Renders, tmp_path: Path
) -> None:
    assert contents(render(template, tmp_path, answers("unusual"))) == contents(
        example("unusual")
    )


def test_the_committed_renders_are_fresh(template: Path, tmp_path: Path) -> None:
    committed_renders(template, tmp_path)
    for name in COMMITTED:
        fresh = contents(tmp_path / name)
        kept = contents(ROOT / "examples/rendered" / name)
        stale = sorted(
            path for path in fresh | kept if fresh.get(path) != kept.get(path)
        )
        assert not stale, (
            f"examples/rendered/{name} is stale; run scripts/render-examples: {stale}"
        )


def test_the_committed_renders_can_be_reviewed() -> None:
    """They show what differs between servers: not the engine, and no more than a reviewer reads."""
    files = [path for path in (ROOT / "examples/rendered").rglob("*") if path.is_file()]
    assert not [path for path in files if "engine" in path.parts]
    assert (
        sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
        <= 8000
    )


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
    assert len({name.lower() for name in names}) == len(names)
