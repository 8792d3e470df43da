"""Whatever a document holds, its tools are answers that the template takes, render clean, and pass their suites.

DOCUMENTS, SUITES and LIVE choose how many documents the tests take, DOCUMENTS_SEED which: the same numbers give the same
documents. The project whose suite fails stays in DOCUMENTS_KEPT, where that names a folder.
"""

import asyncio
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from calling import environment
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from openapi.drawing import drawn_documents
from support import PYTEST, Answers, python, render, rendered

from copier_fastmcp.openapi.converting import answers_of, convert
from copier_fastmcp.openapi.document import read
from copier_fastmcp.openapi.merging import written
from copier_fastmcp.openapi.operations import operations
from copier_fastmcp.openapi.tools import Options

COUNT = int(os.environ.get("DOCUMENTS", "20"))
SUITES = int(os.environ.get("SUITES", "40"))
LIVE = int(os.environ.get("LIVE", "4"))
SEED = int(os.environ.get("DOCUMENTS_SEED", "20261122"))
SERVED = Path(__file__).with_name("served.py")
ERAS = ("legacy", "2026-07-28")


def import_drawn(count: int, start: int, folder: Path) -> Iterator[tuple[int, Answers]]:
    """Draw documents and import them; of each that has tools its number, and its answers as they are read again."""
    for number, built in enumerate(drawn_documents(count, start)):
        file = folder / "api.json"
        file.write_text(json.dumps(built), encoding="utf-8")
        document = read(file)
        rows = convert(list(operations(document)), Options())
        for row in rows:
            assert row.tool or row.left_out, "nothing is dropped in silence"
        answers, _ = answers_of(document, rows)
        if not answers["tools"]:
            continue
        text = yaml.safe_load(written(answers, "api.json"))
        assert text == answers, "the file says what was meant"
        yield number, text


def render_projects(
    count: int, start: int, folder: Path
) -> Iterator[tuple[Path, Answers]]:
    """Render a project for each document with tools."""
    for number, printed in import_drawn(count, start, folder):
        try:
            files = rendered(printed)
        except ValueError as error:
            pytest.fail(
                f"document {number} of {count} from seed {start} is refused: {error}"
            )
        place = folder / str(number)
        for path, text in files.items():
            (place / path).parent.mkdir(parents=True, exist_ok=True)
            (place / path).write_text(text, encoding="utf-8", newline="\n")
        yield place, printed


def lint(folder: Path) -> None:
    """Fail for what ruff would change or finds in any project below a folder."""
    for words in (["format", "--check"], ["check"]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, "--no-cache", "--quiet", "."],
            cwd=folder,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def test_documents_render_clean(tmp_path: Path) -> None:
    tools = 0
    for _, answers in render_projects(COUNT, SEED, tmp_path):
        tools += len(answers["tools"])
    assert tools > COUNT / 2
    lint(tmp_path)


@pytest.mark.nightly
def test_servers_of_documents_pass_their_suites(tmp_path: Path) -> None:
    """A suite imports the server, and runs each tool that can be probed before a fake of the API."""
    ran, failed = 0, []
    for project, text in render_projects(SUITES, SEED + 1, tmp_path):
        done = python(project, *PYTEST, "-q")
        ran += 1
        if done.returncode:
            failures = []
            for line in done.stdout.splitlines():
                if line[:6] in ("FAILED", "ERROR "):
                    failures.append(line)
            failed.append(
                f"{project.name}: {failures or (done.stdout + done.stderr)[-2000:]}"
            )
            if remaining := os.environ.get("DOCUMENTS_KEPT"):
                place = Path(remaining, f"{SEED + 1}-{project.name}")
                shutil.copytree(project, place, dirs_exist_ok=True)
                (place / "answers.json").write_text(
                    json.dumps(text, indent=1), encoding="utf-8"
                )
                (place / "out.txt").write_text(
                    done.stdout + done.stderr, encoding="utf-8"
                )
    lint(tmp_path)
    print(
        f"{SUITES} documents from seed {SEED + 1}: {ran} servers, {len(failed)} suites failed"
    )
    assert not failed, "\n".join(failed)
    assert ran > SUITES / 2


def select_probed(text: Answers, calls: dict[str, Any], behavior: str) -> list[str]:
    """The tools of a behavior, but for reads that a person is asked for, and calls of which no sample is known."""
    names = []
    for tool in text["tools"]:
        name = tool["name"]
        is_gated_read = behavior == "read" and "confirm" in tool
        has_sample = calls.get(name, {}) is not None
        if tool["behavior"] == behavior and has_sample and not is_gated_read:
            names.append(name)
    return names


async def visit_server(project: Path, era: str, printed: Answers) -> None:
    """List the tools of a server that runs, read, and have a deletion asked for: declined, then applied."""
    question: list[str] = []

    async def person(text: str, *_: object) -> ElicitResult[Any]:
        question.append(text)
        action: Any = "accept" if len(question) > 1 else "decline"
        return ElicitResult(action=action, content={"confirm": True})

    words = ["-P", str(SERVED), str(project)]
    with (project / f"{era}.log").open("w") as log:
        transport = StdioTransport(
            sys.executable, words, env=environment(), log_file=log
        )
        async with Client[Any](
            transport, mode=era, elicitation_handler=person
        ) as client:
            listed = {tool.name: tool for tool in await client.list_tools()}
            assert set(listed) == {tool["name"] for tool in printed["tools"]}
            calls = json.loads((project / "calls.json").read_text(encoding="utf-8"))
            read_tools, delete_tools = (
                select_probed(printed, calls, row) for row in ("read", "delete")
            )
            for name in read_tools[:1]:
                hints = listed[name].annotations
                assert hints
                assert hints.read_only_hint is True
                await client.call_tool(name, calls[name])
                assert not question, "a read asks nobody"
            for name in delete_tools[:1]:
                outcomes, first = [], []
                for _ in range(2):
                    result = await client.call_tool(name, calls[name])
                    outcomes.append((result.structured_content or {})["outcome"])
                    first.append(
                        json.loads(
                            (project / "records.json").read_text(encoding="utf-8")
                        )
                    )
                assert (outcomes, len(question)) == (["declined", "applied"], 2)
                assert len(first[1]) < len(first[0])


@pytest.mark.nightly
def test_servers_of_documents_are_called(template: Path, tmp_path: Path) -> None:
    """Through Copier, and over stdio in both protocol eras."""
    ran = 0
    for number, text in import_drawn(40 * LIVE, SEED + 2, tmp_path):
        if select_probed(text, {}, "read") and select_probed(text, {}, "delete"):
            project = render(template, tmp_path / str(number), text)
            for era in ERAS:
                asyncio.run(visit_server(project, era, text))
            ran += 1
        if ran == LIVE:
            break
    assert ran == LIVE
