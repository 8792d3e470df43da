"""The command line of notes-mcp.

Managed by the template: add your own commands through `commands(app)` in extend.py.
"""

import json
import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter, validators

from . import extend
from .policy.settings import SERVER_NAME

if TYPE_CHECKING:
    from fastmcp import FastMCP

EXITS = "Exit codes: 0 done, 1 findings or refused (one line on stderr), 2 not understood or could not check."
PLAIN = Parameter(negative=())
app = App(
    name=SERVER_NAME,
    help="Search and change notes.",
    help_epilogue=EXITS,
    default_parameter=PLAIN,
)
tools_app = App(name="tools", help="Look at the tools as clients see them, or add one.")
tools_app.command(
    "notes_mcp.policy.tool_adding:add",
    name="add",
    help="Add a tool: asked for in the terminal, or said in one line.",
)
app.command(tools_app)
app.command(
    "notes_mcp.policy.policy_cli:app",
    name="policy",
    help="Check hints and gates, here and on any MCP server.",
)
app.command(
    "notes_mcp.policy.metadata_cli:app",
    name="metadata",
    help="Look at and change the texts that models see.",
)
app.command(
    "notes_mcp.policy.install:install",
    name="install",
    help="""Tell Claude Code, Cursor or VS Code how to start this server.

    In all your folders, through the programs `claude` and `code` or a link that Cursor opens; or in one.
    """,
)
app.register_install_completion_command(help="Teach your shell to complete these commands.")


def _server(*, read_only: bool = False, metadata: Path | None = None) -> "FastMCP":
    from .server import create_server
    from .settings import Settings

    settings = Settings(metadata=metadata) if metadata else Settings()
    return create_server(settings, read_only=read_only)


def _proxy(url: str, *, bare: bool) -> "FastMCP":
    from fastmcp.server import create_proxy

    if not bare:  # over HTTP it would hand on its clients' tokens
        sys.exit("--proxy is a bridge from stdio; --http, --read-only, --metadata go to the server")
    if not url.startswith(("http://", "https://")):
        sys.exit(f"--proxy {url}: no http or https address; e.g. http://127.0.0.1:8000/mcp")
    return create_proxy(url, name=SERVER_NAME, provider_error_strategy="raise")


@app.command
def run(
    *,
    http: bool = False,
    host: str = "127.0.0.1",
    port: Annotated[int, Parameter(validator=validators.Number(gte=0, lte=65535))] = 8000,
    read_only: bool = False,
    metadata: Path | None = None,
    proxy: str | None = None,
) -> None:
    """Serve over stdio, or over HTTP.

    Args:
        http: Serve Streamable HTTP at /mcp instead of stdio.
        host: The address to listen on.
        port: The port to listen on.
        read_only: Serve only the tools whose hint says that they change nothing.
        metadata: A metadata file to use instead of your own; none for none.
        proxy: Serve over stdio what the server at this address serves, its texts included.
    """
    lines = logging.StreamHandler(sys.stderr)
    lines.setFormatter(logging.Formatter("%(message)s"))
    logging.getLogger(__package__).addHandler(lines)
    logging.getLogger(__package__).setLevel(logging.INFO)
    if proxy:
        server = _proxy(proxy, bare=not (http or read_only or metadata))
    else:
        server = _server(read_only=read_only, metadata=metadata)
    if http:
        server.run("http", host=host, port=port, host_origin_protection="auto", show_banner=False)
    else:
        server.run("stdio", show_banner=False)


@tools_app.command(name="list")
def list_tools(*, json_output: Annotated[bool, Parameter("--json")] = False) -> None:
    """Show every tool with its behavior, hints and gate.

    Args:
        json_output: Print JSON.
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

    Args:
        write: Write it to docs/tools.md instead.
    """
    from .policy import catalog
    from .policy.lock import in_project
    from .server import shipped_server

    text = catalog.markdown(catalog.rows(shipped_server()))
    if write:
        in_project()
        Path("docs").mkdir(exist_ok=True)
        Path("docs/tools.md").write_text(text, encoding="utf-8", newline="\n")
        print("docs/tools.md is up to date")
    else:
        print(text, end="")


@tools_app.command
def wire(name: str) -> None:
    """Print one tool as tools/list puts it on the wire.

    Args:
        name: The tool's name.
    """
    from .policy.registry import run_now

    tool = run_now(_server().get_tool(name))
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
    except (StartError, OSError) as error:
        sys.exit(f"{SERVER_NAME}: {error}")
    except ImportError as error:
        why = error.__cause__ if isinstance(error.__cause__, ImportError) else error
        if not (why.name or "").startswith(str(__package__)):
            raise
        print(f"{SERVER_NAME}: {why}; is a policy file gone? See `git status`", file=sys.stderr)
        sys.exit(2)
    except ValidationError as error:
        first = error.errors()[0]
        where = "_".join(str(part) for part in first["loc"])
        sys.exit(f"{SERVER_NAME}: setting {where}: {first['msg']} (got {first['input']!r})")
