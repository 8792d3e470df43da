"""The proof of one tool: what its author arranges, run between snapshots."""

import ast
import contextlib
import inspect
import re
import textwrap
from collections.abc import Awaitable, Callable
from dataclasses import replace
from inspect import iscoroutinefunction
from typing import Any

import pytest
from fastmcp.exceptions import ToolError
from mcp.shared.exceptions import MCPError

from .. import lock
from ..backend import Backend
from ..cases import LONG, Case, Variant, Variants, list_cases
from ..changes import (
    Step,
    describe_calls,
    find_changed_places,
    format_changes,
    is_same,
    is_same_moment,
    to_json_data,
)
from ..proofs import DECLARED, is_recorded
from ..rules import Tool
from .backend_methods import (
    find_replaced,
    find_replaced_functions,
    remember_functions,
    remember_methods,
)
from .completeness import ERAS
from .effects import Effect
from .leftovers import Leftovers
from .observation import OUTSIDE, Observation
from .populations import (
    MANY,
    SEVERAL,
    Population,
    borrow_identity,
    find_identity,
    list_crowds,
    list_neighbors,
    list_other_kinds,
)
from .problems import Problem, fail_unless
from .shifted_clock import clock_ahead
from .suite import Suite
from .verdict import KEEPS, REPEATS, Judge

MOST = 16  # cases of a tool in which one argument differs
MOST_READS = 40  # calls of a read that are judged together
AGAIN = 6  # calls of a tool, each the same, that have to change nothing more
MOST_PAGES = 30
WAY = "write `async def arrange(backend)` that returns its arguments, or unprobed = 'why not'"
SNAPSHOT = "return all data from snapshot(), or say `unprobed` in its probe"
SAMPLES = "sampling/createMessage"
ASK = "use `ask` from the policy, which works in every protocol"
ASK_EARLY = "ask all questions before the first side effect: with each answer the body runs again"
CROWD = "many other records"
OTHER_KINDS = "records of other kinds"
IN_TURN = "several calls in turn"
LATER = "a clock 400 days ahead"
CURSOR = re.compile("cursor|token|next|continu")
SIZE = re.compile("limit|page_size|per_page|max_results")
ADDING = ("create", "append")
Call = Callable[..., Awaitable[dict[str, Any]]]


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
    """The writes of a call before its last question."""

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

    def find_problem(self) -> Problem | None:
        """Return what was written too early, or nothing."""
        if not self.found:
            return None
        text = f"before its last question it {self.found}"
        return Problem("asks-first", text, ASK_EARLY)


