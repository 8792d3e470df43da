"""The command line of notes-mcp.

Managed by the template: add your own commands through `commands(app)` in extend.py.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from . import extend
from .policy.settings import SERVER_NAME

if TYPE_CHECKING:
    from fastmcp import FastMCP

app = App(name=SERVER_NAME, help="Search and change notes.")
tools_app = App(name="tools", help="Look at the tools as clients see them.")
app.command(tools_app)
app.command("notes_mcp.policy.policy_cli:app", name="policy")


def _server(*, read_only: bool = False) -> "FastMCP":
    from .server import create_server

    return create_server(read_only=read_only)


@app.command
def run(
    *, http: bool = False, host: str = "127.0.0.1", port: int = 8000, read_only: bool = False
) -> None:
    """Serve over stdio, or over HTTP.

    Parameters
    ----------
    http
        Serve Streamable HTTP at /mcp instead of stdio.
    host
        The address to listen on.
    port
        The port to listen on.
    read_only
        Serve only the tools whose hint says that they change nothing.
    """
    server = _server(read_only=read_only)
    if http:
        server.run("http", host=host, port=port, host_origin_protection="auto", show_banner=False)
    else:
        server.run("stdio", show_banner=False)


@tools_app.command(name="list")
def list_tools(*, json_output: Annotated[bool, Parameter("--json")] = False) -> None:
    """Show every tool with its behavior, hints and gate.

    Parameters
    ----------
    json_output
        Print JSON.
    """
    from .policy import catalog

    rows = catalog.rows(_server())
    if json_output:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
    else:
        catalog.show(rows)


@tools_app.command
def table(*, write: bool = False) -> None:
    """Print the tool table as Markdown.

    Parameters
    ----------
    write
        Write it to docs/tools.md instead.
    """
    from .policy import catalog

    text = catalog.markdown(catalog.rows(_server()))
    if write:
        Path("docs").mkdir(exist_ok=True)
        Path("docs/tools.md").write_text(text, encoding="utf-8", newline="\n")
        print("docs/tools.md is up to date")
    else:
        print(text, end="")


@tools_app.command
def wire(name: str) -> None:
    """Print one tool as tools/list puts it on the wire.

    Parameters
    ----------
    name
        The tool's name.
    """
    tool = asyncio.run(_server().get_tool(name))
    if tool is None:
        sys.exit(f"{name!r} is no tool of this server; `{SERVER_NAME} tools list` shows them")
    print(
        json.dumps(
            tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True), indent=2
        )
    )


def main() -> None:
    """Run the command line; a server that cannot start ends with one line on stderr."""
    from pydantic import ValidationError

    from .policy.registry import StartError

    extend.commands(app)
    try:
        app()
    except StartError as error:
        sys.exit(f"{SERVER_NAME}: {error}")
    except ValidationError as error:
        first = error.errors()[0]
        where = "_".join(str(part) for part in first["loc"])
        sys.exit(f"{SERVER_NAME}: setting {where}: {first['msg']} (got {first['input']!r})")
