"""Mistakes of published reports: a filter left out, a large limit, dropped fields; and what looks like one and is right."""

from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine.testing.fake import Fake, FakedBackend

from .test_cases_that_follow import TEXT, find, suite_of
from .test_probe import Store, StubSuite

pytestmark = pytest.mark.anyio
NULL = {"type": "null"}
OPTIONAL_TEXT = {
    "anyOf": [TEXT, NULL],
    "default": None,
}
LIMIT = {"type": "integer", "default": 20}


async def test_a_read_that_deletes_at_a_large_limit_is_found(tmp_path: Path) -> None:
    def body(store: Store, note_id: int, limit: int = 20) -> None:
        if limit > 20:
            store.notes.clear()

    suite = suite_of(tmp_path, "read", body, limit=LIMIT)
    assert "with limit=1000 it says read-only" in await find(suite)


async def test_a_large_limit_stays_below_the_maximum(tmp_path: Path) -> None:
    limits = set()

    def body(store: Store, note_id: int, limit: int = 20) -> None:
        limits.add(limit)

    suite = suite_of(tmp_path, "read", body, limit=LIMIT | {"maximum": 50})
    assert await find(suite) == ""
    assert max(limits) == 50


def suite_of_filter(folder: Path, body: Any) -> StubSuite:
    """Return the suite of a tool that deletes the notes with a text."""

    async def arrange(store: Store) -> dict[str, Any]:
        store.notes["note/1"] = {"id": 1, "text": "old"}
        store.notes["note/2"] = {"id": 2, "text": "new"}
        return {"text": "old"}

    suite = StubSuite(folder, arrange, body, text=OPTIONAL_TEXT)
    suite.required = []
    return suite


async def test_a_delete_that_empties_the_store_without_its_filter_is_found(
    tmp_path: Path,
) -> None:
    def body(store: Store, text: str | None = None) -> None:
        for key, note in [*store.notes.items()]:
            if text in (None, note["text"]):
                del store.notes[key]

    suite = suite_of_filter(tmp_path, body)
    finding = await find(suite)
    assert "with no text it removed more than with it: note/1.id" in finding


async def test_a_delete_that_takes_the_next_one_without_its_filter_passes(
    tmp_path: Path,
) -> None:
    def body(store: Store, text: str | None = None) -> None:
        for key, note in [*store.notes.items()]:
            if text in (None, note["text"]):
                del store.notes[key]
                return

    suite = suite_of_filter(tmp_path, body)
    suite.truth["idempotent"] = False
    assert await find(suite) == ""


async def test_a_delete_that_takes_an_empty_list_for_all_is_found(
    tmp_path: Path,
) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        return {"note_ids": [note_id]}

    def body(store: Store, note_ids: list[int]) -> None:
        for note_id in note_ids or [5, 52]:
            store.notes.pop(f"note/{note_id}", None)

    schema = {"type": "array", "items": {"type": "integer"}}
    suite = StubSuite(tmp_path, arrange, body, note_ids=schema)
    suite.required = ["note_ids"]
    assert "with note_ids=[] it also changed" in await find(suite)


def suite_of_exception(folder: Path, body: Any) -> StubSuite:
    """Return the suite of a `put` whose exception to `destructive` is believed."""

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes[f"note/{note_id}"]["due"] = "2030-01-01"
        return {"note_id": note_id, "text": "banana"}

    (folder / "test_put_note.py").touch()
    suite = StubSuite(folder, arrange, body, text=TEXT)
    suite.declare("put")
    suite.truth["idempotent"] = True
    suite.policy.is_exempt = lambda *_: True
    return suite


async def test_a_believed_exception_does_not_cover_dropped_fields(
    tmp_path: Path,
) -> None:
    def body(store: Store, note_id: int, text: str) -> None:
        key = f"note/{note_id}"
        if key in store.notes:
            store.notes[key] = {"id": note_id, "text": text}

    suite = suite_of_exception(tmp_path, body)
    finding = await find(suite)
    assert "it says not destructive, but dropped note/5.due" in finding


