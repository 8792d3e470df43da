"""Real servers from PyPI: what `adopt` reads of their source, against labels that were made before it was written.

`python tests/adopting/real.py [SDISTS]` prints the figures of README.md; SDISTS is a folder of source distributions,
fetched where none is given. The labels are those of the audit (tests/audit/README.md says how they were made, twice).
"""

import asyncio
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from copier_fastmcp.adopting.hints import combine_hints
from copier_fastmcp.adopting.proposals import Proposal
from copier_fastmcp.adopting.survey import Survey, survey_server
from copier_fastmcp.errors import RefusedError
from copier_fastmcp_engine.testing.lock import HINTS

AUDIT = Path(__file__).parents[1] / "audit"
SERVERS = json.loads((AUDIT / "servers.json").read_text("utf-8"))
# Those on which the vocabulary was made; the others it had not seen.
KNOWN = [
    "awslabs-cloudwatch",
    "awslabs-documentation",
    "awslabs-iam",
    "awslabs-s3-tables",
]
KNOWN += ["atlassian", "prometheus", "todoist", "word"]
FRESH = [
    "blender",
    "duckduckgo",
    "google-workspace",
    "jupyter",
    "meta-ads",
    "odoo",
    "powerpoint",
]
FRESH += ["awslabs-dynamodb", "awslabs-ecs", "wikipedia"]
# Labelled from names, words and parameters before `adopt` had read any of them (unseen.tsv).
UNSEEN = {
    "alpaca": "alpaca-mcp-server==2.4.0",
    "chroma": "chroma-mcp==0.2.6",
    "code-index": "code-index-mcp==2.17.1",
    "home-assistant": "ha-mcp==3.5.1",
    "motherduck": "mcp-server-motherduck==1.1.0",
    "neo4j-memory": "mcp-neo4j-memory==0.4.5",
    "nixos": "mcp-nixos==3.1.0",
    "outline": "mcp-outline==1.10.1",
    "yt-dlp": "yt-dlp-mcp==0.2.0",
    "zotero": "zotero-mcp-server==0.15.1",
}
# Those that have tests of their own, which are run before and after an adoption.
TESTED = {
    "dispatcher": "agent-dispatcher-mcp==0.2.0",
    "memos": "memos-fastmcp==0.2.5",
    "plane": "plane-mcp-oss==0.1.1",
}
# Those that are written for FastMCP and run on 4.1: what starts each over stdio, and what it needs to start.
NOWHERE = "http://127.0.0.1:9"
STARTED: dict[str, tuple[str, str, dict[str, str]]] = {
    "home-assistant": (
        "ha_mcp.__main__:main",
        "",
        {"HOMEASSISTANT_URL": NOWHERE, "HOMEASSISTANT_TOKEN": "none"},
    ),
    "awslabs-ecs": (
        "awslabs.ecs_mcp_server.main:main",
        "",
        {
            "AWS_REGION": "us-east-1",
            "ALLOW_WRITE": "true",
            "ALLOW_SENSITIVE_DATA": "true",
        },
    ),
    "google-workspace": (
        "main:main",
        "",
        {"GOOGLE_OAUTH_CLIENT_ID": "none", "GOOGLE_OAUTH_CLIENT_SECRET": "none"},
    ),
    "motherduck": ("mcp_server_motherduck:main", "--db-path :memory: --read-write", {}),
    "prometheus": (
        "prometheus_mcp_server.main:run_server",
        "",
        {"PROMETHEUS_URL": NOWHERE},
    ),
    "todoist": ("todoist_mcp:main", "", {"TODOIST_API_TOKEN": "none"}),
    "wikipedia": ("wikipedia_mcp.__main__:main", "", {}),
    "word": ("word_document_server.main:run_server", "", {}),
    "zotero": ("zotero_mcp.cli:main", "serve", {"ZOTERO_LOCAL": "true"}),
}
# Those that are written with an SDK: they are annotated.
ANNOTATED: dict[str, tuple[str, str, dict[str, str]]] = {
    "odoo": (
        "mcp_server_odoo.__main__:main",
        "",
        {"ODOO_URL": NOWHERE, "ODOO_API_KEY": "none"},
    ),
    "outline": ("mcp_outline.server:main", "", {"OUTLINE_API_KEY": "none"}),
}


