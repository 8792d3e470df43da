"""An API that changes: what it renames keeps its tools, what its author wrote stays, callers hear it first."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml
from command.test_import import answers, document, list_names, run_import

from copier_fastmcp.openapi.changes import compare_tools
from copier_fastmcp.openapi.matching import match_endpoints, parse_endpoint

TEXT = {"type": "string"}
BODY = {
    "content": {
        "application/json": {
            "schema": {
                "type": "object",
                "properties": {"title": TEXT},
                "required": ["title"],
            }
        }
    }
}


def parcels(
    name: str = "parcels", key: str = "parcel_id", change: str = "patch"
) -> dict[str, Any]:
    """An API of parcels, whose operations have no names of their own."""
    path = {"in": "path", "name": key, "required": True, "schema": TEXT}
    return {
        f"/{name}": {"get": {"summary": "List them"}, "post": {"requestBody": BODY}},
        f"/{name}/{{{key}}}": {
            "parameters": [path],
            "get": {"summary": "Get one"},
            change: {"requestBody": BODY},
            "delete": {},
        },
        f"/{name}/{{{key}}}/send": {"parameters": [path], "post": {}},
        f"/{name}/filter": {"post": {"requestBody": BODY}},
    }


def with_prefix(paths: dict[str, Any], prefix: str) -> dict[str, Any]:
    return {f"{prefix}{path}": item for path, item in paths.items()}


CHANGES = {
    "another noun": parcels(name="shipments"),
    "another parameter": parcels(key="id"),
    "another method": parcels(change="put"),
    "a prefix": with_prefix(parcels(), "/v2"),
    "a longer prefix": with_prefix(parcels(), "/api/rest"),
    "all of them": with_prefix(parcels("shipments", "id", "put"), "/v2"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_renamed_api_keeps_names_wording_questions_behaviors_and_removals(
    change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "parcels.yml"
    assert run_import(document(tmp_path, paths=parcels()), "--out", out) == 0
    mine = answers(out)
    by_name = {tool["name"]: tool for tool in mine["tools"]}
    assert {"list_parcels", "get_parcel", "update_parcel", "delete_parcel"} <= {
        *by_name
    }
    by_name["get_parcel"]["description"] = "Mine."
    by_name["get_parcel"]["params"][0]["description"] = "My parcel."
    by_name["update_parcel"]["confirm"] = "Change parcel {parcel_id}?"
    filtering = next(tool for tool in mine["tools"] if "filter" in tool["http"])
    filtering["behavior"] = "read"
    remaining = []
    for tool in mine["tools"]:
        if tool["name"] != "delete_parcel":
            remaining.append(tool)
    mine["tools"] = remaining
    out.write_text(yaml.safe_dump(mine, sort_keys=False))
    capsys.readouterr()
    assert run_import(document(tmp_path, paths=CHANGES[change]), "--out", out) == 0
    result = {tool["name"]: tool for tool in answers(out)["tools"]}
    assert [*result] == [tool["name"] for tool in mine["tools"]], (
        "no tool is renamed or returns"
    )
    assert result["get_parcel"]["description"] == "Mine."
    assert result["get_parcel"]["params"][0]["description"] == "My parcel."
    assert result["get_parcel"]["params"][0]["name"] == "parcel_id", (
        "callers use this name"
    )
    assert result["update_parcel"]["confirm"] == "Change parcel {parcel_id}?"
    assert result[filtering["name"]]["behavior"] == "read"
    reported = capsys.readouterr().err
    assert "added:" not in reported
    assert "removed:" not in reported
    assert "BREAKING" not in reported
    assert "request: get_parcel sends" in reported or change in (
        "another parameter",
        "another method",
    )
    assert run_import(tmp_path / "api.json", "--out", out) == 0
    assert "nothing has changed" in capsys.readouterr().err


def test_an_operation_id_is_enough() -> None:
    before = [parse_endpoint("GET /a/{x}", "getA"), parse_endpoint("GET /b", "getB")]
    later = [parse_endpoint("POST /other", "getA"), parse_endpoint("GET /b", "getC")]
    assert match_endpoints(before, later) == {
        "GET /a/{x}": "POST /other",
        "GET /b": "GET /b",
    }


def test_what_fits_two_operations_fits_none() -> None:
    before = [parse_endpoint("GET /a/{x}", "get"), parse_endpoint("GET /b/{x}", "get")]
    later = [parse_endpoint("GET /c/{x}", "get"), parse_endpoint("GET /d/{x}", "get")]
    assert match_endpoints(before, later) == {}


def test_one_action_that_goes_while_another_comes_is_no_rename() -> None:
    before = [parse_endpoint("GET /a"), parse_endpoint("POST /a/{x}/open")]
    later = [parse_endpoint("GET /a"), parse_endpoint("POST /a/{x}/close")]
    assert match_endpoints(before, later) == {"GET /a": "GET /a"}


def test_all_answers_merge_three_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def write_document(address: str, description: str) -> Path:
        info = {"title": "Notes API", "description": description}
        return document(
            tmp_path, info=info, servers=[{"url": address}], paths=parcels()
        )

    out = tmp_path / "parcels.yml"
    assert (
        run_import(
            write_document("https://a.example.com", "Keeps all notes."), "--out", out
        )
        == 0
    )
    later = write_document("https://b.example.com", "Keeps all notes for ever.")
    assert run_import(later, "--out", out) == 0
    assert answers(out)["api"] == "https://b.example.com", "the author did not touch it"
    assert answers(out)["description"] == "Keeps all notes for ever."
    mine = answers(out)
    mine["api"] = "https://mine.example.com"
    out.write_text(yaml.safe_dump(mine, sort_keys=False))
    capsys.readouterr()
    assert (
        run_import(
            write_document("https://c.example.com", "Keeps some notes."), "--out", out
        )
        == 0
    )
    assert answers(out)["api"] == "https://mine.example.com"
    assert answers(out)["description"] == "Keeps some notes."
    assert "kept: your api stays, the document changed it" in capsys.readouterr().err


def test_a_glob_of_a_renamed_path_keeps_what_it_chose(tmp_path: Path) -> None:
    out = tmp_path / "parcels.yml"
    file = document(tmp_path, paths=parcels())
    assert run_import(file, "--out", out, "--path", "/parcels/*") == 0
    names = list_names(out)
    assert run_import(document(tmp_path, paths=parcels("shipments")), "--out", out) == 0
    assert list_names(out) == names


TOOL: dict[str, Any] = {
    "name": "get_note",
    "behavior": "read",
    "http": "GET /notes",
    "params": [
        {"name": "size", "type": "int", "le": 50, "required": False},
        {"name": "state", "choices": ["open", "closed"], "required": False},
        {
            "name": "owner",
            "type": "object",
            "fields": [{"name": "id"}],
            "required": False,
        },
    ],
}


def change_params(**params: dict[str, Any]) -> dict[str, Any]:
    """The tool with some parameters in another form, or with further ones."""
    built = copy.deepcopy(TOOL)
    by_name = {param["name"]: param for param in built["params"]}
    for name, keys in params.items():
        if name in by_name:
            by_name[name].update(keys)
        else:
            built["params"].append({"name": name, **keys})
    return built


STRICTER: list[tuple[dict[str, Any], str]] = [
    (change_params(size={"le": 20}), "size has the new limit le 20"),
    (change_params(size={"ge": 1}), "size has the new limit ge 1"),
    (change_params(size={"required": True}), "size is now required"),
    (change_params(size={"type": "str"}), "size was int and is now str"),
    (change_params(state={"choices": ["open"]}), "state no longer takes closed"),
    (change_params(lines={"type": "list[str]"}), "requires the new parameter lines"),
    (
        change_params(owner={"fields": [{"name": "id"}, {"name": "age"}]}),
        "requires the new field age",
    ),
    ({**TOOL, "params": TOOL["params"][1:]}, "no longer takes size"),
]


@pytest.mark.parametrize(("tool", "reason"), STRICTER)
def test_what_refuses_calls_that_worked_is_breaking(
    tool: dict[str, Any], reason: str
) -> None:
    [line] = compare_tools([TOOL], [tool]).breaking
    assert reason in line


@pytest.mark.parametrize(
    "tool",
    [
        TOOL,
        change_params(size={"le": 90}),
        change_params(state={"choices": ["open", "closed", "gone"]}),
        change_params(lines={"type": "list[str]", "required": False}),
        {**TOOL, "description": "Other."},
        {**TOOL, "behavior": "action"},
    ],
)
def test_what_takes_as_much_is_not_breaking(tool: dict[str, Any]) -> None:
    assert compare_tools([TOOL], [tool]).breaking == []


def test_the_report_leads_with_what_callers_notice_in_short_lines() -> None:
    before = [TOOL, {"name": "old_note", "behavior": "read"}, {"name": "a_note"}]
    later = [
        {
            **change_params(size={"le": 20}),
            "description": "Long. " * 90,
            "behavior": "action",
        },
        {"name": "new_note", "behavior": "read"},
        {"name": "b_note", "formerly": ["a_note"], "http": f"GET /{'x' * 300}"},
    ]
    lines = compare_tools(before, later).lines()
    words = [line.partition(":")[0] for line in lines]
    order = [
        "added",
        "removed",
        "renamed",
        "BREAKING",
        "behavior",
        "wording",
        "request",
    ]
    assert words == sorted(words, key=order.index)
    assert {*order} <= {*words}
    assert max(map(len, lines)) <= 200
