"""Which parameters name the record of a call: by name, by the data, by the author's word."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from copier_fastmcp_engine.testing.cases import Case
from copier_fastmcp_engine.testing.plugin.verdict import Judge
from copier_fastmcp_engine.testing.rules import Tool

TABLES = {
    "verbs": {"put": ["upsert"]},
    "identities": ["key", "name"],
}
CONTACTS = {"contact/a@example.com": {"name": "Old"}}


def find_names(
    arguments: Mapping[str, Any], data: Any, tool_name: str = "upsert_contact"
) -> list[str]:
    properties: dict[str, Any] = {name: {} for name in arguments}
    schema = {"properties": properties}
    tool = Tool({"name": tool_name, "inputSchema": schema})
    judge = Judge(tool, "put", truth={}, believed=False, tables=TABLES)
    return judge.find_names(arguments, data)


@dataclass(frozen=True)
class Row:
    """One call: its arguments, the data before it, and the parameter that names the record."""

    arguments: dict[str, Any]
    name: str
    data: Mapping[str, Any] = field(default_factory=lambda: CONTACTS)


ROWS = {
    "value-is-a-key-of-the-data": Row(
        arguments={"email": "a@example.com", "name": "New"},
        name="email",
    ),
    "list-of-keys": Row(
        arguments={"name": "New", "email": ["a@example.com"]},
        name="email",
    ),
    "key-of-two-collections": Row(
        arguments={"email": "a@example.com", "name": "New"},
        data={
            "a@example.com": {},
            "contacts": {"a@example.com": {"name": "Old"}},
        },
        name="email",
    ),
    "no-such-record-so-the-name-decides": Row(
        arguments={"email": "b@example.com", "name": "New"},
        name="name",
    ),
    "no-such-record-so-the-id-decides": Row(
        arguments={"contact_id": "7", "email": "a@example.com"},
        name="contact_id",
    ),
    "of-two-keys-the-one-that-is-called-so": Row(
        arguments={"folder": "work", "name": "a"},
        data={
            "folder/work": {"x": 1},
            "note/a": {"x": 1},
        },
        name="name",
    ),
    "name-of-a-field-is-no-key": Row(
        arguments={"field": "name", "key": "a"},
        name="key",
    ),
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_key_of_the_data_outranks_a_name(row: Row) -> None:
    assert find_names(row.arguments, row.data) == [row.name]


@pytest.mark.parametrize(
    ("tool_name", "name"),
    [("class_animal", "animal_id"), ("classify", "id"), ("upsert_animal", "animal_id")],
)
def test_the_id_of_what_a_tool_is_named_after_outranks_a_plain_one(
    tool_name: str, name: str
) -> None:
    arguments = {"id": "a", "animal_id": "a", "owner_id": "o"}
    assert find_names(arguments, {}, tool_name) == [name]


def test_a_case_declares_its_identity() -> None:
    single = Case({"email": "a"}, identity="email")
    assert single.identities == ["email"]
    double = Case({"a": 1, "b": 2}, identity=["a", "b"])
    assert double.identities == ["a", "b"]
    with pytest.raises(TypeError, match="identity 'mail' of a Case is not in"):
        Case({"email": "a"}, identity="mail")
