"""The tables of the tool language against running servers: what each cell says is what a client reads."""

import json
from pathlib import Path
from typing import Any

import pytest
from support import Answers, python, rendered
from tables import BEHAVIORS, PROFILES, TABLES, WIRE

from copier_fastmcp.behaviors import build_policy
from copier_fastmcp.scaffolding.tool_preview import compute_hints, describe_gate

Row = dict[str, Any]
READ, LOSS, SAME, WORLD = WIRE.values()
NAMES = {
    "read": "get_note",
    "create": "create_note",
    "ensure": "ensure_note",
    "append": "append_note",
    "update": "update_note",
    "put": "put_note",
    "delete": "delete_note",
    "action": "send_note",
}
ACTIONS = {
    "run_destructive_true_idempotent_true": {"destructive": True, "idempotent": True},
    "run_destructive_true_idempotent_false": {"destructive": True, "idempotent": False},
    "run_destructive_false_idempotent_true": {"destructive": False, "idempotent": True},
    "run_destructive_false_idempotent_false": {
        "destructive": False,
        "idempotent": False,
    },
}
WHY = "Because it is so."


def exception(hint: str, value: bool) -> Row:
    """A `put` whose author excepts one hint."""
    name = f"put_{hint}_{str(value).lower()}"
    read_exceptions = (
        [{"hint": "destructive", "value": False, "why": WHY}]
        if hint == "read_only"
        else []
    )
    return {
        "name": name,
        "exceptions": [{"hint": hint, "value": value, "why": WHY}, *read_exceptions],
    }


EXCEPTED = [exception(hint, value) for hint in WIRE for value in (True, False)]


def build_tools() -> list[Row]:
    """Build a tool for each cell of the tables."""
    tools: list[Row] = [
        *EXCEPTED,
        {"name": "get_asked_note", "confirm": True},
        {"name": "create_worded_note", "confirm": "Really?"},
    ]
    for name in NAMES.values():
        tools.append({"name": name})
    for name, flags in ACTIONS.items():
        tools.append({"name": name, "behavior": "action", **flags})
    unconfirmed = [{"hint": "confirm", "value": False, "why": WHY}]
    for behavior in BEHAVIORS:
        row = {"behavior": behavior, "why": WHY}
        tools.append({"name": f"local_{behavior}", "open_world": False, **row})
        tools.append({"name": f"open_{behavior}", "open_world": True, **row})
        quiet = {"confirm": False, "exceptions": unconfirmed}
        tools.append({"name": f"quiet_{behavior}", "behavior": behavior, **quiet})
    return tools


TOOLS = build_tools()
CUSTOM = [
    ("explicit", "deletes", "destructive"),
    ("explicit", "deletes_and_overwrites", "destructive"),
    ("narrow", "deletes", "writes"),
    ("end-state", "deletes_and_overwrites", "deletes"),
]
ANSWERS: dict[str, Answers] = {name: {"profile": name} for name in PROFILES} | {
    "-".join(policy): dict(
        zip(("hints", "destructive", "confirm"), policy, strict=True), profile="custom"
    )
    for policy in CUSTOM
}
LIST = """
import asyncio, json
from fastmcp import Client
from notes_mcp.server import create_server
from notes_mcp.settings import Settings

async def main():
    async with Client(create_server(Settings(database=":memory:"))) as client:
        for tool in await client.list_tools():
            wire = tool.model_dump(mode="json", by_alias=True, exclude_none=True)
            wire["annotations"].pop("title")
            gated = "outcome" in wire["outputSchema"]["properties"]
            print(json.dumps([tool.name, wire["annotations"], gated]))

asyncio.run(main())
"""


@pytest.fixture(scope="module", params=ANSWERS)
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Row, dict[str, Row], set[str]]:
    """The policy, and what a server under it serves: hints by tool, and the tools that ask."""
    answers = ANSWERS[request.param]
    folder: Path = tmp_path_factory.mktemp("served")
    for path, text in rendered(answers | {"tools": TOOLS}).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8", newline="\n")
    done = python(folder, "-c", LIST)
    assert done.returncode == 0, done.stderr[-3000:]
    policy = PROFILES.get(request.param, answers)
    hints = {}
    gated = set()
    for line in done.stdout.splitlines():
        name, annotations, has_gate = json.loads(line)
        hints[name] = annotations
        if has_gate:
            gated.add(name)
    return policy, hints, gated


def compute_hint(mode: str, value: bool) -> bool | None:
    """Compute a hint under a cell of the table `on_the_wire`; None where it is absent."""
    return value if mode in ("always", str(value).lower()) else None


