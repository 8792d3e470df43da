"""Structured inputs of API tools: objects with fields, whole bodies, styles and files."""

import json
from typing import Any

import pytest
from support import macro, specs


def render_models(*params: dict[str, Any]) -> str:
    """Render the classes of a tool's parameters."""
    [tool] = specs(
        [{"name": "create_note", "http": "POST /notes", "params": [*params]}]
    )
    models = []
    for param in tool["params"]:
        if param["model"]:
            models.append(macro("python", "models", param))
    return "".join(models)


def test_an_object_with_fields_is_a_typed_class() -> None:
    fields = [{"name": "name"}, {"name": "age", "type": "int", "required": False}]
    text = render_models({"name": "owner", "type": "object", "fields": fields})
    assert "class CreateNoteOwner(TypedDict):" in text
    assert "    name: Annotated[str, Field(" in text
    assert "    age: NotRequired[Annotated[int, Field(" in text


def test_objects_in_objects_come_first() -> None:
    spot = {
        "name": "spot",
        "type": "object",
        "fields": [{"name": "x", "type": "float"}],
    }
    text = render_models({"name": "parts", "type": "list[object]", "fields": [spot]})
    inner, outer = "class CreateNotePartsSpot(", "class CreateNoteParts("
    assert 0 < text.index(inner) < text.index(outer)
    assert "    spot: Annotated[CreateNotePartsSpot, Field(" in text


def test_a_sample_holds_what_an_object_requires() -> None:
    fields = [{"name": "name"}, {"name": "age", "type": "int", "required": False}]
    param = {"name": "owner", "type": "object", "fields": fields, "choices": []}
    assert (
        macro("values", "sample", param | {"limit_values": param})
        == '{"name": "sample"}'
    )


@pytest.mark.parametrize(
    ("tool", "fields"),
    [
        ({"http": "GET /yes", "params": []}, set()),
        ({"http": "GET /yes", "returns": [{"number": "int"}]}, {"number"}),
        ({}, {"id", "etag", "title", "content"}),
    ],
    ids=["undocumented", "documented", "by its name"],
)
def test_what_no_document_mentions_is_not_in_a_result(
    tool: dict[str, Any], fields: set[str]
) -> None:
    tools = [{"name": "list_yes", "behavior": "read", **tool}]
    (spec,) = json.loads(macro("specs", "specs", tools, "http", {}, ""))
    assert {field["name"] for field in spec["item_fields"]} == fields
