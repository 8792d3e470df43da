"""The proof of one tool: what its owner arranges, between snapshots of all data. Managed by the template."""

import contextlib
import importlib
import re
from typing import Any

import pytest
from fastmcp.exceptions import ToolError
from mcp.shared.exceptions import MCPError

from statuspro_mcp.backend import connect
from statuspro_mcp.policy.serving import PolicyTool, run_now

from .cases import Case, Variant, listed, settled, twin, working
from .changes import Change, Step, is_now, plain, shown, story, values
from .conftest import GATED, NOTES, SERVER, Call, insist
from .pin import PROBES, SETTINGS, TABLES, record_of
from .rules import Tool

KEEPS = ("create", "ensure", "append", "update", "put")
NAMING = ("update", "append", "put", "delete")  # may change the record that the call names alone
MEND = "write `async def arrange(backend)` that returns its arguments, or unprobed = 'why not'"
SERVED = run_now(SERVER.list_tools(run_middleware=False))
OURS = {tool.name: tool for tool in SERVED if isinstance(tool, PolicyTool)}


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
        insist(hasattr(self.module, "arrange"), none)
        self.twins: list[Any] = []
        self.seen: list[tuple[Step, bool]] = []  # each pair of calls alike: what the second one did
        self.told, self.changed = "", False

    async def snapshot(self, backend: Any) -> Any:
        """A copy of all data, less or more what the owner's `outside` says."""
        try:
            data = plain(await backend.snapshot())
        except NotImplementedError as error:
            pytest.fail(str(error), pytrace=False)
        outside = getattr(self.module, "outside", {})
        if callable(outside):
            return data | {
                f"outside/{key}": of for key, of in plain(await outside(backend)).items()
            }
        return {key: of for key, of in data.items() if key.partition("/")[0] not in outside}

    async def arranged(self, *, beside: bool = False) -> tuple[Any, list[Case]]:
        """A fresh backend with what the owner arranges, and other records of the same kind if asked for."""
        backend, twins = connect(SETTINGS), self.twins if beside else ()
        for early in twins[:1]:
            await early(backend)
        try:
            cases = listed(await self.module.arrange(backend))
        except TypeError as error:
            pytest.fail(f"{self.name}: {error}", pytrace=False)
        for late in twins[1:]:
            await late(backend)
        return backend, cases

    def named_by(self, arguments: dict[str, Any], data: Any) -> list[str]:
        """The parameters that name the record: by the tool language's rule, else by the keys of the data."""
        names = [n for n in self.tool.parameters if n in arguments]
        own = [n for n in (f"{record_of(self.name)}_id", "id") if n in names][:1]
        ids = [n for n in names if re.search("_ids?$", n)]
        words = [n for word in TABLES["identities"] for n in (word, f"{word}s") if n in names][:1]
        parts = {
            part
            for place, _ in values(data)
            for key in place
            for part in (key, key.rpartition("/")[2])
        }
        return (
            own
            or ids
            or words
            or [n for n in names if isinstance(arguments[n], str) and arguments[n] in parts]
        )

    async def find_twins(self, value: Any, alone: Any) -> None:
        """Find out how to arrange other records of the same kind: by another identity in the owner's code."""
        for nth in range(6):
            pair: list[Any] = []
            with contextlib.suppress(Exception):  # the text may not be a program with another value
                pair = [twin(self.module, value, nth, later=later) for later in (False, True)]
            for self.twins in (pair, [noop, pair[1]]) if pair and all(pair) else ():
                try:
                    backend, _ = await self.arranged(beside=True)
                except Exception:  # noqa: S112
                    continue
                step = Step(alone, await self.snapshot(backend))
                if step.changes and all(c.old is None for c in step.changes):
                    return
        self.twins = []

    async def run(self, variant: Variant) -> str:
        """What is wrong with one case, or nothing."""
        backend, cases = await self.arranged(beside=bool(variant.name))
        states, refused = [await self.snapshot(backend)], ""
        if self.name in GATED and not variant.name:
            await self.call(self.name, variant.arguments, agree=False)
            did = Step(states[0], await self.snapshot(backend))
            insist(not did.changes, f"{self.name}: a person declined, and yet it {did}")
        calls = [variant.arguments, variant.again or variant.arguments]
        once = self.truth["read_only"] or (
            self.truth["destructive"] and not self.truth["idempotent"]
        )
        if variant.name and not variant.again and once:
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
        if len(states) == 2:
            states.append(states[1])
        elif not variant.again:
            self.seen.append((Step(*states[1:]), bool(refused)))
        first, again = Step(*states[:2]), Step(*states[1:])
        told = story(first, again, self.behavior)
        self.told = self.told or told
        self.changed = self.changed or states[0] != states[2]
        may_lose = self.truth["destructive"] and self.behavior in ("update", "put")
        if may_lose and not variant.name and not first.old:
            return "it may lose what is there, but arrange() prepares nothing to lose"
        if self.truth["read_only"]:
            return "" if states[0] == states[1] == states[2] else f"it says read-only, but {told}"
        losses = [] if self.truth["destructive"] else self.losses(first, again)
        whole = self.behavior in KEEPS and any(c.gone and not first.within(c) for c in losses)
        if losses and (whole or not self.declaration.exempts("destructive")):
            mend = "; leave out destructive=False" if self.behavior == "action" else ""
            return f"it says not destructive, but lost {shown(losses)}: {told}{mend}"
        if losses:
            NOTES[
                f"{self.name}: its exception to destructive is believed; it lost {shown(losses)}"
            ] = None
        if self.behavior in NAMING and (wrong := self.unnamed(variant, cases, first)):
            return f"{wrong}: {told}"
        if variant.name.startswith("a stale ") and first.changes:
            return f"it was {'refused' if refused else 'accepted'}, and {first}"
        if (
            self.truth["idempotent"]
            and not variant.again
            and not all(is_now(c.new) and (c.old is None or is_now(c.old)) for c in again.changes)
        ):
            return f"it says idempotent, but {told}"
        if (
            self.behavior in KEEPS
            and any(c.gone and not first.within(c) for c in first.lost)
            and not any(c.old is None for c in first.changes)
        ):
            return f"it says {self.behavior}, but {told}"
        if (
            self.behavior == "delete"
            and not variant.name
            and not any(c.ends() for c in first.changes)
        ):
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
        return [c for c in all_lost if c.gone or TABLES["destructive"] != "deletes"]

    def unnamed(self, variant: Variant, cases: list[Case], step: Step) -> str:
        """What an existing record lost or got that the call does not name."""
        names = self.named_by(variant.arguments, step.data[0])
        given = {n: variant.arguments[n] for n in names}
        wanted = {str(v) for of in given.values() for v in (of if isinstance(of, list) else [of])}
        word = re.compile("|".join(rf"(^|[/:]){re.escape(v)}($|[/:])" for v in wanted) or "(?!)")
        loses = cases[variant.case].loses
        texts = {str(value) for name, value in variant.arguments.items() if name not in names}
        owned = {
            p[:-1] for p, v in step.old.items() if p[-1] in ("id", *names) and str(v) in wanted
        }

        def fine(c: Change) -> bool:
            stems = [c.place[:n] for n in range(1, len(c.place) + 1)]
            if c.gone and c.element and self.behavior == "delete":
                beside = {p[-2] for p in step.old if p[:-2] == c.place[:-2]}
                if c.place[-2] not in texts and not beside.isdisjoint(texts):
                    return False
            new = c.old is None and not step.within(c)
            named = (
                any(map(word.search, c.place))
                or not owned.isdisjoint(stems)
                or str(c.old) in wanted
            )
            said = any(c.place[0] == key or c.place[0].startswith(f"{key}/") for key in loses)
            counts = isinstance(c.step, int) and abs(c.step) <= max(1, len(step.changes))
            return (
                new
                or named
                or said
                or counts
                or c in step.moved
                or {} in (c.old, c.new)
                or [] in (c.old, c.new)
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
        differs = any(refused or step.changes for step, refused in self.seen)
        return (
            f"it says not idempotent, but {self.told}"
            if claims and not self.truth["idempotent"] and not differs
            else ""
        )


async def noop(_: Any) -> None:
    """Arrange nothing."""
