"""The renders of this tier: `copie` makes them, with trust, as a user's `copier copy --trust` does."""

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support import Answers, Renders, answers, keep_render, shared_render

Copies = Callable[[Answers], Path]


@pytest.fixture(autouse=True)
def _forks(forks: None) -> None:
    """Fork the programs that a test starts from a process that has imported Copier."""


@pytest.fixture(scope="session")
def copies(copie_session: Any, template: Path) -> Copies:
    """Render a project from answers, shared by all tests of a run; tests must not change it."""

    @functools.cache
    def copy(text: str) -> Path:
        shared = shared_render(template, "copie", text)
        if shared and shared.is_dir():
            return shared
        result = copie_session.copy(json.loads(text), template, "v99.0.0")
        assert (result.exception, result.exit_code) == (None, 0)
        project: Path = result.project_dir
        if shared:
            keep_render(project, shared)
        return project

    return lambda answers: copy(json.dumps(answers))


@pytest.fixture(scope="session")
def project(copies: Copies) -> Path:
    """The project of the default answers; tests must not change it."""
    return copies({})


@pytest.fixture(scope="session")
def example(copies: Copies) -> Renders:
    """Return the shared project of a named example; tests must not change it."""
    return lambda name: copies(answers(name))
