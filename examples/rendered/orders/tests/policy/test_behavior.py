"""Every hint proven: each tool runs on the data its tests/tools file arranges, between two snapshots."""

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from fastmcp.exceptions import ToolError

from statuspro_mcp.backend import connect
from statuspro_mcp.policy.behaviors import DESTRUCTIVE, Declaration
from statuspro_mcp.policy.rules import Subject

from .conftest import ERAS, GATED, SERVER, SETTINGS, WIRE, Call

Snapshot = Mapping[str, Mapping[str, Any]]
PROBES = Path(__file__).parent.parent / "tools"
UNSEEN = {"etag", "updated_at", "modified_at", "accessed_at"}


def probe_of(name: str) -> ModuleType:
    """The owner's file for one tool; fails when there is none, skips when it says `unprobed`."""
    path = PROBES / f"test_{name}.py"
    mend = "write `async def arrange(backend)` that answers the arguments, or unprobed = 'why not'"
    assert path.exists(), f"{name} has no probe: in {path} {mend}"
    spec = importlib.util.spec_from_file_location(f"probe_{name}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if reason := getattr(module, "unprobed", ""):
        pytest.skip(f"{name} is unprobed: {reason}")
    assert hasattr(module, "arrange"), f"{path} has no arrange(): {mend}"
    return module


def visible(data: Snapshot) -> dict[str, dict[str, Any]]:
    """A snapshot without versions and times."""
    return {key: {n: v for n, v in of.items() if n not in UNSEEN} for key, of in data.items()}


def kept(old: object, new: object) -> bool:
    """Whether a value lives on: equal, or the beginning or a part of the new one."""
    if isinstance(old, str) and isinstance(new, str):
        return old in new
    if isinstance(new, list):
        return all(item in new for item in old) if isinstance(old, list) else old in new
    return old == new


def lost(before: Snapshot, after: Snapshot) -> list[str]:
    """What was there and is not any more, as far as the policy calls its loss destructive."""
    gone = [key for key in before if key not in after]
    if DESTRUCTIVE == "deletes":
        return gone
    overwritten = [
        f"{key}.{name}"
        for key, fields in before.items()
        for name, value in fields.items()
        if key in after and not kept(value, after[key].get(name))
    ]
    return gone + overwritten


def changed(before: Snapshot, after: Snapshot) -> str:
    """The difference of two snapshots, and which behavior would be true of it."""
    added, gone = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    other = sorted(key for key in before.keys() & after.keys() if before[key] != after[key])
    true = "delete" if gone else "update or put" if other else "create" if added else "read"
    return f"added {added}, removed {gone}, changed {other}: the behavior {true!r} would be true"


def verdict(
    of: Declaration,
    before: Snapshot,
    once: Snapshot,
    twice: Snapshot,
    *,
    refused: bool,
    versioned: bool,
) -> str:
    """What a run contradicts, or nothing: the hint, what changed, the behavior that would be true."""
    truth = of.behaves()
    if truth["read_only"] and once != before:
        return f"it says read-only, but {changed(before, once)}"
    if not truth["destructive"] and (losses := lost(before, once)):
        return f"it says not destructive, but lost {losses}; {changed(before, once)}"
    if truth["idempotent"] and twice != once:
        return f"it says idempotent, but a second call {changed(once, twice)}"
    claims = of.behavior in ("create", "append") or (of.behavior == "update" and versioned)
    claims = claims or (of.behavior == "action" and "idempotent" in of.said)
    if claims and not truth["idempotent"] and twice == once and not refused:
        return "it says not idempotent, but a second call changed nothing: 'ensure' or 'put' would be true"
    return ""


@pytest.mark.anyio
@pytest.mark.parametrize(
    "tool", [pytest.param(t, id=t.name) for t in WIRE[ERAS[0]] if t.name != "list_resources"]
)
async def test_hints_are_true(tool: Subject, call: Call) -> None:
    assert tool.declaration, f"{tool.name} is not declared with a decorator of the policy"
    backend = connect(SETTINGS)
    arguments = await probe_of(tool.name).arrange(backend)
    before = visible(await backend.snapshot())
    if tool.name in GATED:
        await call(SERVER, tool.name, agree=False, **arguments)
        assert visible(await backend.snapshot()) == before, (
            f"{tool.name}: declined, and yet it changed data"
        )
    await call(SERVER, tool.name, **arguments)
    once = visible(await backend.snapshot())
    refused = False
    try:
        await call(SERVER, tool.name, **arguments)
    except ToolError:
        refused = True
    twice = visible(await backend.snapshot())
    said = verdict(tool.declaration, before, once, twice, refused=refused, versioned=tool.versioned)
    assert not said, f"{tool.name}: {said}"
