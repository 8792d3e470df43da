"""`try`: reads of a live API, compared with the answers of the server in the folder."""

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from copier_fastmcp.cli import main
from copier_fastmcp.trial.effects import find_changes
from copier_fastmcp.trial.identities import Identities
from copier_fastmcp.trial.shapes import compare

LIST = {
    "name": "list_parcels",
    "behavior": "read",
    "http": "GET /parcels",
    "params": [],
}
GET = {
    "name": "get_parcel",
    "behavior": "read",
    "http": "GET /parcels/{parcel_id}?verbose={verbose}",
    "params": [
        {"name": "parcel_id", "type": "int"},
        {"name": "verbose", "type": "bool", "required": False},
    ],
}
SEARCH = {
    "name": "search_parcels",
    "behavior": "read",
    "http": "POST /parcels/search",
    "params": [{"name": "text"}],
}
DELETE = {"name": "delete_parcel", "behavior": "delete", "http": "DELETE /parcels/{id}"}
PARCEL = {"id": 1, "weight": 2.5}


class Api:
    """A small API: what it answers by request, and what was sent to it."""

    def __init__(self, answers: dict[str, Any]) -> None:
        """Answer requests with bodies, or with tuples of status, body and headers."""
        self.answers = answers
        self.sent: list[str] = []
        self.bodies: list[bytes] = []
        self.tokens: set[str] = set()
        self.keys: set[str] = set()
        self.address = ""

    def answer(self, request: str) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of a response."""
        answer = self.answers.get(request, (404, {"message": "no such thing"}))
        if callable(answer):
            answer = answer(self)
        status, body, *headers = answer if isinstance(answer, tuple) else (200, answer)
        extra = {"Content-Type": "application/json", **(headers[0] if headers else {})}
        content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        return status, extra, content


@contextmanager
def serving(api: Api) -> Iterator[Api]:
    """Run an API on loopback."""

    class Handler(BaseHTTPRequestHandler):
        def respond(self) -> None:
            request = f"{self.command} {self.path}"
            api.sent.append(request)
            api.tokens.add(self.headers.get("Authorization", ""))
            api.keys.add(self.headers.get("X-Parcel-Key", ""))
            api.bodies.append(
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
            )
            status, headers, content = api.answer(request)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_DELETE = respond  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        api.address = f"http://127.0.0.1:{server.server_port}"
        yield api
        server.shutdown()
        thread.join()


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the answers of a server."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PARCELS_MCP_API_TOKEN", "a-token-of-parcels")
    return tmp_path


def tools(*rows: dict[str, Any], api: str = "", **answers: str) -> None:
    """Write the answers of the server in the working folder."""
    values_kept = {
        **answers,
        "_commit": "v1",
        "_src_path": "/nowhere",
        "api": api,
        "backend": "http",
        "package_name": "parcels_mcp",
        "server_name": "parcels-mcp",
        "tools": [*rows],
    }
    Path(".copier-answers.yml").write_text(yaml.safe_dump(values_kept))


def run_try(api: Api, *rows: dict[str, Any], words: tuple[str, ...] = ()) -> int:
    """Run `try` on tools in front of an API."""
    with serving(api):
        tools(*rows, api=api.address)
        return main(["try", "--send", *words])


def load_finding(name: str) -> dict[str, Any]:
    """Return a tool in the file of findings."""
    answers = yaml.safe_load(Path("answers.try.yml").read_text())
    return next(tool for tool in answers["tools"] if tool["name"] == name)


def test_each_read_is_called_at_most_three_times_and_no_write(project: Path) -> None:
    api = Api({"GET /parcels": [PARCEL], "GET /parcels/1": PARCEL})
    documented = {"returns": {"id": "int", "weight": "float"}}
    listing = {**LIST, "returns": [documented["returns"]]}
    assert run_try(api, DELETE, {**GET, **documented}, listing) == 0
    assert Counter(api.sent) == {"GET /parcels": 3, "GET /parcels/1": 3}
    assert api.tokens == {"Bearer a-token-of-parcels"}
    assert not (project / "answers.try.yml").exists()


@pytest.mark.parametrize("variable", ["", "bearer"])
def test_the_token_is_sent_as_the_server_sends_it(
    project: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    api = Api({"GET /parcels": [PARCEL]})
    if variable:
        monkeypatch.setenv("PARCELS_MCP_API_AUTH", variable)
    with serving(api):
        tools(LIST, api=api.address, api_auth="header:X-Parcel-Key")
        main(["try", "--send"])
    sent = api.tokens if variable else api.keys
    prefix = "Bearer " if variable else ""
    assert sent == {f"{prefix}a-token-of-parcels"}


def test_a_token_that_the_api_refuses_names_both_settings(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api = Api({"GET /parcels": (401, {"message": "bad key"})})
    assert run_try(api, LIST) == 2
    (line,) = capsys.readouterr().err.splitlines()[-1:]
    assert "bad key" in line
    assert line.endswith("check PARCELS_MCP_API_TOKEN and PARCELS_MCP_API_AUTH")


def test_nothing_is_sent_without_consent(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api = Api({})
    with serving(api):
        tools(LIST, api=api.address)
        assert main(["try"]) == 1
        assert main(["try", "--dry-run"]) == 0
    assert api.sent == []
    printed = capsys.readouterr().err
    assert "list_parcels  GET /parcels" in printed
    assert api.address in printed
    assert "PARCELS_MCP_API_TOKEN" in printed
    assert "a-token-of-parcels" not in printed


def test_types_and_shapes_are_corrected(project: Path) -> None:
    api = Api(
        {
            "GET /parcels": {"data": [{"id": "p1"}]},
            "GET /parcels/p1": {"id": "p1", "weight": 3, "note": None},
        }
    )
    fields = {"id": "int", "weight": "str", "note": "str", "size": "int"}
    listing = {**LIST, "returns": [{"id": "int"}]}
    assert run_try(api, listing, {**GET, "returns": fields}) == 1
    assert load_finding("list_parcels")["returns"] == {
        "data": {"type": "list[dict]", "default": None}
    }
    assert load_finding("get_parcel")["returns"] == {
        "id": "str",
        "weight": "int",
        "note": {"type": "str", "default": None},
        "size": {"type": "int", "default": None},
    }
    assert load_finding("get_parcel")["params"][0] == {"name": "parcel_id"}


def test_a_read_that_changes_a_field_becomes_an_action(project: Path) -> None:
    counter = iter(range(10))
    api = Api({"GET /parcels": lambda _: [{"id": 1, "views": next(counter)}]})
    assert run_try(api, {**LIST, "returns": [{"id": "int", "views": "int"}]}) == 1
    assert load_finding("list_parcels")["behavior"] == "action"
    assert "destructive" not in load_finding("list_parcels"), "the cautious default"
    assert "views" in load_finding("list_parcels")["why"]


def test_an_etag_that_changes_alone_is_reported(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counter = iter(range(10))
    api = Api({"GET /parcels": lambda _: (200, [PARCEL], {"ETag": str(next(counter))})})
    assert run_try(api, LIST) == 1
    assert "ETag (1 -> 2)" in capsys.readouterr().out


def test_a_link_to_the_next_page_becomes_a_cursor(project: Path) -> None:
    link = {"Link": '</parcels?limit=2&page=2>; rel="next"'}
    api = Api({"GET /parcels": (200, [PARCEL], link)})
    assert run_try(api, {**LIST, "returns": [{"id": "int", "weight": "float"}]}) == 1
    assert load_finding("list_parcels")["http"] == "GET /parcels?page={cursor}"
    assert load_finding("list_parcels")["params"][0]["name"] == "cursor"


def test_the_address_that_answers_is_written_down(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(Api({"GET /v2/parcels": []})) as api:
        tools(LIST, api="https://parcels.example.com")
        monkeypatch.setenv("PARCELS_MCP_API", f"{api.address}/v2")
        assert main(["try", "--send"]) == 1
    written = yaml.safe_load((project / "answers.try.yml").read_text())
    assert written == {"api": f"{api.address}/v2"}


@pytest.mark.parametrize(
    ("answer", "code", "printed"),
    [
        ((401, {"message": "who are you"}), 2, "does not accept this server's token"),
        ((200, "<html>", {"Content-Type": "text/html"}), 1, "text was received"),
    ],
)
def test_failures_are_one_line(
    answer: Any,
    code: int,
    printed: str,
    project: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    listing = {**LIST, "returns": [{"id": "int"}]}
    assert run_try(Api({"GET /parcels": answer}), listing) == code
    output = capsys.readouterr()
    assert printed in output.out + output.err
    assert "Traceback" not in output.err


def test_a_required_value_comes_from_the_user(project: Path) -> None:
    api = Api({"POST /parcels/search": []})
    assert run_try(api, SEARCH) == 1  # nothing can be called
    assert api.sent == []
    assert run_try(api, SEARCH, words=("--value", "text=ann")) == 0
    assert set(api.bodies) == {b'{"text":"ann"}'}


def test_a_read_of_an_empty_service_is_not_called_and_no_failure(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    api = Api({"GET /parcels": []})
    assert run_try(api, LIST, GET) == 0
    assert {*api.sent} == {"GET /parcels"}
    output = capsys.readouterr().out.splitlines()
    assert output[0].startswith("get_parcel was not called: no value for parcel_id")
    assert output[1] == "3 requests: 1 right, 0 differ, 0 failed, 1 not called"
    # One that fails still is a failure.
    failing = Api({"GET /parcels": [PARCEL], "GET /parcels/1": (500, {})})
    assert run_try(failing, LIST, GET) == 1
    assert "1 failed" in capsys.readouterr().out


def test_a_program_gets_json_alone(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listing = {**LIST, "returns": [{"id": "str"}]}
    assert run_try(Api({"GET /parcels": [PARCEL]}), listing, words=("--json",)) == 1
    document = json.loads(capsys.readouterr().out)
    assert document["file"] == "answers.try.yml"
    assert document["tools"][0]["calls"] == 3


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({"views": 1}, {"views": 2}, ["views (1 -> 2)"]),
        ({"a": [1]}, {"a": [1, 2]}, ["number of a (1 -> 2)", "a[1] (nothing -> 2)"]),
        ({"page": 1}, {"page": 2}, ["page (1 -> 2)"]),
        ({"updatedAt": 1, "uptime": 2}, {"updatedAt": 3, "uptime": 4}, []),
        ({"x": "2026-11-01T00:00:00Z"}, {"x": "2026-11-01T00:00:01Z"}, []),
    ],
)
def test_what_changes_by_itself_is_no_change(
    before: Any, after: Any, changes: list[str]
) -> None:
    assert find_changes(before, after) == changes


def test_an_id_comes_from_the_list_in_front_of_it() -> None:
    """An empty list of notes is no reason to ask for a note by the ID of a tag."""
    identities = Identities({})
    identities.learn("/tags", [{"id": 3, "note_id": 7}])
    assert identities.fill("/tags/{id}") == ("/tags/3", {"id": 3})
    assert identities.fill("/found/{id}") == ("/found/3", {"id": 3}), "no list is known"
    identities.learn("/notes", {"data": [], "next": None})
    assert identities.fill("/notes/{id}") == "id"
    assert identities.fill("/notes/{note_id}") == ("/notes/7", {"note_id": 7})


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("note_id", "/books/1/notes"),
        ("note_identifier", "/books/1/notes/"),
        ("category_uuid", "/books/1/categories"),
        ("box_id", "/v1/boxes"),
    ],
)
def test_an_id_comes_from_a_list_of_its_noun(name: str, path: str) -> None:
    identities = Identities({})
    identities.learn("/tags", [{"id": 3}])
    identities.learn(path, {"data": [{"id": 7}]})
    assert identities.fill(f"/all/{{{name}}}") == ("/all/7", {name: 7})


def test_a_table_by_identity_documents_no_fields() -> None:
    table = {"u1": {"id": "u1"}, "u2": {"id": "u2"}}
    compared = compare([{"id": "str"}], [table, table])
    assert compared.is_changed
    assert compared.returns is None
    assert compared.lines == ["a list of objects is documented, an object was received"]


def test_what_documents_any_answer_is_left_alone() -> None:
    assert not compare({"answer": "dict"}, [{"id": 1}]).is_changed
