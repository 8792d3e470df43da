"""Mistakes at the edges of what a tool accepts, after many calls, and in records that look alike."""

import itertools
import sqlite3
import sys
import time
import unicodedata
import weakref
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import httpx2
import pytest
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.testing.changes import find_reordered, is_same_moment
from copier_fastmcp_engine.testing.fake import Fake, FakedBackend
from copier_fastmcp_engine.testing.plugin.module_state import ModuleState
from copier_fastmcp_engine.testing.rules import Tool

from .test_cases_that_follow import TEXT, find, suite_of
from .test_probe import Store, StubSuite
from .test_reported_mistakes import destructive_suite_of

pytestmark = pytest.mark.anyio
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
LIST = {"type": "array", "items": TEXT}
OPTIONAL = {"anyOf": [TEXT, {"type": "null"}]}


@pytest.mark.parametrize(
    ("schema", "is_edge"),
    [
        (TEXT, lambda value: value == ""),
        (TEXT, lambda value: value == "*"),
        (TEXT, lambda value: value == "%"),
        (TEXT, lambda value: not value.isascii()),
        (TEXT, lambda value: value != value.strip()),
        (TEXT, lambda value: value.isupper()),
        (TEXT, lambda value: len(value) > 1000),
        (NUMBER, lambda value: value < 0),
        (NUMBER, lambda value: value == 0),
        (LIST, lambda value: value == []),
        (OPTIONAL, lambda value: value is None),
    ],
)
async def test_a_read_that_deletes_at_an_edge_is_found(
    tmp_path: Path, schema: dict[str, Any], is_edge: Callable[[Any], bool]
) -> None:
    def body(store: Store, note_id: int, value: Any = "a") -> None:
        if is_edge(value):
            store.notes.clear()

    samples = {"string": "a", "number": 5, "array": ["a"]}
    suite = suite_of(tmp_path, "read", body, value=schema)
    plain_arrange = suite.module.arrange

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        arguments: dict[str, Any] = await plain_arrange(store, note_id)
        return arguments | {"value": samples[schema.get("type", "string")]}

    suite.module.arrange = arrange
    suite.required.append("value")
    assert "it says read-only, but a call changed" in await find(suite)


@pytest.mark.parametrize("number", [0, -1])
@pytest.mark.parametrize("behavior", ["read", "delete"])
async def test_a_number_that_names_no_record_is_not_all_records(
    tmp_path: Path, behavior: str, number: int
) -> None:
    def body(store: Store, note_id: int) -> None:
        if note_id == number:
            store.notes.clear()
        elif behavior == "delete":
            store.notes.pop(f"note/{note_id}", None)

    suite = suite_of(tmp_path, behavior, body)
    suite.truth["destructive"] = suite.truth["idempotent"] = behavior == "delete"
    assert f"with note_id={number} it" in await find(suite)


@pytest.mark.parametrize("text", ["", "*", "%"])
async def test_a_text_that_names_no_record_is_not_all_records(
    tmp_path: Path, text: str
) -> None:
    async def arrange(store: Store, note_id: str = "main") -> dict[str, Any]:
        store.notes[f"note/{note_id}"] = {"text": "a"}
        return {"note_id": note_id}

    def body(store: Store, note_id: str) -> None:
        for key in [*store.notes]:
            if key == f"note/{note_id}" or note_id == text:
                del store.notes[key]

    suite = StubSuite(tmp_path, arrange, body, note_id=TEXT)
    assert f"with note_id={text!r} it also changed" in await find(suite)


@pytest.mark.parametrize(
    "is_meant", [lambda n, missing: missing and n > missing, lambda n, _: n == 99]
)
async def test_a_list_with_a_gap_names_its_records_alone(
    tmp_path: Path, is_meant: Callable[[int, int], bool]
) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        return {"note_ids": [note_id]}

    def body(store: Store, note_ids: list[int]) -> None:
        present = [n for n in note_ids if f"note/{n}" in store.notes]
        missing = len(note_ids) - len(present)
        if is_meant(len(note_ids), missing):
            store.notes.clear()
        for note_id in present:
            store.notes.pop(f"note/{note_id}", None)

    schema = {"type": "array", "items": INTEGER}
    suite = StubSuite(tmp_path, arrange, body, note_ids=schema)
    suite.required = ["note_ids"]
    finding = await find(suite)
    is_false = is_meant(2, 1)
    assert ("with note_ids=[5, 59999] it also changed" in finding) is bool(is_false)


