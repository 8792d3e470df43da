"""The hints proven: each tool runs on the data its tests/tools file arranges, between snapshots."""

import re
import runpy
from collections.abc import Mapping
from inspect import unwrap
from typing import Any

import pytest
from fastmcp.exceptions import ToolError

from notes_mcp.backend import connect
from notes_mcp.policy.serving import PolicyTool, run_now

from .conftest import GATED, PROBES, SERVER, TOOLS, Call, insist
from .pin import SETTINGS, TABLES
from .rules import Tool

Snapshot = Mapping[str, Mapping[str, Any]]
UNSEEN = re.compile(r"(^|_)(at|etag|if_match|modified|mtime|revision|timestamp|version)$")
KEEPS = ("create", "ensure", "append", "update", "put")
MEND = "write `async def arrange(backend)` that returns its arguments, or unprobed = 'why not'"
SERVED = run_now(SERVER.list_tools(run_middleware=False))
OURS = {tool.name: tool for tool in SERVED if isinstance(tool, PolicyTool)}
WRITTEN = {name for name, tool in OURS.items() if ".policy." not in unwrap(tool.fn).__module__}


def arrange_of(name: str) -> Any:
    """`arrange` of the owner's file for a tool; fails when there is none, skips when it is `unprobed`."""
    path = PROBES / f"test_{name}.py"
    probe = runpy.run_path(str(path)) if path.exists() else {}
    if probe.get("unprobed"):
        pytest.skip(f"{name} is unprobed: {probe['unprobed']}")
    insist("arrange" in probe, f"{name} has no probe: in tests/tools/{path.name} {MEND}")
    return probe["arrange"]


def visible(data: Snapshot) -> Snapshot:
    """A snapshot without versions and times."""
    return {k: {n: v for n, v in of.items() if not UNSEEN.search(n)} for k, of in data.items()}


def kept(old: object, new: object) -> bool:
    """Whether a value lives on: equal, or the beginning or a part of the new one."""
    if isinstance(old, str) and isinstance(new, str):
        return old in new
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        return all(kept(value, new.get(name)) for name, value in old.items())
    if isinstance(new, list):
        return all(item in new for item in old) if isinstance(old, list) else old in new
    return old is None or old == new


def overwritten(before: Snapshot, after: Snapshot) -> list[str]:
    """The values that were there and are not any more."""
    both = [(key, name) for key, of in before.items() if key in after for name in of]
    return [f"{k}.{name}" for k, name in both if not kept(before[k][name], after[k].get(name))]


def lost(before: Snapshot, after: Snapshot) -> list[str]:
    """What the policy calls destroyed."""
    gone = sorted(before.keys() - after.keys())
    return gone if TABLES["destructive"] == "deletes" else gone + overwritten(before, after)


def difference(before: Snapshot, after: Snapshot) -> str:
    """What was added, removed and changed, in words; empty when nothing was."""
    changed = [key for key in before.keys() & after.keys() if before[key] != after[key]]
    steps = {"added": after.keys() - before, "removed": before.keys() - after, "changed": changed}
    return ", ".join(f"{verb} {', '.join(sorted(keys))}" for verb, keys in steps.items() if keys)


def story(before: Snapshot, once: Snapshot, twice: Snapshot) -> str:
    """What the two calls did, and which behavior would be true of them."""
    first, again = difference(before, once), difference(once, twice)
    if before.keys() - once.keys():
        true = "action" if again else "delete"
    elif any(before[key] != once[key] for key in before):
        true = "put" if not again else "update" if overwritten(before, once) else "append"
    else:
        true = ("create" if again else "ensure") if first else "action" if again else "read"
    calls = f"a call {first or 'changed nothing'}, a second one {again or 'changed nothing more'}"
    return f"{calls}; the behavior {true!r} would be true"


def verdict(tool: Tool, states: list[Snapshot], *, refused: bool) -> str:
    """What a run contradicts, or nothing: the hint, what changed, the behavior that would be true."""
    declaration = OURS[tool.name].declaration
    behavior, truth = declaration.behavior, declaration.behaves()
    before, once, twice = states if truth["read_only"] else map(visible, states)
    did = story(before, once, twice)
    if truth["read_only"] and not before == once == twice:
        return f"it says read-only, but {did}"
    if not truth["destructive"] and (losses := lost(before, once) + lost(once, twice)):
        return f"it says not destructive, but lost {', '.join(losses)}: {did}"
    if truth["idempotent"] and twice != once:
        return f"it says idempotent, but {did}"
    gone = before.keys() - once.keys()
    if behavior == "delete" and not (gone or overwritten(before, once)):
        return "it says delete, but removed nothing; mend its body, or what arrange() prepares"
    if behavior in KEEPS and gone and not once.keys() - before.keys():
        return f"it says {behavior}, but {did}"
    versioned = not set(TABLES["versions"]).isdisjoint(tool.parameters)
    claims = {"create": True, "append": True, "update": versioned}
    said = getattr(declaration, "idempotent", None) is False
    claimed = claims.get(behavior, said) and not truth["idempotent"]
    return f"it says not idempotent, but {did}" if claimed and twice == once and not refused else ""


@pytest.mark.anyio
@pytest.mark.parametrize("tool", [pytest.param(t, id=t.name) for t in TOOLS if t.name in WRITTEN])
async def test_hints_are_true(tool: Tool, call: Call) -> None:
    backend = connect(SETTINGS)
    arguments = await arrange_of(tool.name)(backend)
    insist(isinstance(arguments, dict), f"{tool.name}: arrange() has to return its arguments")
    try:
        states: list[Snapshot] = [await backend.snapshot()]
    except NotImplementedError as error:
        pytest.fail(str(error), pytrace=False)
    if tool.name in GATED:
        await call(tool.name, arguments, agree=False)
        changes = difference(states[0], await backend.snapshot())
        insist(not changes, f"{tool.name}: a person declined, and yet it {changes}")
    refused = ""
    for count in (1, 2):
        try:
            await call(tool.name, arguments)
        except ToolError as error:
            refused = str(error)
            insist(count == 2, f"{tool.name} refused the call that its probe arranges: {refused}")
        states.append(await backend.snapshot())
    wrong = verdict(tool, states, refused=bool(refused))
    insist(not wrong, f"{tool.name}: {wrong}")
