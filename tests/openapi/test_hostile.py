"""Documents that mean harm, or are odd: one line, or data."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from copier_fastmcp.errors import RefusedError
from copier_fastmcp.openapi import reading
from copier_fastmcp.openapi.converting import convert
from copier_fastmcp.openapi.document import read
from copier_fastmcp.openapi.operations import operations
from copier_fastmcp.openapi.reporting import report
from copier_fastmcp.openapi.tools import Imported, Options
from copier_fastmcp.project import answers

NINE = "[" + ",".join(["x"] * 9) + "]"


def nest_aliases() -> str:
    """Return lists of nine aliases each, eleven deep."""
    lines = [f"a0: &a0 {NINE}\n"]
    for depth in range(1, 12):
        aliases = ",".join([f"*a{depth - 1}"] * 9)
        lines.append(f"a{depth}: &a{depth} [{aliases}]\n")
    return "".join(lines)


def merge_mappings() -> str:
    """Return mappings each of which merges all before it."""
    lines = ["b0: &b0 {k: 1}\n"]
    earlier = ["*b0"]
    for number in range(1, 60):
        merged = ", ".join(earlier)
        lines.append(f"b{number}: &b{number}\n  <<: [{merged}]\n  k{number}: 1\n")
        earlier.append(f"*b{number}")
    return "".join(lines)


BOMB = nest_aliases()
MERGED = merge_mappings()
NOT_DATA = "neither JSON nor YAML: .+; correct it there, or export the document again"
REFUSED = {
    "deep JSON": ('{"a":' * 100_000 + "1" + "}" * 100_000, "nested too deeply"),
    "deep flow": ("a: " + "[" * 100_000 + "]" * 100_000, "nested too deeply"),
    "deep dashes": ("- " * 5_000 + "a", "nested too deeply"),
    "deep block": ("\n".join(" " * n + "a:" for n in range(900)), "nested too deeply"),
    "bomb": (BOMB, "unfolds to over"),
    "merge keys": (MERGED, "names no version; an OpenAPI document begins with"),
    "itself": ("a: &a [*a]\nopenapi: 3.0.0", "alias to what it is in"),
    "code": (
        "openapi: !!python/object/apply:os.system [echo]",
        NOT_DATA,
    ),
    "digits": (
        '{"openapi": "3.0.0", "a": ' + "9" * 10_000 + "}",
        NOT_DATA,
    ),
    "null": ('openapi: "3.0.0\x00"', NOT_DATA),
    "brackets": ("openapi: [3.1.0", NOT_DATA),
    "JSON cut off": ('{"openapi": "3.1.0"', NOT_DATA),
    "empty": ("", "holds no mapping"),
    "list": ("[1]", "holds no mapping"),
    "swagger": ('swagger: "1.2"', "2.0 is read"),
    "version": ("openapi: 4.0.0", "3.0, 3.1, 3.2 and swagger: 2.0 are read"),
    "a method twice": (
        "openapi: 3.1.0\npaths:\n  /a:\n    get: {}\n    get: {}",
        r"'get' is there twice \(line 5\), so one operation would be lost; write both",
    ),
    "a path twice": (
        '{"openapi": "3.1.0", "paths": {"/a": {}, "/a": {}}}',
        "'/a' is there twice, so one operation would be lost",
    ),
    "paths": ("openapi: 3.1.0\npaths: [1]", "paths that are not a mapping"),
}


def write_document(folder: Path, text: str) -> Path:
    path = folder / "api.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def import_operations(path: Path) -> dict[str, Imported]:
    rows = convert(list(operations(read(path))), Options())
    return {row.operation.name: row for row in rows}


@pytest.mark.parametrize("name", REFUSED)
def test_one_line(tmp_path: Path, name: str) -> None:
    text, reason = REFUSED[name]
    began = time.process_time()
    with pytest.raises(RefusedError, match=reason) as error:
        read(write_document(tmp_path, text))
    assert len(str(error.value)) < 400
    assert time.process_time() - began < 10


def test_answers_unfold_no_further_than_documents(tmp_path: Path) -> None:
    path = write_document(tmp_path, BOMB + "tools: *a11\n")
    with pytest.raises(RefusedError, match="unfolds to over"):
        answers.read_answers(path)


def test_what_is_too_large_or_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_BYTES", 1024 * 1024)
    with pytest.raises(RefusedError, match="2 MiB"):
        read(write_document(tmp_path, "openapi: 3.0.0\n#" + "x" * 2_000_000))
    path = write_document(tmp_path, "")
    path.write_bytes(b"\xff\xfe\x00a")
    with pytest.raises(RefusedError, match="not UTF-8"):
        read(path)
    with pytest.raises(RefusedError, match=r"cannot be read: .+; name an OpenAPI"):
        read(tmp_path / "none.yaml")


def test_yaml_is_read_as_json_would_be(tmp_path: Path) -> None:
    text = "openapi: 3.1.0\ninfo: {title: no, version: 2026-11-01}\nx: [on, 12:30, 0x1F, 1e3, ~, true]\n200: a\ny: {<<: {a: 1}, b: 2}\n"
    root = read(write_document(tmp_path, text)).root
    assert root["info"] == {"title": "no", "version": "2026-11-01"}
    assert root["x"] == ["on", "12:30", "0x1F", 1000.0, None, True]
    assert root["200"] == "a"
    assert root["y"] == {"a": 1, "b": 2}
    json.dumps(root)


def test_references_in_circles_and_to_nowhere(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path.parent / "secret.yaml").write_text("a: {summary: secret}")
    (tmp_path / "parts/notes.yaml").write_text(
        "get: {operationId: getNotes, responses: {200: {$ref: '#/ok'}}}\n"
        "ok: {content: {application/json: {schema: {$ref: 'more.yaml#/Note'}}}}\n"
    )
    (tmp_path / "parts/more.yaml").write_text(
        "Note: {type: object, properties: {id: {type: integer}}}"
    )
    text = """
