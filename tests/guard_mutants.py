"""mutmut for `scripts/mutate`, with mutants of guards: `python guard_mutants.py run` in the folder of a part.

mutmut's own mutants change a condition into its opposite, which almost every test notices. A guard is tested where a
test fails without it. So each condition is switched off and on, each operand of `and` and `or` is dropped, and each call whose result
nobody uses is left out; limits, numbers and truth values change as mutmut changes them. ALL_MUTANTS adds the others of mutmut's own.
"""

import ast
import difflib
import gc
import json
import os
import pickle
import re
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import coverage
import few_rows
import libcst as cst
import pytest
from libcst import matchers
from mutmut import __main__ as mutmut
from mutmut.configuration import config
from mutmut.mutation import mutators
from mutmut.mutation.data import MutantLineSpans, SourceFileMutationData
from mutmut.mutation.diff_apply import generated_function_names
from mutmut.mutation.trampoline import set_mutant_under_test
from mutmut.runners.harness import PytestRunner
from mutmut.state import state
from mutmut.stats import status_by_exit_code
from mutmut.utils.file_utils import change_cwd, walk_mutatable_files
from mutmut.workers.isolation import ForkRunner

# The nodes that decide by a condition, and the fields that hold it
DECISIONS = {cst.If: "test", cst.While: "test", cst.IfExp: "test", cst.CompIf: "test"}
# The nodes that may hold one: there, only what is true or false by its form counts
VALUES = {
    cst.Return: "value",
    cst.Assign: "value",
    cst.Arg: "value",
    cst.GeneratorExp: "elt",
    cst.Lambda: "body",
}
# Tests whose libraries start threads outside of Python, without which they never end in a fork of the same process
WITH_THREADS = ("tests/guard/test_code_mode.py",)
DECIDED = 3  # lines after a condition on which it decides
# `x_ask__mutmut_3` and `xǁPagesǁask__mutmut_orig`, which are `ask` before mutmut names them
GENERATED_NAME = re.compile(r"\bx(?:_|ǁ\w*ǁ)(\w+?)__mutmut_\w+")
# What a decorated function is called without its decorator
PLAIN = "undecorated_"
DECORATORS = {"property", "asynccontextmanager", "contextlib.contextmanager"}
# mutmut's exit codes of a mutant
SURVIVED, KILLED, SUSPICIOUS = 0, 1, 35
SKIPPED = 34  # it is not to be run
BORDERS = (cst.LessThan, cst.LessThanEqual, cst.GreaterThan, cst.GreaterThanEqual)


@dataclass(frozen=True)
class Mutant:
    """A mutant, its result so far, and the statements that it removes and adds, in the form of `ast.unparse`."""

    name: str
    function: str
    status: str
    removed: str
    added: str


def is_truth_value(node: cst.CSTNode | None) -> bool:
    """Tell whether an expression is true or false by its form."""
    if isinstance(node, cst.BooleanOperation):
        return is_truth_value(node.right)
    if isinstance(node, cst.UnaryOperation):
        return isinstance(node.operator, cst.Not)
    return isinstance(node, cst.Comparison)


def switch(condition: cst.BaseExpression, word: str) -> cst.BaseExpression:
    """Return a condition that is evaluated and has no effect: `never` or `always`."""
    left = condition.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
    operator = cst.And() if word == "never" else cst.Or()
    value = cst.Name("False" if word == "never" else "True")
    return cst.BooleanOperation(left=left, operator=operator, right=value)