@dataclass
class Figures:
    """Counts for one server, and the names of tools with errors."""

    server: str
    tools: int = 0
    listed: int = 0
    missing: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    false_reads: list[str] = field(default_factory=list)
    labelled: int = 0


def load_labels(name: str) -> dict[tuple[str, str], str]:
    """Load the label letters of each tool."""
    path = AUDIT / name if name != "unseen.tsv" else Path(__file__).with_name(name)
    labels = {}
    for line in path.read_text("utf-8").splitlines():
        server, tool, letters, *_ = line.split("\t")
        labels[server, tool] = letters
    return labels


def load_recorded_names(server: str) -> set[str]:
    """Load the tool names of a server's recording."""
    if server in UNSEEN:
        return {tool for name, tool in load_labels("unseen.tsv") if name == server}
    (path,) = AUDIT.glob(f"*/{server}.json")
    recording = json.loads(path.read_text("utf-8"))
    names = set()
    for tool in recording["tools"] if isinstance(recording, dict) else recording:
        names.add(tool["name"])
    return names


def fetch_source(server: str, folder: Path) -> Path:
    """The source distribution of a server, fetched by pip where it is not in a folder, and unpacked.

    RuntimeError: the registry does not have it, or cannot be reached.
    """
    requirement = (UNSEEN | TESTED).get(server) or SERVERS[server][1].split()[0]
    stem = requirement.replace("-", "_").replace("==", "-")
    archive = next(iter(folder.glob(f"{stem}.tar.gz")), None)
    if archive is None:
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
        done = subprocess.run(
            [*words, "--no-binary", ":all:", "--dest", str(folder), requirement],
            capture_output=True,
            text=True,
            check=False,
        )
        archive = next(iter(folder.glob(f"{stem}.tar.gz")), None)
        if archive is None:
            raise RuntimeError(
                f"{requirement}: {done.stderr.strip().splitlines()[-1:]}"
            )
    unpack(archive, folder / "unpacked")
    return folder / "unpacked" / archive.name.removesuffix(".tar.gz")


def unpack(archive: Path, folder: Path) -> None:
    """Unpack a source distribution; early releases of Python 3.11 have no filters."""
    with tarfile.open(archive) as files:
        if hasattr(tarfile, "data_filter"):
            files.extractall(folder, filter="data")
        else:
            files.extractall(folder)


def create_environment(project: Path, folder: Path, *packages: str) -> Path:
    """The Python of an environment that has what an adopted server declares, and other packages.

    RuntimeError: the registry does not have it, or cannot be reached.
    """
    interpreter = folder / "bin/python"
    for words in (
        ["venv", "--quiet", "--python", sys.executable, str(folder)],
        [
            "pip",
            "install",
            "--quiet",
            "--python",
            str(interpreter),
            "-r",
            str(project / "pyproject.toml"),
            *packages,
        ],
    ):
        done = subprocess.run(
            ["uv", *words], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-300:])
    return interpreter


