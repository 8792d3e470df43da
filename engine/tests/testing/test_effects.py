"""What a call does outside the snapshot is seen: files, programs, the environment, data of modules."""

import atexit
import contextlib
import gc
import importlib
import itertools
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
import urllib.request
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from copier_fastmcp_engine.testing.plugin import databases
from copier_fastmcp_engine.testing.plugin.databases import (
    find_connections,
    read_content,
)
from copier_fastmcp_engine.testing.plugin.effects import Effect, watching_effects
from copier_fastmcp_engine.testing.plugin.library_state import LibraryState
from copier_fastmcp_engine.testing.plugin.module_state import (
    ModuleState,
    find_changed,
    find_changed_attributes,
    read_attributes,
)
from copier_fastmcp_engine.testing.plugin.process_state import (
    find_changed_process,
    read_process,
)


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
        with contextlib.closing(sqlite3.connect(":memory:")) as memory:
            memory.execute("CREATE TABLE a (b)")
        shared = "file::memory:?cache=shared"
        for address in (shared, f"file:{path}?mode=ro"):
            with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
                connection.execute("SELECT 1")
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
import array, collections, contextlib, datetime, decimal, functools, io, itertools, pathlib, queue, random, threading, types, typing
import pydantic
turns = itertools.cycle("abc")
pairs = zip(range(9), range(9))
chained = itertools.chain(range(9), range(9))
numbered = (n for n in range(9))
last = datetime.datetime(2020, 1, 1)
total = decimal.Decimal(0)
place = pathlib.Path("a")
names = collections.UserList()
local = threading.local()
ready = threading.Event()

class Menu(pydantic.BaseModel):
    shown: typing.ClassVar[list] = []
    name: str = ""

def build():
    built = 0
    def add():
        nonlocal built
        built += 1
    return add

handlers = {"add": build()}
note_it = functools.partial(lambda notes, note: notes.append(note), [])

class Log:
    def __init__(self):
        self.lines = []
    def write(self, line):
        self.lines.append(line)

write_line = Log().write

def remember_keyword(*, kept=[]):
    kept.append(1)

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
        ("next(turns)", ["mine.turns"]),
        ("next(pairs)", ["mine.pairs"]),
        ("next(chained)", ["mine.chained"]),
        ("next(numbered)", ["mine.numbered"]),
        ("last += datetime.timedelta(1)", ["mine.last"]),
        ("total += 1", ["mine.total"]),
        ("place /= 'b'", ["mine.place"]),
        ("names.append(1)", ["mine.names"]),
        ("local.count = 1", ["mine.local"]),
        ("ready.set()", ["mine.ready"]),
        ("Menu.shown.append(1)", ["mine.Menu.shown"]),
        ("handlers['add']()", ["mine.handlers"]),
        ("note_it(1)", ["mine.note_it"]),
        ("write_line(1)", ["mine.write_line"]),
        ("remember_keyword()", ["mine.remember_keyword()"]),
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


class Client:
    """A backend with attributes besides its data."""

    def __init__(self) -> None:
        """Hold nothing."""
        self.hits = 0
        self.last: str | None = None
        self.current = "a"
        self.recent: list[int] = []
        self.seen: set[int] = set()
        self.cache: dict[int, int] = {}
        self.rows: dict[int, int] = {}
        self.turns = itertools.cycle("abc")


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("", []),
        ("client.hits += 1", ["hits"]),
        ("client.current = 'b'", ["current"]),
        ("client.recent.append(1)", ["recent"]),
        ("client.seen.add(1)", ["seen"]),
        ("client.rows[len(client.rows)] = 1", ["rows"]),
        ("next(client.turns)", ["turns"]),
        # what the first call prepares for the next ones
        ("client.last = client.last or 'token'", []),
        ("client.rows.setdefault(1, 2)", []),
        ("client.cache[len(client.cache)] = 1", []),
    ],
)
def test_attributes_of_a_backend_are_compared(code: str, changed: list[str]) -> None:
    client = Client()
    states = [read_attributes(client)]
    for _ in range(2):
        exec(code, {"client": client})
        states.append(read_attributes(client))
    assert find_changed_attributes(*states) == changed