class Probe:
    """Runs one tool on what its author arranges."""

    def __init__(self, suite: Suite, tool: Tool, call: Call, era: str) -> None:
        """Import the probe of a tool; the test fails without one, and is skipped where its author says why."""
        self.suite = suite
        self.tool = tool
        self.call = call
        self.name = tool.name
        self.era = era
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
        missing = f"it has no probe in tests/tools/{path.name}"
        self._fail_unless(path.exists(), Problem("probe-present", missing, WAY))
        function = getattr(suite.served[tool.name], "fn", None)
        elicits = function is not None and calls_elicit(function)
        text = "it calls ctx.elicit, which fails in 2026-07-28"
        self._fail_unless(not elicits, Problem("asks-in-every-protocol", text, ASK))
        self.module = suite.probe_module(tool.name)
        if reason := getattr(self.module, "unprobed", None):
            pytest.skip(f"{tool.name} is unprobed: {reason}")
        if reason := getattr(self.module, "skips", {}).get(era):
            pytest.skip(f"{tool.name} is not proven in {era}: {reason}")
        self._check_record()
        self.arrange = getattr(self.module, "arrange", None)
        is_ready = iscoroutinefunction(self.arrange)
        self._fail_unless(is_ready, Problem("probe-present", missing, WAY))
        self.neighbors = Population()
        self.crowd: Population | None = None
        self.other_kinds: Population | None = None
        self.repeated: list[
            Step | str
        ] = []  # what each second call did, or how it was refused
        self.story = ""
        self.plain: tuple[Variant, Step] | None = None  # the author's first case
        self.has_changed = False

    def _check_record(self) -> None:
        """Fail where the probe excludes what the lock cannot show."""
        recorded = self.tool.proof or {}
        for name in DECLARED:
            keys = getattr(self.module, name, {})
            for key in () if callable(keys) else keys:
                remedy = f"write it out as a key of {name} in its probe, so that {lock.FILE} shows it"
                is_shown = is_recorded(key, recorded.get(name, ()))
                text = f"{name} names {key} unseen"
                self._fail_unless(is_shown, Problem("probe-recorded", text, remedy))

    def _fail_unless(self, good: object, problem: Problem) -> None:
        """Fail the test with a finding about the tool."""
        named_problem = replace(problem, text=f"{self.name}: {problem.text}")
        fail_unless(good, named_problem, self.suite.tables)

    async def prove(self, *, with_variants: bool) -> None:
        """Run the author's cases, and those that follow from the first one; the test fails where a hint is untrue."""
        modules = self.suite.module_state.list_modules()
        # What a library holds is compared once, in the protocol in which each tool is called first
        compares_libraries = self.judge.truth["read_only"] and self.era == ERAS[0]
        if compares_libraries:
            self.suite.library_state.update(modules)
        await self._prove_cases(with_variants=with_variants)
        if compares_libraries:
            self._fail_if(self._find_patched(self.suite.library_state.update(modules)))

    def _find_patched(self, names: list[str]) -> Problem | None:
        """Return that a read changed the modules of libraries, or nothing."""
        declared = getattr(self.module, "effects", {})
        for name in names:
            effect = Effect("globals", name, f"changed {name}")
            if not effect.is_declared(declared):
                text = f"it says read-only, but {effect.text}"
                return Problem("read-only-proven", text, OUTSIDE)
        return None

    async def _prove_cases(self, *, with_variants: bool) -> None:
        backend, cases = await self.prepare()
        self._check_replaced(backend)
        data = await self.snapshot(backend)
        variants = []
        for case in cases:
            self._check_losses(case)
            names = case.identities or self.judge.find_names(case.arguments, data)
            variants.append(Variant(case.arguments, loses=case.loses, identities=names))
        first = variants[0]
        for variant in variants:
            self._fail_if(await self.run(variant), variant.name)
        if with_variants:
            await self._prove_variants(cases[0], first, data)

    async def _prove_variants(self, case: Case, first: Variant, data: Any) -> None:
        """Run the cases that follow from the author's first one, and the first one many times."""
        await self.find_populations(case, [*first.identities], data)
        is_read = self.judge.truth["read_only"]
        candidates = self._list_candidates(case, first)
        if is_read:
            reads = self._limit(first, candidates, MOST_READS)
            await self._prove_in_turn(first, reads)
            candidates = []
        absent, candidates = await self._split_absent(candidates)
        variants = absent + self._limit(first, candidates, MOST)
        variants += self._list_populated(first)
        for variant in variants:
            self._fail_if(await self.run(variant), variant.name)
        if self.judge.behavior in ADDING:
            problem = await self.run_repeatedly(first)
            self._fail_if(problem, f"{REPEATS} more calls")
        elif self.judge.truth["idempotent"] and not is_read:
            self._fail_if(await self.run_again(first), f"{AGAIN} calls")
        self._fail_if(self.find_unproven_claim(first.arguments))

    async def _split_absent(
        self, candidates: list[Variant]
    ) -> tuple[list[Variant], list[Variant]]:
        """Return the cases without a record that have to run on their own, and the other ones.

        They are called in turn first, and run on their own only where that changes something.
        """
        absent: list[Variant] = []
        others: list[Variant] = []
        for variant in candidates:
            (absent if variant.names_nothing else others).append(variant)
        if absent and not await self.changes_in_turn(absent):
            absent = []
        return absent, others

    async def changes_in_turn(self, variants: list[Variant]) -> bool:
        """Tell whether cases change anything when they are called in turn."""
        backend, _ = await self.prepare(self.neighbors)
        before = await self.snapshot(backend)
        for variant in variants:
            leftovers = Leftovers(self.suite.project.source)
            with contextlib.suppress(ToolError, MCPError):
                await self.call(self.name, variant.arguments)
            if await leftovers.wait():
                return True
        return not is_same(before, await self.snapshot(backend))

    async def _prove_in_turn(self, plain: Variant, variants: list[Variant]) -> None:
        """Run the cases of a read on one backend, and each on its own where they change something."""
        problem = await self.run_in_turn([plain] * AGAIN + variants)
        if problem is None:
            return
        for variant in variants:
            self._fail_if(await self.run(variant), variant.name)
        self._fail_if(problem, IN_TURN)

    def _fail_if(self, problem: Problem | None, title: str = "") -> None:
        """Fail the test where a case found a problem."""
        if problem is None:
            return
        text = f"with {title} {problem.text}" if title else problem.text
        self._fail_unless(False, replace(problem, text=text))

    def _list_candidates(self, case: Case, plain: Variant) -> list[Variant]:
        """Return the cases in which an argument of the author's first one differs."""
        names = [*plain.identities]
        versions = self.suite.tables["versions"]
        return [*Variants(self.tool, self.judge.behavior, case, names, versions)]

    def _limit(
        self, plain: Variant, candidates: list[Variant], most: int
    ) -> list[Variant]:
        """Return the first of some cases, and the others combined, as many arguments as possible in a case."""
        combined: list[Variant] = []
        left_out = []
        for variant in candidates[most:]:
            has_all = variant.arguments.keys() >= plain.arguments.keys()
            if variant.repeat_arguments is None and has_all:
                _combine(combined, plain, variant)
            else:
                left_out.append(variant.name)
        variants = candidates[:most] + combined
        if left_out:
            text = (
                f"{self.name}: not all cases were run; left out: {', '.join(left_out)}"
            )
            self.suite.note(text)
        return variants

    def _list_populated(self, plain: Variant) -> list[Variant]:
        """Return the author's first case among other records, and at a later time."""
        variants = []
        if self.crowd is not None:
            arguments = plain.arguments | self._page_arguments(plain)
            variants.append(replace(plain, arguments=arguments, name=CROWD))
        if self.other_kinds is not None:
            variants.append(replace(plain, name=OTHER_KINDS))
        variants.append(replace(plain, name=LATER))
        return variants

    def _page_arguments(self, plain: Variant) -> dict[str, Any]:
        """Return the argument that makes a page small, where the tool has pages."""
        if self._cursor_parameter() is None:
            return {}
        for name in self.tool.parameters:
            if SIZE.fullmatch(name) and name not in plain.identities:
                return {name: 2}
        return {}

    def _cursor_parameter(self) -> str | None:
        for name in self.tool.parameters:
            if CURSOR.search(name) and self.judge.behavior == "read":
                return name
        return None

    def _check_losses(self, case: Case) -> None:
        """Fail where a case may lose what the lock does not show."""
        recorded = (self.tool.proof or {}).get("loses", ())
        for key in case.loses:
            remedy = f"write Case(..., loses=[{key!r}]) in its probe, so that {lock.FILE} shows it"
            problem = Problem("probe-recorded", f"a case may lose {key} unseen", remedy)
            self._fail_unless(is_recorded(key, recorded), problem)

    def _check_replaced(self, backend: Backend) -> None:
        """Fail where arrange() replaced a method of the backend, and the lock does not show it."""
        recorded = (self.tool.proof or {}).get("replaces", ())
        modules = self.suite.module_state.list_modules()
        replaced = find_replaced(backend.client)
        replaced += find_replaced_functions(modules)
        for method in replaced:
            remedy = f"assign it in the probe itself, so that {lock.FILE} shows it"
            text = f"arrange() replaced {method}() of the backend unseen"
            self._fail_unless(
                method in recorded, Problem("probe-recorded", text, remedy)
            )

    async def snapshot(self, backend: Backend) -> Any:
        """Return a copy of all data, with or without what the author's `outside` names."""
        try:
            data = to_json_data(await backend.snapshot())
        except NotImplementedError as error:
            self._fail_unless(False, Problem("probe-present", str(error), SNAPSHOT))
            raise
        outside = getattr(self.module, "outside", {})
        if callable(outside):
            outside_data = to_json_data(await outside(backend.client))
            return data | {
                f"outside/{key}": value for key, value in outside_data.items()
            }
        inside = {}
        for key, value in data.items():
            if key.partition("/")[0] not in outside:
                inside[key] = value
        return inside

    async def prepare(
        self, population: Population | None = None
    ) -> tuple[Backend, list[Case]]:
        """Return a fresh backend with what the author arranges, between other records where they are given."""
        backend = self.suite.project.connect()
        remember_methods(backend.client)
        remember_functions(backend.client, self.suite.module_state.list_modules())
        population = population or Population()
        if population.before:
            await population.before(backend.client)
        try:
            cases = list_cases(await self._arrange(backend.client))
        except TypeError as error:
            remedy = "return {...}, Case(...) or a list of these"
            self._fail_if(Problem("probe-present", str(error), remedy))
            raise
        if population.after:
            await population.after(backend.client)
        backend.begin(self.name)
        return backend, cases

    async def _arrange(self, client: Any, **identity: Any) -> Any:
        assert self.arrange is not None
        return await self.arrange(client, **identity)

    async def find_populations(self, case: Case, names: list[str], alone: Any) -> None:
        """Find out how to add other records of the same kind: each way is tried, and must only add.

        Args:
            case: The author's first case.
            names: The parameters that name its record.
            alone: A snapshot of what the author arranges.
        """
        assert self.arrange is not None
        identity = find_identity(self.arrange, case, names)
        borrowed = borrow_identity(self.suite, self.tool)
        count = MANY if self.judge.behavior in ("read", *ADDING) else SEVERAL
        for crowd in list_crowds(self._arrange, identity, borrowed, count):
            if await self._only_adds(crowd.first, alone):
                self.crowd = crowd.all
                break
        if self.judge.behavior in ("read", *ADDING):
            other_kinds = list_other_kinds(self.suite, self.tool)
            if other_kinds and await self._only_adds(other_kinds, alone):
                self.other_kinds = other_kinds
        if self.judge.behavior == "read":
            return
        for neighbors in list_neighbors(self._arrange, case, identity):
            if await self._only_adds(neighbors, alone):
                self.neighbors = neighbors
                return
        if names and self.judge.behavior not in ("create", "ensure"):
            remedy = f"give arrange() a parameter {names[0]} with a default, or return Case(..., sibling=...)"
            self.suite.note(
                f"{self.name}: no second record could be prepared; {remedy}"
            )

    async def _only_adds(self, population: Population, alone: Any) -> bool:
        """Tell whether a population can be prepared, and leaves what the author arranges as it is."""
        with contextlib.suppress(Exception, pytest.fail.Exception):
            backend, _ = await self.prepare(population)
            step = Step(alone, await self.snapshot(backend))
            added = []
            for change in step.changes:
                if not is_same_moment(change.old, change.new):
                    added.append(change.old is None)
            return bool(added) and all(added)
        return False

    def _population_of(self, variant: Variant) -> Population | None:
        if variant.name == CROWD:
            return self.crowd
        if variant.name == OTHER_KINDS:
            return self.other_kinds
        return self.neighbors if variant.name else None

    async def _prepare_variant(self, variant: Variant) -> Backend | None:
        """Return the backend of a case; None where a crowd cannot be prepared, which is noted."""
        try:
            backend, _ = await self.prepare(self._population_of(variant))
        except Exception:
            if variant.name != CROWD:
                raise
            self.suite.note(f"{self.name}: {CROWD} could not be prepared")
            return None
        return backend

    async def run(self, variant: Variant) -> Problem | None:
        """Run one case; return what is wrong with it, or nothing."""
        backend = await self._prepare_variant(variant)
        if backend is None:
            return None
        states = [await self.snapshot(backend)]
        if self.name in self.suite.gated and not variant.name:
            await self._decline(variant, states[0], backend)
        effects = getattr(self.module, "effects", {})
        truth = self.judge.truth
        client = None if variant.name else self._comparable_client(backend)
        observation = Observation(self.suite, self.name, truth, effects, client)
        refused = ""
        calls = self._calls(variant)
        while calls:
            arguments = calls.pop(0)
            leftovers = Leftovers(self.suite.project.source)
            early = EarlyWrites(self, backend, states[-1])
            is_late = variant.name == LATER and not (truth["read_only"] and calls)
            result, refused = await self._call(
                arguments, observation, early, backend if is_late else None
            )
            if problem := early.find_problem():
                return problem
            if refused and len(states) == 1 and not variant.name:
                self._fail_if(self._find_unproven(backend))
                self._fail_if(self.explain_refusal(arguments, refused))
            if variant.name == CROWD and not refused:
                await self._read_pages(arguments, result, observation)
            if remainder := await leftovers.wait():
                text = f"{remainder} still runs 2 s after the call"
                return Problem("call-finishes", text)
            observation.end_call()
            states.append(await self.snapshot(backend))
            is_same_call = len(states) > 2 and not variant.repeat_arguments
            is_refused = bool(refused) and is_same_call
            if problem := self._find_unproven(backend, refused=is_refused):
                return problem
            if refused:
                break
        problem = self._judge(variant, states, refused)
        return problem or observation.find_problem()

    def _comparable_client(self, backend: Backend) -> object:
        """Return the backend whose attributes are compared; None where the probe excludes some of its data."""
        if getattr(self.module, "outside", None) or backend.has_own_client:
            return None
        return backend.client

    async def _call(
        self,
        arguments: dict[str, Any],
        observation: Observation,
        early: EarlyWrites | None = None,
        late_backend: Backend | None = None,
    ) -> tuple[dict[str, Any], str]:
        """Call the tool; return its result, and how it refused or nothing.

        Args:
            arguments: What it gets.
            observation: What watches the call.
            early: What compares the data at each question.
            late_backend: The backend, where the clock is to be ahead.
        """
        result: dict[str, Any] = {}
        refused = ""
        later: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
        if late_backend is not None:
            modules = self.suite.module_state.list_modules()
            later = clock_ahead(modules, late_backend.client)
        self.suite.on_question = early.check if early else None
        try:
            with observation.call(), later:
                result = await self.call(self.name, arguments)
        except (ToolError, MCPError) as error:
            refused = str(error) or "without a word"
        finally:
            self.suite.on_question = None
        if SAMPLES in refused:
            pytest.skip(
                f"{self.name} asks the client's model (sampling), which 2026-07-28 does not have"
            )
        return result, refused

    def _find_unproven(
        self, backend: Backend, *, refused: bool = False
    ) -> Problem | None:
        """Return what was sent to an API that the hints do not allow, or nothing."""
        truth = self.judge.truth
        rule, text = "", ""
        if truth["read_only"]:
            rule = "read-only-proven"
            text = backend.find_unproven(read_only=True, idempotent=False)
        if not text and truth["idempotent"]:
            rule = "idempotent-proven"
            text = backend.find_unproven(
                read_only=False, idempotent=True, refused=refused
            )
        return Problem(rule, text) if text else None

    async def _read_pages(
        self,
        arguments: dict[str, Any],
        result: dict[str, Any],
        observation: Observation,
    ) -> None:
        """Call a read with the cursor of each result, to the last page."""
        for _ in range(MOST_PAGES):
            calls = self._follow_cursor(arguments, result)
            if not calls:
                return
            result, _refused = await self._call(calls[0], observation)

    def _follow_cursor(
        self,
        arguments: dict[str, Any],
        result: dict[str, Any],
    ) -> list[dict[str, Any]]:
        """Return the arguments of the next page, where a result names one."""
        parameter = self._cursor_parameter()
        for name, value in result.items():
            if parameter and CURSOR.search(name) and isinstance(value, (str, int)):
                return [arguments | {parameter: value}]
        return []

    async def run_in_turn(self, variants: list[Variant]) -> Problem | None:
        """Run cases of a read on one backend; return what they changed together, or nothing."""
        backend, _ = await self.prepare()
        before = await self.snapshot(backend)
        effects = getattr(self.module, "effects", {})
        observation = Observation(
            self.suite,
            self.name,
            self.judge.truth,
            effects,
            self._comparable_client(backend),
        )
        for variant in variants:
            leftovers = Leftovers(self.suite.project.source)
            await self._call(variant.arguments, observation)
            if remainder := await leftovers.wait():
                return Problem(
                    "call-finishes", f"{remainder} still runs 2 s after the call"
                )
        observation.end_call()
        after = await self.snapshot(backend)
        if not is_same(before, after):
            places = find_changed_places(before, after)
            text = f"it says read-only, but changed {places}"
            return Problem("read-only-proven", text)
        return self._find_unproven(backend) or observation.find_problem()

    async def run_again(self, plain: Variant) -> Problem | None:
        """Call an idempotent tool several times; return what more than two calls change."""
        backend, _ = await self.prepare()
        second = None
        for number in range(AGAIN):
            try:
                await self.call(self.name, plain.arguments)
            except (ToolError, MCPError):
                break
            if number == 1:
                second = await self.snapshot(backend)
        if second is None:
            return None
        return self.judge.find_repeated(Step(second, await self.snapshot(backend)))

    async def run_repeatedly(self, plain: Variant) -> Problem | None:
        """Call a tool that adds many times, each time with other texts; return what is lost then."""
        backend, _ = await self.prepare()
        before = await self.snapshot(backend)
        middle = before
        for number in range(REPEATS):
            arguments = self._renumber(plain, number)
            try:
                if number == REPEATS - 1 and arguments != plain.arguments:
                    await self._check_addition(arguments, backend)
                else:
                    await self.call(self.name, arguments)
            except (ToolError, MCPError):
                break
            if number == 1:
                middle = await self.snapshot(backend)
        with contextlib.suppress(ToolError, MCPError):
            await self.call(self.name, self._lengthen(plain))
        after = await self.snapshot(backend)
        return self.judge.find_pruned(Step(before, middle), Step(middle, after))

    async def _check_addition(
        self, arguments: dict[str, Any], backend: Backend
    ) -> None:
        """Call a tool that has added often; the test fails where it accepts the call and adds nothing."""
        before = await self.snapshot(backend)
        leftovers = Leftovers(self.suite.project.source)
        await self.call(self.name, arguments)
        await leftovers.wait()
        is_same_data = is_same(before, await self.snapshot(backend))
        if not self.has_changed:
            return  # it never adds, which is said at the end
        text = f"it says {self.judge.behavior}, but call {REPEATS} changed nothing"
        self._fail_unless(not is_same_data, Problem("behavior-proven", text))

    def _renumber(self, plain: Variant, number: int) -> dict[str, Any]:
        """Return the arguments of a call with a number behind each text."""
        arguments = dict(plain.arguments)
        schemas = self.tool.parameters
        for name, value in plain.arguments.items():
            is_text = isinstance(value, str) and _is_free_text(schemas.get(name))
            if is_text and name not in self._fixed_names(plain):
                arguments[name] = f"{value}{number}"
        return arguments

    def _lengthen(self, plain: Variant) -> dict[str, Any]:
        """Return the arguments of a call with long texts."""
        arguments = dict(plain.arguments)
        for name, value in plain.arguments.items():
            is_text = isinstance(value, str) and _is_free_text(
                self.tool.parameters.get(name)
            )
            if is_text and name not in self._fixed_names(plain):
                arguments[name] = LONG
        return arguments

    def _fixed_names(self, plain: Variant) -> list[str]:
        """Return the parameters that name the record to which a tool adds."""
        return [*plain.identities] if self.judge.behavior == "append" else []

    async def _decline(self, variant: Variant, before: Any, backend: Backend) -> None:
        """Fail where a call changes something though its user declined."""
        with contextlib.suppress(ToolError, MCPError):  # judged by what it did
            await self.call(self.name, variant.arguments, agree=False)
        step = Step(before, await self.snapshot(backend))
        text = f"the user declined, but it {step}"
        self._fail_unless(not step.changes, Problem("asks-first", text))

    def _calls(self, variant: Variant) -> list[dict[str, Any]]:
        """Return the arguments of both calls; of one where a second would prove nothing more."""
        truth = self.judge.truth
        loses_once = truth["destructive"] and not truth["idempotent"]
        calls = [variant.arguments, variant.repeat_arguments or variant.arguments]
        is_proven_once = truth["read_only"] or loses_once
        if variant.name == LATER and truth["read_only"]:
            return calls  # now, and later
        is_proven_once = is_proven_once or variant.is_at_edge
        if variant.name and not variant.repeat_arguments and is_proven_once:
            calls.pop()
        return calls

    def _judge(
        self, variant: Variant, states: list[Any], refused: str
    ) -> Problem | None:
        """Return what the snapshots show to be untrue, or nothing."""
        first, repeat = Step(*states[:2]), Step(*states[-2:])
        if len(states) == 2:
            repeat = Step(states[1], states[1])
        elif not variant.repeat_arguments:
            self.repeated.append(refused or repeat)
        story = describe_calls(first, repeat, self.judge.behavior)
        self.story = self.story or story
        if states[0] != states[-1] or [*states[0]] != [*states[-1]]:
            self.has_changed = True
        if self.judge.truth["read_only"]:
            if all(is_same(states[0], state) for state in states[1:]):
                return None
            places = find_changed_places(states[0], states[-1])
            text = f"it says read-only, but a call changed {places}"
            if first.changes or repeat.changes:
                text += f": {story}"
            return Problem("read-only-proven", text)
        problem = self.judge.find_untruth(variant, first, repeat, story, refused)
        if self.plain is None:
            self.plain = variant, first
        problem = problem or self.judge.find_widened(variant, first, *self.plain)
        if believed := self.judge.find_believed(first, repeat):
            text = f"its exception to destructive is believed; it lost {format_changes(believed)}"
            self.suite.note(f"{self.name}: {text}")
        return problem

    def explain_refusal(self, arguments: dict[str, Any], message: str) -> Problem:
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
            text = f"it refused the call that its probe arranges: {message}"
            remedy = "let arrange() prepare what the call needs, or fix the body"
            return Problem("probe-present", text, remedy)
        place = f"arrange() in tests/tools/test_{self.name}.py"
        remedy = f"the tool takes {', '.join(parameters)}"
        return Problem("probe-present", f"{place} {' and '.join(words)}", remedy)

    def find_unproven_claim(self, arguments: dict[str, Any]) -> Problem | None:
        """Return a declared behavior that no case has shown."""
        behavior = self.judge.behavior
        if behavior in KEEPS and not self.has_changed:
            text = f"it says {behavior}, but changed nothing that snapshot() shows"
            remedy = "fix its body, arrange() or snapshot()"
            return Problem("behavior-proven", text, remedy)
        if self.plain is not None and (missing := self.judge.find_missing(*self.plain)):
            return missing
        versions = self.suite.tables["versions"]
        has_version = any(arguments.get(name) is not None for name in versions)
        claims = {"create": True, "append": True, "update": has_version}
        if not claims.get(behavior, self.claims_more) or self.judge.truth["idempotent"]:
            return None
        for step in self.repeated:
            if isinstance(step, str) or step.changes:
                return None
        text = f"it says not idempotent, but {self.story}"
        return Problem("idempotent-proven", text)


def _combine(combined: list[Variant], plain: Variant, variant: Variant) -> None:
    """Add what differs in a case to the first combined one in which these arguments do not differ yet."""
    changed = _find_changed_arguments(plain, variant)
    for number, earlier in enumerate(combined):
        taken = _find_changed_arguments(plain, earlier)
        if taken.keys().isdisjoint(changed):
            name = f"{earlier.name}, {variant.name}"
            has_other_version = earlier.has_other_version or variant.has_other_version
            combined[number] = replace(
                earlier,
                arguments=earlier.arguments | changed,
                name=name,
                names_fewer=earlier.names_fewer or variant.names_fewer,
                has_other_version=has_other_version,
            )
            return
    combined.append(variant)


def _find_changed_arguments(plain: Variant, variant: Variant) -> dict[str, Any]:
    changed = {}
    for name, value in variant.arguments.items():
        if name not in plain.arguments or plain.arguments[name] != value:
            changed[name] = value
    return changed


def _is_free_text(schema: Any) -> bool:
    """Tell whether a schema allows any text."""
    limits = ("enum", "format", "maxLength", "pattern", "anyOf")
    return isinstance(schema, dict) and not any(key in schema for key in limits)
