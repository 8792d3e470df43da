"""Fixtures shared by the tiers."""

from pathlib import Path

import pytest
from support import clone_template, render


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This template as a tagged repository."""
    return clone_template(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="session")
def project(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project that `copier copy --defaults` makes; tests must not write in it."""
    return render(template, tmp_path_factory.mktemp("default"))
