"""The template at v1, and a copy of it that a test may release from."""

import shutil
from pathlib import Path

import pytest
from support import clone_template


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template at v1."""
    return clone_template(tmp_path_factory.mktemp("first"), tag="v1.0.0")


@pytest.fixture
def repository(first: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may release from."""
    return shutil.copytree(first, tmp_path / "template")
