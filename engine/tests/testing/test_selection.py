"""Which records the arguments of a call select or name, and so may change."""

import random
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
import pytest

from copier_fastmcp_engine.testing.fake import Fake, FakedBackend

from .test_cases_that_follow import TEXT, find, suite_of
from .test_probe import Store, StubSuite
from .test_reported_mistakes import destructive_suite_of

pytestmark = pytest.mark.anyio
INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
Record = dict[str, Any]
Keeps = Callable[[str, Record], bool]
VISITS: dict[str, Record] = {
    "visit/early": {"day": "2031-05-01", "title": "Été", "room": 4, "file": "a[1]"},
    "visit/main": {"day": "2031-05-02", "title": "Ete", "room": 5, "file": "a1"},
    "visit/main-2": {"day": "2031-05-04", "title": "Hiver", "room": 5, "file": "b"},
}


def suite_of_delete(
    folder: Path, arguments: dict[str, Any], body: Any, description: str = ""
) -> StubSuite:
    """Return the suite of a tool that deletes visits."""

    async def arrange(store: Store) -> dict[str, Any]:
        for key, visit in VISITS.items():
            store.notes[key] = dict(visit)
        return dict(arguments)

    schemas = {}
    for key, value in arguments.items():
        schemas[key] = TEXT if isinstance(value, str) else NUMBER
    suite = destructive_suite_of(folder, "delete", arrange, body, **schemas)
    suite.required = [*arguments]
    suite.description = description
    return suite


def remove(store: Store, is_meant: Keeps) -> None:
    """Remove the visits that are meant."""
    for key, visit in [*store.notes.items()]:
        if is_meant(key, visit):
            del store.notes[key]


def without_accents(text: str) -> bytes:
    """Return a text without the accents of its letters."""
    return unicodedata.normalize("NFD", text).encode("ascii", "ignore")


@pytest.mark.parametrize(
    ("arguments", "is_meant"),
    [
        ({"day": "2031-05-02"}, lambda v, day: v["day"] in (day, "2031-05-01")),
        (
            {"title": "Été"},
            lambda v, t: without_accents(v["title"]) == without_accents(t),
        ),
        ({"file": "a[1]"}, lambda v, file: v["file"] == file.replace("[1]", "1")),
        ({"room": 5}, lambda v, room: v["room"] <= room),
    ],
    ids=["day", "title", "pattern", "number"],
)
async def test_a_delete_by_a_field_takes_equal_values_alone(
    tmp_path: Path, arguments: dict[str, Any], is_meant: Callable[[Record, Any], bool]
) -> None:
    def body(store: Store, **values: Any) -> None:
        (value,) = values.values()
        remove(store, lambda _, visit: is_meant(visit, value))

    finding = await find(suite_of_delete(tmp_path, arguments, body))
    (name,) = arguments
    assert "it also removed visit/" in finding
    assert f"{name}={arguments[name]!r} does not select" in finding


