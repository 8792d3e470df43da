"""`policy`: check this server or any other, pin the hints, explain a rule, export for directories.

Managed by the template. Exit codes: 0 clean, 1 findings, 2 could not check.
"""

import asyncio
import json
import shlex
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

import anyio
from cyclopts import App, Parameter
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport

from . import catalog, lock
from .registry import declared, run_now
from .rules import RULES, Finding, Profile, Subject, examine

app = App(name="policy", help="Check hints and gates, here and on any MCP server.")


def subjects(mcp: FastMCP) -> list[Subject]:
    """This server's tools as the wire shows them, with their declarations."""
    return [
        Subject(
            tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True),
            declared(tool),
        )
        for tool in run_now(mcp.list_tools(run_middleware=False))
    ]


async def foreign_subjects(server: str | None, url: str | None, seconds: float) -> list[Subject]:
    """Another server's tools over its wire; no tool is called.

    Raises:
        Exception: Whatever kept it from answering within the time limit.
    """
    words = shlex.split(server or "")
    transport: Any = url or StdioTransport(words[0], words[1:])
    with anyio.fail_after(seconds):
        async with Client(transport, init_timeout=seconds) as client:
            listed = await client.list_tools()
    return [
        Subject(tool.model_dump(mode="json", by_alias=True, exclude_none=True)) for tool in listed
    ]


def sarif(findings: Sequence[Finding]) -> dict[str, Any]:
    """Findings in SARIF 2.1.0, for code scanning."""
    rules = [{"id": r.id, "shortDescription": {"text": r.text}} for r in RULES.values()]
    results = [
        {
            "ruleId": f.rule,
            "level": "error",
            "message": {"text": f"{f.tool}: {f.message}; {f.mend}"},
            "locations": [{"logicalLocations": [{"name": f.tool, "kind": "function"}]}],
        }
        for f in findings
    ]
    driver = {"name": "annotation-policy", "rules": rules}
    return {"version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": results}]}


def show(findings: Sequence[Finding], checked: int) -> None:
    """Print findings for people."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if findings:
        table = Table("Tool", "Rule", "What is wrong", "Mend")
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
    json_output: Annotated[bool, Parameter("--json")] = False,
    sarif_output: Annotated[bool, Parameter("--sarif")] = False,
    seconds: float = 30,
) -> None:
    """Check this server, or another one over its wire; never calls a tool.

    Parameters
    ----------
    profile
        The rules: this policy's, or those of a directory.
    server
        The command that starts another server over stdio.
    url
        The address of another server.
    json_output
        Print JSON.
    sarif_output
        Print SARIF, for code scanning.
    seconds
        How long another server may take.
    """
    from ..server import create_server

    if server or url:
        try:
            tools = asyncio.run(foreign_subjects(server, url, seconds))
        except (Exception, asyncio.CancelledError) as error:
            reason = " ".join(str(error).split()) or f"no answer in {seconds:g} seconds"
            print(
                f"could not check {url or server}: {type(error).__name__}: {reason}",
                file=sys.stderr,
            )
            sys.exit(2)
        rules: Profile = "foreign" if profile == "policy" else profile
    else:
        tools, rules = subjects(create_server()), profile
    findings = examine(tools, rules)
    if json_output:
        print(json.dumps([asdict(f) for f in findings], indent=2, ensure_ascii=False))
    elif sarif_output:
        print(json.dumps(sarif(findings), indent=2))
    else:
        show(findings, len(tools))
    sys.exit(1 if findings else 0)


@app.command(name="lock")
def write_lock() -> None:
    """Pin every tool's hints and gate in annotations.lock.json, and say what changed."""
    from ..server import create_server

    pinned, running = lock.read(), lock.lock_of(catalog.rows(create_server()))
    lock.FILE.write_text(lock.text_of(running), encoding="utf-8", newline="\n")
    for line in lock.differences(pinned, running):
        print(line)
    print(f"{lock.FILE} holds {len(running)} tools")


@app.command
def explain(rule: str) -> None:
    """Say what a rule asks, and who asks for it.

    Parameters
    ----------
    rule
        The rule's id, as a finding shows it.
    """
    found = RULES.get(rule)
    if found is None:
        sys.exit(f"{rule!r} is no rule; they are {', '.join(RULES)}")
    print(
        f"{found.id}\n{found.text}\nSource: {found.source}\nApplies to: {', '.join(found.profiles)}"
    )


@app.command
def export(directory: Literal["openai"]) -> None:
    """Write a directory's justifications for each tool, from why= and the hints.

    Parameters
    ----------
    directory
        The directory whose form to write.
    """
    from ..server import create_server
    from .behaviors import BEHAVIORS

    found = {}
    for subject in subjects(create_server()):
        said = subject.declaration
        meaning = BEHAVIORS[said.behavior].text if said else "It is not declared"
        why = (said.why if said else None) or f"{meaning[0].upper()}{meaning[1:]}."
        found[subject.name] = {
            "annotations": dict(subject.annotations),
            "read_only_justification": why,
            "open_world_justification": "It reaches systems outside this server."
            if subject.annotations.get("openWorldHint", True)
            else "It reads only this server's own data.",
            "destructive_justification": why,
        }
    print(json.dumps({"tools": found}, indent=2, ensure_ascii=False))
