"""`policy`: check this server or any other, pin the hints, explain a rule, export for directories.

Managed by the template. Exit codes: 0 clean, 1 findings, 2 could not check.
"""

import asyncio
import inspect
import json
import os
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, TextIO

import anyio
from cyclopts import App, Parameter
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from mcp_types import ListToolsRequest, PaginatedRequestParams
from pydantic import BaseModel, Field

from . import catalog, lock
from .behaviors import Declaration, Hint
from .registry import PolicyTool, StartError, declared, run_now
from .rules import RULES, Finding, Profile, Subject, examine

app = App(name="policy", help="Check hints and gates, here and on any MCP server.")


class Page(BaseModel):
    """A page of tools/list as the wire shows it: a typo or a null among the hints is still there."""

    tools: list[dict[str, Any]]
    cursor: str | None = Field(default=None, alias="nextCursor")


async def listed(client: Client[Any]) -> list[dict[str, Any]]:
    """Every tool of a server, unread."""
    tools: list[dict[str, Any]] = []
    cursor, more = None, True
    while more:
        request = ListToolsRequest(params=PaginatedRequestParams(cursor=cursor))
        page = await client.session.send_request(request, Page)
        tools += page.tools
        cursor, more = page.cursor, page.cursor is not None
    return tools


def own(mcp: FastMCP) -> tuple[list[Subject], dict[str, str]]:
    """This server's tools with their declarations, and the file of each."""
    found, files = [], {}
    for tool in run_now(mcp.list_tools(run_middleware=False)):
        wire = tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True)
        found.append(Subject(wire, declared(tool)))
        if isinstance(tool, PolicyTool):
            files[tool.name] = inspect.unwrap(tool.fn).__code__.co_filename
    return found, files


async def foreign(
    server: str | None, url: str | None, seconds: float, log: TextIO
) -> list[Subject]:
    """Another server's tools over its wire; no tool is called.

    Raises:
        Exception: Whatever kept it from answering within the time limit.
    """
    words = shlex.split(server or "") or [""]
    transport: Any = url or StdioTransport(
        words[0], words[1:], dict(os.environ), keep_alive=False, log_file=log
    )
    with anyio.fail_after(seconds):
        async with Client(transport, init_timeout=seconds) as client:
            return [Subject(tool) for tool in await listed(client)]