async def test_a_read_of_the_same_record_twice_is_tried(tmp_path: Path) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        return {"note_ids": [note_id]}

    def body(store: Store, note_ids: list[int]) -> None:
        if len(note_ids) > len(set(note_ids)):
            store.notes.clear()

    schema = {"type": "array", "items": INTEGER}
    suite = StubSuite(tmp_path, arrange, body, note_ids=schema)
    suite.declare("read")
    suite.required = ["note_ids"]
    assert "with note_ids=[5, 5] it says read-only" in await find(suite)


@pytest.mark.parametrize(
    ("schema", "plain", "edge"),
    [(TEXT, "b", ""), (INTEGER, 4, 0), (INTEGER, 4, -1), (LIST, ["b"], [])],
)
async def test_a_put_that_removes_its_record_for_an_empty_value_is_found(
    tmp_path: Path, schema: dict[str, Any], plain: Any, edge: Any
) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        return {"note_id": note_id, "value": plain}

    def body(store: Store, note_id: int, value: Any) -> None:
        if value == edge:
            store.notes.pop(f"note/{note_id}", None)
        else:
            store.notes[f"note/{note_id}"]["value"] = value

    suite = destructive_suite_of(tmp_path, "put", arrange, body, value=schema)
    assert f"with value={edge!r} it says put" in await find(suite)


async def test_a_put_that_resets_others_for_a_negative_number_is_found(
    tmp_path: Path,
) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes[f"note/{note_id}"]["quota"] = 2
        return {"note_id": note_id, "quota": 4}

    def body(store: Store, note_id: int, quota: int) -> None:
        store.notes[f"note/{note_id}"]["quota"] = quota
        for note in store.notes.values():
            if quota < 0:
                note["quota"] = 0

    suite = destructive_suite_of(tmp_path, "put", arrange, body, quota=INTEGER)
    assert "with quota=-1 it also changed note/4.quota" in await find(suite)


async def test_an_ensure_that_removes_for_zero_is_found(tmp_path: Path) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        return {"note_id": note_id}

    def body(store: Store, note_id: int, amount: int = 1) -> None:
        if amount:
            store.notes.setdefault(f"note/{note_id}", {"id": note_id})
        else:
            store.notes.pop(f"note/{note_id}", None)

    suite = destructive_suite_of(tmp_path, "ensure", arrange, body, amount=INTEGER)
    suite.truth["destructive"] = False
    assert "with then amount=0 it says not destructive" in await find(suite)


async def test_two_options_at_once_are_tried(tmp_path: Path) -> None:
    def body(
        store: Store, note_id: int, deep: bool = False, fresh: bool = False
    ) -> None:
        if deep and fresh:
            store.notes.clear()

    flag = {"type": "boolean", "default": False}
    suite = suite_of(tmp_path, "read", body, deep=flag, fresh=flag)
    assert "with all of deep, fresh it says read-only" in await find(suite)


def suite_of_lookalikes(folder: Path, body: Any, name: str = "note_id") -> StubSuite:
    """Return the suite of a tool that deletes the note with an ID of letters."""

    async def add(store: Store, value: str) -> dict[str, Any]:
        store.notes[f"note/{value}"] = {"text": "a"}
        return {name: value}

    async def arrange(store: Store, note_id: str = "Ann_1") -> dict[str, Any]:
        return await add(store, note_id)

    async def arrange_mail(store: Store, email: str = "Ann_1") -> dict[str, Any]:
        return await add(store, email)

    arranges = {"note_id": arrange, "email": arrange_mail}
    suite = StubSuite(folder, arranges[name], body, **{name: TEXT})
    suite.required = [name]
    suite.tables = {**suite.tables, "identities": ["note_id", "email"]}
    return suite


