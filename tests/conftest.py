"""Fixtures shared by the tiers."""

import functools
import signal
from pathlib import Path

import pytest
from support import Renders, answers, clone_template, render

collect_ignore = ["attacks"]  # they run inside a rendered server

# A shell starts what runs in its background with SIGINT ignored, and every program started here would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This template as a tagged repository."""
    return clone_template(tmp_path_factory.mktemp("template"))


@pytest.fixture(scope="session")
def project(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project that `copier copy --defaults` makes; tests must not write in it."""
    return render(template, tmp_path_factory.mktemp("default"))


@pytest.fixture(scope="session")
def example(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Renders:
    """The project of a named example, one for all tests; tests must not write in it."""
    return functools.cache(
        lambda name: render(template, tmp_path_factory.mktemp(name), answers(name))
    )
