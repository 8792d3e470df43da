"""The project that Enter all the way through makes."""

from pathlib import Path

from support import check, server


def test_the_default_project_passes_its_own_gate(project: Path) -> None:
    assert check(project) == {}


def test_the_tool_table_is_what_the_server_writes(project: Path) -> None:
    written = server(project, "tools", "table")
    assert written.stdout == (project / "docs/tools.md").read_text(encoding="utf-8")


def test_it_grows_no_further(project: Path) -> None:
    """The aim is 60 files and 3,000 lines of Python; this is the size reached, and it may only shrink."""
    made = [path for path in project.rglob("*") if path.is_file()]
    files = [f for f in made if not {"__pycache__", ".mypy_cache"} & set(f.parts)]
    lines = sum(len(path.read_text().splitlines()) for path in files if path.suffix == ".py")
    assert len(files) <= 84
    assert lines <= 4850
