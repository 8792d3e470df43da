"""The proof of one tool: what its author arranges, run between snapshots."""

import ast
import contextlib
import inspect
import textwrap
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from inspect import iscoroutinefunction
from typing import Any

import pytest
from fastmcp.exceptions import ToolError
from mcp.shared.exceptions import MCPError

from .. import lock
from ..backend import Backend
from ..cases import BEFORE, BEHIND, Case, Variant, Variants, list_cases, other_identity
from ..changes import Step, describe_calls, format_changes, to_json_data
from ..proofs import DECLARED, is_recorded
from ..rules import Tool
from .backend_methods import find_replaced, remember_methods
from .leftovers import find_running, wait_for_leftovers
from .sockets import watching_connections
from .suite import Suite, fail_unless
from .verdict import KEEPS, Judge

MOST = 12  # cases of a tool
WAY = "write `async def arrange(backend)` that returns its arguments, or unprobed = 'why not'"
SAMPLES = "sampling/createMessage"
ASK = "use `ask` from the policy, which works in every protocol"
Call = Callable[..., Awaitable[dict[str, Any]]]
Prepare = Callable[[Any], Awaitable[Any]]


@dataclass(frozen=True)
class Siblings:
    """How other records of the same kind are prepared, before and behind the author's own."""

    before: Prepare | None = None
    after: Prepare | None = None


def calls_elicit(function: Callable[..., Any]) -> bool:
    """Tell whether the source of a function calls `elicit` of a context."""
    try:
        source = inspect.getsource(inspect.unwrap(function))
        tree = ast.parse(textwrap.dedent(source))
    except (OSError, TypeError, SyntaxError):
        return False
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "elicit":
                return True
    return False


class EarlyWrites:
    """What a call has written at the time of its last question."""

    def __init__(self, probe: "Probe", backend: Backend, before: Any) -> None:
        """Take the data as it was before the call."""
        self.probe = probe
        self.backend = backend
        self.before = before
        self.found = ""

    async def check(self) -> None:
        """Compare the data at the time of a question."""
        step = Step(self.before, await self.probe.snapshot(self.backend))
        self.found = str(step) if step.changes else self.found


