"""Changed answers, from a later document or from `try`: they reach the tool files, and the author's edits stay.

`tests/command/test_sync.py` runs the whole verb once; here each single change runs in process.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from command.test_import_changes import CHANGES, parcels
from support import rendered

from copier_fastmcp.openapi.document import read
from copier_fastmcp.openapi.imports import Import, import_document
from copier_fastmcp.openapi.merging import Before
from copier_fastmcp.openapi.selecting import Selection
from copier_fastmcp.openapi.tools import Options
from copier_fastmcp.project import copier_process
from copier_fastmcp.trial.calling import Trial
from copier_fastmcp.trial.findings import find_differences, merge_findings
from copier_fastmcp.trial.reads import find_reads
from copier_fastmcp.updates.file_merges import FileMerges, merge_changed_answers
from copier_fastmcp_engine.api.responses import ApiResponse, BodyKind

TOOLS = "src/parcels_mcp/tools"
ORIGIN = {"_src_path": "/nowhere", "_commit": "v1.0.0"}
# The request of get_parcel after each change.
REQUESTS = {
    "another noun": "/shipments/{quoted(parcel_id)}",
    "another parameter": "/parcels/{quoted(parcel_id)}",
    "another method": "/parcels/{quoted(parcel_id)}",
    "a prefix": "/v2/parcels/{quoted(parcel_id)}",
    "a longer prefix": "/api/rest/parcels/{quoted(parcel_id)}",
    "all of them": "/v2/shipments/{quoted(parcel_id)}",
}


def run_import(
    folder: Path, paths: Mapping[str, Any], before: Before, mine: Mapping[str, Any]
) -> Import:
    """Import a document of the API of parcels."""
    file = folder / "parcels.json"
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Parcels"},
        "servers": [{"url": "http://p.invalid"}],
        "paths": paths,
    }
    file.write_text(json.dumps(document))
    options = Options()
    return import_document(read(file), before, mine, Selection(), options, asking=False)


@cache
def render_text(answers: str) -> dict[str, str]:
    """Return the files of a render, in process."""
    return rendered(json.loads(answers))


def render_files(answers: Mapping[str, Any]) -> dict[str, str]:
    """Return the author's files of a render."""
    values_kept = {}
    for name, value in answers.items():
        if not name.startswith("_"):
            values_kept[name] = value
    files = {}
    for path, text in render_text(json.dumps(values_kept)).items():
        if path.startswith((f"{TOOLS}/", "tests/tools/")):
            files[path] = text
    return files


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files into a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def edit(files: dict[str, str], tool: str, old: str, new: str) -> None:
    """Edit the file of a tool as its author does."""
    path = f"{TOOLS}/{tool}.py"
    assert old in files[path], f"{tool} has no {old!r}: {files[path]}"
    files[path] = files[path].replace(old, new)


