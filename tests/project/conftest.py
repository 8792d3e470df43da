"""One store of mypy's for all projects of a test process: the second is checked in a few seconds."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import texts
from support import render


@pytest.fixture(scope="session", autouse=True)
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The cache's folder, in the environment that `support.python` hands on."""
    os.environ["MYPY_CACHE_DIR"] = str(tmp_path_factory.mktemp("mypy"))
    yield
    del os.environ["MYPY_CACHE_DIR"]


@pytest.fixture(scope="session")
def lab(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with resources and templates, importable in this process."""
    project = render(template, tmp_path_factory.mktemp("lab"), texts.ANSWERS)
    sys.path.insert(0, str(project / "src"))
    yield project
    sys.path.remove(str(project / "src"))
