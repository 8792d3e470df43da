"""Servers from PyPI that were labelled from their source before `annotate` had read any of them.

`python tests/adopting/blind/measure.py FOLDER [--start]` fetches the source distributions of labels.tsv into FOLDER,
prints what `annotate` makes of each, and with `--start` annotates a copy of each with `--live`, in an environment of its own.
"""

import argparse
import contextlib
import io
import shutil
import subprocess
import sys
import tarfile
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from copier_fastmcp.adopting.hints import (
    combine_hints,
    find_relaxed_hints,
)
from copier_fastmcp.adopting.proposals import Proposal
from copier_fastmcp.adopting.survey import survey_server
from copier_fastmcp.auditing.evidence import IDEMPOTENT, READ_ONLY
from copier_fastmcp.cli import main
from copier_fastmcp.errors import RefusedError
from copier_fastmcp_engine.testing.lock import HINTS

HERE = Path(__file__).parent
AUTHOR = ("-c", "user.name=a", "-c", "user.email=a@example.com")


@dataclass
class Figures:
    """The result of `annotate` on one server."""

    server: str
    labelled: int = 0
    proposals: int = 0
    missing: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    false_reads: list[str] = field(default_factory=list)
    relaxed: list[str] = field(default_factory=list)


def load_labels(name: str = "labels.tsv") -> dict[str, dict[str, str]]:
    """The letters of each tool, by server: T, F or ? for each of the first three hints.

    Args:
        name: The file of the labels.
    """
    labels: dict[str, dict[str, str]] = {}
    for line in (HERE / name).read_text("utf-8").splitlines():
        server, tool, letters = line.split("\t")
        labels.setdefault(server, {})[tool] = letters
    return labels


def fetch(server: str, folder: Path) -> Path:
    """The unpacked source distribution of a server.

    Raises:
        RuntimeError: The registry does not have it, or cannot be reached.
    """
    stem = server.replace("-", "_").replace("==", "-")
    archive = folder / f"{stem}.tar.gz"
    if not archive.is_file():
        words = [
            "uv",
            "tool",
            "run",
            "--quiet",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
        ]
        words += [
            "--no-binary",
            server.partition("==")[0],
            "--dest",
            str(folder),
            server,
        ]
        subprocess.run(words, check=False, capture_output=True)
    if not archive.is_file():
        raise RuntimeError(f"{server} cannot be fetched")
    with tarfile.open(archive) as held:
        if hasattr(tarfile, "data_filter"):
            held.extractall(folder / "sources", filter="data")
        else:  # an early release of Python 3.11
            held.extractall(folder / "sources")
    return folder / "sources" / stem


def is_wrong(proposal: Proposal, letters: str) -> bool:
    """Whether a proposed hint contradicts a certain label."""
    proposed = combine_hints(proposal)
    labelled_hints = {}
    for hint, letter in zip(HINTS, letters, strict=False):
        if letter in "TF":
            labelled_hints[hint] = letter
    if labelled_hints.get(READ_ONLY) == "T":
        return not proposed[READ_ONLY]
    if proposal.behavior == "action":  # it claims nothing about repeating
        labelled_hints.pop(IDEMPOTENT, None)
    return any(
        proposed[hint] is not (letter == "T") for hint, letter in labelled_hints.items()
    )


def measure(server: str, source: Path, letters: dict[str, str]) -> Figures:
    """Compare the proposals for a server with its labels."""
    figures = Figures(server)
    try:
        survey = survey_server(source, low_level=True)
    except RefusedError:
        figures.missing = list(letters)
        return figures
    figures.proposals = len(survey.proposals)
    names = {proposal.tool.name for proposal in survey.proposals}
    figures.missing = [name for name in letters if name not in names]
    for proposal in survey.proposals:
        name = proposal.tool.name
        if proposal.asked:
            figures.questions.append(name)
        if not proposal.asked and find_relaxed_hints(
            proposal.tool.hints, combine_hints(proposal)
        ):
            figures.relaxed.append(name)
        label = letters.get(name, "?")
        if label[0] == "?":
            continue
        figures.labelled += 1
        if not proposal.asked and is_wrong(proposal, label):
            figures.errors.append(name)
        if not proposal.asked and proposal.behavior == "read" and label[0] == "F":
            figures.false_reads.append(name)
    return figures


def annotate_copy(source: Path, folder: Path) -> str:
    """Annotate a copy of a server with --live, and summarize the exit code and the output."""
    copy = shutil.copytree(source, folder / f"copy-{source.name}", dirs_exist_ok=False)
    for words in (
        ["init", "--quiet"],
        ["add", "--all", "--force"],
        [*AUTHOR, "commit", "-qm", "It"],
    ):
        subprocess.run(["git", *words], cwd=copy, check=True, capture_output=True)
    environment = folder / f"environment-{source.name}"
    python = environment / "bin/python"
    for words in (
        ["venv", "--quiet", str(environment)],
        ["pip", "install", "--quiet", "--python", str(python), "--editable", str(copy)],
    ):
        done = subprocess.run(
            ["uv", *words], check=False, capture_output=True, text=True
        )
        if done.returncode:
            return f"not installed: {done.stderr.strip().splitlines()[-1:]}"
    subprocess.run(["git", "clean", "-fdq"], cwd=copy, check=True)
    project = tomllib.loads((copy / "pyproject.toml").read_text("utf-8"))["project"]
    script = next(iter(project.get("scripts", {})), "")
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        code = main(
            [
                "annotate",
                str(copy),
                "--unattended",
                "--live",
                str(environment / "bin" / script),
            ]
        )
    lines = []
    for line in errors.getvalue().splitlines():
        if not line.startswith("review"):
            lines.append(line)
    by_hand = sum(line.startswith("by hand") for line in lines)
    messages = []
    for line in lines:
        if not line.startswith(("by hand", "kept", "--live")):
            messages.append(line)
    return f"exit {code}, {by_hand} by hand, {' | '.join(messages)[:300]}"


def print_figures() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--start", action="store_true")
    parser.add_argument("--labels", default="labels.tsv")
    options = parser.parse_args()
    rows = []
    for server, letters in load_labels(options.labels).items():
        source = fetch(server, options.folder)
        figures = measure(server, source, letters)
        rows.append(figures)
        print(f"{server}: {figures.proposals} found, {figures.labelled} labelled")
        for what in ("missing", "questions", "errors", "false_reads", "relaxed"):
            if names := getattr(figures, what):
                print(f"    {what}: {', '.join(names)}")
        if options.start:
            print(f"    {annotate_copy(source, options.folder)}")
        sys.stdout.flush()
    tools = sum(row.proposals for row in rows)
    labelled = sum(row.labelled for row in rows)
    errors, questions = (
        sum(len(row.errors) for row in rows),
        sum(len(row.questions) for row in rows),
    )
    print(f"{tools} tools, {questions / tools:.1%} asked")
    print(f"{labelled} labelled, {(labelled - errors) / labelled:.1%} right or asked")


if __name__ == "__main__":
    print_figures()
