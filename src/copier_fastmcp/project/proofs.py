"""The proofs of a project, run once by its own suite: what passes, what fails, and what nothing proves."""

import re
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

from ..errors import UnableError, format_count, one_line
from .pinning import project_environment

SUITE = "tests/policy"
SECONDS = 900
# What a skipped proof prints of a tool that declares `unprobed`.
UNPROBED = re.compile(r"(\S+) is unprobed: (.*)", re.DOTALL)
NO_REASON = "it failed without a message"


@dataclass
class Proofs:
    """The outcome of a project's suite.

    Attributes:
        passed: The number of tests that passed.
        failed: The reason of each test that failed, by its name.
        unprobed: The reason why nothing proves a tool, by its name.
    """

    passed: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    unprobed: dict[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """Return what passed, then what remains to be done, a line each."""
        lines = [f"proofs: {format_count(self.passed, 'test')} passed"]
        for name, reason in self.failed.items():
            lines.append(f"to fix: {name}: {reason}")
        for tool, reason in self.unprobed.items():
            lines.append(
                f"to prove: {tool}: {reason}; write arrange() in tests/tools/test_{tool}.py"
            )
        return lines


def run_proofs(project: Path) -> Proofs:
    """Run the suite of an installed project once.

    Args:
        project: The project.

    Raises:
        UnableError: The suite does not run, or does not end in time.
    """
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.xml")
        command = ["uv", "run", "--quiet", "pytest", "-q", SUITE]
        command.append(f"--junit-xml={report}")
        try:
            done = subprocess.run(
                command,
                cwd=project,
                env=project_environment(project),
                capture_output=True,
                text=True,
                check=False,
                timeout=SECONDS,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UnableError(f"the proofs do not run: {error}") from error
        if not report.is_file():
            output = (done.stdout + done.stderr).strip().splitlines()
            last = output[-1] if output else f"exit code {done.returncode}"
            raise UnableError(f"the proofs do not run: {one_line(last)}")
        return parse_report(report.read_text(encoding="utf-8"))


def parse_report(text: str) -> Proofs:
    """Return the outcome from a report in JUnit's format.

    Args:
        text: The report, as pytest writes it.
    """
    proofs = Proofs()
    for case in ElementTree.fromstring(text).iter("testcase"):
        name = str(case.get("name"))
        failure = _first_of(case, "failure", "error")
        skip = _first_of(case, "skipped")
        if failure is not None:
            proofs.failed[name] = one_line(_reason_of(failure))
        elif skip is None:
            proofs.passed += 1
        else:
            match = UNPROBED.match(_reason_of(skip))
            if match:
                proofs.unprobed[match[1]] = one_line(match[2])
    return proofs


def _first_of(case: ElementTree.Element, *tags: str) -> ElementTree.Element | None:
    for tag in tags:
        child = case.find(tag)
        if child is not None:
            return child
    return None


def _reason_of(child: ElementTree.Element) -> str:
    """Return the message of a failure or a skip, without the name of its exception."""
    message = (child.get("message") or NO_REASON).strip()
    return message.removeprefix("Failed: ").splitlines()[0]
