"""Whether every proof that the lock records has run: addopts, a conftest or a plugin may have kept one from it."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from .. import lock
from ..rules import format_finding

NOTE = "copier-fastmcp-note"  # the property of a test's report that carries a note
PROOF = "copier-fastmcp-proof"  # the property that carries a proof: its tool and era
OPTION = "--all-proofs"
ERAS = ("legacy", "2026-07-28")
# Arguments of pytest with which a person selects tests, or runs none
SELECTING = re.compile(
    r"-[a-z]*[km].*|--(co|collect-only|deselect|ff|failed-first|fixtures|ignore|ignore-glob|last-failed|lf|pyargs|setup-only"
    r"|setup-plan|stepwise|stepwise-skip|sw|sw-skip|markers)(=.*)?"
)
CAUSE = "a mark, addopts, a conftest.py or a plugin kept it from running"
REMEDY = "remove that, or say `unprobed` in its probe"
RULE = "proofs-complete"


def selects_tests(arguments: Iterable[str], folder: Path) -> bool:
    """Tell whether the command line selects tests: by an option, or by naming a file or folder that exists."""
    for argument in arguments:
        if SELECTING.fullmatch(argument):
            return True
        path = argument.partition("::")[0]
        if not argument.startswith("-") and (folder / path).exists():
            return True
    return False


def find_missing(pinned: lock.Lock, proven: set[tuple[str, str]]) -> Iterator[str]:
    """Yield each proof that a lock records and that did not run, with its era.

    Args:
        pinned: The lock.
        proven: The tool and the era of each proof that ran to its end.
    """
    for name, entry in sorted(pinned["tools"].items()):
        if not entry.get("probed"):
            continue
        skips = entry.get("proof", {}).get("skips", {})
        for era in ERAS:
            if (name, era) not in proven and era not in skips:
                yield f"{name} in {era}"


class Completeness:
    """Collects notes and proofs from the reports of all processes, and compares the proofs with the lock."""

    def __init__(self, config: pytest.Config) -> None:
        """Take the settings of the run."""
        self.config = config
        self.notes: dict[str, None] = {}
        self.proven: set[tuple[str, str]] = set()
        self.missing: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect what a report carries."""
        for name, value in report.user_properties:
            if name == NOTE:
                self.notes[str(value)] = None
            if name == PROOF:
                tool, _, era = str(value).partition(" ")
                self.proven.add((tool, era))

    def _is_complete_run(self) -> bool:
        """Tell whether all tests were to run; a worker of pytest-xdist runs some of them."""
        if hasattr(self.config, "workerinput"):
            return False
        if self.config.getoption(OPTION):
            return True
        parameters = self.config.invocation_params
        return not selects_tests(parameters.args, parameters.dir)

    @pytest.hookimpl(wrapper=True, trylast=True)  # before the summary
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Iterator[Any]:
        """Fail a run that passed without all proofs."""
        result = yield
        passed = (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)
        path = self.config.rootpath / lock.FILE
        if session.exitstatus in passed and self._is_complete_run() and path.exists():
            try:
                pinned = lock.load_lock(path)
            except ValueError as error:  # which a test reports, where it runs
                self.missing = [str(error)]
            else:
                for proof in find_missing(pinned, self.proven):
                    finding = format_finding(f"{proof}: {CAUSE}", REMEDY, RULE)
                    self.missing.append(finding)
            if self.missing:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return result

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter
    ) -> None:
        """Print the notes, and the proofs that did not run."""
        for line in self.notes:
            terminalreporter.write(f"NOTE {line}\n")
        for line in self.missing:
            terminalreporter.write(f"NOT PROVEN {line}\n")