def run_tests(python: Path, project: Path) -> dict[str, str]:
    """The outcome of each of a server's own tests."""
    words = ["-m", "pytest", "tests", "-v", "-p", "no:cacheprovider"]
    paths = os.pathsep.join(map(str, (project, project / "src")))
    done = subprocess.run(
        [str(python), *words],
        cwd=project,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": paths, "HOME": str(project)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    outcomes = {}
    for line in done.stdout.splitlines():
        if found := re.match(r"(\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED)\b", line):
            outcomes[found[1]] = found[2]
    return outcomes


async def list_served_tools(
    name: str, python: Path, project: Path, home: Path
) -> dict[str, dict[str, Any]]:
    """List a server's tools over stdio."""
    entry, arguments, needs = (STARTED | ANNOTATED)[name]
    module, function = entry.split(":")
    variables = {
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": os.pathsep.join(map(str, (project, project / "src"))),
    }
    words = ["-c", f"from {module} import {function}; {function}()", *arguments.split()]
    home.mkdir(exist_ok=True)
    transport = StdioTransport(
        str(python), words, env=variables | needs, cwd=str(home), log_file=home / "log"
    )
    async with asyncio.timeout(120), Client(transport) as client:
        tools = await client.list_tools()
    definitions = {}
    for tool in tools:
        definitions[tool.name] = tool.model_dump(
            by_alias=True, exclude_none=True, mode="json"
        )
    return definitions


def contradicts(proposal: Proposal, letters: str) -> bool:
    """Whether a proposed hint contradicts a certain label."""
    proposed = combine_hints(proposal)
    labelled_hints = {}
    for hint, letter in zip(HINTS[:3], letters, strict=False):
        if letter in "TF":
            labelled_hints[hint] = letter
    if labelled_hints.get("readOnlyHint") == "T":
        labelled_hints = {"readOnlyHint": "T"}
    if (
        proposal.behavior == "action"
    ):  # an action is idempotent where its author says so
        labelled_hints.pop("idempotentHint", None)
    return any(
        proposed[hint] is not (letter == "T") for hint, letter in labelled_hints.items()
    )


def measure_server(server: str, folder: Path) -> Figures:
    """Compare the proposals of `adopt` with the labels of a server."""
    survey = survey_server(folder)
    first, second = load_labels("labels.tsv"), load_labels("second.tsv")
    if server in UNSEEN:
        first, second = load_labels("unseen.tsv"), {}
    figures = Figures(server, tools=len(survey.proposals), listed=len(survey.left))
    figures.missing = list_missing(server, survey)
    for proposal in survey.proposals:
        name = proposal.tool.name
        letters = first.get((server, name), "")
        if proposal.asked:
            figures.questions.append(name)
        if not letters or letters[0] == "?":
            continue
        figures.labelled += 1
        if proposal.asked:
            continue
        second_letters = second.get((server, name), letters)
        if contradicts(proposal, combine_letters(letters, second_letters)):
            figures.errors.append(name)
        if proposal.behavior == "read" and letters[0] == "F":
            figures.false_reads.append(name)
    return figures


def list_missing(server: str, survey: Survey) -> list[str]:
    """List the recorded tools of a server that `adopt` does not find."""
    names = {item.tool.name for item in survey.proposals}
    names |= {item.name for item in survey.left}
    # A name that is built at run time is found by its function.
    built_prefixes = set()
    for proposal in survey.proposals:
        if not proposal.tool.exact:
            built_prefixes.add(proposal.tool.name.split("_")[0])
    missing = []
    for name in sorted(load_recorded_names(server) - names):
        if name.split("_")[0] not in built_prefixes:
            missing.append(name)
    return missing


def combine_letters(first: str, second: str) -> str:
    """Combine two labels of a tool; `?` where they differ."""
    letters = []
    for letter, second_letter in zip(first, second, strict=False):
        letters.append(letter if letter == second_letter else "?")
    return "".join(letters)


def format_table(rows: list[Figures]) -> str:
    """Format the figures as a Markdown table."""
    lines = [
        "| server | tools | not found | asked | labelled | right or asked | false reads |"
    ]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        right = row.labelled - len(row.errors)
        cells = [
            row.server,
            row.tools,
            len(row.missing),
            len(row.questions),
            row.labelled,
        ]
        lines.append(
            "| " + " | ".join(map(str, [*cells, right, len(row.false_reads)])) + " |"
        )
    tools, questions = (
        sum(row.tools for row in rows),
        sum(len(row.questions) for row in rows),
    )
    labelled, errors = sum(r.labelled for r in rows), sum(len(r.errors) for r in rows)
    share = f"{labelled - errors} ({(labelled - errors) / max(1, labelled):.1%})"
    ends = [
        sum(len(r.missing) for r in rows),
        f"{questions} ({questions / max(1, tools):.1%})",
        labelled,
    ]
    last = ["together", tools, *ends, share, sum(len(r.false_reads) for r in rows)]
    return "\n".join([*lines, "| " + " | ".join(map(str, last)) + " |"])


if __name__ == "__main__":
    place = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp())
    groups = (
        ("Known", KNOWN),
        ("Not seen before", FRESH),
        ("Labelled blind", [*UNSEEN]),
    )
    for title, names in groups:
        figures = []
        for name in names:
            try:
                figures.append(measure_server(name, fetch_source(name, place)))
            except (RuntimeError, RefusedError) as error:
                print(f"skipped {name}: {error}", file=sys.stderr)
        print(f"{title}:\n\n{format_table(figures)}\n")
        for row in figures:
            for what in ("missing", "errors", "false_reads", "questions"):
                if names_of := getattr(row, what):
                    print(
                        f"{row.server}: {what}: {', '.join(names_of)}", file=sys.stderr
                    )
