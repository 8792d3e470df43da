"""Servers with hand-written bodies, from the rows of this folder: what is wrong with each tool, and what its suite finds."""

import ast
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Any

import yaml
from support import PYTEST, python, render, rendered

HERE = Path(__file__).parent
SHARED = "correct"  # correct tools of several servers
SERVERS = sorted(path.stem for path in HERE.glob("*.yml") if path.stem != SHARED)
PUBLISHED = sorted(f"{path.parent.name}/{path.stem}" for path in HERE.glob("*/*.yml"))
ANY_FINDING = "."  # what a mutant without a pattern of its own has to be found by
PACKAGE = "mutants_mcp"
IMPORTS = """\
import asyncio
import functools
import shutil
import sqlite3
import tempfile
import threading
import time
import weakref
from dataclasses import dataclass
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

from fastmcp import Context
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field
"""
CONNECT = """
_running = None


def connect(settings: object) -> Backend:
    global _running
    _running = Backend(settings)
    return _running


def backend() -> Backend:
    return _running


async def slowly(seconds: float) -> None:
    await asyncio.sleep(seconds)


def boom(text: str) -> None:
    raise ToolError(text)
"""
DONE = """

class Done(BaseModel):
    ok: bool = Field(description="Whether it worked.")
"""
TOOLS = f"""
from ..backend import *
from ..policy import *
{DONE}"""
# An existing server: one module with its state and its tools, and what its owner writes for the suite.
EXISTING = """
import copy

from fastmcp import FastMCP

from .policy import *

mcp = FastMCP("mutants")
govern(mcp)
"""
EXISTING_DATA = """

def data() -> dict[str, Any]:
    return {snapshot}


INITIAL = copy.deepcopy(data())
"""
EXISTING_BACKEND = """
import copy

from {package}.server import INITIAL, data


class Backend:
    async def snapshot(self):
        return data()


def connect(settings):
    for name, current in data().items():
        current.clear()
        initial = copy.deepcopy(INITIAL[name])
        current.update(initial) if isinstance(current, dict) else current.extend(initial)
    return Backend()
"""


@dataclass(frozen=True)
class Row:
    """A tool: its declaration, parameters and body, the setup of its probe, and the expected finding."""

    server: str
    name: str
    declared: str
    parameters: str
    body: str
    finds: str = ""
    arranges: str = ""
    probe: str = ""


def load_rows(server: str) -> list[Row]:
    """Load the mutants and the correct tools of a server.

    Those under `missed`, which no case finds yet, are left out; the README of their folder says why.
    """
    mutant_columns = ("declared", "parameters", "body", "finds", "arranges", "probe")
    correct_columns = ("declared", "parameters", "body", "arranges", "probe")
    document = _load_document(server)
    mutants = document.get("mutants", {})
    if server in PUBLISHED:
        mutants = {
            name: [*row[:3], ANY_FINDING, *row[3:]] for name, row in mutants.items()
        }
    tables = [
        (mutant_columns, mutants),
        (correct_columns, document.get("correct", {})),
    ]
    tables.append((correct_columns, _load_document(SHARED).get(server, {})))
    server_rows = []
    for keys, table in tables:
        for name, row in table.items():
            server_rows.append(Row(server, name, **dict(zip(keys, row, strict=False))))
    return server_rows


def _load_document(name: str) -> dict[str, Any]:
    document: dict[str, Any] = yaml.safe_load(
        (HERE / f"{name}.yml").read_text(encoding="utf-8")
    )
    if document.get("kind") == "http":
        answers = {"backend": "http", "api": document["api"]}
        document |= {"answers": answers, "handle": "api()", "client": "api"}
    return document


def _parse_parameters(parameters: str) -> ast.arguments:
    (function,) = ast.parse(f"def f({parameters}): ...").body
    assert isinstance(function, ast.FunctionDef)
    return function.args


def _format_signature(parameters: str) -> str:
    arguments = _parse_parameters(parameters)
    values = [None] * (len(arguments.args) - len(arguments.defaults)) + [
        *arguments.defaults
    ]
    texts = []
    for argument, value in zip(arguments.args, values, strict=True):
        kind = ast.unparse(argument.annotation) if argument.annotation else "Any"
        if kind != "Context":
            kind = f'Annotated[{kind}, Field(description="The {argument.arg}.")]'
        texts.append(
            f"{argument.arg}: {kind}" + (f" = {ast.unparse(value)}" if value else "")
        )
    return ", ".join(texts)


def _format_tool(row: Row, handle: str) -> str:
    title = row.name.replace("_", " ").title()
    call = row.declared if "(" in row.declared else f"{row.declared}()"
    head, _, options = call.partition("(")
    body = indent(row.body, "    ").strip()
    return f"""

@{head}(title="{title}", why="It is a row of a table.", {options}
async def {row.name}({_format_signature(row.parameters)}) -> Done:
    \"\"\"Do the work of {row.name}.\"\"\"
    b = {handle}
    {body}
    return Done(ok=True)
"""