@pytest.mark.parametrize(
    "change",
    [
        str.lower,
        str.strip,
        lambda text: text.replace("_", "x"),
        lambda text: unicodedata.normalize("NFKC", text),
        lambda text: unicodedata.normalize("NFD", text).encode("ascii", "ignore"),
    ],
    ids=["case", "spaces", "wildcard", "width", "accents"],
)
async def test_a_delete_that_takes_a_lookalike_is_found(
    tmp_path: Path, change: Callable[[str], object]
) -> None:
    def body(store: Store, note_id: str) -> None:
        for key in [*store.notes]:
            if change(key) == change(f"note/{note_id}"):
                del store.notes[key]

    suite = suite_of_lookalikes(tmp_path, body)
    assert "with a second record it also changed note/" in await find(suite)


async def test_an_address_is_the_same_in_any_case(tmp_path: Path) -> None:
    def body(store: Store, email: str) -> None:
        for key in [*store.notes]:
            if key.lower() == f"note/{email}".lower():
                del store.notes[key]

    assert await find(suite_of_lookalikes(tmp_path, body, "email")) == ""


async def test_arrange_may_store_the_present_time(tmp_path: Path) -> None:
    """A second record is added though the first one is of another moment then."""

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes["session"] = {"text": time.time()}
        return {"note_id": note_id}

    def body(store: Store, note_id: int) -> None:
        for key in [*store.notes]:
            if key.startswith(f"note/{note_id}"):
                del store.notes[key]

    suite = StubSuite(tmp_path, arrange, body)
    assert "it also changed note/52" in await find(suite)
    assert suite.notes == []


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        (time.time(), time.time() + 1, True),
        ("2031-01-01T00:00:00", "2031-01-01T00:00:01", True),
        (3.0, 3.5, False),
        ("a", "b", False),
    ],
    ids=["seconds", "texts", "numbers", "words"],
)
def test_times_of_two_moments_are_recognized(old: Any, new: Any, same: bool) -> None:
    assert is_same_moment(old, new) is same


def suite_of_versions(folder: Path, refuses: Callable[[Any, Any], bool]) -> StubSuite:
    """Return the suite of an update that refuses some versions of a note whose version is 4."""

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes[f"note/{note_id}"]["etag"] = "e4"
        return {"note_id": note_id, "text": "b", "etag": "e4"}

    def body(store: Store, note_id: int, text: str, etag: str) -> None:
        note = store.notes[f"note/{note_id}"]
        if refuses(etag, note["etag"]):
            raise ToolError("it was changed since")
        note.update(text=text, etag=note["etag"] + "x")

    (folder / "test_update_note.py").touch()
    suite = StubSuite(folder, arrange, body, text=TEXT, etag=TEXT)
    suite.declare("update")
    suite.required += ["text", "etag"]
    suite.truth["destructive"] = True
    return suite


@pytest.mark.parametrize(
    ("refuses", "finding"),
    [
        (lambda passed, kept: passed != kept, ""),
        (lambda passed, kept: passed < kept, "with an unknown etag it was accepted"),
        (
            lambda passed, kept: passed and passed != kept,
            "with an empty etag it was accepted",
        ),
    ],
)
async def test_an_update_accepts_the_records_version_alone(
    tmp_path: Path, refuses: Callable[[Any, Any], bool], finding: str
) -> None:
    found = await find(suite_of_versions(tmp_path, refuses))
    assert finding in found
    assert bool(found) is bool(finding)


async def test_a_read_that_writes_at_each_fifth_call_is_found(tmp_path: Path) -> None:
    numbers = itertools.cycle(range(5))

    def body(store: Store, note_id: int) -> None:
        if next(numbers) == 4:
            store.add(100 + len(store.notes))

    finding = await find(suite_of(tmp_path, "read", body))
    assert "it says read-only, but" in finding


async def test_a_put_that_adds_at_each_third_call_is_found(tmp_path: Path) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        return {"note_id": note_id}

    numbers = itertools.cycle(range(4))

    def body(store: Store, note_id: int) -> None:
        store.notes[f"note/{note_id}"]["text"] = "b"
        if next(numbers) == 3:
            store.add(100 + len(store.notes))

    finding = await find(destructive_suite_of(tmp_path, "put", arrange, body))
    assert "it says idempotent, but" in finding


