"""Whole answer sets, drawn by Hypothesis: whatever is valid renders clean and is served as asked.

ANSWER_SETS and ANSWER_SEED choose how many sets the one-process test draws, and which.
"""

import ast
import datetime as dt
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import design
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from markdown_it import MarkdownIt
from pydantic import AnyUrl, TypeAdapter
from strategies import Answers, answer_sets, policy_of
from support import python, render, rendered

SETS = int(os.environ.get("ANSWER_SETS", "300"))
SEED = int(os.environ.get("ANSWER_SEED", "20261121"))
Spec = dict[str, Any]


def drawn(count: int) -> settings:
    """Settings under which the same sets come every time, however long they take."""
    return settings(
        max_examples=count,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
    )


def asked_tools(answers: Answers) -> list[Spec]:
    """The tools of an answer set as mappings, read without the macros."""
    said = answers.get("tools", [])
    items = re.split("[,\n]", said) if isinstance(said, str) else said
    found = []
    for item in items:
        if isinstance(item, dict):
            found.append(item)
        elif item.strip():
            name, _, behavior = item.strip().partition("=")
            found.append({"name": name} | ({"behavior": behavior} if behavior else {}))
    return found


# What stands in a tool file -------------------------------------------------------------------------------


def value(node: ast.expr) -> Any:
    """A literal, or what a date, UUID or URL is made from."""
    if isinstance(node, ast.Call):
        return value(node.args[0])
    if isinstance(node, ast.List):
        return [value(item) for item in node.elts]
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return {value(key): value(item) for key, item in pairs if key}
    return ast.literal_eval(node)


def written(source: str) -> Spec:
    """What a tool file declares: decorator, keywords and parameters by wire name."""
    tree = parsed(source)
    (function,) = (node for node in tree.body if isinstance(node, ast.AsyncFunctionDef))
    *more, call = function.decorator_list
    assert [ast.unparse(one) for one in more] in ([], ["requires_consent"])
    assert isinstance(call, ast.Call)
    assert isinstance(call.func, ast.Name)
    said: Spec = {str(word.arg): value(word.value) for word in call.keywords}
    arguments = function.args
    first = [None] * (len(arguments.args) - len(arguments.defaults))
    pairs: list[tuple[str, ast.expr | None, ast.expr | None]] = [
        *(
            (a.arg, a.annotation, d)
            for a, d in zip(arguments.args, [*first, *arguments.defaults], strict=True)
        ),
        *(
            (a.arg, a.annotation, d)
            for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        ),
    ]
    models = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name.endswith("Request")]
    if models and [name for name, _, _ in pairs] == ["request"]:
        fields = [node for node in models[0].body if isinstance(node, ast.AnnAssign)]
        pairs = [(ast.unparse(f.target), f.annotation, f.value) for f in fields]
    params = {}
    for name, annotation, default in pairs:
        assert isinstance(annotation, ast.Subscript)
        assert isinstance(annotation.slice, ast.Tuple)
        kind, field = annotation.slice.elts
        assert isinstance(field, ast.Call)
        words: Spec = {str(word.arg): value(word.value) for word in field.keywords}
        words["type"] = ast.unparse(kind)
        if default is not None:
            words["default"] = value(default)
        params[str(words.pop("alias", name))] = words
    return said | {
        "name": function.name,
        "behavior": call.func.id,
        "description": said.get("description") or ast.get_docstring(function),
        "params": params,
    }


def check_tool_file(source: str, tool: Spec) -> None:
    """Every text, default and constraint an author gave is in the file, unchanged."""
    found = written(source)
    assert (found["name"], found["behavior"]) == (tool["name"], design.behavior(tool))
    for key in {"title", "description", "why", "scopes", "icon", "confirm"} & set(tool):
        assert found.get(key, []) == tool[key], key
    assert found.get("exceptions", []) == tool.get("exceptions", [])
    assert found.get("open_world", True) == tool.get("open_world", True)
    if "params" not in tool:
        return
    assert list(found["params"]) == [param["name"] for param in tool["params"]]
    for param in tool["params"]:
        words = found["params"][param["name"]]
        for key in set(param) - {"name", "type", "choices", "required", "default"}:
            assert words[key.replace("items", "length")] == param[key], (param["name"], key)
        if "choices" in param:
            literal = ast.parse(words["type"].removesuffix(" | None"), mode="eval").body
            assert isinstance(literal, ast.Subscript)
            assert value(
                literal.slice
                if isinstance(literal.slice, ast.Constant)
                else ast.List(getattr(literal.slice, "elts", [literal.slice]))
            ) in (param["choices"], *param["choices"])
        optional = ("default" in param and param["default"] is None) or param.get(
            "required"
        ) is False
        assert words["type"].endswith(" | None") == optional
        assert ("default" in words) == (optional or "default" in param)
        assert iso(words.get("default")) == iso(param.get("default"))


def iso(default: Any) -> Any:
    """A default with UTC written one way."""
    if isinstance(default, list):
        return [iso(item) for item in default]
    return re.sub("Z$", "+00:00", default) if isinstance(default, str) else default