def sarif(findings: Sequence[Finding], files: Mapping[str, str]) -> dict[str, Any]:
    """Findings in SARIF 2.1.0, for code scanning."""
    rules = [{"id": r.id, "shortDescription": {"text": r.text}} for r in RULES.values()]
    results = []
    for f in findings:
        place: dict[str, Any] = {"logicalLocations": [{"name": f.tool, "kind": "function"}]}
        if f.tool in files:
            uri = os.path.relpath(files[f.tool]).replace(os.sep, "/")
            place["physicalLocation"] = {"artifactLocation": {"uri": uri}}
        message = {"text": f"{f.tool}: {f.message}; {f.mend}"}
        result = {"ruleId": f.rule, "level": "error", "message": message, "locations": [place]}
        results.append(result)
    driver = {"name": "annotation-policy", "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }


def show(findings: Sequence[Finding], checked: int) -> None:
    """Print findings for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if findings:
        table = Table("Tool", "Rule", "What is wrong", "Mend", show_lines=True)
        for f in findings:
            table.add_row(*map(Text, [f.tool, f.rule, f.message, f.mend]))
        Console().print(table)
    print(f"{checked} tools checked, {len(findings)} findings")


@app.command
def check(
    *,
    profile: Literal["policy", "anthropic", "openai"] = "policy",
    server: str | None = None,
    url: str | None = None,
    json_output: Annotated[bool, Parameter("--json", negative=())] = False,
    sarif_output: Annotated[bool, Parameter("--sarif", negative=())] = False,
    seconds: float = 30,
) -> None:
    """Check this server, or another one over its wire; never calls a tool.

    Exit codes: 0 clean, 1 findings, 2 could not check.

    Args:
        profile: The rules: this policy's, or those of a directory.
        server: The command that starts another server over stdio.
        url: The address of another server.
        json_output: Print JSON.
        sarif_output: Print SARIF, for code scanning.
        seconds: How long another server may take.
    """
    rules: Profile = profile
    files: dict[str, str] = {}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            if server is None and url is None:
                from ..server import shipped_server

                tools, files = own(shipped_server())
            else:
                rules = "foreign" if profile == "policy" else profile
                tools = asyncio.run(foreign(server, url, seconds, log))
        except (Exception, asyncio.CancelledError) as error:
            log.seek(0)
            late = f"no answer in {seconds:g} seconds" if isinstance(error, TimeoutError) else ""
            said = [late or str(error) or type(error).__name__, *log.read().splitlines()[-1:]]
            reason = " ".join(" | ".join(said).split())
            print(f"could not check {url or server or 'this server'}: {reason}", file=sys.stderr)
            sys.exit(2)
    findings = examine(tools, rules)
    if json_output:
        print(json.dumps([asdict(f) for f in findings], indent=2, ensure_ascii=False))
    elif sarif_output:
        print(json.dumps(sarif(findings, files), indent=2))
    else:
        show(findings, len(tools))
    sys.exit(1 if findings else 0)


@app.command(name="lock")
def write_lock() -> None:
    """Pin every tool's hints and gate in annotations.lock.json, and say what changed."""
    from ..server import shipped_server

    lock.in_project()
    pinned, running = lock.read(), lock.lock_of(catalog.rows(shipped_server()))
    lock.FILE.write_text(lock.text_of(running), encoding="utf-8", newline="\n")
    print(*lock.differences(pinned, running), f"{lock.FILE} holds {len(running)} tools", sep="\n")


@app.command
def drift(*, strict: bool = False) -> None:
    """Compare the policy files with the template at the version this project recorded.

    Exit codes: 0 the same, or a warning; 1 drift, with --strict; 2 could not compare.

    Args:
        strict: Call drift an error.
    """
    from . import recorded

    try:
        known = recorded.answers()
        with recorded.rendered(known) as fresh:
            found = recorded.drift(fresh, Path())
    except (StartError, OSError) as error:
        print(f"could not compare with the template: {error}", file=sys.stderr)
        sys.exit(2)
    for name, how in found.items():
        print(f"{name}: {how}")
    print(f"{len(found)} policy files differ from {known['_src_path']} at {known['_commit']}")
    sys.exit(1 if found and strict else 0)


@app.command
def explain(rule: str) -> None:
    """Say what a rule asks, who asks for it, and how to mend what it finds.

    Args:
        rule: The rule's id, as a finding shows it.
    """
    found = RULES.get(rule)
    if found is None:
        sys.exit(f"{rule!r} is no rule; they are {', '.join(RULES)}")
    print(f"{found.id}: {found.text}\nMend: {found.mend}")
    print(f"Source: {found.source}\nApplies to: {', '.join(found.profiles.split())}")


def justification(said: Declaration, hint: Hint) -> str:
    """One sentence, true for the value that a hint has."""
    for exception in said.exceptions:
        if exception["hint"] == hint:
            return exception["why"]
    truth = said.behaves()
    if hint == "open_world":
        own_data = "It works on this server's own data only."
        return "It may reach systems outside this server." if truth[hint] else own_data
    if truth["read_only"]:
        return "It changes nothing that its user can observe."
    loses = "may overwrite or remove what is there" if truth["destructive"] else "removes nothing"
    why = (said.why or "").strip() or "its behavior is " + said.behavior
    why = why[0].lower() + why[1:] if why[1:2].islower() else why
    return f"It {'writes' if hint == 'read_only' else loses}: {why.removesuffix('.')}."


@app.command
def export(directory: Literal["openai"]) -> None:
    """Write a directory's justifications for each tool, from why= and the hints.

    Args:
        directory: The directory whose form to write.
    """
    from ..server import shipped_server

    hints: tuple[Hint, ...] = ("read_only", "open_world", "destructive")
    found = {
        tool.name: {"annotations": dict(tool.annotations)}
        | {f"{hint}_justification": justification(tool.declaration, hint) for hint in hints}
        for tool in own(shipped_server())[0]
        if tool.declaration
    }
    print(json.dumps({"tools": found}, indent=2, ensure_ascii=False))
