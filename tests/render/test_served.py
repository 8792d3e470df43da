"""Answer sets through Copier: the bytes of the one-process render, and what a client sees of them."""

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
        kinds = {
            {str: "string", int: "integer", bool: "boolean"}[type(one)]
            for one in options
        }
        schema |= {"type": kinds.pop()} if len(kinds) == 1 else {}
    schema = schema | {LIMITS[key]: param[key] for key in LIMITS if key in param}
    if param.get("default") is not None:
        return schema | {"default": wire(param["default"], kind)}
    return schema


def check_served(tool: Spec, asked: Spec) -> None:
    """Texts, exceptions, gate and schema of a tool are those asked for, and nothing else."""
    title, hints = tool["title"], tool["annotations"]
    assert hints.pop("title") == title
    assert set(hints) <= set(WIRE.values())
    for exception in asked.get("exceptions", []):
        if exception["hint"] != "confirm":
            assert hints[WIRE[exception["hint"]]] is exception["value"]
    assert title == asked.get("title", title)
    text = tool["description"]
    if why := asked.get("deprecated"):
        text, _, told = text.partition(f"\n\nDeprecated: {why}")
        assert told == ""
    assert text != ""
    assert [icon["src"] for icon in tool.get("icons", [])] == [
        asked[k] for k in ["icon"] if k in asked
    ]
    schema = tool["inputSchema"]
    given = schema["properties"]
    gated = set(tool["outputSchema"]["properties"]) == ENVELOPE
    description = str(asked.get("description", text))
    separator = "\n\n" if "\n" in description else " "
    with_two_steps = f"{description}{separator}Two-step confirmation."
    assert text == description or (gated and text == with_two_steps)
    if asked.get("confirm") is not None:
        assert gated is (asked["confirm"] is not False)
    if "params" in asked:
        params = {param["name"]: param for param in asked["params"]}
        gate = (
            {"confirm": {"name": "confirm", "type": "bool", "default": False}}
            if gated
            else {}
        )
        params |= gate if "confirm" not in params else {}
        assert set(given) == set(params)
        for name, param in params.items():
            served = given[name]
            assert (
                served["description"]
                == param.get("description", served["description"])
                != ""
            )
            schema_alone = {
                k: served[k] for k in served if k not in ("title", "description")
            }
            assert schema_alone == schema_of(param), name
        optional = {
            n for n, p in params.items() if "default" in p or p.get("required") is False
        }
        required = params.keys() - optional
        assert set(schema.get("required", [])) == required
    for name, served in given.items():
        assert served["description"], name
    output = unless_null(tool["outputSchema"])
    if gated:
        output = unless_null(output["properties"]["result"])
    if "returns" in asked:
        fields = asked["returns"]
        first = next(iter(fields.values())) if isinstance(fields, dict) else fields
        if isinstance(first, list):  # a page of these
            (fields,), output = (
                first,
                unless_null(output["properties"]["items"]["items"]),
            )
        assert set(output["properties"]) == set(fields)
        for name, of in fields.items():
            if isinstance(of, dict) and "description" in of:
                said = output["properties"][name].get("description", of["description"])
                assert said == of["description"]  # or only what the name says


def unless_null(schema: dict[str, Any]) -> dict[str, Any]:
    """What a schema says of a value that is there."""
    return next(
        (each for each in schema.get("anyOf", ()) if each != {"type": "null"}), schema
    )


@cache
def every_fifth(count: int) -> list[Answers]:
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
    answers = every_fifth(20 if number < 4 else 100)[number]
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
    asked = {tool["name"]: tool for tool in list_tools(answers)}
    comes_along = {"list_resources"} if answers.get("resources") else set()
    served = {tool["name"]: tool for tool in eras[0]}
    assert set(served) == set(asked) | comes_along
    for name, tool in asked.items():
        check_served(served[name], tool)


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(20))
def test_the_probes_of_drawn_servers_pass(
    number: int, twenty: list[Answers], tmp_path: Path
) -> None:
    """Their own behavior probes: the suite of a fresh server is green, whatever was answered."""
    for path, text in rendered(twenty[number]).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    words = ["-p", "no:cacheprovider"]
    probed = python(tmp_path, "-m", "pytest", *words, "tests/policy/test_behavior.py")
    assert probed.returncode in (0, pytest.ExitCode.NO_TESTS_COLLECTED), probed.stdout[
        -3000:
    ]
