"""From a document to the bytes of a request: styles of a query, uploads, Swagger 2.0, several servers, no address.

A server is rendered in process from the answers of an import, and its tools are called as functions.
"""

import importlib
import json
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastmcp import Client
from pydantic import TypeAdapter
from support import rendered

from copier_fastmcp.new import complete_address
from copier_fastmcp.openapi.document import read
from copier_fastmcp.openapi.imports import import_document
from copier_fastmcp.openapi.merging import Before
from copier_fastmcp.openapi.selecting import Selection
from copier_fastmcp.openapi.sizes import model_bytes
from copier_fastmcp.openapi.tools import Options
from copier_fastmcp_engine.declarations import DECLARED
from copier_fastmcp_engine.testing.lock import count_bytes

TEXTS = {"type": "array", "items": {"type": "string"}}
OK = {"200": {"description": "", "content": {"application/json": {"schema": {}}}}}
FILE = {"type": "string", "format": "binary"}
UPLOAD = {
    "content": {
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["file", "purpose"],
                "properties": {"file": FILE, "purpose": {"type": "string"}},
            }
        }
    }
}


def in_query(name: str, schema: Mapping[str, Any], **keys: Any) -> dict[str, Any]:
    """Return a parameter of a query."""
    return {"in": "query", "name": name, "schema": schema, **keys}


SEARCH = [
    # As OpenAI's document has it.
    in_query(
        "metadata",
        {"type": "object", "additionalProperties": {"type": "string"}},
        style="deepObject",
        explode=True,
    ),
    in_query(
        "created",
        {"type": "object", "properties": {"gte": {"type": "integer"}}},
        style="deepObject",
    ),
    in_query("ids", TEXTS, style="pipeDelimited", explode=False),
    in_query("words", TEXTS, style="spaceDelimited", explode=False),
    in_query("columns", TEXTS, explode=False),
    in_query("tags", TEXTS),
]
PATHS: dict[str, Any] = {
    "/jobs": {
        "get": {"operationId": "listJobs", "parameters": SEARCH, "responses": OK}
    },
    "/files": {
        "servers": [{"url": "https://api.example.com/upload/v2"}],
        "post": {"operationId": "createFile", "requestBody": UPLOAD, "responses": OK},
    },
}
JOBS = {"/jobs": PATHS["/jobs"]}
ABOUT = {"openapi": "3.1.0", "info": {"title": "Jobs", "version": "1"}}
SERVERS = [{"url": "https://api.example.com/v1"}, {"url": "https://eu.example.com/v1"}]
IN_QUERY = {"in": "query", "type": "array", "items": {"type": "string"}}
SWAGGER: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Jobs", "version": "1"},
    "host": "api.example.com",
    "basePath": "/v1",
    "schemes": ["https"],
    "paths": {
        "/jobs": {
            "get": {
                "operationId": "listJobs",
                "parameters": [
                    {**IN_QUERY, "name": "ids", "collectionFormat": "pipes"},
                    {**IN_QUERY, "name": "words", "collectionFormat": "ssv"},
                    {**IN_QUERY, "name": "columns", "collectionFormat": "csv"},
                    {**IN_QUERY, "name": "tags", "collectionFormat": "multi"},
                ],
                "responses": {"200": {"description": ""}},
            }
        },
        "/files": {
            "post": {
                "operationId": "createFile",
                "consumes": ["multipart/form-data"],
                "parameters": [
                    {"in": "formData", "name": "file", "type": "file", "required": True},
                    {"in": "formData", "name": "purpose", "type": "string", "required": True},
                ],
                "responses": {"200": {"description": ""}},
            }
        },
    },
}  # fmt: skip