async def test_a_believed_exception_covers_what_the_call_sets(tmp_path: Path) -> None:
    def body(store: Store, note_id: int, text: str) -> None:
        key = f"note/{note_id}"
        if key in store.notes:
            store.notes[key]["text"] = text

    suite = suite_of_exception(tmp_path, body)
    assert await find(suite) == ""


async def test_a_believed_exception_covers_a_field_that_ends(tmp_path: Path) -> None:
    def body(store: Store, note_id: int, text: str) -> None:
        key = f"note/{note_id}"
        if key in store.notes:
            store.notes[key]["due"] = None

    suite = suite_of_exception(tmp_path, body)
    assert await find(suite) == ""


async def test_a_delete_that_empties_a_record_is_found(tmp_path: Path) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        files: dict[str, Any] = store.notes
        files[f"note/{note_id}"] = "text"
        return {"note_id": note_id}

    def body(store: Store, note_id: int) -> None:
        files: dict[str, Any] = store.notes
        key = f"note/{note_id}"
        if key in files:
            files[key] = ""

    suite = StubSuite(tmp_path, arrange, body)
    finding = await find(suite)
    assert "it says delete, but a call changed note/5, and removed nothing" in finding


def suite_of_children(folder: Path, body: Any) -> StubSuite:
    """Return the suite of a tool that deletes a note, whose comments are in a list."""

    async def arrange(store: Store, note_id: str = "main") -> dict[str, Any]:
        data: dict[str, Any] = store.notes
        data[f"note/{note_id}"] = {"text": "a"}
        data["comments"] = [
            {"note": note_id, "text": "x"},
            {"note": "other", "text": "y"},
        ]
        return {"note_id": note_id}

    return StubSuite(folder, arrange, body, note_id=TEXT)


async def test_a_delete_takes_the_children_of_its_record_along(tmp_path: Path) -> None:
    def body(store: Store, note_id: str) -> None:
        data: dict[str, Any] = store.notes
        data.pop(f"note/{note_id}", None)
        kept = []
        for comment in data["comments"]:
            if comment["note"] != note_id:
                kept.append(comment)
        data["comments"] = kept

    suite = suite_of_children(tmp_path, body)
    assert await find(suite) == ""


async def test_a_delete_that_takes_the_children_of_another_record_is_found(
    tmp_path: Path,
) -> None:
    def body(store: Store, note_id: str) -> None:
        data: dict[str, Any] = store.notes
        data.pop(f"note/{note_id}", None)
        data["comments"] = []

    suite = suite_of_children(tmp_path, body)
    finding = await find(suite)
    assert "it also changed comments" in finding


def send(fake: Fake, method: str, path: str, **options: Any) -> httpx2.Response:
    """Send a request to a fake."""
    return fake(httpx2.Request(method, f"https://example.com{path}", **options))


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    """A fake without records."""
    return Fake("https://example.com", tmp_path)


def test_a_repeated_post_that_conflicts_is_not_idempotent(fake: Fake) -> None:
    class Client:
        transport: Any = None

    backend = FakedBackend(Client(), fake)
    record = {"id": 1}
    send(fake, "POST", "/audit", json=record)
    assert not backend.find_unproven(read_only=False, idempotent=True)
    repeated = send(fake, "POST", "/audit", json=record)
    assert repeated.status_code == 409
    handled = backend.find_unproven(read_only=False, idempotent=True)
    assert not handled
    text = backend.find_unproven(read_only=False, idempotent=True, refused=True)
    assert text.startswith("it says idempotent, but its repeated POST /audit")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/tickets?subject=x", 200),
        ("/users/1/tickets?limit=5", 200),
        ("/users/2?fields=name", 404),
        ("/tickets", 404),
    ],
)
def test_a_search_among_no_records_finds_nothing(
    fake: Fake, path: str, status: int
) -> None:
    send(fake, "PUT", "/users/1", json={"name": "Ann"})
    response = send(fake, "GET", path)
    assert response.status_code == status
    assert status == 404 or response.json() == []