def _format_identities(row: Row, document: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Split the identities of an arrangement into parameters of the tool and plain variables."""
    parameter_names = set()
    for argument in _parse_parameters(row.parameters).args:
        parameter_names.add(argument.arg)
    parameters, lines = [], []
    for name, value in document["identities"].items():
        spellings = (
            name,
            f"{name}s",
            f"ticket_{name}",
            f"from_{name.removeprefix('note_')}",
        )
        if parameter_names.intersection(spellings):
            parameters.append(f"{name}={value!r}")
        else:
            lines.append(f"{name} = {value!r}")
    return ", ".join([document.get("client", "b"), *parameters]), lines


def _format_probe(row: Row, document: Mapping[str, Any]) -> str:
    arguments = _parse_parameters(row.parameters)
    required = arguments.args[: len(arguments.args) - len(arguments.defaults)]
    pairs = []
    for argument in required:
        if argument.arg == "ctx":
            continue
        value = document["samples"].get(argument.arg)
        for name, identity in document["identities"].items():
            plain = value == identity and argument.arg in (name, f"ticket_{name}")
            pairs += [f"{argument.arg!r}: {name}"] if plain else []
            pairs += (
                [f"{argument.arg!r}: [{name}]"] if argument.arg == f"{name}s" else []
            )
        if not pairs or not pairs[-1].startswith(f"{argument.arg!r}:"):
            pairs.append(f"{argument.arg!r}: {value!r}")
    parameters, lines = _format_identities(row, document)
    body = [*document["arrange"].strip().splitlines(), f"return {{{', '.join(pairs)}}}"]
    body = [*lines, *(row.arranges.splitlines() or body)]
    text = "\n".join(f"    {line}" for line in body)
    module = document.get("module", "backend")
    return f"{IMPORTS}\nfrom {PACKAGE}.{module} import *\n\n{row.probe}\n\nasync def arrange({parameters}):\n{text}\n"


def write_project(
    server: str, chosen: Sequence[Row], folder: Path, template: Path | None = None
) -> Path:
    """Write a project with the selected tools; an adopted one is rendered from the template."""
    document, source = _load_document(server), folder / "src" / PACKAGE
    if document.get("kind") == "adopted":
        assert template is not None
        return _write_existing(chosen, document, folder, template)
    answers = {"server_name": "mutants-mcp", "package_name": PACKAGE, "backend": "none"}
    answers |= document.get("answers", {})
    for path, text in rendered({**answers, "tools": ["ping_it"]}).items():
        if "ping_it" in path:
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    if "backend" in document:
        text = f"{IMPORTS}\n\n{document['backend']}\n{CONNECT}"
        (source / "backend.py").write_text(text, encoding="utf-8")
    (source / "tools").mkdir(exist_ok=True)
    (source / "tools/__init__.py").touch()
    tools = IMPORTS + TOOLS + "\n\n" + document.get("tools", "")
    for row in chosen:
        tools += _format_tool(row, document.get("handle", "backend()"))
    (source / "tools/all.py").write_text(tools, encoding="utf-8")
    _write_probes(chosen, document, folder)
    return folder


def _write_probes(
    chosen: Sequence[Row], document: Mapping[str, Any], folder: Path
) -> None:
    (folder / "tests/tools").mkdir(parents=True, exist_ok=True)
    for row in chosen:
        probe = folder / f"tests/tools/test_{row.name}.py"
        probe.write_text(_format_probe(row, document), encoding="utf-8")


def _write_existing(
    chosen: Sequence[Row], document: Mapping[str, Any], folder: Path, template: Path
) -> Path:
    """Write an existing server that was adopted: its tools and their data are in one module."""
    source = folder / "src" / PACKAGE
    adopted = {"place": f"src/{PACKAGE}", "serves": f"{PACKAGE}.server:mcp"}
    answers = {"adopted": adopted, "backend": "none", "package_name": PACKAGE}
    answers |= {"server_name": "mutants-mcp", "tools": []}
    render(template, folder, answers)
    (source / "__init__.py").touch()
    text = IMPORTS + EXISTING + DONE + "\n\n" + document["backend"]
    text += EXISTING_DATA.format(snapshot=document["snapshot"])
    for row in chosen:
        tool = _format_tool(row, "None").lstrip()
        text += f"\n\n@mcp.tool\n{tool}"
    (source / "server.py").write_text(text, encoding="utf-8")
    document = {**document, "module": "server"}
    _write_probes(chosen, document, folder)
    backend = EXISTING_BACKEND.format(package=PACKAGE)
    (folder / "tests/tools/__init__.py").touch()
    (folder / "tests/tools/backend.py").write_text(backend, encoding="utf-8")
    return folder


def run_suite(project: Path) -> dict[str, list[str]]:
    """Run the suite of a project; messages by tool, or under "" without a tool."""
    report = project / "report.xml"
    files = ["tests/policy/test_annotations.py", "tests/policy/test_behavior.py"]
    command = [*PYTEST, *files]
    if (project / "tests/policy/check.py").exists():
        modules = "check_annotations or check_behavior"
        command = ["tests/policy/check.py", *PYTEST[2:], "-k", modules]
    process = python(project, *command, f"--junitxml={report}")
    assert report.exists(), process.stdout + process.stderr
    messages: dict[str, list[str]] = {}
    for case in ET.parse(report).iter("testcase"):
        for failure in [*case.findall("failure"), *case.findall("error")]:
            text = (failure.text or "").removeprefix("Failed: ")
            for tool in _find_subjects(case.attrib["name"], text, project):
                messages.setdefault(tool, []).append(text)
    return messages


def _find_subjects(test: str, text: str, project: Path) -> set[str]:
    """Return the tools that a failed test is about; "" where it is about none."""
    subjects = {test.rpartition("[")[2].rstrip("]").rpartition("-")[2]}
    if "[" not in test:
        subjects = {""}
    for line in text.splitlines():
        name = line.partition(":")[0]
        if (project / f"tests/tools/test_{name}.py").exists():
            subjects.add(name)
    return subjects