@pytest.fixture
def merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A function that merges changed answers into a folder, with renders made in process."""

    @contextmanager
    def render_both(
        first: dict[str, Any], second: dict[str, Any]
    ) -> Iterator[tuple[Path, Path]]:
        base = write_files(tmp_path / "base", render_files(first))
        change = write_files(tmp_path / "change", render_files(second))
        yield base, change

    monkeypatch.setattr(copier_process, "render_both", render_both)

    def run(
        project: Path, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> FileMerges:
        return merge_changed_answers(project, {**before, **ORIGIN}, after)

    return run


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_api_keeps_the_authors_edits(
    change: str, merge: Any, tmp_path: Path
) -> None:
    first = run_import(tmp_path, parcels(), Before(), {})
    mine = deepcopy(first.answers)
    # By hand in the answers: a text, and a tool that is removed.
    tools = {tool["name"]: tool for tool in mine["tools"]}
    tools["list_parcels"]["description"] = "My list."
    del tools["delete_parcel"]
    mine["tools"] = [*tools.values()]
    # By hand in the files: texts, a question, a corrected behavior.
    files = render_files(mine)
    edit(files, "get_parcel", "The parcel id.", "My parcel.")
    edit(files, "get_parcel", '"""Get one."""', '"""Mine."""')
    edit(files, "update_parcel", "@put(\n", '@put(\n    confirm="Change it?",\n')
    edit(files, "filter_parcels", "@action(", "@read(")
    edit(files, "filter_parcels", ", action\n", ", read\n")
    project = write_files(tmp_path / "project", files)

    later = run_import(tmp_path, CHANGES[change], first.record, mine)
    merges = merge(project, mine, later.answers)

    assert later.merged is not None
    assert (later.merged.added, later.merged.removed) == ([], [])
    assert [tool["name"] for tool in later.answers["tools"]] == [*tools]
    merged = {path.stem: path.read_text() for path in (project / TOOLS).glob("*_*.py")}
    assert sorted(merged.keys() - {"__init__"}) == sorted(tools)
    assert (merges.conflicts, merges.kept, merges.removed) == ([], [], [])
    assert '"""My list."""' in merged["list_parcels"]
    assert "My parcel." in merged["get_parcel"]
    assert '"""Mine."""' in merged["get_parcel"]
    assert "parcel_id: Annotated[" in merged["get_parcel"], "callers use this name"
    assert f'f"{REQUESTS[change]}"' in merged["get_parcel"]
    assert 'confirm="Change it?"' in merged["update_parcel"]
    has_put = change in ("another method", "all of them")
    assert ('"PUT"' if has_put else '"PATCH"') in merged["update_parcel"]
    assert "@read(" in merged["filter_parcels"]
    for text in merged.values():
        compile(text, "tool.py", "exec")
    # The same document once more changes nothing, and the removed tool stays removed.
    second = run_import(tmp_path, CHANGES[change], later.record, later.answers)
    assert second.answers["tools"] == later.answers["tools"]


def build_replacement(name: str, fields: Sequence[str]) -> dict[str, Any]:
    """The paths of one operation, which replaces a parcel: the name of its path parameter, and the body's fields."""
    text = {"type": "string"}
    body = {
        "type": "object",
        "required": [*fields],
        "properties": dict.fromkeys(fields, text),
    }
    parameter = {"name": name, "in": "path", "required": True, "schema": text}
    return {
        f"/parcels/{{{name}}}": {
            "put": {
                "operationId": "replaceParcel",
                "parameters": [parameter],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": body}},
                },
                "responses": {"200": {"description": ""}},
            }
        }
    }


@pytest.mark.parametrize(
    ("old_body", "sent", "named"),
    [
        ("id", '"id": id', "parcel_id"),
        ("parcelId", '"id": id', "id"),
        ("label", '"id": id', "id"),
    ],
)
def test_a_field_of_the_body_keeps_its_name_where_the_path_is_renamed(
    old_body: str, sent: str, named: str, tmp_path: Path
) -> None:
    fields = dict.fromkeys((old_body, "label"))
    old = build_replacement("parcelId", [*fields])
    first = run_import(tmp_path, old, Before(), {})
    new = build_replacement("id", ["id", "label"])
    later = run_import(tmp_path, new, first.record, first.answers)
    text = render_files(later.answers)["src/parcels_mcp/tools/replace_parcel.py"]
    assert sent in text
    assert '"parcel_id"' not in text
    assert f"/parcels/{{quoted({named})}}" in text


def test_findings_of_try_reach_the_tool_files(merge: Any, tmp_path: Path) -> None:
    """A number that is a text, a link to the next page, and a read that changes what it reads."""
    parcel = {"type": "object", "properties": {"id": {"type": "integer"}}}
    content = {"application/json": {"schema": parcel}}
    responses = {"200": {"description": "", "content": content}}
    paths = parcels()
    paths["/parcels/{parcel_id}"]["get"]["responses"] = responses
    answers = run_import(tmp_path, paths, Before(), {}).answers
    files = render_files(answers)
    edit(files, "get_parcel", '"""Get one."""', '"""Mine."""')
    project = write_files(tmp_path / "project", files)
    read_operations = {read.name: read for read in find_reads(answers["tools"])[0]}
    link = "http://p.invalid/parcels?page=2"
    got = Trial(
        read_operations["get_parcel"],
        [respond({"id": "p1"})],
        changes=["views (1 -> 2)"],
    )
    listed = Trial(read_operations["list_parcels"], [respond([{"id": "p1"}], link)])

    findings = [find_differences(got), find_differences(listed)]
    result = merge_findings(answers, findings, "")
    merges = merge(project, answers, {**answers, **result})

    assert (merges.conflicts, merges.kept) == ([], [])
    get_parcel = (project / TOOLS / "get_parcel.py").read_text()
    assert '"""Mine."""' in get_parcel
    assert "@action(" in get_parcel
    assert "id: str" in get_parcel
    list_parcels = (project / TOOLS / "list_parcels.py").read_text()
    assert '"page": cursor' in list_parcels


def respond(body: Any, next_link: str = "") -> ApiResponse:
    """Return a response of the API."""
    media_type = "application/json"
    return ApiResponse(
        "GET /parcels", 200, {}, media_type, BodyKind.JSON, body, next_link=next_link
    )
