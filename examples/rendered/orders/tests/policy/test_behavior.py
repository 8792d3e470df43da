"""The hints proven: each tool runs on the data its tests/tools file arranges, between snapshots."""

import contextlib
import importlib
import re
from inspect import iscoroutinefunction, unwrap
from typing import Any

import pytest
from fastmcp.exceptions import ToolError
from mcp.shared.exceptions import MCPError

from statuspro_mcp.backend import connect
from statuspro_mcp.policy.serving import PolicyTool, run_now

from .cases import BEFORE, BEHIND, Case, Variant, listed, settled, twin, variants, working
from .changes import Change, Step, element, is_now, plain, shown, story, values
from .conftest import ERAS, GATED, NOTES, SERVER, TOOLS, Call, insist
from .pin import PROBES, SETTINGS, TABLES, record_of
from .rules import Tool

MOST = 12  # cases of a tool
KEEPS = ("create", "ensure", "append", "update", "put")
NAMING = ("update", "append", "put", "delete")  # may change the record that the call names alone
MEND = "write `async def arrange(backend)` that returns its arguments, or unprobed = 'why not'"
SERVED = run_now(SERVER.list_tools(run_middleware=False), SERVER)
OURS = {tool.name: tool for tool in SERVED if isinstance(tool, PolicyTool)}
WRITTEN = {name for name, tool in OURS.items() if ".policy." not in unwrap(tool.fn).__module__}


