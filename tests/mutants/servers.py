"""Servers with hand-written bodies, from the rows of this folder: what is wrong with each tool, and what its suite finds."""

import ast
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from support import PYTEST, python, rendered

HERE = Path(__file__).parent
SHARED = "correct"  # correct tools of several servers
SERVERS = sorted(path.stem for path in HERE.glob("*.yml") if path.stem != SHARED)
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
TOOLS = """
from ..backend import *
from ..policy import *


class Done(BaseModel):
    ok: bool = Field(description="Whether it worked.")
"""


@dataclass(frozen=True)
class Row:
    """One tool: how it is declared, what it takes and does, what its probe prepares, what has to be found."""

    server: str
    name: str
    declared: str
    takes: str
    does: str
    finds: str = ""
    arranges: str = ""
    probe: str = ""


def rows(server: str) -> list[Row]:
    """The mutants of a server, and the correct tools among them."""
    wrong = ("declared", "takes", "does", "finds", "arranges")
    right = ("declared", "takes", "does", "arranges", "probe")
    of = _read(server)
    tables = [(wrong, of.get("mutants", {})), (right, of.get("correct", {}))]
    tables.append((right, _read(SHARED).get(server, {})))
    return [
        Row(server, name, **dict(zip(keys, row, strict=False)))
        for keys, table in tables
        for name, row in table.items()
    ]


def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(
        (HERE / f"{name}.yml").read_text(encoding="utf-8")
    )
    return found


def _parameters(takes: str) -> ast.arguments:
    (function,) = ast.parse(f"def f({takes}): ...").body
    assert isinstance(function, ast.FunctionDef)
    return function.args


def _signature(takes: str) -> str:
    found = _parameters(takes)
    values = [None] * (len(found.args) - len(found.defaults)) + [*found.defaults]
    texts = []
    for each, value in zip(found.args, values, strict=True):
        kind = ast.unparse(each.annotation) if each.annotation else "Any"
        if kind != "Context":
            kind = f'Annotated[{kind}, Field(description="The {each.arg}.")]'
        texts.append(
            f"{each.arg}: {kind}" + (f" = {ast.unparse(value)}" if value else "")
        )
    return ", ".join(texts)


def _tool(row: Row, handle: str) -> str:
    title = row.name.replace("_", " ").title()
    call = row.declared if "(" in row.declared else f"{row.declared}()"
    head, _, options = call.partition("(")
    return f"""

@{head}(title="{title}", why="It is a row of a table.", {options}
async def {row.name}({_signature(row.takes)}) -> Done:
    \"\"\"Do the work of {row.name}.\"\"\"
    b = {handle}
    {row.does}
    return Done(ok=True)
"""


def _identities(row: Row, of: Mapping[str, Any]) -> tuple[str, list[str]]:
    """The identities that an arrangement names: those that the tool takes as parameters, others as plain names."""
    taken = {each.arg for each in _parameters(row.takes).args}
    parameters, lines = [], []
    for name, value in of["identities"].items():
        spellings = (
            name,
            f"{name}s",
            f"ticket_{name}",
            f"from_{name.removeprefix('note_')}",
        )
        if taken.intersection(spellings):
            parameters.append(f"{name}={value!r}")
        else:
            lines.append(f"{name} = {value!r}")
    return ", ".join(["b", *parameters]), lines


def _probe(row: Row, of: Mapping[str, Any]) -> str:
    found = _parameters(row.takes)
    required = found.args[: len(found.args) - len(found.defaults)]
    pairs = []
    for each in required:
        if each.arg == "ctx":
            continue
        value = of["samples"].get(each.arg)
        for name, identity in of["identities"].items():
            plain = value == identity and each.arg in (name, f"ticket_{name}")
            pairs += [f"{each.arg!r}: {name}"] if plain else []
            pairs += [f"{each.arg!r}: [{name}]"] if each.arg == f"{name}s" else []
        if not pairs or not pairs[-1].startswith(f"{each.arg!r}:"):
            pairs.append(f"{each.arg!r}: {value!r}")
    parameters, lines = _identities(row, of)
    body = [*of["arrange"].strip().splitlines(), f"return {{{', '.join(pairs)}}}"]
    body = [*lines, *([row.arranges] if row.arranges else body)]
    text = "\n".join(f"    {line}" for line in body)
    return f"{IMPORTS}\nfrom {PACKAGE}.backend import *\n\n{row.probe}\n\nasync def arrange({parameters}):\n{text}\n"


def write(server: str, chosen: Sequence[Row], folder: Path) -> Path:
    """A project of a server with these tools."""
    of, source = _read(server), folder / "src" / PACKAGE
    said = {"server_name": "mutants-mcp", "package_name": PACKAGE, "backend": "none"}
    said |= of.get("answers", {})
    for path, text in rendered({**said, "tools": ["ping_it"]}).items():
        if "ping_it" in path:
            continue
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    if "backend" in of:
        text = f"{IMPORTS}\n\n{of['backend']}\n{CONNECT}"
        (source / "backend.py").write_text(text, encoding="utf-8")
    (source / "tools").mkdir(exist_ok=True)
    (source / "tools/__init__.py").touch()
    tools = IMPORTS + TOOLS + "\n\n" + of.get("tools", "")
    for row in chosen:
        tools += _tool(row, of.get("handle", "backend()"))
    (source / "tools/all.py").write_text(tools, encoding="utf-8")
    (folder / "tests/tools").mkdir(parents=True, exist_ok=True)
    for row in chosen:
        probe = folder / f"tests/tools/test_{row.name}.py"
        probe.write_text(_probe(row, of), encoding="utf-8")
    return folder


def findings(project: Path) -> dict[str, list[str]]:
    """What the suite of a project says, by the name of the tool; "" for what is about none of them."""
    report = project / "report.xml"
    files = ["tests/policy/test_annotations.py", "tests/policy/test_behavior.py"]
    done = python(project, *PYTEST, f"--junitxml={report}", *files)
    assert report.exists(), done.stdout + done.stderr
    found: dict[str, list[str]] = {}
    for case in ET.parse(report).iter("testcase"):
        for wrong in [*case.findall("failure"), *case.findall("error")]:
            tool = case.attrib["name"].rpartition("[")[2].rstrip("]").rpartition("-")[2]
            text = (wrong.text or "").removeprefix("Failed: ")
            found.setdefault(tool if "[" in case.attrib["name"] else "", []).append(
                text
            )
    return found