class Probe:
    """Runs one tool on what its author arranges."""

    def __init__(self, suite: Suite, tool: Tool, call: Call, era: str) -> None:
        """Import the probe of a tool; the test fails without one, and is skipped where its author says why."""
        self.suite = suite
        self.tool = tool
        self.call = call
        self.name = tool.name
        declaration = self.suite.served[tool.name].declaration
        self.judge = Judge(
            tool=tool,
            behavior=declaration.behavior,
            truth=suite.policy.truth(declaration),
            believed=suite.policy.is_exempt(declaration, "destructive"),
            tables=suite.tables,
        )
        self.claims_more = getattr(declaration, "idempotent", None) is False
        path = suite.project.probes / f"test_{tool.name}.py"
        missing = f"{tool.name} has no probe: in tests/tools/{path.name} {WAY}"
        fail_unless(path.exists(), missing)
        function = getattr(suite.served[tool.name], "fn", None)
        elicits = function is not None and calls_elicit(function)
        text = f"{tool.name} calls ctx.elicit, which fails in 2026-07-28; {ASK}"
        fail_unless(not elicits, text)
        self.module = suite.probe_module(tool.name)
        if reason := getattr(self.module, "unprobed", None):
            pytest.skip(f"{tool.name} is unprobed: {reason}")
        if reason := getattr(self.module, "skips", {}).get(era):
            pytest.skip(f"{tool.name} is not proven in {era}: {reason}")
        self._check_record()
        self.arrange = getattr(self.module, "arrange", None)
        fail_unless(iscoroutinefunction(self.arrange), missing)
        self.siblings = Siblings()
        self.repeated: list[
            Step | str
        ] = []  # what each second call did, or how it was refused
        self.story = ""
        self.has_changed = False

    def _check_record(self) -> None:
        """Fail where the probe excludes what the lock cannot show."""
        recorded = self.tool.proof or {}
        for name in DECLARED:
            keys = getattr(self.module, name, {})
            for key in keys if isinstance(keys, dict) else ():
                way = f"write it out as a key of {name} in its probe, so that {lock.FILE} shows it"
                is_shown = is_recorded(key, recorded.get(name, ()))
                fail_unless(is_shown, f"{self.name}: {name} names {key} unseen; {way}")

    async def prove(self, *, with_variants: bool) -> None:
        """Run the author's cases, and those that follow from the first one; the test fails where a hint is untrue."""
        backend, cases = await self.prepare()
        self._check_replaced(backend)
        data = await self.snapshot(backend)
        variants = []
        for case in cases:
            self._check_losses(case)
            names = case.identities or self.judge.find_names(case.arguments, data)
            variants.append(Variant(case.arguments, loses=case.loses, identities=names))
        if with_variants:
            first = cases[0]
            names = [*variants[0].identities]
            if self.judge.behavior != "read":
                await self.find_siblings(first, names, data)
            versions = self.suite.tables["versions"]
            variants += Variants(self.tool, self.judge.behavior, first, names, versions)
            if left_out := ", ".join(variant.name for variant in variants[MOST:]):
                self.suite.note(
                    f"{self.name}: not all cases were run; left out: {left_out}"
                )
        for variant in variants[:MOST]:
            problem = await self.run(variant)
            title = f"with {variant.name} " if variant.name else ""
            fail_unless(not problem, f"{self.name}: {title}{problem}")
        if with_variants:
            problem = self.find_unproven_claim(cases[0].arguments)
            fail_unless(not problem, f"{self.name}: {problem}")

    def _check_losses(self, case: Case) -> None:
        """Fail where a case may lose what the lock does not show."""
        recorded = (self.tool.proof or {}).get("loses", ())
        for key in case.loses:
            way = f"write Case(..., loses=[{key!r}]) in its probe, so that {lock.FILE} shows it"
            is_shown = is_recorded(key, recorded)
            fail_unless(is_shown, f"{self.name}: a case may lose {key} unseen; {way}")

    def _check_replaced(self, backend: Backend) -> None:
        """Fail where arrange() replaced a method of the backend, and the lock does not show it."""
        recorded = (self.tool.proof or {}).get("replaces", ())
        for method in find_replaced(backend.client):
            way = f"assign it in the probe itself, so that {lock.FILE} shows it"
            text = f"{self.name}: arrange() replaced {method}() of the backend unseen; {way}"
            fail_unless(method in recorded, text)

    async def snapshot(self, backend: Backend) -> Any:
        """Return a copy of all data, with or without what the author's `outside` names."""
        try:
            data = to_json_data(await backend.snapshot())
        except NotImplementedError as error:
            pytest.fail(str(error), pytrace=False)
        outside = getattr(self.module, "outside", {})
        if callable(outside):
            more = to_json_data(await outside(backend.client))
            return data | {f"outside/{key}": value for key, value in more.items()}
        kept = {}
        for key, value in data.items():
            if key.partition("/")[0] not in outside:
                kept[key] = value
        return kept

    async def prepare(
        self, siblings: Siblings | None = None
    ) -> tuple[Backend, list[Case]]:
        """Return a fresh backend with what the author arranges, between siblings where they are given."""
        backend = self.suite.project.connect()
        remember_methods(backend.client)
        siblings = siblings or Siblings()
        if siblings.before:
            await siblings.before(backend.client)
        try:
            cases = list_cases(await self._arrange(backend.client))
        except TypeError as error:
            pytest.fail(f"{self.name}: {error}", pytrace=False)
        if siblings.after:
            await siblings.after(backend.client)
        backend.begin(self.name)
        return backend, cases

    async def _arrange(self, client: Any, **identity: Any) -> Any:
        assert self.arrange is not None
        return await self.arrange(client, **identity)

    async def find_siblings(self, case: Case, names: list[str], alone: Any) -> None:
        """Find out how to add other records of the same kind: each way is tried, and must only add.

        Args:
            case: The author's first case.
            names: The parameters that name its record.
            alone: A snapshot of what the author arranges.
        """
        for siblings in self._sibling_ways(case, names):
            with contextlib.suppress(Exception, pytest.fail.Exception):
                backend, _ = await self.prepare(siblings)
                step = Step(alone, await self.snapshot(backend))
                if step.changes and all(change.old is None for change in step.changes):
                    self.siblings = siblings
                    return
        if names and self.judge.behavior not in ("create", "ensure"):
            way = f"give arrange() a parameter {names[0]} with a default, or return Case(..., sibling=...)"
            self.suite.note(f"{self.name}: no second record could be prepared; {way}")

    def _sibling_ways(self, case: Case, names: list[str]) -> list[Siblings]:
        """Return the ways to try: what the case declares, another identity, arranging once more."""
        if case.sibling:
            return [Siblings(before=case.sibling), Siblings(after=case.sibling)]
        identity = self._identity_parameter(case, names)
        if not identity:
            return [Siblings(after=self._arrange)]
        name, value = identity
        before, after = (
            self._arrange_as(name, value, mark) for mark in (BEFORE, BEHIND)
        )
        return [Siblings(before, after), Siblings(after=after)]

    def _identity_parameter(
        self, case: Case, names: list[str]
    ) -> tuple[str, Any] | None:
        """Return the parameter of arrange() for the record's identity, and its default.

        It has the name of the tool's parameter, also in the singular, or is the only one; and its default is the value.
        """
        assert self.arrange is not None
        if not names:
            return None
        name, value = names[0], case.arguments[names[0]]
        item = value[0] if isinstance(value, list) and value else value
        parameters = [*inspect.signature(self.arrange).parameters.values()][1:]
        for parameter in parameters:
            is_named = (
                parameter.name in (name, name.removesuffix("s")) or len(parameters) == 1
            )
            if is_named and parameter.default in (value, item):
                return parameter.name, parameter.default
        return None

    def _arrange_as(self, name: str, value: Any, mark: str) -> Prepare:
        """Return what arranges the same with another identity."""
        if isinstance(value, list):
            other: Any = [other_identity(value[0], mark)] if value else []
        else:
            other = other_identity(value, mark)

        async def arrange(client: Any) -> None:
            await self._arrange(client, **{name: other})

        return arrange

    async def run(self, variant: Variant) -> str:
        """Run one case; return what is wrong with it, or nothing."""
        backend, _ = await self.prepare(self.siblings if variant.name else None)
        states = [await self.snapshot(backend)]
        if self.name in self.suite.gated and not variant.name:
            await self._decline(variant, states[0], backend)
        refused = ""
        for arguments in self._calls(variant):
            before = find_running(self.suite.project.source)
            early = EarlyWrites(self, backend, states[-1])
            self.suite.on_question = early.check
            try:
                with watching_connections() as connections:
                    await self.call(self.name, arguments)
            except (ToolError, MCPError) as error:
                refused = str(error) or "without a word"
            finally:
                self.suite.on_question = None
            if SAMPLES in refused:
                pytest.skip(
                    f"{self.name} asks the client's model (sampling), which 2026-07-28 does not have"
                )
            if connections and not self.judge.truth["open_world"]:
                way = "leave out open_world=False, or keep to the server's own data"
                return f"it says open_world=False, but connected to {connections[0]}; {way}"
            if early.found:
                way = "ask all questions before the first side effect: with each answer the body runs again"
                return f"before its last question it {early.found}; {way}"
            if refused and len(states) == 1 and not variant.name:
                pytest.fail(self.explain_refusal(arguments, refused), pytrace=False)
            if left := await wait_for_leftovers(self.suite.project.source, before):
                return f"{left} still runs 2 s after the call; await it, or say `unprobed` and why"
            states.append(await self.snapshot(backend))
            truth = self.judge.truth
            problem = backend.find_unproven(
                read_only=truth["read_only"], idempotent=truth["idempotent"]
            )
            if problem:
                return problem
            if refused:
                break
        return self._judge(variant, states, refused)

    async def _decline(self, variant: Variant, before: Any, backend: Backend) -> None:
        """Fail where a call changes something though its user declined."""
        with contextlib.suppress(ToolError, MCPError):  # judged by what it did
            await self.call(self.name, variant.arguments, agree=False)
        step = Step(before, await self.snapshot(backend))
        fail_unless(
            not step.changes, f"{self.name}: a person declined, and yet it {step}"
        )

    def _calls(self, variant: Variant) -> list[dict[str, Any]]:
        """Return the arguments of both calls; of one where a second would prove nothing more."""
        truth = self.judge.truth
        loses_once = truth["destructive"] and not truth["idempotent"]
        calls = [variant.arguments, variant.again or variant.arguments]
        if variant.name and not variant.again and (truth["read_only"] or loses_once):
            calls.pop()
        return calls

    def _judge(self, variant: Variant, states: list[Any], refused: str) -> str:
        """Return what the snapshots show to be untrue, or nothing."""
        first, again = Step(*states[:2]), Step(*states[-2:])
        if len(states) == 2:
            again = Step(states[1], states[1])
        elif not variant.again:
            self.repeated.append(refused or again)
        told = describe_calls(first, again, self.judge.behavior)
        self.story = self.story or told
        self.has_changed = self.has_changed or states[0] != states[-1]
        if self.judge.truth["read_only"]:
            is_same = states == states[:1] * len(states)
            return "" if is_same else f"it says read-only, but {told}"
        problem = self.judge.find_untruth(variant, first, again, told, refused)
        if believed := self.judge.find_believed(first, again):
            text = f"its exception to destructive is believed; it lost {format_changes(believed)}"
            self.suite.note(f"{self.name}: {text}")
        return problem

    def explain_refusal(self, arguments: dict[str, Any], message: str) -> str:
        """Return why an arranged call failed: its arrange() is older than the tool, or what the tool says."""
        parameters = self.tool.parameters
        required = self.tool.wire["inputSchema"].get("required", ())
        surplus = sorted(arguments.keys() - parameters)
        lacking = sorted(set(required) - arguments.keys())
        words = []
        if surplus:
            words.append(f"still passes {', '.join(surplus)}")
        if lacking:
            words.append(f"does not pass {', '.join(lacking)}")
        if not words:
            return f"{self.name} refused the call that its probe arranges: {message}"
        place = f"arrange() in tests/tools/test_{self.name}.py"
        return f"{self.name}: {place} {' and '.join(words)}; the tool takes {', '.join(parameters)}"

    def find_unproven_claim(self, arguments: dict[str, Any]) -> str:
        """Return what no case has shown, though the tool says so."""
        behavior = self.judge.behavior
        if behavior in KEEPS and not self.has_changed:
            way = "mend its body, arrange() or snapshot()"
            return (
                f"it says {behavior}, but changed nothing that snapshot() shows; {way}"
            )
        versions = self.suite.tables["versions"]
        has_version = any(arguments.get(name) is not None for name in versions)
        claims = {"create": True, "append": True, "update": has_version}
        if not claims.get(behavior, self.claims_more) or self.judge.truth["idempotent"]:
            return ""
        for seen in self.repeated:
            if isinstance(seen, str) or seen.changes:
                return ""
        return f"it says not idempotent, but {self.story}"
