"""Real servers from PyPI: what `adopt` reads of their source, against labels that were made before it was written.

`python tests/adopting/real.py [SDISTS]` prints the figures of README.md; SDISTS is a folder of source distributions,
fetched where none is given. The labels are those of the audit (tests/audit/README.md says how they were made, twice).
"""

import asyncio
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from copier_fastmcp.adopting.hints import hints_of
from copier_fastmcp.adopting.proposals import Proposal
from copier_fastmcp.adopting.survey import survey_server
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
    """What was read of one server: its tools, and by name what is wrong."""

    server: str
    tools: int = 0
    listed: int = 0
    missing: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    false_reads: list[str] = field(default_factory=list)
    labelled: int = 0


def labels(name: str) -> dict[tuple[str, str], str]:
    """The letters of each tool."""
    path = AUDIT / name if name != "unseen.tsv" else Path(__file__).with_name(name)
    rows = (line.split("\t") for line in path.read_text("utf-8").splitlines())
    return {(row[0], row[1]): row[2] for row in rows}


def wire(server: str) -> set[str]:
    """The names that a server put on the wire when it was recorded."""
    if server in UNSEEN:
        return {tool for name, tool in labels("unseen.tsv") if name == server}
    (path,) = AUDIT.glob(f"*/{server}.json")
    kept = json.loads(path.read_text("utf-8"))
    return {
        tool["name"] for tool in (kept["tools"] if isinstance(kept, dict) else kept)
    }


def fetched(server: str, folder: Path) -> Path:
    """The source distribution of a server, fetched by pip where it is not in a folder, and unpacked.

    RuntimeError: the registry does not have it, or cannot be reached.
    """
    wanted = UNSEEN.get(server) or SERVERS[server][1].split()[0]
    stem = wanted.replace("-", "_").replace("==", "-")
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
            [*words, "--no-binary", ":all:", "--dest", str(folder), wanted],
            capture_output=True,
            text=True,
            check=False,
        )
        archive = next(iter(folder.glob(f"{stem}.tar.gz")), None)
        if archive is None:
            raise RuntimeError(f"{wanted}: {done.stderr.strip().splitlines()[-1:]}")
    with tarfile.open(archive) as held:
        held.extractall(folder / "unpacked", filter="data")
    return folder / "unpacked" / archive.name.removesuffix(".tar.gz")


def environment(project: Path, folder: Path) -> Path:
    """The Python of an environment that has what an adopted server declares.

    RuntimeError: the registry does not have it, or cannot be reached.
    """
    own = folder / "bin/python"
    for words in (
        ["venv", "--quiet", "--python", sys.executable, str(folder)],
        [
            "pip",
            "install",
            "--quiet",
            "--python",
            str(own),
            "-r",
            str(project / "pyproject.toml"),
        ],
    ):
        done = subprocess.run(
            ["uv", *words], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-300:])
    return own


async def listed(
    name: str, python: Path, project: Path, home: Path
) -> dict[str, dict[str, Any]]:
    """The tools of a server as a client sees them over stdio."""
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
    return {
        tool.name: tool.model_dump(by_alias=True, exclude_none=True, mode="json")
        for tool in tools
    }


def contradicts(proposal: Proposal, letters: str) -> bool:
    """Whether a proposal says a hint otherwise than a label that the definition or a reader is sure of."""
    said = hints_of(proposal)
    wanted = {
        hint: letter
        for hint, letter in zip(HINTS[:3], letters, strict=False)
        if letter in "TF"
    }
    if wanted.get("readOnlyHint") == "T":
        wanted = {"readOnlyHint": "T"}
    if (
        proposal.behavior == "action"
    ):  # an action is idempotent where its author says so
        wanted.pop("idempotentHint", None)
    return any(said[hint] is not (letter == "T") for hint, letter in wanted.items())


def measured(server: str, folder: Path) -> Figures:
    """What `adopt` makes of a server."""
    seen, first, second = (
        survey_server(folder),
        labels("labels.tsv"),
        labels("second.tsv"),
    )
    if server in UNSEEN:
        first, second = labels("unseen.tsv"), {}
    figures = Figures(server, tools=len(seen.proposals), listed=len(seen.left))
    found = {one.tool.name for one in seen.proposals} | {one.name for one in seen.left}
    built = {
        one.tool.name.split("_")[0] for one in seen.proposals if not one.tool.exact
    }
    figures.missing = [
        name for name in sorted(wire(server) - found) if name.split("_")[0] not in built
    ]  # a name that is put together when it runs is found by its function
    for proposal in seen.proposals:
        name = proposal.tool.name
        letters = first.get((server, name), "")
        figures.asked += [name] if proposal.asked else []
        if not letters or letters[0] == "?":
            continue
        figures.labelled += 1
        if proposal.asked:
            continue
        again = second.get((server, name), letters)
        agreed = "".join(
            a if a == b else "?" for a, b in zip(letters, again, strict=False)
        )
        if contradicts(proposal, agreed):
            figures.wrong.append(name)
        if proposal.behavior == "read" and letters[0] == "F":
            figures.false_reads.append(name)
    return figures


def table(rows: list[Figures]) -> str:
    """The figures in Markdown."""
    lines = [
        "| server | tools | not found | asked | labelled | right or asked | false reads |"
    ]
    lines.append("| --- | --- | --- | --- | --- | --- | --- |")
    for row in rows:
        right = row.labelled - len(row.wrong)
        cells = [row.server, row.tools, len(row.missing), len(row.asked), row.labelled]
        lines.append(
            "| " + " | ".join(map(str, [*cells, right, len(row.false_reads)])) + " |"
        )
    tools, asked = sum(row.tools for row in rows), sum(len(row.asked) for row in rows)
    labelled, wrong = sum(r.labelled for r in rows), sum(len(r.wrong) for r in rows)
    share = f"{labelled - wrong} ({(labelled - wrong) / max(1, labelled):.1%})"
    ends = [
        sum(len(r.missing) for r in rows),
        f"{asked} ({asked / max(1, tools):.1%})",
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
                figures.append(measured(name, fetched(name, place)))
            except (RuntimeError, RefusedError) as error:
                print(f"skipped {name}: {error}", file=sys.stderr)
        print(f"{title}:\n\n{table(figures)}\n")
        for row in figures:
            for what in ("missing", "wrong", "false_reads", "asked"):
                if names_of := getattr(row, what):
                    print(
                        f"{row.server}: {what}: {', '.join(names_of)}", file=sys.stderr
                    )