def switch_condition(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield the node with its condition off, and with it on."""
    field = DECISIONS.get(type(node)) or VALUES[type(node)]
    condition = getattr(node, field)
    if type(node) in VALUES and not is_truth_value(condition):
        return
    words = ["never", "always"]
    if isinstance(node, cst.While):
        words.remove("always")  # a loop without an end
    if isinstance(condition, cst.BooleanOperation):
        # Where a test notices each operand that is dropped, it notices the other word
        words = ["never" if isinstance(condition.operator, cst.And) else "always"]
    if matchers.matches(condition, matchers.Name("True") | matchers.Name("False")):
        return
    for word in words:
        yield node.with_changes(**{field: switch(condition, word)})


def drop_operand(node: cst.BooleanOperation) -> Iterator[cst.CSTNode]:
    """Yield `a and b` without a, and without b; of `a and b and c`, the node of `a and b` drops its own."""
    remaining = [node.left]
    left = node.left
    if not isinstance(left, cst.BooleanOperation) or type(left.operator) is not type(
        node.operator
    ):
        remaining.append(node.right)
    for operand in remaining:
        yield operand.with_changes(
            lpar=[*node.lpar, *operand.lpar], rpar=[*operand.rpar, *node.rpar]
        )


def move_border(node: cst.ComparisonTarget) -> Iterable[cst.CSTNode]:
    """Yield `<` as `<=`, and the like."""
    if isinstance(node.operator, BORDERS):
        yield from mutators.operator_swap_op(node)


def leave_out_call(node: cst.Expr) -> Iterator[cst.CSTNode]:
    """Yield a statement that does nothing for a call whose result nobody uses."""
    call = node.value
    if isinstance(call, cst.Await):
        call = call.expression
    if isinstance(call, cst.Call):
        yield cst.Pass()


GUARDS = [
    *((kind, switch_condition) for kind in (*DECISIONS, *VALUES)),
    (cst.BooleanOperation, drop_operand),
    (cst.ComparisonTarget, move_border),
    (cst.Expr, leave_out_call),
    (cst.BaseNumber, mutators.operator_number),
    (cst.Name, mutators.operator_name),
]
# Those of mutmut that the ones above contain
CONTAINED = (
    mutators.operator_if_exp,
    mutators.operator_number,
    mutators.operator_name,
)


def choose_mutants(every: bool) -> None:
    """Let mutmut make the mutants of guards, and its own too if all are wanted."""
    own = [row for row in mutators.mutation_operators if row[1] not in CONTAINED]
    if every:
        # The opposite of a limit's comparison is mutmut's as well
        guards = [row for row in GUARDS if row[1] is not move_border]
        mutators.mutation_operators[:] = [*guards, *own]
    else:
        mutators.mutation_operators[:] = GUARDS


def list_statements(source: str) -> list[str]:
    """Return the lines of a function, each statement or its head on one line, whatever its layout was."""
    text = ast.unparse(parse_function(source)[0])
    lines = []
    for line in GENERATED_NAME.sub(r"\1", text).splitlines():
        lines.append(line.strip().replace(PLAIN, ""))
    return lines


def read_changes(path: Path, names: Iterable[str]) -> Mapping[str, tuple[str, str]]:
    """Return what each mutant of a file removes and adds."""
    spans = MutantLineSpans.load(path)
    assert spans is not None, path
    changes = {}
    for name in names:
        sources = spans.read_function_sources(generated_function_names(name))
        before, after = (list_statements(source) for source in sources)
        removed, added = [], []
        for line in difflib.ndiff(before, after):
            if line.startswith("- "):
                removed.append(line[2:])
            elif line.startswith("+ "):
                added.append(line[2:])
        changes[name] = " ".join(removed), " ".join(added)
    return changes


def load_mutants() -> Iterator[Mutant]:
    """Yield the mutants of this folder, each with its result so far."""
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        changes = read_changes(path, data.exit_code_by_key)
        for name, exit_code in data.exit_code_by_key.items():
            module, _, function = name.rpartition("__mutmut_")[0].rpartition(".")
            function = function.removeprefix("x_").removeprefix("xǁ")
            function = function.replace(PLAIN, "")
            yield Mutant(
                name,
                f"{module.partition('.')[2]}.{function.replace('ǁ', '.')}",
                status_by_exit_code[exit_code],
                *changes[name],
            )


def find_paths() -> Mapping[str, Path]:
    """Return the file of each mutant."""
    paths: dict[str, Path] = {}
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        paths.update(dict.fromkeys(data.exit_code_by_key, path))
    return paths


class Undecorated(cst.CSTTransformer):
    """Decorates by a statement of its own what mutmut would leave out, since it copies a function with its decorators."""

    def leave_FunctionDef(  # noqa: N802
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef | cst.FlattenSentinel[cst.BaseStatement]:
        """Return the function without its decorator, and the statement."""
        decorators = []
        for decorator in updated_node.decorators:
            decorators.append(cst.Module([]).code_for_node(decorator.decorator))
        if len(decorators) != 1 or decorators[0] not in DECORATORS:
            return updated_node
        name = updated_node.name.value
        plain = updated_node.with_changes(name=cst.Name(PLAIN + name), decorators=[])
        decorate = cst.parse_statement(f"{name} = {decorators[0]}({PLAIN}{name})")
        return cst.FlattenSentinel([plain, decorate])


def make_mutants(explained: list[dict[str, str]]) -> None:
    """Make the mutants of this folder, run none, and mark those that are explained as skipped.

    The folder is a copy: its files are changed.
    """
    mutmut.set_mutant_under_test("mutant_generation")
    for path in walk_mutatable_files():
        if config().should_mutate(path):
            module = cst.parse_module(path.read_text(encoding="utf-8"))
            path.write_text(module.visit(Undecorated()).code, encoding="utf-8")
    Path("mutants").mkdir(exist_ok=True)
    mutmut.copy_src_dir()
    mutmut.copy_also_copy_files()
    mutmut.setup_source_paths()
    mutmut.create_mutants(1)
    known = Counter(tuple(entry.values()) for entry in explained)
    alike: dict[tuple[str, ...], list[str]] = {}
    for mutant in load_mutants():
        change = (mutant.function, mutant.removed, mutant.added)
        alike.setdefault(change, []).append(mutant.name)
    skipped: set[str] = set()
    for same, names in alike.items():
        # Where a function has the same statement elsewhere, the mutants have to run to tell which is explained
        if known[same] == len(names):
            skipped.update(names)
    for path in walk_mutatable_files():
        data = SourceFileMutationData(path=path)
        data.load()
        for name in skipped & data.exit_code_by_key.keys():
            data.exit_code_by_key[name] = SKIPPED
        data.save()


def parse_function(source: str) -> tuple[ast.Module, int]:
    """Parse a function as a mutated file has it, maybe a method; return also how many lines come before."""
    is_method = source.lstrip("\n").startswith(" ")
    head = "class _:\n" if is_method else ""
    return ast.parse(head + source), head.count("\n")


def find_statement(source: str, line: int) -> range:
    """Return the lines of the statement at a line of a function, or of its head if it has a body."""
    tree, before = parse_function(source)
    found = range(0)
    for node in ast.walk(tree):
        if not isinstance(node, ast.stmt):
            continue
        end = node.end_lineno or node.lineno
        if body := getattr(node, "body", None):
            end = max(body[0].lineno - 1, node.lineno)
        lines = range(node.lineno - before, end - before + 1)
        if line in lines and (not found or len(lines) <= len(found)):
            found = lines
    return found


def find_changed_lines(path: Path, name: str) -> range:
    """Return the lines of the statement that a mutant changes, as the original has them in the mutated file."""
    spans = MutantLineSpans.load(path)
    assert spans is not None, path
    original, mutated = generated_function_names(name)
    before, after = spans.read_function_sources((original, mutated))
    pairs = zip(before.splitlines(), after.splitlines(), strict=False)
    for number, (line, other) in enumerate(pairs, 1):
        if GENERATED_NAME.sub(r"\1", line) != GENERATED_NAME.sub(r"\1", other):
            statement = find_statement(before, number)
            start = spans.span_by_function_name[original].start - 1
            return range(statement.start + start, statement.stop + start)
    return range(0)


@dataclass(frozen=True)
class Measured:
    """What some tests did without a mutant.

    Attributes:
        failed: The tests that failed.
        functions: The functions that each of the others called.
        by_line: The tests that execute each line, by mutated file.
        seconds: How long each test took.
    """

    failed: set[str]
    functions: dict[str, set[str]]
    by_line: dict[Path, dict[int, set[str]]]
    seconds: dict[str, float]


def run_in_fork(measure: Callable[[], Measured]) -> Measured:
    """Measure in a fork of this process, whose own threads stay as they are."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        try:
            with os.fdopen(writer, "wb") as file:
                pickle.dump(measure(), file)
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        measured: Measured = pickle.load(file)
    os.waitpid(process, 0)
    return measured


def name_test(item: pytest.Item) -> str:
    """Return the name that all rows of a test have in common."""
    return item.nodeid.partition("[")[0]


class CollectedTests(PytestRunner):
    """The tests of a part, collected once: each mutant is a fork of this process, and runs some of them.

    Args:
        session: The session that collected them.
    """

    def __init__(self, session: pytest.Session) -> None:
        super().__init__()
        rows = few_rows.select_rows(session.items)
        self.items = {item.nodeid: item for item in rows}
        # The rows that run only where none of these notices a mutant, by test
        self.other_rows: dict[str, list[pytest.Item]] = {}
        for item in session.items:
            if item.nodeid not in self.items:
                self.other_rows.setdefault(name_test(item), []).append(item)
        self.failures: list[str] = []
        self.seconds: dict[str, float] = {}
        # The tests that execute each line, by mutated file
        self.tests_by_line: dict[Path, dict[int, set[str]]] = {}
        # A fork cannot look them up where mutmut writes results, while these are written
        with change_cwd(".."):
            self.paths = find_paths()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Remember what failed, and how long each test takes."""
        if report.failed:
            reason = report.longreprtext.rpartition("\nE ")[2].partition("\n")[0]
            self.failures.append(f"{report.nodeid}: {reason.strip()}")
        so_far = self.seconds.get(report.nodeid, 0)
        self.seconds[report.nodeid] = so_far + report.duration

    def run_item(self, item: pytest.Item, following: pytest.Item | None) -> bool:
        """Run a test; tell whether it passed."""
        self.failures.clear()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return not self.failures

    def run_stats(self, *, tests: Iterable[str]) -> int:
        """Run each test without a mutant, and learn which functions and lines it needs.

        One that fails is left out: no mutant can show that it fails for that.
        """
        with_threads: list[pytest.Item] = []
        others: list[pytest.Item] = []
        for item in self.items.values():
            is_left = item.nodeid.startswith(WITH_THREADS)
            (with_threads if is_left else others).append(item)
        parts = [self.measure(others)]
        if with_threads:
            parts.append(run_in_fork(partial(self.measure, with_threads)))
        failed: set[str] = set()
        for part in parts:
            failed |= part.failed
            self.seconds.update(part.seconds)
            for test, functions in part.functions.items():
                for function in functions:
                    state().tests_by_mangled_function_name[function].add(test)
            for path, lines in part.by_line.items():
                by_line = self.tests_by_line.setdefault(path, {})
                for line, tests_of_line in lines.items():
                    by_line.setdefault(line, set()).update(tests_of_line)
        # What a fork collects in the place of this process would warn there, and fail a test
        gc.collect()
        state().duration_by_test.update(self.estimate_seconds())
        print(
            f"{len(self.items)} tests, {len(failed)} of them left out",
            file=sys.__stdout__,
        )
        return 1 if len(failed) == len(self.items) else 0

    def measure(self, items: list[pytest.Item]) -> Measured:
        """Run tests without a mutant."""
        paths = [
            path for path in walk_mutatable_files() if config().should_mutate(path)
        ]
        files = {path: str(Path("mutants", path).resolve()) for path in paths}
        measured = coverage.Coverage(data_file=None, include=[*files.values()])
        failed = set()
        functions: dict[str, set[str]] = {}
        with change_cwd("mutants"), measured.collect():
            for item, following in zip(items, [*items[1:], None], strict=True):
                measured.switch_context(item.nodeid)
                if self.run_item(item, following):
                    functions[item.nodeid] = set(state()._stats)
                else:
                    failed.add(item.nodeid)
                    print("\nleft out:", self.failures[0], file=sys.__stdout__)
                state()._stats.clear()
        data = measured.get_data()
        by_line = {}
        for path, file in files.items():
            contexts = data.contexts_by_lineno(file)
            by_line[path] = {line: set(ids) for line, ids in contexts.items()}
        return Measured(failed, functions, by_line, self.seconds)

    def estimate_seconds(self) -> Mapping[str, float]:
        """Return what each test takes, with its share of the rows that run last."""
        rows = Counter(name_test(item) for item in self.items.values())
        estimates = {}
        for nodeid, item in self.items.items():
            name = name_test(item)
            others = len(self.other_rows.get(name, ())) / rows[name]
            estimates[nodeid] = self.seconds[nodeid] * (1 + others)
        return estimates

    def run_tests(self, *, mutant_name: str | None, tests: Iterable[str]) -> int:
        """Run tests on a mutant, those first that it concerns most; return 1 with the first that notices it."""
        if mutant_name is None:
            return 0  # without a mutant, they passed just now
        try:
            items = self.order_tests(mutant_name, set(tests))
            with change_cwd("mutants"):
                for item, following in zip(items, [*items[1:], None], strict=True):
                    if self.is_noticed(mutant_name, item, following):
                        return KILLED
        except Exception:
            traceback.print_exc(file=sys.__stderr__)
            return SUSPICIOUS
        return SURVIVED

    def is_noticed(
        self, mutant: str, item: pytest.Item, following: pytest.Item | None
    ) -> bool:
        """Tell whether a test fails with a mutant, passes without it, and fails with it again.

        On a busy machine a test may fail without any mutant, and so may the first that runs in a fork: it has three attempts to pass.
        """
        for name, passes in ((mutant, False), ("", True), (mutant, False)):
            set_mutant_under_test(name)
            attempts = 3 if passes else 1
            if not any(
                self.run_item(item, following) is passes for _ in range(attempts)
            ):
                return False
        return True

    def order_tests(self, mutant: str, tests: set[str]) -> list[pytest.Item]:
        """Return the tests that execute the statement that a mutant changes.

        Those come first that alone execute it, or one of the lines after it, since these are what a guard decides on; then the
        quick ones, and last the other rows of all these tests.
        """
        path = self.paths[mutant]
        by_line = self.tests_by_line[Path(path)]
        changed = find_changed_lines(Path(path), mutant)
        reached = set()
        for line in changed:
            reached |= by_line.get(line, set()) & tests
        shares = dict.fromkeys(reached or tests, len(tests))
        for line in range(changed.start, changed.stop + DECIDED):
            executing = by_line.get(line, set()) & shares.keys()
            for test in executing:
                shares[test] = min(shares[test], len(executing))
        ordered = sorted(
            [self.items[test] for test in shares],
            key=lambda item: (shares[item.nodeid], self.seconds[item.nodeid]),
        )
        for name in dict.fromkeys(map(name_test, ordered)):
            ordered += self.other_rows.get(name, [])
        return ordered

    def run_forced_fail(self) -> int:
        """Say that a failure is noticed, as mutmut asks: each mutant's function is one that a test called."""
        return 1


class MutationRun:
    """A pytest plugin that runs mutmut in place of the tests, once they are collected.

    Args:
        words: The arguments of mutmut.
    """

    def __init__(self, words: list[str]) -> None:
        self.words = words

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run mutmut on the tests of this session."""
        plugins = session.config.pluginmanager
        plugins.unregister(name="terminalreporter")
        tests = CollectedTests(session)
        plugins.register(tests)

        def make_runner(children: int = 1) -> ForkRunner:
            return ForkRunner(children, tests)

        vars(mutmut)["get_mutant_runner"] = make_runner
        with change_cwd(".."):
            mutmut.cli(self.words, standalone_mode=False)
        return True


def run_mutants(words: list[str]) -> int:
    """Collect the tests, and run mutmut on them."""
    mutmut.setup_source_paths()
    settings = config()
    # Other runs of pytest delete their oldest folders, and this one may take an hour
    folder = tempfile.mkdtemp(prefix="mutate-")
    arguments = [
        "--rootdir=.",
        f"--basetemp={folder}",
        "--tb=short",
        *settings.pytest_add_cli_args,
        *settings.pytest_add_cli_args_test_selection,
    ]
    try:
        with change_cwd("mutants"):
            return int(pytest.main(arguments, plugins=[MutationRun(words)]))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    """Make the mutants, print them with their results, or run them with mutmut."""
    choose_mutants(every=bool(os.environ.get("ALL_MUTANTS")))
    command, *words = sys.argv[1:]
    if command == "make":
        make_mutants(json.load(sys.stdin))
    elif command == "list":
        print(json.dumps([asdict(mutant) for mutant in load_mutants()]))
    else:
        return run_mutants(["run", *words])
    return 0


if __name__ == "__main__":
    sys.exit(main())