@pytest.mark.parametrize("arguments", [{"day": "2031-05-02"}, {"room": 5}])
async def test_a_delete_by_a_field_may_take_all_that_are_equal(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    def body(store: Store, **values: Any) -> None:
        ((name, value),) = values.items()
        remove(store, lambda _, visit: visit[name] == value)

    assert await find(suite_of_delete(tmp_path, arguments, body)) == ""


@pytest.mark.parametrize(
    ("description", "arguments", "is_meant"),
    [
        (
            "Delete visits up to a day.",
            {"day": "2031-05-02"},
            lambda v, day: v["day"] <= day,
        ),
        (
            "Delete visits whose title contains a text.",
            {"title": "Ete"},
            lambda v, title: title and title[1:] in v["title"].lower(),
        ),
    ],
)
async def test_a_limit_and_a_pattern_select_other_values_too(
    tmp_path: Path,
    description: str,
    arguments: dict[str, Any],
    is_meant: Callable[[Record, Any], bool],
) -> None:
    def body(store: Store, **values: Any) -> None:
        (value,) = values.values()
        remove(store, lambda _, visit: is_meant(visit, value))

    assert await find(suite_of_delete(tmp_path, arguments, body, description)) == ""


async def test_a_delete_by_a_key_takes_no_other_record_of_its_kind(
    tmp_path: Path,
) -> None:
    def body(store: Store, note_id: int, kind: str) -> None:
        for key in [*store.notes]:
            if key.startswith(f"note/{note_id}/coverage/{kind}"):
                del store.notes[key]

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        for kind in ("glass", "glass-plus", "hail"):
            store.notes[f"note/{note_id}/coverage/{kind}"] = {"limit": 500}
        return {"note_id": note_id, "kind": "glass"}

    suite = destructive_suite_of(tmp_path, "delete", arrange, body, kind=TEXT)
    suite.required = ["note_id", "kind"]
    finding = await find(suite)
    assert "it also removed note/5/coverage/glass-plus.limit" in finding


async def test_what_is_removed_from_one_list_stays_in_the_others(
    tmp_path: Path,
) -> None:
    def body(store: Store, note_id: int, list_id: str) -> None:
        for key, record in store.notes.items():
            if key.startswith("list/"):
                notes = record["notes"]
                record["notes"] = [number for number in notes if number != note_id]

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes["list/one"] = {"notes": [note_id, 8]}
        store.notes["list/two"] = {"notes": [8, note_id]}
        return {"note_id": note_id, "list_id": "one"}

    suite = destructive_suite_of(tmp_path, "delete", arrange, body, list_id=TEXT)
    suite.required = ["note_id", "list_id"]
    finding = await find(suite)
    assert "it also removed list/two.notes.5" in finding


@pytest.mark.parametrize("hour", [7.5, 8.0])
async def test_a_key_may_be_a_number_with_a_fraction(
    tmp_path: Path, hour: float
) -> None:
    def body(store: Store, hour: float) -> None:
        store.notes.pop(f"slot/{int(hour)}", None)

    async def arrange(store: Store) -> dict[str, Any]:
        for key in ("7", "7.5", "8"):
            store.notes[f"slot/{key}"] = {"show": "blue"}
        return {"hour": hour}

    suite = destructive_suite_of(tmp_path, "delete", arrange, body, hour=NUMBER)
    suite.required = ["hour"]
    finding = await find(suite)
    assert ("it also removed slot/7.show" in finding) is (hour == 7.5)


def suite_of_animals(folder: Path, arguments: dict[str, Any], body: Any) -> StubSuite:
    """Return the suite of a tool that puts an animal, which refers to its pen."""

    async def arrange(store: Store) -> dict[str, Any]:
        store.notes["animal/510"] = {"tag": "CH-5", "name": "Rosa", "pen_id": 21}
        store.notes["animal/511"] = {"tag": "CH-6", "name": "Nora", "pen_id": 21}
        store.notes["pen/21"] = {"occupied": 2}
        store.notes["pen/3"] = {"occupied": 0}
        return dict(arguments)

    schemas = {}
    for key, value in arguments.items():
        schemas[key] = TEXT if isinstance(value, str) else INTEGER
    suite = destructive_suite_of(folder, "put", arrange, body, **schemas)
    suite.required = [*arguments]
    return suite


@pytest.mark.parametrize("also", ["", "animal/511"])
async def test_what_no_record_has_is_a_new_name_and_names_none(
    tmp_path: Path, also: str
) -> None:
    def body(store: Store, tag: str, name: str) -> None:
        for key, record in store.notes.items():
            if record.get("tag") == tag or key == also:
                record["name"] = name

    arguments = {"tag": "CH-5", "name": "Lotte"}
    finding = await find(suite_of_animals(tmp_path, arguments, body))
    assert ("it also changed animal/511.name" in finding) is bool(also)
    assert bool(finding) is bool(also)


@pytest.mark.parametrize("also", ["", "animal/511"])
async def test_a_record_may_refer_to_another_one_now(tmp_path: Path, also: str) -> None:
    def body(store: Store, animal_id: int, note_id: int) -> None:
        for key in (f"animal/{animal_id}", also):
            if key:
                old = store.notes[key]["pen_id"]
                store.notes[key]["pen_id"] = note_id
                store.notes[f"pen/{old}"]["occupied"] -= 1
                store.notes[f"pen/{note_id}"]["occupied"] += 1

    arguments = {"animal_id": 510, "note_id": 3}
    suite = suite_of_animals(tmp_path, arguments, body)
    finding = await find(suite)
    assert ("it also changed animal/511.pen_id" in finding) is bool(also)


async def test_a_move_between_two_named_records_changes_both(tmp_path: Path) -> None:
    def body(store: Store, title: str, playlist: str, name: str) -> None:
        source = store.notes["list"][playlist]
        target = store.notes["list"][name]
        if title in source:
            source.remove(title)
            target.append(title)

    async def arrange(store: Store) -> dict[str, Any]:
        store.notes["list"] = {"day": ["Blue", "Green"], "night": ["Red"]}
        return {"title": "Green", "playlist": "day", "name": "night"}

    schemas = dict.fromkeys(("title", "playlist", "name"), TEXT)
    suite = destructive_suite_of(tmp_path, "put", arrange, body, **schemas)
    suite.required = [*schemas]
    assert await find(suite) == ""


@pytest.mark.parametrize("also", ["", "8-report"])
async def test_a_key_may_be_made_of_two_arguments(tmp_path: Path, also: str) -> None:
    def body(store: Store, note_id: int, title: str, content: str) -> None:
        for key in (f"{note_id}-{title}", also):
            if key:
                store.notes[f"file/{key}"] = {"content": content}

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        for number in (note_id, 8):
            store.notes[f"file/{number}-report"] = {"content": "old"}
        return {"note_id": note_id, "title": "report", "content": "new"}

    texts = dict.fromkeys(("title", "content"), TEXT)
    suite = destructive_suite_of(tmp_path, "put", arrange, body, **texts)
    suite.required = ["note_id", "title", "content"]
    finding = await find(suite)
    assert ("it also changed file/8-report.content" in finding) is bool(also)
    assert bool(finding) is bool(also)


@pytest.mark.parametrize(
    ("field", "is_repeatable"), [("resolved_at", False), ("checked_at", True)]
)
async def test_a_repetition_does_not_move_the_time_of_an_event(
    tmp_path: Path, field: str, is_repeatable: bool
) -> None:
    def body(store: Store, note_id: int, state: str) -> None:
        note = store.notes[f"note/{note_id}"]
        note["state"] = state
        note[field] = datetime.now(UTC).isoformat()

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes[f"note/{note_id}"] |= {"state": "open", field: ""}
        return {"note_id": note_id, "state": "solved"}

    suite = destructive_suite_of(tmp_path, "put", arrange, body, state=TEXT)
    suite.required = ["note_id", "state"]
    finding = await find(suite)
    assert (f"changed note/5.{field}" in finding) is not is_repeatable
    assert bool(finding) is not is_repeatable


@pytest.mark.parametrize(
    ("fields", "is_deleted"),
    [
        ({"left": "2031-05-02"}, True),
        ({"withdrawn_on": "2031-05-02T10:00:00Z"}, True),
        ({"state": "withdrawn"}, True),
        ({"due": "2031-05-02"}, False),
        ({"state": "late"}, False),
    ],
)
async def test_a_record_may_be_marked_as_gone(
    tmp_path: Path, fields: Record, is_deleted: bool
) -> None:
    def body(store: Store, note_id: int) -> None:
        store.notes.get(f"note/{note_id}", {}).update(fields)

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes[f"note/{note_id}"] |= dict.fromkeys(fields, "")
        return {"note_id": note_id}

    suite = destructive_suite_of(tmp_path, "delete", arrange, body)
    finding = await find(suite)
    assert ("removed nothing" in finding) is not is_deleted
    assert bool(finding) is not is_deleted


async def test_version_zero_is_not_the_records(tmp_path: Path) -> None:
    def body(store: Store, note_id: int, title: str, version: int) -> None:
        note = store.notes[f"note/{note_id}"]
        if version and version != note["version"]:
            raise KeyError("stale")
        note["title"] = title
        note["version"] += 1

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes[f"note/{note_id}"] |= {"title": "old", "version": 3}
        return {"note_id": note_id, "title": "new", "version": 3}

    schemas = {"title": TEXT, "version": INTEGER}
    suite = destructive_suite_of(tmp_path, "update", arrange, body, **schemas)
    suite.truth["idempotent"] = False
    suite.required = ["note_id", *schemas]
    assert "with an empty version it was accepted" in await find(suite)


@pytest.mark.parametrize("looks_first", [True, False])
def test_a_post_after_a_search_in_vain_is_repeatable(
    tmp_path: Path, looks_first: bool
) -> None:
    fake = Fake("https://example.com", tmp_path)
    for method in ("GET", "POST")[not looks_first :]:
        content = {"name": "a"} if method == "POST" else None
        fake(httpx2.Request(method, "https://example.com/holders", json=content))
    backend = FakedBackend.__new__(FakedBackend)
    backend.fake = fake
    finding = backend.find_unproven(read_only=False, idempotent=True)
    assert (finding == "") is looks_first


@pytest.mark.parametrize(("limit", "is_found"), [("12:00", True), ("19:00", False)])
async def test_a_limit_in_time_keeps_what_is_later(
    tmp_path: Path, limit: str, is_found: bool
) -> None:
    """In order of letters, a space is before the T of a later time."""

    def body(store: Store, before: str) -> None:
        remove(store, lambda _, entry: entry["at"] < before)

    async def arrange(store: Store) -> dict[str, Any]:
        store.notes["log/1"] = {"at": "2031-02-28 10:00:00"}
        store.notes["log/2"] = {"at": "2031-03-01 18:00:00"}
        return {"before": f"2031-03-01T{limit}:00"}

    suite = destructive_suite_of(tmp_path, "delete", arrange, body, before=TEXT)
    suite.required = ["before"]
    assert ("it also removed log/2.at" in await find(suite)) is is_found


@pytest.mark.parametrize("overwrites", [True, False])
async def test_a_backup_of_what_is_deleted_overwrites_no_other(
    tmp_path: Path, overwrites: bool
) -> None:
    def body(store: Store, note_id: int) -> None:
        note = store.notes.pop(f"note/{note_id}", None)
        if note and note_id == 5:
            place = note["title"] if overwrites else "again"
            store.notes["trash"][place] = {"text": note["text"]}

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes[f"note/{note_id}"] |= {"title": "Plan", "text": "new"}
        store.notes["trash"] = {"Plan": {"text": "old"}}
        return {"note_id": note_id}

    suite = destructive_suite_of(tmp_path, "delete", arrange, body)
    finding = await find(suite)
    assert ("it also changed trash.Plan.text" in finding) is overwrites
    assert bool(finding) is overwrites


async def test_a_record_that_does_not_exist_ends_no_batch(tmp_path: Path) -> None:
    def body(store: Store, note_ids: list[int]) -> None:
        for note_id in note_ids:
            if store.notes.pop(f"note/{note_id}", None) is None:
                break

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        return {"note_ids": [note_id]}

    schema = {"type": "array", "items": INTEGER}
    suite = destructive_suite_of(tmp_path, "delete", arrange, body, note_ids=schema)
    suite.required = ["note_ids"]
    finding = await find(suite)
    assert "with a record that does not exist first in note_ids it says" in finding


async def test_a_create_does_not_end_other_records(tmp_path: Path) -> None:
    """Though the new one is in the state that they were in."""

    def body(store: Store, title: str) -> None:
        for contract in store.notes.values():
            contract["state"] = "ended"
        store.notes[f"contract/{len(store.notes)}"] = {
            "title": title,
            "state": "running",
        }

    async def arrange(store: Store) -> dict[str, Any]:
        store.notes["contract/0"] = {"title": "a", "state": "running"}
        return {"title": "b"}

    suite = destructive_suite_of(tmp_path, "create", arrange, body, title=TEXT)
    suite.truth |= {"idempotent": False, "destructive": False}
    suite.required = ["title"]
    assert "it says not destructive, but lost contract/0.state" in await find(suite)


async def test_an_ensure_does_not_open_again_what_was_closed(tmp_path: Path) -> None:
    def body(store: Store, note_id: int) -> None:
        store.notes.setdefault(f"note/{note_id}", {})["state"] = "open"

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.notes[f"note/{note_id}"] = {"state": "closed"}
        return {"note_id": note_id}

    suite = destructive_suite_of(tmp_path, "ensure", arrange, body)
    suite.truth["destructive"] = False
    assert "it says not destructive, but lost note/5.state" in await find(suite)


@pytest.mark.parametrize(
    ("field", "old", "new"),
    [("archived", True, False), ("active", 0, 1), ("archived", False, False)],
)
async def test_an_ensure_does_not_revive_what_was_ended(
    tmp_path: Path, field: str, old: bool, new: bool
) -> None:
    def body(store: Store, note_id: int) -> None:
        store.notes.setdefault(f"note/{note_id}", {})[field] = new

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.notes[f"note/{note_id}"] = {field: old}
        return {"note_id": note_id}

    suite = destructive_suite_of(tmp_path, "ensure", arrange, body)
    suite.truth["destructive"] = False
    finding = await find(suite)
    assert (f"but lost note/5.{field}" in finding) is (old is not new)
    assert bool(finding) is (old is not new)


@pytest.mark.parametrize(("key", "is_there"), [("email", True), ("city", False)])
async def test_an_ensure_may_find_a_record_by_its_natural_key(
    tmp_path: Path, key: str, is_there: bool
) -> None:
    def body(store: Store, name: str, **fields: str) -> None:
        if not any(note[key] == fields[key] for note in store.notes.values()):
            store.notes[f"client/{name}"] = {"name": name, **fields}

    async def arrange(store: Store) -> dict[str, Any]:
        store.notes["client/3"] = {"name": "Ben", key: "here"}
        return {"name": "Benjamin", key: "here"}

    schemas = {"name": TEXT, key: TEXT}
    suite = destructive_suite_of(tmp_path, "ensure", arrange, body, **schemas)
    suite.truth["destructive"] = False
    suite.required = [*schemas]
    assert ("it says ensure, but added nothing" in await find(suite)) is not is_there


async def test_a_counter_may_count_where_the_next_call_is_refused(
    tmp_path: Path,
) -> None:
    def body(store: Store, note_id: int, team: str) -> None:
        if f"team/{team}" not in store.notes:
            raise KeyError(team)
        store.notes["counters"]["booking"] += 1
        number = store.notes["counters"]["booking"]
        store.notes[f"booking/{number}"] = {"note": note_id, "team": team}

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        store.notes.setdefault("counters", {"booking": 100})
        store.notes["team/red"] = {"size": 4}
        return {"note_id": note_id, "team": "red"}

    suite = destructive_suite_of(tmp_path, "create", arrange, body, team=TEXT)
    suite.truth |= {"idempotent": False, "destructive": False}
    suite.required = ["note_id", "team"]
    assert await find(suite) == ""


@pytest.mark.parametrize("state", ["ended", "stopped"])
async def test_a_create_does_not_stop_what_others_began(
    tmp_path: Path, state: str
) -> None:
    def body(store: Store, title: str) -> None:
        for timer in store.notes.values():
            timer["state"] = state
        store.notes[f"timer/{len(store.notes)}"] = {"title": title, "state": "running"}

    async def arrange(store: Store) -> dict[str, Any]:
        store.notes["timer/0"] = {"title": "a", "state": "running"}
        return {"title": "b"}

    suite = destructive_suite_of(tmp_path, "create", arrange, body, title=TEXT)
    suite.truth |= {"idempotent": False, "destructive": False}
    suite.required = ["title"]
    assert "lost timer/0.state" in await find(suite)


@pytest.mark.parametrize(("name", "is_there"), [("Mark", False), ("MARKET-hall", True)])
async def test_an_ensure_finds_only_what_has_the_name(
    tmp_path: Path, name: str, is_there: bool
) -> None:
    def body(store: Store, name: str) -> None:
        names = [zone["name"].lower() for zone in store.notes.values()]
        if not any(name.lower().replace("-", " ") in other for other in names):
            store.notes[f"zone/{name}"] = {"name": name}

    async def arrange(store: Store) -> dict[str, Any]:
        store.notes["zone/3"] = {"name": "Market Hall"}
        return {"name": name}

    suite = destructive_suite_of(tmp_path, "ensure", arrange, body, name=TEXT)
    suite.truth["destructive"] = False
    suite.required = ["name"]
    finding = await find(suite)
    missing = (
        f"it says ensure, but added nothing, and there is no record with name='{name}'"
    )
    assert (missing in finding) is not is_there
    assert bool(finding) is not is_there


@pytest.mark.parametrize("most", [40, 60])
async def test_an_append_adds_at_each_call(tmp_path: Path, most: int) -> None:
    def body(store: Store, note_id: int, text: str) -> None:
        entries = store.notes[f"note/{note_id}"]["entries"]
        if len(entries) < most:
            entries.append(text)

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.notes[f"note/{note_id}"] = {"entries": []}
        return {"note_id": note_id, "text": "a"}

    suite = destructive_suite_of(tmp_path, "append", arrange, body, text=TEXT)
    suite.truth |= {"idempotent": False, "destructive": False}
    suite.required = ["note_id", "text"]
    finding = await find(suite)
    assert ("it says append, but call 51 changed nothing" in finding) is (most == 40)
    assert bool(finding) is (most == 40)


@pytest.mark.parametrize("kind", ["seeds", "draws", "draws once"])
async def test_a_read_may_draw_numbers_and_not_begin_them_anew(
    tmp_path: Path, kind: str
) -> None:
    """As a cache does that only its first call fills over a connection."""
    filled: set[int] = set()

    def body(store: Store, note_id: int) -> None:
        if kind == "seeds":
            random.seed(note_id)
        if kind != "draws once" or note_id not in filled:
            random.random()
        filled.add(note_id)

    state = random.getstate()
    finding = await find(suite_of(tmp_path, "read", body))
    random.setstate(state)
    is_seeded = kind == "seeds"
    assert ("it says read-only, but changed random.seed()" in finding) is is_seeded
    assert bool(finding) is is_seeded


@pytest.mark.parametrize("keeps", [True, False])
async def test_a_part_of_an_object_replaces_that_part_alone(
    tmp_path: Path, keeps: bool
) -> None:
    def body(store: Store, note_id: int, contact: dict[str, str]) -> None:
        note = store.notes[f"note/{note_id}"]
        old = note["contact"] if keeps else {"phone": "", "city": ""}
        note["contact"] = old | contact

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.notes[f"note/{note_id}"] = {"contact": {"phone": "1", "city": "Bern"}}
        return {"note_id": note_id, "contact": {"phone": "9"}}

    schema = {"type": "object", "properties": {"phone": TEXT, "city": TEXT}}
    suite = destructive_suite_of(tmp_path, "put", arrange, body, contact=schema)
    suite.truth["destructive"] = False
    suite.policy.is_exempt = lambda *_: True
    suite.required = ["note_id", "contact"]
    finding = await find(suite)
    assert (
        "it says not destructive, but dropped note/5.contact.city" in finding
    ) is not keeps
    assert bool(finding) is not keeps


@pytest.mark.parametrize("also", [[], ["A3"]])
async def test_what_an_argument_names_may_refer_to_the_record_now(
    tmp_path: Path, also: list[str]
) -> None:
    def body(store: Store, booking: str, seat: str) -> None:
        seats = store.notes["seats"]
        for name, holder in seats.items():
            if holder == booking:
                seats[name] = None
        for name in [seat, *also]:
            seats[name] = booking

    async def arrange(store: Store, booking: str = "B-1") -> dict[str, Any]:
        store.notes[f"booking/{booking}"] = {"show": 7}
        store.notes["seats"] = {"A1": booking, "A2": None, "A3": "B-9"}
        return {"booking": booking, "seat": "A2"}

    texts = {"booking": TEXT, "seat": TEXT}
    suite = destructive_suite_of(tmp_path, "put", arrange, body, **texts)
    suite.required = [*texts]
    finding = await find(suite)
    assert ("it also changed seats.A3" in finding) is bool(also)
    assert bool(finding) is bool(also)


def test_what_is_not_there_below_a_record_can_be_ensured(tmp_path: Path) -> None:
    fake = Fake("https://example.com", tmp_path)
    fake(httpx2.Request("PUT", "https://example.com/runs/1", json={"state": "open"}))
    statuses = []
    for _ in range(2):
        request = httpx2.Request(
            "PUT",
            "https://example.com/runs/1/reminders/2",
            json={"text": "Ready."},
            headers={"If-None-Match": "*"},
        )
        statuses.append(fake(request).status_code)
    assert statuses == [200, 412]


@pytest.mark.parametrize("also", ["", "flood-2.txt", "flood.jpg"])
async def test_a_file_may_have_the_name_and_an_extension(
    tmp_path: Path, also: str
) -> None:
    """But not one to which a record refers."""

    def body(store: Store, slug: str) -> None:
        store.notes["files"].pop(f"{slug}.txt", None)
        store.notes["files"].pop(also, None)

    async def arrange(store: Store) -> dict[str, Any]:
        files = ("flood.txt", "flood-2.txt", "flood.jpg", "derby.txt")
        store.notes["files"] = dict.fromkeys(files, "First line.")
        store.notes["article/flood"] = {"image": "flood.jpg"}
        return {"slug": "flood"}

    suite = destructive_suite_of(tmp_path, "delete", arrange, body, slug=TEXT)
    suite.required = ["slug"]
    suite.tables = {**suite.tables, "identities": ["slug"]}
    finding = await find(suite)
    assert (f"it also changed files.{also}" in finding) is bool(also)
    assert bool(finding) is bool(also)


@pytest.mark.parametrize("takes_all", [True, False])
async def test_what_is_beside_a_named_record_below_another_stays(
    tmp_path: Path, takes_all: bool
) -> None:
    def body(store: Store, berth_id: int, visit_ids: list[str], text: str) -> None:
        for key, visit in store.notes.items():
            parent, _, name = key.rpartition("/")
            if parent == f"berth/{berth_id}/visit" and (takes_all or name in visit_ids):
                visit["text"] = text

    async def arrange(store: Store, berth_id: int = 14) -> dict[str, Any]:
        store.notes[f"berth/{berth_id}"] = {"depth": 9}
        for name in ("V-1", "V-2", "V-10"):
            store.notes[f"berth/{berth_id}/visit/{name}"] = {"text": f"was {name}"}
        return {"berth_id": berth_id, "visit_ids": ["V-1", "V-2"], "text": "late"}

    texts = {"type": "array", "items": TEXT}
    schemas = {"berth_id": INTEGER, "visit_ids": texts, "text": TEXT}
    suite = destructive_suite_of(tmp_path, "put", arrange, body, **schemas)
    suite.required = [*schemas]
    finding = await find(suite)
    assert ("it also changed berth/14/visit/V-10.text" in finding) is takes_all
    assert bool(finding) is takes_all


@pytest.mark.parametrize("is_careless", [True, False])
async def test_a_filter_that_names_nothing_selects_nothing(
    tmp_path: Path, is_careless: bool
) -> None:
    def body(store: Store, note_id: int, vessel_id: str) -> None:
        is_known = f"vessel/{vessel_id}" in store.notes or not is_careless
        for key, visit in [*store.notes.items()]:
            is_meant = not is_known or visit.get("vessel") == vessel_id
            if key.startswith(f"note/{note_id}/") and is_meant:
                del store.notes[key]

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.add(note_id)
        for vessel in ("aurora", "boreas"):
            store.notes[f"vessel/{vessel}"] = {"crew": 12}
            store.notes[f"note/{note_id}/{vessel}-visit"] = {"vessel": vessel}
        return {"note_id": note_id, "vessel_id": "aurora"}

    suite = destructive_suite_of(tmp_path, "delete", arrange, body, vessel_id=TEXT)
    suite.required = ["note_id", "vessel_id"]
    finding = await find(suite)
    assert ("though no record has vessel_id=" in finding) is is_careless
    assert bool(finding) is is_careless


@pytest.mark.parametrize(("old", "is_kept"), [("arrived", False), ("closed", True)])
async def test_an_append_does_not_set_a_state_back(
    tmp_path: Path, old: str, is_kept: bool
) -> None:
    """It may open again what was closed."""

    def body(store: Store, note_id: int, text: str) -> None:
        note = store.notes[f"note/{note_id}"]
        note["text"] += f"\n{text}"
        note["state"] = "open"

    async def arrange(store: Store, note_id: int = 5) -> dict[str, Any]:
        store.notes[f"note/{note_id}"] = {"text": "First.", "state": old}
        return {"note_id": note_id, "text": "Second."}

    suite = destructive_suite_of(tmp_path, "append", arrange, body, text=TEXT)
    suite.truth |= {"idempotent": False, "destructive": False}
    suite.required = ["note_id", "text"]
    finding = await find(suite)
    assert ("it says not destructive, but lost note/5.state" in finding) is not is_kept
    assert bool(finding) is not is_kept


async def test_numbers_name_the_records_whose_number_they_are(tmp_path: Path) -> None:
    def body(store: Store, numbers: list[int]) -> None:
        loans: Any = store.notes["loans"]
        loans[:] = [loan for loan in loans if loan["number"] not in numbers]

    async def arrange(store: Store) -> dict[str, Any]:
        loans: Any = []
        for number in (1, 2, 3, 4):
            loans.append({"number": number, "member": f"m{number}"})
        store.notes["loans"] = loans
        store.notes["job/2"] = {"title": "Chair"}
        return {"numbers": [2, 3]}

    schema = {"type": "array", "items": INTEGER}
    suite = destructive_suite_of(tmp_path, "delete", arrange, body, numbers=schema)
    suite.required = ["numbers"]
    suite.tables = {**suite.tables, "identities": ["number"]}
    assert await find(suite) == ""