async def test_an_idempotent_tool_that_conflicts_with_itself_is_found(
    tmp_path: Path,
) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        return {"note_id": note_id}

    def body(store: Store, note_id: int) -> None:
        key = f"note/{note_id}"
        if key not in store.notes:
            raise ToolError("POST /audit answered 409")
        del store.notes[key]

    suite = StubSuite(tmp_path, arrange, body)
    refusals = []

    def connect() -> Any:
        backend = StubSuite.connect(suite)

        def find_unproven(*, refused: bool = False, **_: bool) -> str:
            refusals.append(refused)
            return "it says idempotent, but its repeated POST" if refused else ""

        backend.find_unproven = find_unproven  # type: ignore[method-assign]
        return backend

    suite.project.connect = connect
    assert "its repeated POST" in await find(suite)
    assert refusals[0] is False


async def test_a_read_that_stores_an_optional_mapping_is_found(tmp_path: Path) -> None:
    def body(store: Store, note_id: int, filters: dict[str, int] | None = None) -> None:
        if filters:
            store.notes["view"] = {"filters": str(filters)}

    numbers = {
        "type": "object",
        "additionalProperties": {"type": "integer"},
    }
    schema = {"anyOf": [numbers, NULL], "default": None}
    suite = suite_of(tmp_path, "read", body, filters=schema)
    finding = await find(suite)
    assert "with filters={'probe': 2} it says read-only" in finding


@pytest.mark.parametrize("limit", [0, -1])
async def test_a_read_that_deletes_at_a_small_limit_is_found(
    tmp_path: Path, limit: int
) -> None:
    chosen = limit

    def body(store: Store, note_id: int, limit: int = 20) -> None:
        if limit == chosen:
            store.notes.clear()

    suite = suite_of(tmp_path, "read", body, limit=LIMIT)
    finding = await find(suite)
    assert f"with limit={limit} it says read-only" in finding


async def test_a_small_limit_stays_above_the_minimum(tmp_path: Path) -> None:
    limits = set()

    def body(store: Store, note_id: int, limit: int = 20) -> None:
        limits.add(limit)

    suite = suite_of(tmp_path, "read", body, limit=LIMIT | {"minimum": 1})
    assert await find(suite) == ""
    assert min(limits) >= 1


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        (4, 4.0, "note/5.size"),
        (1, True, "note/5.size"),
    ],
)
async def test_a_read_that_changes_the_type_of_a_value_is_found(
    tmp_path: Path, old: Any, new: Any, place: str
) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes[f"note/{note_id}"]["size"] = old
        return {"note_id": note_id}

    def body(store: Store, note_id: int) -> None:
        store.notes[f"note/{note_id}"]["size"] = new

    suite = StubSuite(tmp_path, arrange, body)
    suite.declare("read")
    assert f"a call changed {place}" in await find(suite)


def destructive_suite_of(
    folder: Path,
    behavior: str,
    arrange: Any,
    body: Any,
    **parameters: Any,
) -> StubSuite:
    """Return the suite of an idempotent tool that may overwrite and remove."""
    (folder / f"test_{behavior}_note.py").touch()
    suite = StubSuite(folder, arrange, body, **parameters)
    suite.declare(behavior)
    suite.truth |= {"idempotent": True, "destructive": True}
    return suite


def suite_of_rated(
    folder: Path,
    behavior: str,
    body: Any,
    parent: int = 0,
) -> StubSuite:
    """Return the suite of a tool on notes that have a rating, a place and a parent."""

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        more = {
            "rating": 3,
            "position": 2,
            "shelf": "A",
            "parent": parent,
            "parts": 0,
        }
        store.notes[f"note/{note_id}"] |= more
        other = {
            "rating": 9,
            "position": 1,
            "shelf": "B",
            "parent": 0,
            "parts": 2,
        }
        store.notes.setdefault("note/7", {"id": 7, "text": "b", **other})
        return {"note_id": note_id}

    return destructive_suite_of(folder, behavior, arrange, body)


async def test_a_put_that_takes_a_rating_from_another_record_is_found(
    tmp_path: Path,
) -> None:
    def body(store: Store, note_id: int) -> None:
        for note in store.notes.values():
            if note["rating"] == 9:
                note["rating"] = 8
        store.notes[f"note/{note_id}"]["rating"] = 9

    suite = suite_of_rated(tmp_path, "put", body)
    finding = await find(suite)
    assert "it also changed note/7.rating" in finding


