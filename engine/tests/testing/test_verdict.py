"""Which parameters name the record of a call: by name, by the data, by the author's word."""

from collections.abc import Mapping
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


def find_names(arguments: Mapping[str, Any], data: Any) -> list[str]:
    properties: dict[str, Any] = {name: {} for name in arguments}
    schema = {"properties": properties}
    tool = Tool({"name": "upsert_contact", "inputSchema": schema})
    return Judge(tool, "put", {}, False, TABLES).find_names(arguments, data)


@pytest.mark.parametrize(
    ("arguments", "data", "names"),
    [
        ({"email": "a@example.com", "name": "New"}, CONTACTS, ["email"]),
        ({"name": "New", "email": ["a@example.com"]}, CONTACTS, ["email"]),
        (
            {"email": "a@example.com", "name": "New"},
            {"a@example.com": {}, "contacts": {"a@example.com": {"name": "Old"}}},
            ["email"],
        ),
        # Without such a record the names of the parameters decide, and an ID before everything else
        ({"email": "b@example.com", "name": "New"}, CONTACTS, ["name"]),
        ({"contact_id": "7", "email": "a@example.com"}, CONTACTS, ["contact_id"]),
        # Of two that are keys the one that is called so
        (
            {"folder": "work", "name": "a"},
            {"folder/work": {"x": 1}, "note/a": {"x": 1}},
            ["name"],
        ),
        # The name of a field is no key of a record
        ({"field": "name", "key": "a"}, CONTACTS, ["key"]),
    ],
)
def test_a_key_of_the_data_outranks_a_name(
    arguments: dict[str, Any],
    data: Any,
    names: list[str],
) -> None:
    assert find_names(arguments, data) == names


def test_a_case_declares_its_identity() -> None:
    assert Case({"email": "a"}, identity="email").identities == ["email"]
    assert Case({"a": 1, "b": 2}, identity=["a", "b"]).identities == ["a", "b"]
    with pytest.raises(TypeError, match="identity 'mail' of a Case is not in"):
        Case({"email": "a"}, identity="mail")