def import_answers(folder: Path, document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answers of a document."""
    file = folder / "document.json"
    file.write_text(json.dumps(document))
    options = Options()
    built = import_document(
        read(file), Before(), {}, Selection(), options, asking=False
    )
    return built.answers


Send = Callable[..., httpx2.Request]


PACKAGE = "jobs_mcp"


@pytest.fixture
def render_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[Mapping[str, Any]], dict[str, Any]]]:
    """A function that renders an importable server for a document, and returns its answers."""
    monkeypatch.syspath_prepend(tmp_path / "src")
    monkeypatch.setenv("JOBS_MCP_API_FILES", str(tmp_path / "uploads"))
    monkeypatch.setenv("JOBS_MCP_METADATA", "none")

    def make(document: Mapping[str, Any], **extra: Any) -> dict[str, Any]:
        answers = {**import_answers(tmp_path, document), "engine": "package", **extra}
        for name, text in rendered(answers).items():
            if name.startswith("src/"):
                path = tmp_path / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
        importlib.invalidate_caches()
        return answers

    yield make
    for name in list(sys.modules):
        if name.partition(".")[0] == PACKAGE:
            del sys.modules[name]
            DECLARED.pop(name, None)


@pytest.fixture
def make_sender(
    render_package: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> Callable[[Mapping[str, Any]], Send]:
    """A function that renders a server for a document, and returns one that calls its tools."""

    def make(document: Mapping[str, Any]) -> Send:
        render_package(document)

        def send(tool: str, **arguments: Any) -> httpx2.Request:
            requests: list[httpx2.Request] = []

            def answer(request: httpx2.Request) -> httpx2.Response:
                requests.append(request)
                return httpx2.Response(200, json={})

            backend = importlib.import_module(f"{PACKAGE}.backend")
            settings = importlib.import_module(f"{PACKAGE}.settings").Settings()
            client = backend.Api(settings)
            client.transport = httpx2.MockTransport(answer)
            backend.connect(settings, client)
            module = importlib.import_module(f"{PACKAGE}.tools.{tool}")
            function = getattr(module, tool)
            anyio.run(lambda: function(**arguments))
            (request,) = requests
            return request

        return send

    return make


LISTS = {
    "ids": ["a", "b"],
    "words": ["c", "d"],
    "columns": ["e", "f"],
    "tags": ["g", "h"],
}
SENT_LISTS = "ids=a%7Cb&words=c+d&columns=e%2Cf&tags=g&tags=h"


def query_of(request: httpx2.Request) -> str:
    """Return the query of a request; a space is written in one of two ways."""
    return request.url.query.decode().replace("%20", "+")


def check_upload(send: Send, folder: Path, path: str) -> None:
    """Upload a file by its contents, and another by its path under the configured folder."""
    (folder / "uploads").mkdir()
    (folder / "uploads/b.txt").write_bytes(b"from the folder")
    content = b64encode(b"\x89PNG").decode()
    upload = {"filename": "a.png", "content_base64": content}
    for file, parts in (
        (upload, (b'filename="a.png"', b"\x89PNG")),
        ({"path": "b.txt"}, (b'filename="b.txt"', b"from the folder")),
    ):
        request = send("create_file", file=file, purpose="tests")
        assert request.url.path == path
        body = request.read()
        assert request.headers["Content-Type"].startswith("multipart/form-data; ")
        for part in (*parts, b'name="purpose"\r\n\r\ntests\r\n'):
            assert part in body


def test_each_style_of_a_query_arrives(
    make_sender: Callable[..., Send], tmp_path: Path
) -> None:
    send = make_sender({**ABOUT, "servers": SERVERS, "paths": PATHS})
    request = send("list_jobs", metadata={"team": "x y"}, created_gte=3, **LISTS)
    assert request.url.host == "api.example.com", "the first of several servers"
    assert request.url.path == "/v1/jobs"
    expected = f"created%5Bgte%5D=3&metadata%5Bteam%5D=x+y&{SENT_LISTS}"
    assert sorted(query_of(request).split("&")) == sorted(expected.split("&"))
    assert query_of(send("list_jobs")) == ""


def test_a_file_arrives_at_the_server_of_its_operation(
    make_sender: Callable[..., Send], tmp_path: Path
) -> None:
    send = make_sender({**ABOUT, "servers": SERVERS, "paths": PATHS})
    check_upload(send, tmp_path, "/upload/v2/files")


def test_swagger_2_sends_the_same(
    make_sender: Callable[..., Send], tmp_path: Path
) -> None:
    send = make_sender(SWAGGER)
    request = send("list_jobs", **LISTS)
    assert str(request.url).startswith("https://api.example.com/v1/jobs?")
    assert sorted(query_of(request).split("&")) == sorted(SENT_LISTS.split("&"))
    check_upload(send, tmp_path, "/v1/files")


def test_objects_of_a_body_share_no_class_with_each_other_or_the_result(
    make_sender: Callable[..., Send],
) -> None:
    """A parameter `result` took the name of the tool's own result, and the last of two addresses that of both."""
    city = {"type": "object", "properties": {"city": {"type": "string"}}}
    score = {"type": "object", "properties": {"score": {"type": "number"}}}
    billing = {
        "type": "object",
        "properties": {"address": score, "name": {"type": "string"}},
    }
    properties = {
        "result": score,
        "item": score,
        "billing": billing,
        "billing_address": city,
    }
    body = {
        "content": {
            "application/json": {"schema": {"type": "object", "properties": properties}}
        }
    }
    listed = {
        "200": {
            "description": "",
            "content": {
                "application/json": {
                    "schema": {
                        "type": "object",
                        "properties": {"items": {"type": "array", "items": score}},
                    }
                }
            },
        }
    }
    post = {"operationId": "createJob", "requestBody": body, "responses": listed}
    send = make_sender(
        {**ABOUT, "servers": SERVERS, "paths": {"/jobs": {"post": post}}}
    )
    values = {"result": {"score": 1.5}, "item": {"score": 2.5}, "billing": {"address": {"score": 3.5}},
              "billing_address": {"city": "Ulm"}}  # fmt: skip
    result = values.pop("result")
    sent = json.loads(send("create_job", result_=result, **values).read())
    assert sent == {"result": result, **values}
    function = importlib.import_module(f"{PACKAGE}.tools.create_job").create_job
    schema = TypeAdapter(function).json_schema()
    definitions = schema["$defs"]
    fields = {}
    for name in properties:
        reference = json.dumps(schema["properties"][name]).partition("#/$defs/")[2]
        fields[name] = set(definitions[reference.partition('"')[0]]["properties"])
    assert fields == {"result": {"score"}, "item": {"score"}, "billing": {"address", "name"},
                      "billing_address": {"city"}}  # fmt: skip


def test_a_resource_of_one_record_reads_it(
    render_package: Callable[..., dict[str, Any]],
) -> None:
    """Its file imported a name that the backend no longer has, and the server did not start."""
    resource = {"uri": "jobs://jobs/{job_id}", "name": "Job", "description": "One job."}
    document = {**ABOUT, "servers": SERVERS, "paths": JOBS}
    render_package(document, resources=[{**resource, "mime_type": "application/json"}])
    paths: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        paths.append(request.url.raw_path.decode())
        return httpx2.Response(200, json={"id": "a/b"})

    settings = importlib.import_module(f"{PACKAGE}.settings").Settings()
    backend = importlib.import_module(f"{PACKAGE}.backend")
    client = backend.Api(settings)
    client.transport = httpx2.MockTransport(answer)
    backend.connect(settings, client)
    (file,) = (Path(str(backend.__file__)).parent / "resources").glob("[!_]*.py")
    module = importlib.import_module(f"{PACKAGE}.resources.{file.stem}")
    read = getattr(module, f"read_{file.stem}")
    assert json.loads(anyio.run(lambda: read(job_id="a/b"))) == {"id": "a/b"}
    assert paths == ["/v1/jobs/a%2Fb"]


@pytest.mark.parametrize("servers", [[], [{"url": "/v3"}]])
def test_a_missing_address_is_left_to_the_setting_where_nobody_is_asked(
    servers: list[Any],
    make_sender: Callable[..., Send],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    document = {**ABOUT, "servers": servers, "paths": JOBS}
    answers = import_answers(tmp_path, document)
    assert "api" not in answers
    completed = complete_address(answers, asking=False)
    assert completed == answers
    assert "set JOBS_MCP_API where the server runs" in capsys.readouterr().err
    monkeypatch.setenv("JOBS_MCP_API", "http://127.0.0.1:8080/base")
    request = make_sender(document)("list_jobs")
    assert str(request.url) == "http://127.0.0.1:8080/base/jobs"


def test_a_missing_address_is_asked_in_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from copier_fastmcp.terminal import prompts

    questions = []

    def answer(question: str, default: str, find_mistake: Callable[[str], str]) -> str:
        questions.append(question)
        assert find_mistake("jobs.example.com")
        assert not find_mistake("https://jobs.example.com/v1/")
        return "https://jobs.example.com/v1/"

    monkeypatch.setattr(prompts, "ask_text", answer)
    answers = import_answers(tmp_path, {**ABOUT, "paths": JOBS})
    completed = complete_address(answers, asking=True)
    assert completed["api"] == "https://jobs.example.com/v1"
    assert len(questions) == 1
    assert complete_address(completed, asking=True) == completed


PART = {
    "type": "object",
    "required": ["size"],
    "properties": {
        "size": {"type": "integer", "maximum": 9},
        "color": {"type": "string", "enum": ["red", "blue"]},
    },
}
CHANGE = {
    "type": "object",
    "properties": {
        "parts": {"type": "array", "items": PART, "description": "Its parts."},
        "part": PART,
        "kind": {"type": "string", "enum": ["only"]},
        "title": {"type": ["string", "null"], "maxLength": 80},
        "note": {"type": ["string", "null"]},
        "at": {"type": "string", "format": "date-time"},
        "ratio": {"type": "number", "default": 0.5},
    },
}


def test_an_import_counts_the_bytes_that_the_server_lists(
    render_package: Callable[[Mapping[str, Any]], dict[str, Any]],
) -> None:
    """For each tool: names, descriptions and input schemas, as the suite counts them."""
    key = {"in": "path", "name": "job", "required": True, "schema": {"type": "string"}}
    body = {"content": {"application/json": {"schema": CHANGE}}}
    item = {"parameters": [key], "patch": {"requestBody": body}, "delete": {}}
    paths = {**PATHS, "/jobs/{job}": item, "/jobs/{job}/run": {"post": {}}}
    answers = render_package({**ABOUT, "servers": SERVERS, "paths": paths})
    server = importlib.import_module(f"{PACKAGE}.server").create_server()

    async def list_sizes() -> dict[str, int]:
        sizes = {}
        async with Client(server) as client:
            for tool in await client.list_tools():
                wire = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
                text = {}
                for key in ("name", "description", "inputSchema"):
                    text[key] = wire[key]
                sizes[tool.name] = count_bytes(text)
        return sizes

    counted = {tool["name"]: model_bytes(tool) for tool in answers["tools"]}
    assert counted == anyio.run(list_sizes)