async def test_a_put_that_turns_a_list_is_found(tmp_path: Path) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes[f"note/{note_id}"]["tags"] = ["a", "b", "c"]
        return {"note_id": note_id}

    def body(store: Store, note_id: int) -> None:
        tags = store.notes[f"note/{note_id}"]["tags"]
        tags.append(tags.pop(0))

    finding = await find(destructive_suite_of(tmp_path, "put", arrange, body))
    assert "but a second call changed the order of note/5.tags" in finding


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ({"a": [1, 2]}, {"a": [2, 1]}, ("a",)),
        ({"a": [1, 2]}, {"a": [1, 3]}, None),
        (
            {"a": [{"id": 1, "b": [1, 2]}]},
            {"a": [{"id": 1, "b": [2, 1]}]},
            ("a", "0", "b"),
        ),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, None),
    ],
)
def test_lists_in_another_order_are_recognized(old: Any, new: Any, place: Any) -> None:
    assert find_reordered(old, new) == place


@pytest.mark.parametrize("limit", [100, 1000])
async def test_an_append_that_keeps_the_end_of_a_text_is_found(
    tmp_path: Path, limit: int
) -> None:
    def body(store: Store, note_id: int, text: str) -> None:
        note = store.notes[f"note/{note_id}"]
        note["text"] = (note["text"] + text)[-limit:]

    finding = await find(suite_of(tmp_path, "append", body, text=TEXT))
    assert "it says not destructive, but" in finding


async def test_an_append_that_drops_letters_beyond_ascii_is_found(
    tmp_path: Path,
) -> None:
    def body(store: Store, note_id: int, text: str) -> None:
        note = store.notes[f"note/{note_id}"]
        note["text"] = note["text"].encode("ascii", "ignore").decode() + text

    finding = await find(suite_of(tmp_path, "append", body, text=TEXT))
    assert "it says not destructive, but lost note/5.text" in finding


async def test_an_append_may_keep_the_last_text_and_the_length(tmp_path: Path) -> None:
    def body(store: Store, note_id: int, text: str) -> None:
        note = store.notes[f"note/{note_id}"]
        note["text"] += text
        note["length"] = len(note["text"])
        note["last"] = text

    assert await find(suite_of(tmp_path, "append", body, text=TEXT)) == ""


async def test_the_last_page_is_read(tmp_path: Path) -> None:
    def body(store: Store, note_id: int, cursor: str = "1") -> dict[str, Any]:
        if cursor == "9":
            store.notes["seen"] = {"at": cursor}
            return {}
        return {"next_cursor": str(int(cursor) + 1)} if cursor.isdecimal() else {}

    finding = await find(suite_of(tmp_path, "read", body, cursor=TEXT))
    assert "a call changed seen.at" in finding


async def test_a_read_that_cleans_records_of_another_kind_is_found(
    tmp_path: Path,
) -> None:
    def body(store: Store, note_id: int) -> None:
        store.notes.pop("draft/7", None)

    async def arrange_draft(store: Store) -> dict[str, Any]:
        store.notes["draft/7"] = {"text": "a"}
        return {}

    suite = suite_of(tmp_path, "read", body)
    suite.proven_tools = [Tool({"name": "create_draft", "inputSchema": {}})]
    modules = {
        "create_draft": SimpleNamespace(arrange=arrange_draft),
        "read_note": suite.module,
    }
    setattr(suite, "probe_module", modules.__getitem__)  # noqa: B010
    finding = await find(suite)
    assert "with records of other kinds it says read-only" in finding


