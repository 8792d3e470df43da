"""What a call does outside the snapshot is seen: files, programs, the environment, data of modules."""

import contextlib
import gc
import importlib
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from copier_fastmcp_engine.testing.plugin.effects import Effect, watching_effects
from copier_fastmcp_engine.testing.plugin.module_state import ModuleState, find_changed


def watch_effects(work: Callable[[], object]) -> list[str]:
    with watching_effects() as watch:
        work()
    return [effect.text for effect in watch.list_effects()]


def test_a_file_that_is_written_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    assert watch_effects(lambda: path.write_text("a")) == [f"opened for writing {path}"]
    assert watch_effects(lambda: os.open(path, os.O_APPEND | os.O_WRONLY)) != []
    assert watch_effects(path.unlink) == [f"removed {path}"]


def test_reading_and_temporary_files_are_no_effect(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.write_text("a")

    def work() -> None:
        path.read_text()
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"a")
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "a").write_text("a")
        Path(os.devnull).write_text("a")

    assert watch_effects(work) == []


def write_safely(path: Path) -> None:
    """Write a file as libraries do that must not leave half of one."""
    draft = path.with_suffix(".tmp")
    draft.write_text("a")
    draft.replace(path)


def test_a_file_that_replaces_another_one_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    assert watch_effects(lambda: write_safely(path)) == [f"replaced {path}"]
    assert watch_effects(lambda: write_safely(path)) == [f"replaced {path}"]


def test_compiled_code_of_an_import_is_no_effect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_later.py").write_text("a = 1")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "pycache_prefix", str(tmp_path / "compiled"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    assert watch_effects(lambda: importlib.import_module("imported_later")) == []
    assert [*(tmp_path / "compiled").rglob("*.pyc")]


def run_sql(path: Path, *statements: str) -> None:
    """Run statements on a connection of their own."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement).fetchall()
        connection.commit()


def test_a_database_that_is_written_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "log.db"
    made = f"wrote the database {path}"
    assert watch_effects(lambda: run_sql(path, "CREATE TABLE a (b)")) == [made]
    assert watch_effects(lambda: run_sql(path, "INSERT INTO a VALUES (1)")) == [made]
    assert watch_effects(lambda: run_sql(path, "SELECT * FROM a")) == []
    assert watch_effects(lambda: run_sql(tmp_path / "none.db", "SELECT 1")) != []


def test_a_database_in_memory_or_with_a_log_of_its_own_is_no_effect(
    tmp_path: Path,
) -> None:
    path = tmp_path / "log.db"
    run_sql(path, "PRAGMA journal_mode = wal", "CREATE TABLE a (b)")
    writer = sqlite3.connect(path, isolation_level=None)
    writer.execute("INSERT INTO a VALUES (1)")

    def work() -> None:
        sqlite3.connect(":memory:").execute("CREATE TABLE a (b)")
        sqlite3.connect("file::memory:?cache=shared", uri=True).execute("SELECT 1")
        sqlite3.connect(f"file:{path}?mode=ro", uri=True).execute("SELECT 1")
        run_sql(path, "SELECT * FROM a")

    assert watch_effects(work) == []
    writer.close()


def test_a_changed_working_directory_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "changed the working directory"
    assert watch_effects(lambda: os.chdir("/")) == [text]


def test_a_thread_is_seen_and_a_finalizer_is_not(tmp_path: Path) -> None:
    path = tmp_path / "a"

    def in_thread() -> None:
        thread = threading.Thread(target=path.write_text, args=("a",))
        thread.start()
        thread.join()

    assert watch_effects(in_thread) == [f"opened for writing {path}"]

    class Store:
        def __init__(self) -> None:
            self.itself = self
            weakref.finalize(self, path.unlink)

    def forget() -> None:
        Store()
        gc.collect()

    assert watch_effects(forget) == []
    assert not path.exists()


def test_programs_and_the_environment_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    program = [sys.executable, "-c", ""]
    name = Path(sys.executable).name
    assert f"started {name}" in watch_effects(
        lambda: subprocess.run(program, check=True)
    )
    monkeypatch.setenv("NOTES", "a")
    text = "changed the environment variable NOTES"
    assert watch_effects(lambda: os.environ.update(NOTES="b")) == [text]


@pytest.mark.parametrize(
    ("declared", "is_declared"),
    [([], False), (["files"], True), (["*/log.txt"], True), (["programs"], False)],
)
def test_a_probe_declares_effects_by_kind_or_by_name(
    declared: list[str], is_declared: bool
) -> None:
    assert Effect("files", "/var/log.txt", "").is_declared(declared) is is_declared


SOURCE = """
import array, collections, functools, io, itertools, queue, random, types
seen = []
settings = types.SimpleNamespace(used=0)
marks = bytearray()
sizes = array.array("i")
text = io.StringIO()
jobs = queue.Queue()
ids = iter(range(99))
dice = random.Random(1)
by_id = {}
cache = {}
client = None
numbers = itertools.count()