def test_every_cell_of_the_tables_is_on_the_wire(
    served: tuple[Row, dict[str, Row], set[str]],
) -> None:
    policy, hints, _ = served
    overwrites = policy["destructive"] == "deletes_and_overwrites"
    actions = {"send_note": {"destructive": True, "idempotent": False}, **ACTIONS}
    # The embedded store is a closed world, which only the explicit table states unasked
    is_open = policy["hints"] != "explicit"
    cases = [(name, "action", is_open) for name in ACTIONS]
    for behavior, name in NAMES.items():
        cases.append((name, behavior, is_open))
    for behavior in BEHAVIORS:
        cases.append((f"local_{behavior}", behavior, False))
        cases.append((f"open_{behavior}", behavior, True))
    for name, behavior, open_world in cases:
        row = TABLES["behaviors"][behavior] | {"open_world": open_world}
        if behavior == "action":
            row |= actions.get(name, actions["send_note"])
        if row["destructive"] == "policy":
            row["destructive"] = overwrites
        modes = TABLES["on_the_wire"][policy["hints"]][behavior]
        for hint, wire in WIRE.items():
            assert hints[name].get(wire) == compute_hint(modes[hint], row[hint]), (
                name,
                hint,
            )


def test_an_exception_is_on_the_wire_whatever_the_table(
    served: tuple[Row, dict[str, Row], set[str]],
) -> None:
    for tool in EXCEPTED:
        for excepted in tool["exceptions"]:
            hints = served[1][tool["name"]]
            assert hints[WIRE[excepted["hint"]]] is excepted["value"], tool


def test_who_asks(served: tuple[Row, dict[str, Row], set[str]]) -> None:
    """Spelled out for each answer of `confirm`; a tool's own word goes before it."""
    policy, _, gated = served
    overwrites = {"update_note", "put_note"}
    harmless = {name for name, flags in ACTIONS.items() if not flags["destructive"]}
    deletes = {"delete_note", "send_note", *(ACTIONS.keys() - harmless)}
    expected = {
        "none": set(),
        "deletes": deletes,
        "destructive": deletes
        | (overwrites if policy["destructive"] == "deletes_and_overwrites" else set()),
        "writes": {*NAMES.values(), *ACTIONS} - {"get_note"},
    }[policy["confirm"]]
    plain = {*NAMES.values(), *ACTIONS}
    assert gated & plain == expected
    assert {"get_asked_note", "create_worded_note"} <= gated
    for name in gated:
        assert not name.startswith("quiet_"), name


def test_what_new_shows_before_it_writes_is_what_is_served(
    served: tuple[Row, dict[str, Row], set[str]],
) -> None:
    answers, hints, gated = served
    policy = build_policy({"profile": "custom", **answers})
    for tool in TOOLS:
        expected = {}
        for name, value in hints[tool["name"]].items():
            if name != WORLD:
                expected[name] = value
        assert compute_hints(tool, policy) == expected, tool
        assert describe_gate(tool, policy).startswith("yes") == (
            tool["name"] in gated
        ), tool


def test_an_unsaid_action_is_what_the_protocol_assumes(
    served: tuple[Row, dict[str, Row], set[str]],
) -> None:
    policy, hints, _ = served
    if policy["hints"] == "explicit":
        assert hints["send_note"] == {
            "readOnlyHint": False,
            "destructiveHint": True,
            "idempotentHint": False,
            "openWorldHint": False,
        }


SPARSE: dict[str, dict[str, Row]] = {
    "end-state": {
        "get_note": {READ: True, WORLD: True},
        "create_note": {SAME: False, WORLD: True},
        "append_note": {SAME: False, WORLD: True},
        "ensure_note": {SAME: True, WORLD: True},
        "update_note": {SAME: False, WORLD: True},
        "put_note": {SAME: True, WORLD: True},
        "delete_note": {LOSS: True, SAME: True, WORLD: True},
        "send_note": {READ: False, LOSS: True, SAME: False, WORLD: True},
        "local_read": {READ: True, WORLD: False},
    },
    "narrow": {
        "get_note": {READ: True, SAME: True},
        "create_note": {READ: False, SAME: False},
        "append_note": {READ: False, SAME: False},
        "ensure_note": {READ: False, SAME: True},
        "update_note": {READ: False, LOSS: True, SAME: False},
        "put_note": {READ: False, LOSS: True, SAME: True},
        "delete_note": {READ: False, LOSS: True, SAME: True},
        "send_note": {READ: False, LOSS: True, SAME: False},
        "local_read": {READ: True, SAME: True, WORLD: False},
    },
}


def test_the_sparse_tables_to_the_letter(
    served: tuple[Row, dict[str, Row], set[str]],
) -> None:
    """The two sparse profiles spelled out by hand: nothing derived."""
    policy, hints, _ = served
    for name, profile in PROFILES.items():
        if policy == profile and name in SPARSE:
            assert {tool: hints[tool] for tool in SPARSE[name]} == SPARSE[name]