@pytest.fixture
def project_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module of the project that asks for the time, also in SQL."""
    module = ModuleType("clocked_too")
    module.__file__ = str(tmp_path / "src/clocked_too.py")
    monkeypatch.setitem(sys.modules, "clocked_too", module)
    return module


SOON = (datetime.now(UTC) + timedelta(days=200)).date().isoformat()
LAPSES = {
    "monotonic": "time.monotonic() - store.opened > 86400",
    "perf_counter": "time.perf_counter_ns() - store.begun > 86400e9",
    "first call": "time.time() - cache.setdefault('at', time.time()) > 86400",
    "datetime": "value('SELECT datetime() > ?', soon)",
    "CURRENT_TIMESTAMP": "value('SELECT CURRENT_TIMESTAMP > ?', soon)",
    "strftime": "value('SELECT strftime(\"%Y-%m\", ?, ?) > ?', 'now', '+1 day', soon)",
    "own connection": "own('SELECT date(?) > ?', 'now', soon)",
}


@pytest.mark.parametrize("lapse", LAPSES.values(), ids=LAPSES)
async def test_every_clock_is_ahead(
    tmp_path: Path, project_module: ModuleType, lapse: str
) -> None:
    source = f"""
import contextlib
import sqlite3
import time
cache = {{}}
soon = {SOON!r}

def body(store, note_id):
    def value(sql, *values):
        return store.db.execute(sql, values).fetchone()[0]
    def own(sql, *values):
        with contextlib.closing(sqlite3.connect(":memory:")) as connection:
            return connection.execute(sql, values).fetchone()[0]
    if {lapse}:
        store.notes.clear()
