"""A port, and the project whose texts the tests change."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import texts
from listening import free_port
from support import render

collect_ignore = [
    "authors"
]  # what an author writes, and tests that run inside a project


@pytest.fixture(scope="session")
def lab(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with resources and templates, importable in this process."""
    project = render(template, tmp_path_factory.mktemp("lab"), texts.ANSWERS)
    sys.path.insert(0, str(project / "src"))
    yield project
    sys.path.remove(str(project / "src"))


@pytest.fixture
def port() -> Iterator[str]:
    """A port on which nobody else listens."""
    with free_port() as number:
        yield str(number)