async def test_a_put_that_swaps_a_value_with_another_record_is_found(
    tmp_path: Path,
) -> None:
    def body(store: Store, note_id: int) -> None:
        note = store.notes[f"note/{note_id}"]
        if note["shelf"] == "A":
            store.notes["note/7"]["shelf"] = "A"
            note["shelf"] = "B"

    suite = suite_of_rated(tmp_path, "put", body)
    finding = await find(suite)
    assert "it also changed note/7.shelf" in finding


async def test_a_put_that_moves_a_record_in_an_order_passes(tmp_path: Path) -> None:
    def body(store: Store, note_id: int) -> None:
        note = store.notes[f"note/{note_id}"]
        if note["position"] == 2:
            store.notes["note/7"]["position"] = 2
            note["position"] = 1

    suite = suite_of_rated(tmp_path, "put", body)
    assert await find(suite) == ""


async def test_a_put_that_moves_a_flag_passes(tmp_path: Path) -> None:
    def body(store: Store, note_id: int) -> None:
        if f"note/{note_id}" not in store.notes:
            return
        for key, note in store.notes.items():
            note["default"] = key == f"note/{note_id}"

    suite = suite_of_rated(tmp_path, "put", body)
    plain_arrange = suite.module.arrange

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        arguments: dict[str, Any] = await plain_arrange(store, note_id)
        store.notes[f"note/{note_id}"]["default"] = False
        store.notes["note/7"]["default"] = True
        return arguments

    suite.module.arrange = arrange
    assert await find(suite) == ""


async def test_a_delete_that_counts_down_at_the_parent_passes(tmp_path: Path) -> None:
    def body(store: Store, note_id: int) -> None:
        if store.notes.pop(f"note/{note_id}", None):
            store.notes["note/7"]["parts"] -= 1

    suite = suite_of_rated(tmp_path, "delete", body, parent=7)
    assert await find(suite) == ""


async def test_a_believed_exception_does_not_cover_fields_that_are_reset(
    tmp_path: Path,
) -> None:
    suite = suite_of_exception(tmp_path, lambda *_, **__: None)
    plain_arrange = suite.module.arrange

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        arguments: dict[str, Any] = await plain_arrange(store, note_id)
        store.notes[f"note/{note_id}"] |= {
            "price": 9.5,
            "tags": ["a", "b"],
            "place": "shelf",
        }
        return arguments

    def body(store: Store, note_id: int, text: str) -> None:
        if note := store.notes.get(f"note/{note_id}"):
            note["text"] = text
            note["price"] = 0.0
            note["tags"] = []
            note["place"] = "none"

    suite.module.arrange = arrange
    suite.body = body
    finding = await find(suite)
    assert "it says not destructive, but dropped note/5" in finding
    assert "price" in finding
    assert "tags" in finding


async def test_a_believed_exception_covers_a_counter_that_is_reset(
    tmp_path: Path,
) -> None:
    suite = suite_of_exception(tmp_path, lambda *_, **__: None)
    plain_arrange = suite.module.arrange

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        arguments: dict[str, Any] = await plain_arrange(store, note_id)
        store.notes[f"note/{note_id}"]["unread"] = 3
        return arguments

    def body(store: Store, note_id: int, text: str) -> None:
        if note := store.notes.get(f"note/{note_id}"):
            note["text"] = text
            note["unread"] = 0

    suite.module.arrange = arrange
    suite.body = body
    assert await find(suite) == ""


async def test_a_put_that_clears_its_record_is_found(tmp_path: Path) -> None:
    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        return {"note_id": note_id}

    def body(store: Store, note_id: int, text: str | None = None) -> None:
        note = store.notes[f"note/{note_id}"]
        if text:
            note["text"] = text
        else:
            note.clear()

    suite = destructive_suite_of(tmp_path, "put", arrange, body, text=OPTIONAL_TEXT)
    finding = await find(suite)
    assert "the behavior 'delete' would be true" in finding


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/users/1", 200),
        ("/users", 200),
        ("/users/2", 404),
    ],
)
def test_a_record_is_looked_up_by_its_headers(
    fake: Fake, path: str, status: int
) -> None:
    send(fake, "PUT", "/users/1", json={"name": "Ann"})
    response = send(fake, "HEAD", path)
    assert response.status_code == status