openapi: 3.0.0
components:
  schemas:
    A: {$ref: '#/components/schemas/B'}
    B: {$ref: '#/components/schemas/A'}
    C: {allOf: [{$ref: '#/components/schemas/C'}]}
    Tree: {type: object, properties: {name: {type: string}, child: {$ref: '#/components/schemas/Tree'}}}
paths:
  /a: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/A'}}}}}}
  /c: {post: {requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/C'}}}}}}
  /trees: {post: {responses: {201: {}}, requestBody: {content: {application/json: {schema: {$ref: '#/components/schemas/Tree'}}}}}}
  /p: {$ref: '#/paths/~1p'}
  /away: {get: {$ref: 'https://example.com/a.yaml#/a'}}
  /up: {get: {$ref: '../secret.yaml#/a'}}
  /none: {get: {$ref: 'none.yaml#/a'}}
  /notes: {$ref: 'parts/notes.yaml'}
"""
    rows = import_operations(write_document(tmp_path, text))
    reason = {}
    for name, row in rows.items():
        if row.tool is None:
            reason[name] = row.left_out[0]
    assert "circle" in reason["POST /a"]
    assert "nested too deeply" in reason["POST /c"]
    assert "circle" in reason["ANY /p"]
    assert "nothing is fetched" in reason["GET /away"]
    assert "outside of the document's folder" in reason["GET /up"]
    assert "cannot be read" in reason["GET /none"]
    tree, notes = rows["POST /trees"].tool, rows["GET /notes"].tool
    assert tree is not None
    assert [item["name"] for item in tree["params"]] == ["name", "child"]
    assert notes is not None
    assert notes["returns"]["id"]["type"] == "int"


NASTY = '"""\\n\'{{ 7 * 7 }}{% raw %}${x}`$(id)`\u202e\u200b\x1b[31m</script>🙂 e\u0301'


def test_texts_come_out_as_data(tmp_path: Path) -> None:
    place = {
        "type": "string",
        "description": NASTY,
        "default": NASTY,
        "enum": [NASTY, "b"],
        "pattern": NASTY,
    }
    names = [
        NASTY,
        "from",
        "class",
        "a b",
        "../x",
        "",
        "$filter",
        "filter[name]",
        "é",
        "__proto__",
        "1st",
    ]
    properties = dict.fromkeys(names, place)
    text = json.dumps(
        {
            "openapi": "3.1.0",
            "info": {"title": NASTY, "description": NASTY},
            "servers": [{"url": NASTY}, {"url": "https://user:secret@example.com"}],
            "tags": [{"name": NASTY}],
            "paths": {
                f"/{NASTY}": {"get": {}},
                "/a/../b": {"get": {}},
                "/a//b": {"get": {}},
                "/{a b}/{../c}/{class}/{}": {
                    "post": {
                        "operationId": NASTY,
                        "summary": NASTY,
                        "description": NASTY,
                        "tags": [NASTY],
                        "parameters": [
                            {"in": "query", "name": name, "schema": place}
                            for name in names
                        ],
                        "requestBody": {
                            "content": {
                                "application/json": {
                                    "schema": {
                                        "type": "object",
                                        "properties": properties,
                                    }
                                }
                            }
                        },
                        "responses": {
                            "200": {
                                "content": {
                                    "application/json": {
                                        "schema": {
                                            "type": "object",
                                            "properties": properties,
                                        }
                                    }
                                }
                            }
                        },
                    }
                },
                "/kinds": {
                    "get": {
                        "parameters": 7,
                        "responses": [1],
                        "tags": "x",
                        "security": {},
                        "operationId": 3,
                        "summary": None,
                    }
                },
                "/list": [1],
                "/text": "x",
            },
        }
    )
    rows = import_operations(write_document(tmp_path, text))
    omitted = set()
    for name, row in rows.items():
        if row.tool is None:
            omitted.add(name)
    assert omitted >= {
        "GET /a/../b",
        "GET /a//b",
        "ANY /list",
        "ANY /text",
    }
    for row in rows.values():
        printed = json.dumps(row.tool or {}, ensure_ascii=False)
        assert not {"\u202e", "\u200b", "\x1b", "e\u0301"} & set(printed)
        assert "\u202e" not in printed
        assert row.tool is None or row.tool["name"].isidentifier()


def build_growing_schemas() -> dict[str, Any]:
    """Schemas that refer to the next one many times: 12 levels would be 10 ** 12 ways."""
    result: dict[str, Any] = {
        "S12": {"type": "object", "properties": {"a": {"type": "string"}}}
    }
    for level in range(12):
        result[f"S{level}"] = {
            "allOf": [{"$ref": f"#/components/schemas/S{level + 1}"}] * 5
        }
        result[f"S{level}"]["anyOf"] = [
            {"$ref": f"#/components/schemas/S{level + 1}"}
        ] * 5
    return result


def body(schema: dict[str, Any]) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


MANY = {
    "type": "object",
    "properties": {f"field{n}": {"type": "string"} for n in range(20_000)},
}
ENDLESS = {"pattern": "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", "default": "a" * 150}
SLOW: dict[str, dict[str, Any]] = {
    "ways": {
        "/a": {"post": {"requestBody": body({"$ref": "#/components/schemas/S0"})}}
    },
    "fields": {
        "/a/{id}": {
            "patch": {"requestBody": body(MANY), "responses": {"200": body(MANY)}}
        }
    },
    "words": {
        "/a": {
            "get": {
                "operationId": "a_b_" * 100_000,
                "x-mcp": {"name": "a_b_" * 100_000},
            }
        }
    },
    "names": {f"/a{n}": {"get": {"operationId": "getOne"}} for n in range(3_000)},
    "paths": {f"/a{n}": {"post": {}} for n in range(3_000)},
    "path": {"/" + "a/" * 200_000: {"get": {}}},
    "patterns": {
        "/a": {
            "get": {
                "parameters": [
                    {
                        "in": "query",
                        "name": "a",
                        "schema": {"type": "string", **ENDLESS},
                    },
                    {
                        "in": "query",
                        "name": "b",
                        "schema": {"type": "string", "pattern": "[-" * 200_000},
                    },
                ]
            }
        }
    },
}


@pytest.mark.parametrize("name", SLOW)
def test_nothing_takes_for_ever(tmp_path: Path, name: str) -> None:
    built = {
        "openapi": "3.1.0",
        "components": {"schemas": build_growing_schemas()},
        "paths": SLOW[name],
    }
    began = time.process_time()
    rows = convert(
        list(operations(read(write_document(tmp_path, json.dumps(built))))), Options()
    )
    assert len(rows) == len(SLOW[name])
    for line in report(rows):
        assert len(line) < 1000
    assert time.process_time() - began < 10


def test_half_a_character_is_a_question_mark(tmp_path: Path) -> None:
    text = '{"openapi": "3.1.0", "paths": {"/a\\ud800": {"get": {"operationId": "\\udc00b", "tags": ["\\ud83d\\ude00"]}}}}'
    document = read(write_document(tmp_path, text))
    (row,) = convert(list(operations(document)), Options())
    assert row.left_out == [
        "its path holds a # or ?, so another part of the request names it"
    ]
    assert row.operation.tags == ["\U0001f600"]
    json.dumps(row.row(), ensure_ascii=False).encode()
