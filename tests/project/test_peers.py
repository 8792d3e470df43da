"""Suites that other people wrote judge servers of each kind: they share no code and no opinion with this template."""

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import wire
import yaml
from programs import npx, run, run_fetched, uv
from support import Answers, nightly_but, render

INSPECTOR = npx("@modelcontextprotocol/inspector@2.12.0", "mcp-inspector")
CONFORMANCE = npx("@modelcontextprotocol/conformance@0.2.0-alpha.12", "conformance")
# What pytest-mcp-tools 0.3 finds that is its opinion and not the protocol's.
OPINIONS = {
    "test_tool_annotations_are_consistent": "readOnlyHint=True and idempotentHint=True",
}


SERVERS: dict[str, Answers] = {
    "default": {},
    "http": {"backend": "http", "api": "http://127.0.0.1:1"},
    "consent": {"consent": "url"},
}


@pytest.fixture(scope="module", params=nightly_but({"default"}, SERVERS))
def address(
    request: pytest.FixtureRequest,
    template: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[str]:
    """A server over HTTP."""
    project = render(
        template, tmp_path_factory.mktemp(request.param), SERVERS[request.param]
    )
    with wire.http(project, tmp_path_factory.mktemp("peers")) as address:
        yield address


@pytest.mark.nightly
def test_the_conformance_suite_misses_its_own_fixtures_only(
    address: str, tmp_path: Path
) -> None:
    expected_failures = Path(__file__).with_name("conformance.yml")
    options = [
        "--requirements",
        "2026-07-28",
        "--expected-failures",
        str(expected_failures),
    ]
    done = run_fetched(
        *CONFORMANCE, "server", "--url", address, *options, folder=tmp_path
    )
    match = re.search(r"Total: (\d+) passed", done.stdout)
    assert match, done.stdout
    assert int(match[1]) >= 112


@pytest.mark.nightly
@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_the_inspector_lists_and_calls(address: str, tmp_path: Path, era: str) -> None:
    start = [
        *INSPECTOR,
        "--cli",
        "--protocol-era",
        era,
        "--server-url",
        address,
        "--method",
    ]
    listed = run_fetched(*start, "tools/list", "--strict", folder=tmp_path)
    tools = {tool["name"]: tool for tool in json.loads(listed.stdout)["tools"]}
    assert len(tools) == 9
    assert tools["delete_note"]["annotations"]["destructiveHint"] is True
    words = ["tools/call", "--tool-name", "delete_note", "--tool-arg", "note_id=1"]
    called = run_fetched(*start, *words, folder=tmp_path)
    assert json.loads(called.stdout)["structuredContent"]["outcome"] == "preview"


def test_pytest_mcp_tools_finds_only_what_the_protocol_allows(
    address: str, tmp_path: Path
) -> None:
    start = [
        uv(),
        "tool",
        "run",
        "--quiet",
        "--with",
        "pytest-mcp-tools==0.3.0",
        "pytest",
    ]
    option = f"--mcp-tools={address.removesuffix('/mcp')}"
    done = run_fetched(
        *start, option, "-p", "no:cacheprovider", folder=tmp_path, codes=(1,)
    )
    failed = re.findall(r"^FAILED \.::(\S+) - ", done.stdout, re.MULTILINE)
    assert sorted(failed) == sorted(OPINIONS)
    assert [text for text in OPINIONS.values() if text not in done.stdout] == []
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed is not None
    assert int(passed[1]) >= 113


def test_the_containers_health_check_asks_the_server(
    address: str, template: Path, tmp_path: Path
) -> None:
    packed = render(template, tmp_path / "packed", {"packages": ["container"]})
    text = (packed / "Dockerfile").read_text(encoding="utf-8")
    (command,) = re.findall(r"^HEALTHCHECK .*?(\[.*\])$", text, re.MULTILINE)
    program, *words = json.loads(command)
    assert program == "python"
    port = address.split(":")[-1].removesuffix("/mcp")
    (variable,) = re.findall(r"environ\['(\w+)'\]", words[-1])
    assert f"{variable}=8000" in text
    for tried, code in (("1", 1), (port, 0)):
        done = run(sys.executable, *words, folder=tmp_path, **{variable: tried})
        assert done.returncode == code


@pytest.mark.nightly
def test_the_projects_own_workflow_asks_the_same_tools(
    project: Path, tmp_path: Path, port: str
) -> None:
    workflow = yaml.safe_load(
        (project / ".github/workflows/ci.yml").read_text(encoding="utf-8")
    )
    step = workflow["jobs"]["peers"]["steps"][-1]
    mine = shutil.copytree(
        project, tmp_path / "mine", ignore=shutil.ignore_patterns(".*cache")
    )
    path = f"{Path(uv()).parent}{os.pathsep}{os.environ['PATH']}"
    text = step["run"].replace("8765", port)
    done = run_fetched("bash", "-c", text, folder=mine, PATH=path, **step["env"])
    assert done.stdout.count("Passed:") == 4, done.stdout