class Client: ...

class Kind:
    used = 0

class Slotted:
    __slots__ = ("used", "other")

slotted = Slotted()
slotted.used = 0

def counting():
    count = 0
    memo = {}
    def step():
        nonlocal count
        count += 1
    def remember(value):
        memo[value] = value
    return step, remember

step, remember = counting()

def read(x, marks=[]): ...

@functools.cache
def cached(x): ...
"""


def run(module: Any, code: str) -> None:
    exec(code, vars(module))


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("mine")
    module.__file__ = str(tmp_path / "mine.py")
    exec(SOURCE, vars(module))
    monkeypatch.setitem(sys.modules, "mine", module)
    return module


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("", []),
        ("seen.append(1)", ["mine.seen"]),
        ("by_id.setdefault(1, 2)", ["mine.by_id"]),
        ("Kind.used += 1", ["mine.Kind.used"]),
        ("next(numbers)", ["mine.numbers"]),
        ("read.calls = 1", ["mine.read.calls"]),
        ("read.__defaults__[0].append(1)", ["mine.read()"]),
        ("client = 5", ["mine.client"]),
        ("settings.used += 1", ["mine.settings"]),
        ("marks.append(1)", ["mine.marks"]),
        ("sizes.append(1)", ["mine.sizes"]),
        ("text.write('a')", ["mine.text"]),
        ("jobs.put(1)", ["mine.jobs"]),
        ("next(ids)", ["mine.ids"]),
        ("slotted.used += 1", ["mine.slotted"]),
        ("step()", ["mine.step.count"]),
        ("cache[len(cache)] = 1", ["mine.cache"]),
        # memoization and what is made once
        ("cache[1] = 1", []),
        ("client = client or Client()", []),
        ("cached(1)", []),
        ("remember(1)", []),
        ("dice.random()", []),
    ],
)
def test_data_of_modules_is_compared(
    tmp_path: Path, module: ModuleType, code: str, changed: list[str]
) -> None:
    state = ModuleState(tmp_path)
    states = [state.read()]
    for _ in range(2):
        run(module, code)
        states.append(state.read())
    assert find_changed(*states) == changed


def test_a_file_that_stays_open_is_compared(tmp_path: Path, module: Any) -> None:
    state = ModuleState(tmp_path)
    with (tmp_path / "log.txt").open("a") as module.log:
        before = state.read()
        assert state.read() == before
        module.log.write("a")
        assert find_changed(before, state.read(), state.read()) == ["mine.log"]


def test_left_out_folders_are_not_read(tmp_path: Path, module: ModuleType) -> None:
    assert ModuleState(tmp_path, (tmp_path,)).read() == {}
    with contextlib.suppress(KeyError):
        del sys.modules["mine"]
    assert ModuleState(tmp_path).read() == {}
