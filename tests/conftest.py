"""Fixtures shared by the tiers."""

import functools
import gc
import os
import shutil
import signal
import tempfile
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path

import compiled
import forked
import pytest
from loud import pytest_runtest_makereport
from support import ROOT, Renders, answers, clone_template, render

__all__ = ["pytest_runtest_makereport"]  # a hook: on CI no skip is silent

# A shell starts what runs in its background with SIGINT ignored, and every program started here would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


# Begun by the first process, which the workers inherit from. What whoever runs the tests has set for git and Copier does
# not count, nor the language that git speaks, nor a proxy before this machine itself.
if "COMPILED_TEMPLATES" not in os.environ:
    SHARED = tempfile.TemporaryDirectory()
    compiled.shared(Path(SHARED.name))
    OWN = Path(SHARED.name, "gitconfig")
    OWN.write_text(
        "[user]\n\tname = t\n\temail = t@example.com\n[safe]\n\tdirectory = *\n"
        # git 2.55 tidies up in the background, in folders that Copier is about to delete
        "[maintenance]\n\tauto = false\n"
    )
    os.environ |= {
        "GIT_CONFIG_GLOBAL": str(OWN),
        "GIT_CONFIG_NOSYSTEM": "1",
        "LANGUAGE": "en",
    }
    Path(SHARED.name, "copier.yml").write_text("{}\n")
    os.environ["COPIER_SETTINGS_PATH"] = str(Path(SHARED.name, "copier.yml"))
    os.environ["no_proxy"] = "127.0.0.1,localhost"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector from looking through the thousands of tests, again and again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    """Wait for the processes that fork programs: the CPU time of a run of the tests includes theirs."""
    forked.stop()


@pytest.fixture(scope="session", autouse=True)
def mypy_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One store of mypy's for all projects of a test process, begun with what it knows of the libraries from here."""
    folder = tmp_path_factory.mktemp("mypy")
    if (ROOT / ".mypy_cache").is_dir():
        shutil.copytree(ROOT / ".mypy_cache", folder, dirs_exist_ok=True)
    os.environ["MYPY_CACHE_DIR"] = str(folder)
    yield
    del os.environ["MYPY_CACHE_DIR"]


@pytest.fixture(scope="session")
def one_environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One environment for the `uv run` of all projects of a worker: a new one compiles FastMCP each time."""
    os.environ["UV_PROJECT_ENVIRONMENT"] = str(
        tmp_path_factory.mktemp("environment") / "venv"
    )
    yield
    del os.environ["UV_PROJECT_ENVIRONMENT"]


@pytest.fixture
def forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the Python programs that a test starts fork from a process with the slow imports behind it."""
    for name, value in forked.fork_variables().items():
        monkeypatch.setenv(name, value)


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This template as a tagged repository, one for all workers; tests must not write in it."""
    shared = Path(os.environ["COMPILED_TEMPLATES"], "template")
    if shared.is_dir():
        return shared
    clone = clone_template(tmp_path_factory.mktemp("template"))
    with suppress(OSError):  # another worker was faster, or it is another file system
        clone.rename(shared)
    return shared if shared.is_dir() else clone


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
