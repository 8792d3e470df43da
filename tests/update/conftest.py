"""The template at v1, and a copy of it that a test may release from."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import forked
import pytest
from plumbum import local
from support import clone_template


@pytest.fixture(autouse=True)
def unguarded(request: pytest.FixtureRequest) -> Iterator[None]:
    """What an update does is asked without its guard, which renders twice more; the files named here ask the guard."""
    is_guarded = request.path.stem in (
        "test_engine",
        "test_guard",
        "test_life",
        "test_imported",
    )
    # Copier hands on the variables that plumbum saw when it was imported
    checked = {} if is_guarded else {"COPIER_FASTMCP_CHECKED": "1"}
    with local.env(**checked, **forked.fork_variables()):
        yield


@pytest.fixture(scope="session")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template at v1."""
    return clone_template(tmp_path_factory.mktemp("first"), tag="v1.0.0")


@pytest.fixture
def repository(first: Path, tmp_path: Path) -> Path:
    """A copy of it that a test may release from."""
    return shutil.copytree(first, tmp_path / "template")
