"""Python clients from PyPI use the reading list: each lists, reads, creates, and deletes after its user has approved.

CLIENT_ENVIRONMENTS names a folder where the environments of the clients are kept from run to run.
"""

import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from live.services import UnavailableError, install
from support import ROOT, Renders

pytestmark = pytest.mark.nightly

DRIVERS = Path(__file__).parent / "drivers"
OWN = ROOT / "examples/reading"
SECONDS = 300
APPLIED = {"form": "person", "preview": "client"}


@dataclass(frozen=True)
class PythonClient:
    """A client, by its row in the README.

    Attributes:
        driver: The script that uses it.
        requirement: The package that is installed.
        modern: Whether it uses the newest protocol.
        can_ask: Whether an application can hand it a handler for forms.
    """

    driver: str
    requirement: str
    modern: bool
    can_ask: bool = True


CLIENTS = {
    "FastMCP": PythonClient("client_fastmcp.py", "fastmcp", modern=True),
    "mcp 1": PythonClient("client_mcp1.py", "mcp<2", modern=False),
    "mcp 2": PythonClient("client_mcp2.py", "mcp>=2", modern=True),
    "LangChain": PythonClient(
        "client_langchain.py", "langchain-mcp-adapters", modern=False
    ),
    "OpenAI Agents": PythonClient(
        "client_openai_agents.py", "openai-agents", modern=True, can_ask=False
    ),
    "PydanticAI": PythonClient(
        "client_pydantic_ai.py", "pydantic-ai-slim[mcp]", modern=True
    ),
}


@pytest.fixture(scope="module")
def entry(
    example: Renders,
    tmp_path_factory: pytest.TempPathFactory,
    one_environment: None,
) -> str:
    """The entry that `connect` prints for the reading list, with its data in memory."""
    project = tmp_path_factory.mktemp("clients") / "reading"
    shutil.copytree(example("reading"), project)
    shutil.copytree(OWN, project, dirs_exist_ok=True)
    setting = "READING_MCP_DATABASE=:memory:"
    environment = os.environ["UV_PROJECT_ENVIRONMENT"]
    command = ["uv", "run", "--quiet", "reading-mcp", "connect", "json"]
    printed = subprocess.run(
        [*command, "--env", setting],
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    servers: dict[str, Any] = json.loads(printed.stdout)["mcpServers"]
    server = servers["reading-mcp"]
    server["env"]["UV_PROJECT_ENVIRONMENT"] = environment
    return json.dumps(server)


@pytest.fixture(scope="module")
def environments(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the environments of the clients are."""
    folder = os.environ.get("CLIENT_ENVIRONMENTS")
    return Path(folder) if folder else tmp_path_factory.mktemp("environments")


def drive(
    client: PythonClient, mode: str, entry: str, environments: Path
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run a driver in its client's environment; return its report and the server's log of confirmations."""
    folder = environments / Path(client.driver).stem
    try:
        programs = install(folder, client.requirement)
    except UnavailableError as error:
        pytest.skip(str(error))
    done = subprocess.run(
        [str(programs / "python"), str(DRIVERS / client.driver), mode, entry],
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr
    lines = []
    for line in done.stderr.splitlines():
        if line.startswith("{"):
            lines.append(line)
    events = [json.loads(line) for line in lines]
    confirmations = [event for event in events if event["event"] == "confirmation"]
    report: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return report, confirmations


def rows() -> dict[str, tuple[str, str]]:
    """The protocol and the display of each client, as the README's table has them."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    section = text.partition("## Clients")[2].partition("\n## ")[0]
    table = re.findall(r"(?m)^\| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", section)
    return {name: (protocol, display) for name, protocol, display in table}


def list_cases() -> list[Any]:
    """List the clients with each way in which they show a confirmation."""
    cases = []
    for name, client in CLIENTS.items():
        if client.can_ask:
            cases.append(pytest.param(name, "form", id=f"{name}-form"))
        cases.append(pytest.param(name, "preview", id=f"{name}-preview"))
    return cases


CASES = list_cases()


@pytest.mark.parametrize(("name", "display"), CASES)
def test_a_client_lists_creates_reads_and_deletes(
    name: str, display: str, entry: str, environments: Path
) -> None:
    client = CLIENTS[name]
    mode = "asks" if display == "form" else "silent"
    report, confirmations = drive(client, mode, entry, environments)

    assert len(report["tools"]) == 13
    assert report["read"] == report["kept"] == "Gardens"
    assert "does not exist" in report["gone"]
    assert confirmations[-1]["approved_by"] == APPLIED[display]
    assert {event["approved_by"] for event in confirmations[:-1]} == {None}
    assert (confirmations[0]["era"] == "2026-07-28") is client.modern

    texts = report["displayed"] if display == "form" else [report["first"]]
    assert texts
    for text in texts:
        assert "Delete Article?" in text
        assert "article_id" in text

    protocol, displayed = rows()[name]
    assert ("2026-07-28" in protocol) is client.modern
    assert ("form" in displayed) is client.can_ask
    assert "preview" in displayed
