"""The lock: its file, its normal form, and the label of each difference, made by exactly one change."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from copier_fastmcp.project import pinning
from copier_fastmcp_engine.testing import lock
from copier_fastmcp_engine.testing.rules import Tool

FACTS = {"behavior": "delete", "gated": True, "scopes": ["a"], "why": "Gone is gone."}
FACTS |= {"public_effect": True, "exceptions": []}
TOOL = Tool(
    {
        "name": "drop_note",
        "title": "Drop Note",
        "description": "Drop a note.",
        "annotations": {"title": "Drop Note", "readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True},
        "inputSchema": {
            "type": "object",
            "title": "DropNoteArguments",
            "properties": {
                "note_id": {"type": "integer", "minimum": 1, "title": "Note Id", "description": "The ID."},
                "mode": {"enum": ["soft", "hard"], "type": "string", "default": "soft"},
                "title": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
                "near": {"$ref": "#/$defs/Place", "description": "Where."},
            },
            "required": ["note_id"],
            "additionalProperties": False,
            "$defs": {"Place": {"type": "object", "title": "Place", "properties": {"next": {"$ref": "#/$defs/Place"}}}},
        },
        "outputSchema": {"type": "object", "x-fastmcp-wrap-result": True, "properties": {"gone": {"type": "boolean"}}, "required": ["gone"]},
    },
    FACTS,
)  # fmt: skip
VERSIONS = {"fastmcp": "4.1.2", "mcp": "2.3.0", "pydantic": "2.12.0"}
PINNED = lock.build_lock([TOOL], VERSIONS)
VERSIONS = PINNED["versions"]
INPUT, OUTPUT = ("input", "properties"), ("output", "properties")
ABSENT = object()
# The place in the entry, its new value, the line.
CHANGES: list[tuple[tuple[str, ...], object, list[str]]] = [
    (("hints", "readOnlyHint"), True, ["RELAXED: readOnlyHint false -> true"]),
    (("hints", "destructiveHint"), False, ["RELAXED: destructiveHint true -> false"]),
    (("hints", "destructiveHint"), ABSENT, ["RELAXED: destructiveHint true -> absent"]),
    (("hints", "idempotentHint"), True, ["RELAXED: idempotentHint false -> true"]),
    (("hints", "idempotentHint"), ABSENT, ["idempotentHint false -> absent"]),
    (("hints", "openWorldHint"), False, ["RELAXED: openWorldHint true -> false"]),
    (("effect",), False, ["RELAXED: effect true -> false"]),
    (("gated",), False, ["RELAXED: gate lost"]),
    (("scopes",), [], ["RELAXED: lost scope a"]),
    (("scopes",), ["a", "b"], ["BREAKING: gained scope b"]),
    (("behavior",), "action", ['behavior "delete" -> "action"']),
    (("title",), "Drop", ['title "Drop Note" -> "Drop"']),
    (("description",), "Drop it.", ['description "Drop a note." -> "Drop it."']),
    (("why",), "So.", ['why "Gone is gone." -> "So."']),
    (("bytes",), 1, []),
    ((*INPUT, "note_id"), ABSENT, ["BREAKING: input.note_id is gone"]),
    ((*INPUT, "note_id", "type"), "string", ['BREAKING: input.note_id.type "integer" -> "string"']),
    ((*INPUT, "note_id", "type"), "number", ['input.note_id.type "integer" -> "number"']),
    ((*INPUT, "note_id", "minimum"), 2, ["BREAKING: input.note_id.minimum 1 -> 2"]),
    ((*INPUT, "note_id", "minimum"), 0, ["input.note_id.minimum 1 -> 0"]),
    ((*INPUT, "note_id", "minimum"), ABSENT, ["input.note_id.minimum is gone"]),
    ((*INPUT, "note_id", "maximum"), 9, ["BREAKING: input.note_id.maximum is new"]),
    ((*INPUT, "note_id", "description"), "It.", ['input.note_id.description "The ID." -> "It."']),
    ((*INPUT, "mode", "enum"), ["hard"], ['BREAKING: input.mode.enum ["hard", "soft"] -> ["hard"]']),
    ((*INPUT, "mode", "enum"), ["hard", "off", "soft"], ['input.mode.enum ["hard", "soft"] -> ["hard", "off", "soft"]']),
    ((*INPUT, "mode", "enum"), ABSENT, ["input.mode.enum is gone"]),
    ((*INPUT, "mode", "default"), "hard", ['input.mode.default "soft" -> "hard"']),
    ((*INPUT, "more"), {"type": "string"}, ["input.more is new"]),
    (("input", "required"), ["mode", "note_id"], ['BREAKING: input.required ["note_id"] -> ["mode", "note_id"]']),
    (("input", "required"), [], ['input.required ["note_id"] -> []']),
    ((*OUTPUT, "gone"), ABSENT, ["BREAKING: output.gone is gone"]),
    ((*OUTPUT, "gone", "type"), "string", ['BREAKING: output.gone.type "boolean" -> "string"']),
    ((*OUTPUT, "more"), {"type": "string"}, ["output.more is new"]),
    (("output", "required"), [], ['BREAKING: output.required ["gone"] -> []']),
]  # fmt: skip


def change_lock(
    place: tuple[str, ...], value: object, versions: dict[str, str] = VERSIONS
) -> lock.Lock:
    """Return the lock with one value changed."""
    after = copy.deepcopy(PINNED) | {"versions": versions}
    inner: dict[str, Any] = after["tools"]["drop_note"]
    for key in place[:-1]:
        inner = inner[key]
    inner.pop(place[-1], None)
    if value is not ABSENT:
        inner[place[-1]] = value
    return after


@pytest.mark.parametrize(
    ("place", "value", "lines"), CHANGES, ids=[str(row[2]) for row in CHANGES]
)
def test_each_change_has_its_label(
    place: tuple[str, ...], value: object, lines: list[str]
) -> None:
    differences = lock.format_differences(PINNED, change_lock(place, value))
    assert differences == [f"drop_note: {line}" for line in lines]


def test_a_gate_that_is_added_breaks_callers() -> None:
    ungated = change_lock(("gated",), False)
    assert lock.format_differences(ungated, PINNED) == [
        "drop_note: BREAKING: gate gained"
    ]


@pytest.mark.parametrize(
    ("released", "line"),
    [(True, "drop_note: BREAKING: gate gained"), (False, "drop_note: gate gained")],
)
def test_an_update_breaks_callers_only_of_a_released_server(
    released: bool, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / lock.FILE
    ungated = change_lock(("gated",), False) | {"released": released}
    file.write_text(lock.format_lock(ungated))
    pinned = lock.format_lock(PINNED | {"released": released})
    monkeypatch.setattr(pinning, "pin", lambda *_, **__: file.write_text(pinned))
    assert pinning.renew_lock(tmp_path) == [line]


def test_new_gone_and_renamed() -> None:
    nothing = PINNED | {"tools": {}}
    assert lock.format_differences(nothing, PINNED) == ["drop_note: is new"]
    assert lock.format_differences(PINNED, nothing) == ["drop_note: BREAKING: is gone"]
    entry = PINNED["tools"]["drop_note"]
    named = PINNED | {"tools": {"erase_note": entry | {"title": "Erase Note"}}}
    assert lock.format_differences(PINNED, named) == [
        "drop_note: RENAMED: is erase_note now",
        'erase_note: title "Drop Note" -> "Erase Note"',
    ]
    two = PINNED | {"tools": {"erase_note": entry, "wipe_note": entry}}
    assert "drop_note: BREAKING: is gone" in lock.format_differences(PINNED, two)


def test_a_name_that_still_answers() -> None:
    """What was renamed is compared with what it was, whatever else changed; a name is lost only when it no longer answers."""
    entry = PINNED["tools"]["drop_note"]
    successor = entry | {
        "formerly": ["drop_note"],
        "gated": False,
        "deprecated": "Use it not.",
    }
    named = PINNED | {"tools": {"erase_note": successor}}
    assert lock.format_differences(PINNED, named) == [
        "drop_note: RENAMED: is erase_note now, and still answers",
        "erase_note: RELAXED: gate lost",
        'erase_note: deprecated absent -> "Use it not."',
        'erase_note: formerly absent -> ["drop_note"]',
    ]
    silent = PINNED | {"tools": {"erase_note": entry}}
    lines = lock.format_differences(named, silent)
    assert "drop_note: BREAKING: no longer answers" in lines
    assert "drop_note: BREAKING: no longer answers" not in lock.format_differences(
        named, PINNED
    )
    merged = PINNED | {"tools": {"a": entry, "b": entry}}
    both = PINNED | {"tools": {"b": entry | {"formerly": ["a"]}}}
    assert (
        lock.format_differences(merged, both)[0]
        == "a: RENAMED: is b now, and still answers"
    )
    assert "BREAKING" not in "".join(lock.format_differences(merged, both))


EQUIVALENT: list[tuple[tuple[str, ...], object]] = [
    (
        (*INPUT, "mode"),
        {"anyOf": [{"const": "soft"}, {"const": "hard"}], "default": "soft"},
    ),
    (
        (*INPUT, "note_id"),
        {"allOf": [{"type": "integer"}], "minimum": 1, "description": "The ID."},
    ),
]


# The parts of a result as FastMCP writes them, and as the policy does
RESULTS = [
    (
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": ["string", "null"]},
    ),
    (
        {"anyOf": [{"enum": ["a"], "type": "string"}, {"type": "null"}]},
        {"enum": ["a", None]},
    ),
    (
        {
            "anyOf": [
                {"type": "object", "properties": {"b": {}}, "required": ["b"]},
                {"type": "null"},
            ]
        },
        {"type": ["object", "null"], "properties": {"b": {}}, "required": ["b"]},
    ),
    ({"type": "object", "additionalProperties": True}, {"type": "object"}),
]


@pytest.mark.parametrize(("old_result", "new_result"), RESULTS, ids=str)
def test_a_result_in_fewer_words_breaks_nothing(
    old_result: object, new_result: object
) -> None:
    before, after = (
        change_lock((*OUTPUT, "gone"), old_result),
        change_lock((*OUTPUT, "gone"), new_result),
    )
    older = before | {"versions": {"fastmcp": "4.1.2"}}
    for first, second in ((older, after), (after, older)):
        for line in lock.format_differences(first, second):
            assert ": RENDERED: " in line
    narrow = change_lock((*OUTPUT, "gone"), {"type": "integer"})
    assert "BREAKING" in "".join(lock.format_differences(narrow, after))


@pytest.mark.parametrize(("place", "value"), EQUIVALENT)
def test_other_libraries_that_write_the_same_otherwise(
    place: tuple[str, ...], value: object
) -> None:
    """Under other versions it is RENDERED; under the same ones somebody wrote it so, and nothing breaks."""
    differences = lock.format_differences(
        PINNED, change_lock(place, value, VERSIONS | {"pydantic": "2.99.0"})
    )
    assert differences
    assert all(line.startswith("drop_note: RENDERED: input.") for line in differences)
    same = lock.format_differences(PINNED, change_lock(place, value))
    rendered_lines = []
    for line in same:
        rendered_lines.append(line.replace("drop_note: ", "drop_note: RENDERED: "))
    assert rendered_lines == differences


def test_a_real_change_is_breaking_under_other_versions_too() -> None:
    after = change_lock(
        (*INPUT, "note_id", "type"), "string", VERSIONS | {"pydantic": "2.99.0"}
    )
    assert "BREAKING: input.note_id.type" in "".join(
        lock.format_differences(PINNED, after)
    )


def test_the_normal_form_holds_no_accident() -> None:
    entry = PINNED["tools"]["drop_note"]
    text = lock.format_lock(PINNED)
    assert '"title": "Note Id"' not in text
    assert "DropNoteArguments" not in text
    assert "x-fastmcp" not in text
    assert '"title": "Drop Note"' in text
    assert list(entry["input"]["properties"]) == ["mode", "near", "note_id", "title"]
    near = entry["input"]["properties"]["near"]
    assert near == {
        "description": "Where.",
        "properties": {"next": {"$ref": "#/$defs/Place"}},
        "type": "object",
    }
    assert lock.normalize_schema(entry["input"]) == entry["input"]
    shuffled = json.loads(json.dumps(dict(TOOL.wire["inputSchema"]), sort_keys=True))
    assert lock.normalize_schema(shuffled) == entry["input"]


def test_the_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / lock.FILE
    path.write_text(lock.format_lock(PINNED), encoding="utf-8")
    assert lock.load_lock(path) == PINNED


@pytest.mark.parametrize("text", [None, "", "[]", "{}", "{1", '{"tools": {"a": {}}, "versions": {}}', '{"tools": {"a": 1}, "versions": {}}', "<<<<<<< HEAD"])  # fmt: skip
def test_what_is_no_lock_is_one_line(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / lock.FILE
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match="not a lock") as caught:
        lock.load_lock(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