# What stands in the other files ---------------------------------------------------------------------------


def table(markdown: str) -> list[list[str]]:
    """The cells of the tables of a Markdown text, as a reader sees them."""
    rows: list[list[str]] = []
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline" and rows:
            rows[-1].append("".join(child.content for child in token.children or []))
    return rows


def check_documents(files: dict[str, str], answers: Answers) -> None:
    """TOML, YAML, JSON and Markdown parse and hold what was answered."""
    parsers: dict[str, Callable[[str], Any]] = {
        ".toml": tomllib.loads,
        ".json": json.loads,
        ".yaml": yaml.safe_load,
        ".yml": yaml.safe_load,
    }
    data = {
        path: parsers[Path(path).suffix](text)
        for path, text in files.items()
        if Path(path).suffix in parsers
    }
    project = data["pyproject.toml"]["project"]
    if "description" in answers:
        assert project["description"] == answers["description"]
    if answers.get("author"):
        assert project["authors"] == [{"name": answers["author"]}]
    kept = data[".copier-answers.yml"]
    for name, said in answers.items():
        assert kept[name] == said, name
    rows = {cells[0]: cells for cells in table(files["docs/tools.md"])}
    for tool in asked_tools(answers):
        cells = rows[tool["name"]]
        if "title" in tool:
            assert cells[1].strip() == squeezed(tool["title"])
        notes = "; ".join(f"{e['hint']}: {e['why']}" for e in tool.get("exceptions", []))
        assert cells[-1].strip() == squeezed(notes)


def squeezed(text: str) -> str:
    """A text as a Markdown cell shows it."""
    return text.strip()


@cache
def parsed(source: str) -> ast.Module:
    """The syntax tree of a Python file; most files are the same in every project."""
    return ast.parse(source)


def check_files(files: dict[str, str], answers: Answers) -> None:
    """Every file of a render says what was answered, and none breaks out of its literal."""
    for path, text in files.items():
        if path.endswith(".py"):
            parsed(text)
    package = next(path.split("/")[1] for path in files if path.startswith("src/"))
    expected = set()
    for tool in asked_tools(answers):
        path = (
            f"src/{package}/tools/{'/'.join(filter(None, [tool.get('module'), tool['name']]))}.py"
        )
        check_tool_file(files[path], tool)
        expected |= {path, f"tests/tools/test_{tool['name']}.py"}
    assert expected <= set(files)
    check_documents(files, answers)


