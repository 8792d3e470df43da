"""Which records a call names: by a number, by a field of their name, by an object of fields; and what it renames."""

from pathlib import Path
from typing import Any

import pytest
from fastmcp.exceptions import ToolError

from .test_cases_that_follow import TEXT, find
from .test_probe import Store
from .test_reported_mistakes import destructive_suite_of

pytestmark = pytest.mark.anyio
INTEGER = {"type": "integer"}
FIELDS = {"type": "object", "additionalProperties": TEXT}


@pytest.mark.parametrize("takes_all", [True, False])
async def test_a_number_names_the_record_of_the_parameters_kind(
    tmp_path: Path, takes_all: bool
) -> None:
    def body(store: Store, message: int) -> None:
        messages: Any = store.notes["messages"]
        for number, entry in messages.items():
            if takes_all or number == message:
                entry["read"] = True

    async def arrange(store: Store) -> dict[str, Any]:
        messages: Any = {}
        for number in (7, 8, 9):
            messages[number] = {"text": f"Message {number}", "read": False}
        store.notes["messages"] = messages
        return {"message": 8}

    suite = destructive_suite_of(tmp_path, "put", arrange, body, message=INTEGER)
    suite.required = ["message"]
    finding = await find(suite)
    assert ("it also changed messages.7.read" in finding) is takes_all
    assert bool(finding) is takes_all


@pytest.mark.parametrize("takes_all", [True, False])
async def test_what_refers_to_a_removed_record_by_its_kind_may_go_too(
    tmp_path: Path, takes_all: bool
) -> None:
    def body(store: Store, animal_id: int) -> None:
        animals: Any = store.notes["animals"]
        animals.pop(animal_id, None)
        feedings: Any = store.notes["feedings"]
        kept: Any = []
        for feeding in feedings:
            if feeding["animal"] != animal_id and not takes_all:
                kept.append(feeding)
        store.notes["feedings"] = kept

    async def arrange(store: Store, animal_id: int = 11) -> dict[str, Any]:
        animals: Any = {animal_id: {"name": "Leo"}, 12: {"name": "Mia"}}
        feedings: Any = []
        for animal in animals:
            for hour in (0, 12):
                feedings.append({"animal": animal, "day": "2031-05-01", "hour": hour})
        store.notes |= {"animals": animals, "feedings": feedings}
        return {"animal_id": animal_id}

    suite = destructive_suite_of(tmp_path, "delete", arrange, body, animal_id=INTEGER)
    suite.required = ["animal_id"]
    finding = await find(suite)
    assert ("it also changed feedings." in finding) is takes_all
    assert bool(finding) is takes_all


@pytest.mark.parametrize("kind", ["", "unknown", "lion"])
async def test_a_delete_by_a_field_keeps_what_has_none(
    tmp_path: Path, kind: str
) -> None:
    """Which value a body takes for a missing one is its own mistake; `kind` is that value."""

    def body(store: Store, species: str) -> None:
        for key, animal in [*store.notes.items()]:
            if animal.get("species", kind) == species:
                del store.notes[key]

    async def arrange(store: Store) -> dict[str, Any]:
        store.notes["animal/1"] = {"name": "Leo", "species": "lion"}
        store.notes["animal/2"] = {"name": "Ida", "species": "emu"}
        store.notes["animal/3"] = {"name": "Nemo"}
        return {"species": "lion"}

    suite = destructive_suite_of(tmp_path, "delete", arrange, body, species=TEXT)
    suite.required = ["species"]
    finding = await find(suite)
    assert ("it also removed animal/3.name" in finding) is (kind == "lion")
    assert bool(finding) is (kind == "lion")


@pytest.mark.parametrize(
    ("fields", "condition", "finding"),
    [
        (("name",), {"code": "savanna"}, "it also removed enclosures.lagoon.name"),
        (("code", "name"), {"code": "savanna"}, "with where={} it removed more"),
        (("name",), {"name": "Savanna"}, "with where={} it removed more"),
    ],
)
@pytest.mark.parametrize("refuses_others", [True, False])
async def test_an_object_of_fields_selects_by_each_of_them(
    tmp_path: Path,
    fields: tuple[str, ...],
    condition: dict[str, str],
    finding: str,
    refuses_others: bool,
) -> None:
    """What a body does not know it has to refuse, and nothing selects nothing."""

    def body(store: Store, where: dict[str, str]) -> None:
        enclosures: Any = store.notes["enclosures"]
        is_known = {*where} <= {"code", "name"}
        if refuses_others and not (where and is_known):
            raise ToolError("which enclosures?")
        used = ("code", "name") if refuses_others else fields
        for code, place in [*enclosures.items()]:
            values = {"code": code, **place}
            if all(values[key] == where[key] for key in used if key in where):
                del enclosures[code]

    async def arrange(store: Store) -> dict[str, Any]:
        enclosures: Any = {"savanna": {"name": "Savanna"}, "lagoon": {"name": "Lagoon"}}
        store.notes["enclosures"] = enclosures
        return {"where": dict(condition)}

    suite = destructive_suite_of(tmp_path, "delete", arrange, body, where=FIELDS)
    suite.required = ["where"]
    found = await find(suite)
    assert (finding in found) is not refuses_others
    assert bool(found) is not refuses_others


@pytest.mark.parametrize("overwrites", [True, False])
async def test_a_file_that_is_renamed_is_not_lost(
    tmp_path: Path, overwrites: bool
) -> None:
    def body(store: Store, name: str, to_name: str) -> None:
        files: Any = store.notes["files"]
        if name not in files or (to_name in files and not overwrites):
            raise ToolError("choose another name")
        files[to_name] = files.pop(name)

    async def arrange(store: Store) -> dict[str, Any]:
        files: Any = {"m31-001.txt": "first", "m31-0012.txt": "second"}
        store.notes["files"] = files
        return {"name": "m31-001.txt", "to_name": "m31-003.txt"}

    schemas = {"name": TEXT, "to_name": TEXT}
    suite = destructive_suite_of(tmp_path, "action", arrange, body, **schemas)
    suite.truth |= {"destructive": False, "idempotent": False}
    suite.required = [*schemas]
    finding = await find(suite)
    assert ("it says not destructive, but lost files." in finding) is overwrites
    assert bool(finding) is overwrites


@pytest.mark.parametrize("key", ["number", "slug", "day"])
async def test_a_record_of_a_list_is_known_by_its_number_or_slug(
    tmp_path: Path, key: str
) -> None:
    """One that is known by nothing is another one after each change."""

    def body(store: Store, match: int, text: str) -> None:
        matches: Any = store.notes["matches"]
        for entry in matches:
            if entry[key] == match:
                entry["notes"].append(text)

    async def arrange(store: Store) -> dict[str, Any]:
        matches: Any = []
        for number in (1, 2):
            matches.append({key: number, "home": f"Team {number}", "notes": []})
        store.notes["matches"] = matches
        return {"match": 2, "text": "Fair play."}

    schemas = {"match": INTEGER, "text": TEXT}
    suite = destructive_suite_of(tmp_path, "append", arrange, body, **schemas)
    suite.truth |= {"destructive": False, "idempotent": False}
    suite.required = [*schemas]
    assert bool(await find(suite)) is (key == "day")