@pytest.mark.parametrize(
    ("sql", "is_changed"),
    [
        ("SELECT * FROM a", False),
        ("INSERT INTO a VALUES (2)", True),
        ("UPDATE a SET b = 3", True),
        ("DROP INDEX c", True),
        ("PRAGMA user_version = 7", True),
        ("CREATE TEMP TABLE d (e)", False),
        ("BEGIN; DELETE FROM a; ROLLBACK", False),
    ],
)
def test_a_database_is_compared_as_a_whole(sql: str, is_changed: bool) -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(
            "CREATE TABLE a (b); CREATE INDEX c ON a (b); INSERT INTO a VALUES (1)"
        )
        before = read_content(connection)
        connection.executescript(sql)
        assert (read_content(connection) != before) is is_changed


def test_a_large_database_is_compared_by_its_count_of_changes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(databases, "LARGEST", 1)
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE a (b)")
        before = read_content(connection)
        assert read_content(connection) == before
        connection.execute("INSERT INTO a VALUES (1)")
        assert read_content(connection) != before
    assert read_content(connection) is None


def test_connections_are_found_in_a_backend_and_below() -> None:
    with contextlib.closing(sqlite3.connect(":memory:")) as connection:
        client = SimpleNamespace(db=connection, store=SimpleNamespace(db=connection))
        assert [*find_connections(client, None)] == ["db", "store.db"]


@pytest.mark.parametrize(
    ("code", "changed"),
    [
        ("", []),
        ("textwrap.last = 5", ["textwrap.last"]),
        ("textwrap.dedent = lambda text: text", ["textwrap.dedent"]),
        ("Path.opened = 1", [f"{Path.__module__}.Path.opened"]),
        ("textwrap._private = 5", []),
        ("textwrap.module = re", []),
        ("import this_is_no_module", []),
    ],
)
def test_patched_libraries_are_seen(
    monkeypatch: pytest.MonkeyPatch, code: str, changed: list[str]
) -> None:
    module = ModuleType("mine")
    exec("import re, textwrap\nfrom pathlib import Path", vars(module))
    monkeypatch.setattr(textwrap, "dedent", textwrap.dedent)
    for name in ("last", "_private", "module"):
        monkeypatch.setattr(textwrap, name, None, raising=False)
        monkeypatch.delattr(textwrap, name)
    monkeypatch.setattr(Path, "opened", None, raising=False)
    monkeypatch.delattr(Path, "opened")
    state = LibraryState([__name__.partition(".")[0]])
    assert state.update([module]) == []
    with contextlib.suppress(ImportError):
        run(module, code)
    assert state.update([module]) == changed
    assert state.update([module]) == []


def test_the_state_of_the_process_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path])
    before = read_process()
    assert find_changed_process([before, read_process()]) == []
    sys.path.append("/none")
    mask = os.umask(0o077)
    changed = read_process()
    os.umask(mask)
    assert find_changed_process([before, changed]) == ["umask", "sys.path"]


def test_a_function_for_the_end_is_seen_where_each_call_adds_one() -> None:
    states = [read_process()]
    atexit.register(len, "")
    states += [read_process(), read_process()]
    assert find_changed_process(states) == []
    atexit.register(len, "")
    states[2] = read_process()
    assert find_changed_process(states) == ["atexit"]
    atexit.unregister(len)


@pytest.mark.parametrize(
    ("method", "data", "texts"),
    [("GET", None, []), ("POST", b"a", ["sent POST to http://127.0.0.1:9/"])],
)
def test_a_request_of_urllib_that_writes_is_seen(
    method: str, data: bytes | None, texts: list[str]
) -> None:
    request = urllib.request.Request("http://127.0.0.1:9/", data, method=method)

    def work() -> None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(request)

    assert watch_effects(work) == texts


def test_a_signal_is_seen() -> None:
    with contextlib.suppress(OSError):
        assert watch_effects(lambda: os.kill(os.getpid(), 0)) == []
    text = f"sent a signal to process {os.getpid()}"
    assert watch_effects(lambda: os.kill(os.getpid(), signal.SIGCONT)) == [text]


def test_a_shifted_sqlite_clock_leaves_no_connection_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """From Python 3.13 on, one that is forgotten is a ResourceWarning, and so a failure."""
    connect = sqlite3.connect
    backend = connect(":memory:")
    opened: list[sqlite3.Connection] = []

    def remember(*arguments: Any, **options: Any) -> sqlite3.Connection:
        opened.append(connect(*arguments, **options))
        return opened[-1]

    monkeypatch.setattr(sqlite3, "connect", remember)
    with databases.sqlite_ahead([backend], 3600):
        backend.execute("SELECT datetime('now')")
    backend.close()
    gc.collect()
    (reference,) = opened
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        reference.execute("SELECT 1")