def test_every_answer_set_renders_clean(tmp_path: Path) -> None:
    """One process renders all sets, then ruff looks at all of them once, each under its own settings."""
    sets: list[Answers] = []
    seen: set[tuple[str, str, str]] = set()

    @seed(SEED)
    @drawn(SETS)
    @given(answer_sets())
    def render_one(answers: Answers) -> None:
        files = rendered(answers)
        check_files(files, answers)
        for path, text in files.items():
            key = (answers["consent"], path, text)  # what imports a file is beside it
            if path.endswith(".toml") or (path.endswith(".py") and key not in seen):
                seen.add(key)
                place = tmp_path / str(len(sets)) / path
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(text, encoding="utf-8", newline="\n")
        sets.append(answers)

    render_one()
    assert len(sets) >= SETS
    for words in (["format", "--check"], ["check"]):
        tool = [sys.executable, "-m", "ruff", *words, "--output-format", "concise"]
        done = subprocess.run(
            [*tool, "--no-cache", "--quiet", "."],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        said = (done.stdout + done.stderr).splitlines()
        behind = [sets[int(line.split("/")[0])] for line in said[:1] if line[0].isdigit()]
        assert not said, (len(said), said[:20], behind)


# What a client sees ---------------------------------------------------------------------------------------

LIST = """
import asyncio, importlib, json, sys
from fastmcp import Client
from fastmcp.server.context import set_transport

create_server = importlib.import_module(f"{sys.argv[1]}.server").create_server
Settings = importlib.import_module(f"{sys.argv[1]}.settings").Settings

async def main():
    for era in ("legacy", "2026-07-28"):
        async with Client(create_server(Settings(database=":memory:")), mode=era) as client:
            tools = await client.list_tools()
        print(json.dumps([t.model_dump(mode="json", by_alias=True, exclude_none=True) for t in tools]))

set_transport("stdio")
asyncio.run(main())
"""
TYPES: Spec = {
    "int": int,
    "float": float,
    "bool": bool,
    "str": str,
    "dict": dict[str, Any],
    "any": Any,
    "date": dt.date,
    "datetime": dt.datetime,
    "uuid": UUID,
    "url": AnyUrl,
    "email": str,
}
SCHEMA: Spec = {
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "str": {"type": "string"},
    "dict": {"type": "object", "additionalProperties": True},
    **{f: {"type": "string", "format": f} for f in ("date", "uuid", "email")},
    "datetime": {"type": "string", "format": "date-time"},
    "url": {"type": "string", "format": "uri", "minLength": 1},
    "any": {},
}
LIMITS = {
    "ge": "minimum",
    "le": "maximum",
    "gt": "exclusiveMinimum",
    "lt": "exclusiveMaximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "min_items": "minItems",
    "max_items": "maxItems",
}
ENVELOPE = {"confirmed", "outcome", "preview", "result"}


def wire(default: Any, kind: str) -> Any:
    """A default as JSON, as Pydantic writes it."""
    if kind.startswith("list["):
        return [wire(item, kind[5:-1]) for item in default]
    adapter: TypeAdapter[Any] = TypeAdapter(TYPES[kind])
    return adapter.dump_python(adapter.validate_python(default), mode="json")


def schema_of(param: Spec) -> Spec:
    """The JSON schema that an author asked for with one parameter, its description aside."""
    kind = param.get("type", "any" if "choices" in param else "str")
    schema: Spec = SCHEMA.get(kind) or {}
    if kind.startswith("list["):
        schema = {"type": "array", "items": SCHEMA[kind[5:-1]]}
    if "choices" in param:
        options = param["choices"]
        schema = {"const": options[0]} if len(options) == 1 else {"enum": options}
        kinds = {{str: "string", int: "integer", bool: "boolean"}[type(one)] for one in options}
        schema |= {"type": kinds.pop()} if len(kinds) == 1 else {}
    schema = schema | {LIMITS[key]: param[key] for key in LIMITS if key in param}
    if param.get("default") is not None:
        return schema | {"default": wire(param["default"], kind)}
    if "default" in param or param.get("required") is False:
        return {"anyOf": [schema, {"type": "null"}], "default": None}
    return schema


def check_served(tool: Spec, asked: Spec, policy: tuple[str, str, str]) -> None:
    """Texts, hints and schema of a tool are those asked for, and nothing else."""
    table, destructive, confirm = policy
    title, hints = tool["title"], tool["annotations"]
    assert hints == {"title": title} | design.hints(asked, table, destructive)
    assert title == asked.get("title", title)
    assert tool["description"] == asked.get("description", tool["description"]) != ""
    assert [icon["src"] for icon in tool.get("icons", [])] == [
        asked[k] for k in ["icon"] if k in asked
    ]
    schema = tool["inputSchema"]
    given = schema["properties"]
    gated = design.gated(asked, destructive, confirm)
    if "params" in asked:
        params = {param["name"]: param for param in asked["params"]}
        gate = {"confirm": {"name": "confirm", "type": "bool", "default": False}} if gated else {}
        params |= gate if "confirm" not in params else {}
        assert set(given) == set(params)
        for name, param in params.items():
            served = given[name]
            assert served["description"] == param.get("description", served["description"]) != ""
            schema_alone = {k: served[k] for k in served if k not in ("title", "description")}
            assert schema_alone == schema_of(param), name
        required = {n for n, p in params.items() if "default" not in schema_of(p)}
        assert set(schema.get("required", [])) == required
    for name, served in given.items():
        assert served["description"], name
    output = tool["outputSchema"]
    if gated:
        assert set(output["properties"]) == ENVELOPE
        output = output["properties"]["result"]["anyOf"][0]
    if "returns" in asked:
        assert set(output["properties"]) == set(asked["returns"])
        for name, of in asked["returns"].items():
            if isinstance(of, dict) and "description" in of:
                assert output["properties"][name]["description"] == of["description"]


@pytest.fixture(scope="module")
def twenty() -> list[Answers]:
    """Every tenth of two hundred answer sets: the first ones drawn are plain."""
    sets: list[Answers] = []

    @seed(SEED)
    @drawn(200)
    @given(answer_sets())
    def keep(answers: Answers) -> None:
        sets.append(answers)

    keep()
    return sets[9:200:10]


@pytest.mark.parametrize("number", range(20))
def test_copier_renders_the_same_and_a_client_sees_what_was_asked(
    number: int, twenty: list[Answers], template: Path, tmp_path: Path
) -> None:
    """One set through Copier: the bytes of the one-process render, and the tools of a live client."""
    answers = twenty[number]
    project = render(template, tmp_path / "p", answers)
    files = rendered(answers)
    for path in filter(Path.is_file, project.rglob("*")):
        name = path.relative_to(project).as_posix()
        expected = files.pop(name)
        if name != ".copier-answers.yml":
            assert path.read_text(encoding="utf-8") == expected, name
    assert not files
    done = python(project, "-c", LIST, next((project / "src").iterdir()).name)
    assert done.returncode == 0, done.stderr[-3000:]
    eras = [json.loads(line) for line in done.stdout.splitlines()]
    assert eras[0] == eras[1]
    asked = {tool["name"]: tool for tool in asked_tools(answers)}
    comes_along = {"list_resources"} if answers.get("resources") else set()
    served = {tool["name"]: tool for tool in eras[0]}
    assert set(served) == set(asked) | comes_along
    for name, tool in asked.items():
        check_served(served[name], tool, policy_of(answers))
    if number % 3 == 0:
        words = ["-c", "config/pytest.ini", "--rootdir", ".", "-p", "no:cacheprovider"]
        probed = python(project, "-m", "pytest", *words, "tests/policy/test_behavior.py")
        assert probed.returncode == 0, probed.stdout[-3000:]