class Probe:
    """The proof of one tool: what its owner arranges, and what the suite makes of that."""

    def __init__(self, tool: Tool, call: Call) -> None:
        self.tool, self.call, self.name = tool, call, tool.name
        self.declaration = OURS[tool.name].declaration
        self.behavior, self.truth = self.declaration.behavior, self.declaration.behaves()
        path = PROBES / f"test_{tool.name}.py"
        none = f"{tool.name} has no probe: in tests/tools/{path.name} {MEND}"
        insist(path.exists(), none)
        self.module = importlib.import_module(f"..tools.{path.stem}", __package__)
        if reason := getattr(self.module, "unprobed", None):
            pytest.skip(f"{tool.name} is unprobed: {reason}")
        insist(iscoroutinefunction(getattr(self.module, "arrange", None)), none)
        self.early: Any = None  # what arranges other records of the same kind, before and behind
        self.late: Any = None
        self.seen: list[Step | str] = []  # what each second call did, or how it was refused
        self.told, self.changed = "", False

    async def snapshot(self, backend: Any) -> Any:
        """A copy of all data, less or more what the owner's `outside` says."""
        try:
            data = plain(await backend.snapshot())
        except NotImplementedError as error:
            pytest.fail(str(error), pytrace=False)
        outside = getattr(self.module, "outside", {})
        if callable(outside):
            more = plain(await outside(backend))
            return data | {f"outside/{key}": of for key, of in more.items()}
        return {key: of for key, of in data.items() if key.partition("/")[0] not in outside}

    async def arranged(self, *, beside: bool = False) -> tuple[Any, list[Case]]:
        """A fresh backend with what the owner arranges, and other records of the same kind if asked for."""
        backend = connect(SETTINGS)
        if beside and self.early:
            await self.early(backend)
        try:
            cases = listed(await self.module.arrange(backend))
        except TypeError as error:
            pytest.fail(f"{self.name}: {error}", pytrace=False)
        if beside and self.late:
            await self.late(backend)
        return backend, cases

    def named_by(self, arguments: dict[str, Any], data: Any) -> list[str]:
        """The parameters that name the record: by the tool language's rule, else by the keys of the data."""
        names = [n for n in self.tool.parameters if n in arguments]
        own = [n for n in (f"{record_of(self.name)}_id", "id") if n in names][:1]
        ids = [n for n in names if re.search("_ids?$", n)]
        words = [n for word in TABLES["identities"] for n in (word, f"{word}s") if n in names][:1]
        keys = {key for place, _ in values(data) for key in place}
        keys |= {key.rpartition("/")[2] for key in keys}
        texts = (n for n in names if isinstance(arguments[n], str))
        return own or ids or words or [n for n in texts if arguments[n] in keys]

    async def find_twins(self, value: Any, alone: Any) -> None:
        """Find out how to arrange other records of the same kind: by another identity in the owner's code."""
        for nth in range(6):
            early = late = None
            with contextlib.suppress(Exception):  # the text may not be a program with another value
                early, late = (twin(self.module, value, nth, d) for d in (BEFORE, BEHIND))
            for self.early, self.late in ((early, late), (None, late)) if late else ():
                with contextlib.suppress(Exception):
                    backend, _ = await self.arranged(beside=True)
                    step = Step(alone, await self.snapshot(backend))
                    if step.changes and all(c.old is None for c in step.changes):
                        return
        self.early = self.late = None

    async def run(self, variant: Variant) -> str:
        """What is wrong with one case, or nothing."""
        backend, _ = await self.arranged(beside=bool(variant.name))
        states, refused = [await self.snapshot(backend)], ""
        if self.name in GATED and not variant.name:
            with contextlib.suppress(ToolError, MCPError):  # told below
                await self.call(self.name, variant.arguments, agree=False)
            did = Step(states[0], await self.snapshot(backend))
            insist(not did.changes, f"{self.name}: a person declined, and yet it {did}")
        calls = [variant.arguments, variant.again or variant.arguments]
        loses_once = self.truth["destructive"] and not self.truth["idempotent"]
        if variant.name and not variant.again and (self.truth["read_only"] or loses_once):
            calls.pop()  # a second one would prove nothing more
        for arguments in calls:
            before = working()
            try:
                await self.call(self.name, arguments)
            except (ToolError, MCPError) as error:
                refused = str(error) or "without a word"
            if "elicitation via server-initiated requests is unavailable" in refused:
                pytest.skip(f"{self.name} asks by itself, and only clients up to 2025-11-25")
            if refused and len(states) == 1 and not variant.name:
                pytest.fail(self.refusal(arguments, refused), pytrace=False)
            if left := await settled(before):
                return f"{left} still runs 2 s after the call; await it, or say `unprobed` and why"
            states.append(await self.snapshot(backend))
            if refused:
                break
        first, again = Step(*states[:2]), Step(*states[-2:])
        if len(states) == 2:
            again = Step(states[1], states[1])
        elif not variant.again:
            self.seen.append(refused or again)
        told = story(first, again, self.behavior)
        self.told = self.told or told
        self.changed = self.changed or states[0] != states[-1]
        if self.truth["read_only"]:
            return f"it says read-only, but {told}" if states != states[:1] * len(states) else ""
        return self.wrong(variant, first, again, told, refused)

    def wrong(self, variant: Variant, first: Step, again: Step, told: str, refused: str) -> str:
        """What two calls of a tool that writes have shown to be untrue, or nothing."""
        may_lose, idempotent = self.truth["destructive"], self.truth["idempotent"]
        if may_lose and self.behavior in ("update", "put") and not variant.name and not first.old:
            return "it may lose what is there, but arrange() prepares nothing to lose"
        losses = [] if may_lose else self.losses(first, again)
        whole = self.behavior in KEEPS and any(c.gone and not first.within(c) for c in losses)
        if losses and (whole or not self.declaration.exempts("destructive")):
            mend = "; leave out destructive=False" if self.behavior == "action" else ""
            return f"it says not destructive, but lost {shown(losses)}: {told}{mend}"
        if losses:
            believed = f"its exception to destructive is believed; it lost {shown(losses)}"
            NOTES[f"{self.name}: {believed}"] = None
        if self.behavior in NAMING and (odd := self.unnamed(variant, first)):
            return f"{odd}: {told}"
        if variant.name.startswith("a stale ") and first.changes:
            return f"it was {'refused' if refused else 'accepted'}, and {first}"
        moments = all(is_now(c.new) and (c.old is None or is_now(c.old)) for c in again.changes)
        if idempotent and not variant.again and not moments:
            return f"it says idempotent, but {told}"
        gone = any(c.gone and not first.within(c) for c in first.lost)
        if self.behavior in KEEPS and gone and not any(c.old is None for c in first.changes):
            return f"it says {self.behavior}, but {told}"
        removed = variant.name or any(c.ends() for c in first.changes)
        if self.behavior == "delete" and not removed:
            return "it says delete, but removed nothing; mend its body, or what arrange() prepares"
        return ""

    def refusal(self, arguments: dict[str, Any], said: str) -> str:
        """Why an arranged call failed: its arrange() is older than the tool, or what the tool says."""
        takes, required = self.tool.parameters, self.tool.wire["inputSchema"].get("required", ())
        old, new = sorted(arguments.keys() - takes), sorted(set(required) - arguments.keys())
        words = [f"still passes {', '.join(old)}"] if old else []
        words += [f"does not pass {', '.join(new)}"] if new else []
        if not words:
            return f"{self.name} refused the call that its probe arranges: {said}"
        place = f"arrange() in tests/tools/test_{self.name}.py"
        return f"{self.name}: {place} {' and '.join(words)}; the tool takes {', '.join(takes)}"

    def losses(self, first: Step, again: Step) -> list[Change]:
        """What a tool lost that says it loses nothing; a number that goes on by the same step only counts."""
        steps = {c.place: c.step for c in first.changes}
        counted = {c.place for c in again.changes if c.step and c.step == steps.get(c.place)}
        all_lost = [c for c in first.lost + again.lost if c.place not in counted]
        values = ("[", "{") if self.behavior in ("update", "put") else ()  # in a list set anew
        gone = [c for c in all_lost if c.gone and "".join(c.place[-2:-1])[:1] not in values]
        return gone if TABLES["destructive"] == "deletes" else all_lost

    def unnamed(self, variant: Variant, step: Step) -> str:
        """What an existing record lost or got that the call does not name."""
        names = self.named_by(variant.arguments, step.data[0])
        given = {n: variant.arguments[n] for n in names}
        wanted = {str(v) for of in given.values() for v in (of if isinstance(of, list) else [of])}
        word = re.compile("|".join(rf"(^|[/:]){re.escape(v)}($|[/:])" for v in wanted) or "(?!)")
        texts = {str(value) for name, value in variant.arguments.items() if name not in names}
        ids = {place for place, value in step.old.items() if str(value) in wanted}
        owned = {place[:-1] for place in ids if place[-1] in ("id", *names)}

        def fine(c: Change) -> bool:
            stems = {c.place[:n] for n in range(1, len(c.place) + 1)}
            if c.gone and element(c.place) and self.behavior == "delete":
                beside = {p[-1] for p in step.old if p[:-1] == c.place[:-1]}
                if c.place[-1] not in texts and not beside.isdisjoint(texts):
                    return False  # the call names an element beside it
            return bool(
                any(map(word.search, c.place))
                or (c.old is None and not step.within(c))
                or str(c.old) in wanted
                or not owned.isdisjoint(stems)
                or any(f"{c.place[0]}/".startswith(f"{key}/") for key in variant.loses)
                or (isinstance(c.step, int) and abs(c.step) <= max(1, len(step.changes)))
                or c in step.moved
                or any(value in ({}, []) for value in (c.old, c.new))
            )

        known = owned or any(word.search(part) for place in step.old for part in place)
        odd = [c for c in step.changes if not fine(c)]
        if not odd or not (known or variant.name.partition("=")[0] in names):
            return ""
        said = ", ".join(f"{n}={v!r}" for n, v in given.items())
        return f"it also changed {shown(odd)}, which {said} does not name"

    def claim(self, arguments: dict[str, Any]) -> str:
        """What no case has shown, though the tool says so."""
        if self.behavior in KEEPS and not self.changed:
            return f"it says {self.behavior}, but changed nothing that snapshot() shows; mend its body, arrange() or snapshot()"
        versioned = any(arguments.get(name) is not None for name in TABLES["versions"])
        said = getattr(self.declaration, "idempotent", None) is False
        claims = {"create": True, "append": True, "update": versioned}.get(self.behavior, said)
        differs = any(isinstance(did, str) or did.changes for did in self.seen)
        proven = differs or not claims or self.truth["idempotent"]
        return "" if proven else f"it says not idempotent, but {self.told}"


@pytest.mark.anyio
@pytest.mark.parametrize("tool", [pytest.param(t, id=t.name) for t in TOOLS if t.name in WRITTEN])
async def test_hints_are_true(tool: Tool, call: Call, era: str) -> None:
    probe = Probe(tool, call)
    backend, cases = await probe.arranged()
    chosen = [Variant(case.arguments, loses=case.loses) for case in cases]
    base = cases[0].arguments
    if era == ERAS[-1]:
        data = await probe.snapshot(backend)
        names = probe.named_by(base, data)
        value = base[names[0]] if names else None
        if probe.behavior != "read":
            await probe.find_twins(value[0] if isinstance(value, list) and value else value, data)
        chosen += variants(tool, probe.behavior, cases[0], names, TABLES["versions"])
        if cut := ", ".join(v.name for v in chosen[MOST:]):
            NOTES[f"{tool.name}: not all cases were run; left out: {cut}"] = None
    for variant in chosen[:MOST]:
        wrong = await probe.run(variant)
        insist(not wrong, f"{tool.name}: {f'with {variant.name} ' if variant.name else ''}{wrong}")
    if era == ERAS[-1]:
        wrong = probe.claim(base)
        insist(not wrong, f"{tool.name}: {wrong}")