"""
    exec(source, vars(project_module))
    suite = suite_of(tmp_path, "read", vars(project_module)["body"])
    suite.module_state = ModuleState(tmp_path / "src")
    plain_arrange = suite.module.arrange

    async def arrange(store: Any, note_id: int = 5) -> dict[str, Any]:
        store.db = sqlite3.connect(":memory:")
        weakref.finalize(store, store.db.close)
        store.opened = time.monotonic()
        store.begun = time.perf_counter_ns()
        arguments: dict[str, Any] = await plain_arrange(store, note_id)
        return arguments

    suite.module.arrange = arrange
    finding = await find(suite)
    assert "with a clock 400 days ahead it says read-only" in finding


def send(fake: Fake, method: str, path: str, **options: Any) -> httpx2.Response:
    """Send a request to a fake."""
    return fake(httpx2.Request(method, f"https://example.com{path}", **options))


@pytest.mark.parametrize(
    ("path", "headers", "words"),
    [
        ("/mails/1", {}, ""),
        ("/mails/1/delete", {}, "ends in a verb of a write"),
        ("/mails/mark-read", {}, "ends in a verb of a write"),
        ("/mails/1?_method=delete", {}, "as DELETE"),
        ("/mails/1?_method=get", {}, ""),
        ("/mails/1", {"X-HTTP-Method-Override": "PATCH"}, "as PATCH"),
        ("/words/clear", {}, ""),
    ],
)
def test_a_get_in_disguise_is_no_read(
    tmp_path: Path, path: str, headers: dict[str, str], words: str
) -> None:
    fake = Fake("https://example.com", tmp_path)
    backend = FakedBackend(SimpleNamespace(), fake)
    send(fake, "PUT", "/mails/1", json={"a": 1})
    send(fake, "PUT", "/words/clear", json={"a": 1})
    fake.sent.clear()
    send(fake, "GET", path, headers=headers)
    found = backend.find_unproven(read_only=True, idempotent=False)
    assert words in found
    assert bool(found) is bool(words)


@pytest.mark.parametrize(
    ("path", "left"), [("/mails/1", 1), ("/mails/", 2), ("/mails", 0)]
)
def test_an_empty_name_deletes_nothing(tmp_path: Path, path: str, left: int) -> None:
    fake = Fake("https://example.com", tmp_path)
    for number in (1, 2):
        send(fake, "PUT", f"/mails/{number}", json={"a": number})
    send(fake, "DELETE", path)
    assert len(fake.records) == left


@pytest.mark.parametrize(
    ("path", "left"), [("/boxes/1/mails/1", 2), ("/boxes/1/mails/", 3), ("/boxes/1", 0)]
)
def test_an_empty_name_below_a_record_deletes_nothing(
    tmp_path: Path, path: str, left: int
) -> None:
    fake = Fake("https://example.com", tmp_path)
    for place in ("/boxes/1", "/boxes/1/mails/1", "/boxes/1/mails/2"):
        send(fake, "PUT", place, json={"a": 1})
    send(fake, "DELETE", path)
    assert len(fake.records) == left


@pytest.mark.parametrize("shortage", [0, 1])
async def test_a_delete_that_leaves_the_last_of_a_list_is_found(
    tmp_path: Path, shortage: int
) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes.setdefault("note/8", {"id": 8})
        return {"note_ids": [8, note_id]}

    def body(store: Store, note_ids: list[int]) -> None:
        for note_id in note_ids[: len(note_ids) - shortage]:
            store.notes.pop(f"note/{note_id}", None)

    schema = {"type": "array", "items": INTEGER}
    suite = StubSuite(tmp_path, arrange, body, note_ids=schema)
    suite.required = ["note_ids"]
    found = await find(suite)
    assert ("with only the first of note_ids it says delete, but" in found) is (
        shortage == 1
    )
    assert bool(found) is (shortage == 1)


def suite_of_patients(folder: Path, behavior: str, body: Any) -> StubSuite:
    """Return the suite of a tool on patients, their visits, and bills of the visits."""

    async def arrange(store: Store, patient_id: int = 3) -> dict[str, Any]:
        patient = {"id": patient_id, "state": "archived"}
        store.notes[f"patient/{patient_id}"] = patient
        visit = {"code": "v1", "patient_id": 3, "state": "held"}
        store.notes["visit/v1"] = visit
        store.notes["bill/9"] = {"id": 9, "code": "v1"}
        return {"patient_id": patient_id}

    suite = destructive_suite_of(folder, behavior, arrange, body, patient_id=INTEGER)
    suite.required = ["patient_id"]
    return suite


@pytest.mark.parametrize(
    ("state", "finding"),
    [("booked", "it says not destructive, but lost visit/v1.state"), ("open", "")],
)
async def test_a_restored_record_does_not_restore_others_that_were_over(
    tmp_path: Path, state: str, finding: str
) -> None:
    """They may follow its own state, which is `open` then."""

    def body(store: Store, patient_id: int) -> None:
        store.notes[f"patient/{patient_id}"]["state"] = "open"
        store.notes["visit/v1"]["state"] = state

    suite = suite_of_patients(tmp_path, "action", body)
    suite.truth["destructive"] = False
    found = await find(suite)
    assert finding in found
    assert bool(found) is bool(finding)


async def test_a_number_is_no_reference_to_a_record_with_that_key(
    tmp_path: Path,
) -> None:
    def body(store: Store, patient_id: int) -> None:
        store.notes.pop(f"patient/{patient_id}", None)
        if patient_id == 3:
            store.notes.pop("entry/1", None)

    suite = suite_of_patients(tmp_path, "delete", body)
    plain_arrange = suite.module.arrange

    async def arrange(store: Store, patient_id: int = 3) -> dict[str, Any]:
        arguments: dict[str, Any] = await plain_arrange(store, patient_id)
        for number in (1, 2):
            entry = {"id": number, "patient_id": 2 + number, "position": 1}
            store.notes[f"entry/{number}"] = entry
        return arguments

    suite.module.arrange = arrange
    assert await find(suite) == ""


@pytest.mark.parametrize("takes_bills", [True, False])
async def test_a_record_that_others_still_need_does_not_go_with_another(
    tmp_path: Path, takes_bills: bool
) -> None:
    def body(store: Store, patient_id: int) -> None:
        if store.notes.pop(f"patient/{patient_id}", None) and patient_id == 3:
            store.notes.pop("visit/v1", None)
            if takes_bills:
                store.notes.pop("bill/9", None)

    suite = suite_of_patients(tmp_path, "delete", body)
    plain_arrange = suite.module.arrange

    async def arrange(store: Store, patient_id: int = 3) -> dict[str, Any]:
        arguments: dict[str, Any] = await plain_arrange(store, patient_id)
        if takes_bills:
            store.notes["bill/9"]["patient_id"] = 3
        return arguments

    suite.module.arrange = arrange
    found = await find(suite)
    assert bool(found) is not takes_bills
    assert found == "" or "it also changed visit/v1.code" in found
