"""Answer sets through Copier: the same bytes as the in-process render, and the tools that a client lists."""

import datetime as dt
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, seed
from pydantic import AnyUrl, TypeAdapter
from strategies import answer_sets, drawn
from strategies_values import Answers
from support import nightly_but, python, rendered
from tables import WIRE
from written import list_tools

SEED = 20261121
Spec = dict[str, Any]

LIST = """
import asyncio, importlib, json, os, sys
from fastmcp import Client
from fastmcp.server.context import set_transport

create_server = importlib.import_module(f"{sys.argv[1]}.server").create_server
os.environ[f"{sys.argv[1].upper()}_DATABASE"] = ":memory:"

async def main():
    for era in ("legacy", "2026-07-28"):
        async with Client(create_server(), mode=era) as client:
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
ENVELOPE = {"confirmed", "approved_by", "outcome", "preview", "result"}


def serialize_default(default: Any, kind: str) -> Any:
    """Serialize a default to JSON as Pydantic does."""
    if kind.startswith("list["):
        return [serialize_default(item, kind[5:-1]) for item in default]
    adapter: TypeAdapter[Any] = TypeAdapter(TYPES[kind])
    return adapter.dump_python(adapter.validate_python(default), mode="json")


def build_schema(param: Spec) -> Spec:
    """Build the JSON schema of a declared parameter, without its description."""
    kind = param.get("type", "any" if "choices" in param else "str")
    schema: Spec = SCHEMA.get(kind) or {}
    if kind.startswith("list["):
        schema = {"type": "array", "items": SCHEMA[kind[5:-1]]}
    if "choices" in param:
        options = param["choices"]
        schema = {"const": options[0]} if len(options) == 1 else {"enum": options}
        kinds = set()
        for option in options:
            kinds.add({str: "string", int: "integer", bool: "boolean"}[type(option)])
        schema |= {"type": kinds.pop()} if len(kinds) == 1 else {}
    schema = schema | {LIMITS[key]: param[key] for key in LIMITS if key in param}
    if param.get("default") is not None:
        return schema | {"default": serialize_default(param["default"], kind)}
    return schema


def check_served(tool: Spec, declared: Spec) -> None:
    """Check that the texts, exceptions, gate and schema of a tool match its declaration."""
    gated = set(tool["outputSchema"]["properties"]) == ENVELOPE
    if declared.get("confirm") is not None:
        assert gated is (declared["confirm"] is not False)
    check_title_and_hints(tool, declared)
    check_description(tool, declared, gated)
    expected_icons = [declared["icon"]] if "icon" in declared else []
    assert [icon["src"] for icon in tool.get("icons", [])] == expected_icons
    schema = tool["inputSchema"]
    if "params" in declared:
        check_params(schema, declared["params"], gated)
    for name, served in schema["properties"].items():
        assert served["description"], name
    output = drop_null(tool["outputSchema"])
    if gated:
        output = drop_null(output["properties"]["result"])
    if "returns" in declared:
        check_returns(output, declared["returns"])


def check_title_and_hints(tool: Spec, declared: Spec) -> None:
    """Check the title of a tool, and that its hints are as its exceptions say."""
    title, hints = tool["title"], tool["annotations"]
    assert hints.pop("title") == title
    assert set(hints) <= set(WIRE.values())
    for exception in declared.get("exceptions", []):
        if exception["hint"] != "confirm":
            assert hints[WIRE[exception["hint"]]] is exception["value"]
    assert title == declared.get("title", title)


def check_description(tool: Spec, declared: Spec, gated: bool) -> None:
    """Check the description of a tool, with its deprecation and the note of a gate."""
    text = tool["description"]
    if reason := declared.get("deprecated"):
        text, _, remainder = text.partition(f"\n\nDeprecated: {reason}")
        assert remainder == ""
    assert text != ""
    description = str(declared.get("description", text))
    separator = "\n\n" if "\n" in description else " "
    with_two_steps = f"{description}{separator}Two-step confirmation."
    assert text == description or (gated and text == with_two_steps)


def check_params(schema: Spec, declared_params: list[Spec], gated: bool) -> None:
    """Check that an input schema has the declared parameters, and that of a gate."""
    properties = schema["properties"]
    params = {param["name"]: param for param in declared_params}
    if gated and "confirm" not in params:
        params["confirm"] = {"name": "confirm", "type": "bool", "default": False}
    assert set(properties) == set(params)
    required = set()
    for name, param in params.items():
        check_param(properties[name], param)
        if "default" not in param and param.get("required") is not False:
            required.add(name)
    assert set(schema.get("required", [])) == required


def check_param(served: Spec, param: Spec) -> None:
    """Check the description and the schema of a parameter."""
    assert served["description"] != ""
    assert served["description"] == param.get("description", served["description"])
    schema_alone = {}
    for keyword, value in served.items():
        if keyword not in ("title", "description"):
            schema_alone[keyword] = value
    assert schema_alone == build_schema(param), param["name"]


def check_returns(output: Spec, fields: Any) -> None:
    """Check that an output schema has the declared fields, on a page or alone."""
    first = next(iter(fields.values())) if isinstance(fields, dict) else fields
    if isinstance(first, list):  # a page of these
        (fields,) = first
        output = drop_null(output["properties"]["items"]["items"])
    assert set(output["properties"]) == set(fields)
    for name, declaration in fields.items():
        if isinstance(declaration, dict) and "description" in declaration:
            expected = declaration["description"]
            served = output["properties"][name].get("description", expected)
            assert served == expected  # or only what the name says


def drop_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the alternative of a schema that is not null."""
    return next(
        (
            alternative
            for alternative in schema.get("anyOf", ())
            if alternative != {"type": "null"}
        ),
        schema,
    )


@cache
def draw_every_fifth(count: int) -> list[Answers]:
    """Return every fifth of some answer sets: the first ones drawn are plain."""
    sets: list[Answers] = []

    @seed(SEED)
    @drawn(count)
    @given(answer_sets())
    def keep(answers: Answers) -> None:
        sets.append(answers)

    keep()
    return sets[4:count:5]


@pytest.mark.parametrize("number", nightly_but(range(4), range(20)))
def test_copier_renders_the_same_and_a_client_sees_what_was_asked(
    number: int, copies: Callable[[Answers], Path]
) -> None:
    """One set through Copier: the bytes of the one-process render, and the tools of a live client."""
    answers = draw_every_fifth(20 if number < 4 else 100)[number]
    project = copies(answers)
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
    declared_tools = {tool["name"]: tool for tool in list_tools(answers)}
    comes_along = {"list_resources"} if answers.get("resources") else set()
    served = {tool["name"]: tool for tool in eras[0]}
    assert set(served) == set(declared_tools) | comes_along
    for name, tool in declared_tools.items():
        check_served(served[name], tool)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(20))
def test_the_probes_of_drawn_servers_pass(number: int, tmp_path: Path) -> None:
    """Their own behavior probes: the suite of a fresh server is green, whatever was answered."""
    for path, text in rendered(draw_every_fifth(100)[number]).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    words = ["-p", "no:cacheprovider"]
    probed = python(tmp_path, "-m", "pytest", *words, "tests/policy/test_behavior.py")
    assert probed.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED), probed.stdout[
        -3000:
    ]
