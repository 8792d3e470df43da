"""The commands of a server. What one needs is imported by it, so that `--help` loads no FastMCP."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter, validators

from .policy import WIRE_NAMES, Policy
from .project import Project, package_folder
from .serving import serve

EXITS = "Exit codes: 0 done, 1 findings or refused (one line on stderr), 2 unable, or a wrong option."
PLAIN = Parameter(negative=())
ClientName = Literal["claude-code", "claude-desktop", "cursor", "vscode", "json"]
Port = Annotated[int | None, Parameter(validator=validators.Number(gte=0, lte=65535))]


def make_app(policy: Policy, description: str) -> App:
    """Return the command line of a server; `commands(app)` in extend.py adds to it.

    Args:
        policy: The server's policy.
        description: What the server does.
    """
    commands = ServerCommands(Project(policy))
    app = App(
        name=policy.server_name,
        help=description,
        help_epilogue=EXITS,
        help_format="plaintext",
        default_parameter=PLAIN,
    )
    tools_app = App(name="tools", help="Show the tools as clients see them.")
    app.command(tools_app)
    app.command(
        f"{policy.package}.policy:metadata_app",
        name="metadata",
        help="Show and change model-facing texts.",
    )
    app.register_install_completion_command(
        help="Install shell completion for these commands."
    )
    if policy.has_consent:
        app.command(
            f"{policy.package}.policy:consent_app",
            name="consent",
            help="Show and revoke what was granted on this machine.",
        )
    app.command(commands.run)
    app.command(commands.connect)
    tools_app.command(commands.list_tools, name="list")
    tools_app.command(commands.wire)
    return app


class ServerCommands:
    """The commands that serve and show one project's tools."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.policy = project.policy

    def run(
        self,
        *,
        http: bool = False,
        host: str | None = None,
        port: Port = None,
        toolsets: str | None = None,
        tools: str | None = None,
        exclude: str | None = None,
        read_only: bool | None = None,
        no_destructive: bool | None = None,
        search: bool | None = None,
        metadata: Path | None = None,
        reload: bool = False,
    ) -> None:
        """Serve over stdio, or over HTTP.

        Args:
            http: Serve Streamable HTTP at /mcp instead of stdio.
            host: The address to listen on; else that of the settings, 127.0.0.1.
            port: The port to listen on; else that of the settings, 8000.
            toolsets: Serve only these folders or files of tools/, as in notes,calendar:readonly.
            tools: Serve only tools of these names, as in get_*,search_notes.
            exclude: Leave out tools of these names.
            read_only: Serve only tools that change nothing.
            no_destructive: Leave out what may destroy.
            search: List a tool that searches for tools and one that calls them, in place of all tools.
            metadata: A metadata file to use instead of your own; `none` for no file.
            reload: With http, start again when a file of the server changes; for development.
        """
        if reload:
            self._run_with_reload(http=http)
            return
        flags = {
            "metadata": metadata,
            "host": host,
            "port": port,
            "toolsets": toolsets,
            "tools": tools,
            "exclude": exclude,
            "read_only": read_only,
            "no_destructive": no_destructive,
            "search": search,
        }
        options = {name: value for name, value in flags.items() if value is not None}
        serve(self.project, http=http, **options)

    def _run_with_reload(self, *, http: bool) -> None:
        """Run this command without its --reload, and again when a file of the server changes."""
        if not http:
            reason = "--reload requires --http: over stdio a restart ends the client's session"
            sys.exit(f"{self.policy.server_name}: {reason}")
        import asyncio

        from fastmcp.cli.run import run_with_reload

        words = [word for word in sys.argv[1:] if word != "--reload"]
        command = [sys.executable, "-m", self.policy.package, *words]
        folder = package_folder(self.policy.package)
        if hasattr(signal, "SIGHUP"):
            # FastMCP ends its process for SIGTERM and SIGINT, but not when a terminal is closed
            signal.signal(
                signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM)
            )
        asyncio.run(run_with_reload(command, reload_dirs=[folder]))

    def connect(
        self,
        client: ClientName,
        *,
        dry_run: bool = False,
        name: str = "",
        env: list[str] | None = None,
    ) -> None:
        """Give a client the entry that starts this server from any folder.

        Args:
            client: Whose settings get it; `json` prints it.
            dry_run: Show what would be written, and write nothing.
            name: What the client calls the server; else its own name.
            env: A setting for it, as NAME=VALUE. Repeat it for more.
        """
        from . import client_entries

        entry = client_entries.build_entry(self.policy, name, env or [])
        if client == "json":
            servers = {entry.name: entry.to_json()}
            print(json.dumps({"mcpServers": servers}, indent=2))
        elif client == "claude-code":
            print(client_entries.connect_claude_code(entry, dry_run=dry_run))
        else:
            file = client_entries.find_client_file(client, Path.home(), sys.platform)
            print(client_entries.connect_file(entry, file, dry_run=dry_run))

    def list_tools(
        self,
        *,
        json_output: Annotated[bool, Parameter("--json")] = False,
        sizes: Annotated[bool, Parameter("--bytes")] = False,
    ) -> None:
        """Show every tool with its behavior, hints and gate.

        Args:
            json_output: For programs.
            sizes: Also show the bytes of its name, description and input, which a model reads, and of the rest.
        """
        rows = self._format_rows()
        if json_output:
            print(json.dumps(rows, indent=2, ensure_ascii=False))
            return
        table = [_format_heads(sizes), *(_format_cells(row, sizes) for row in rows)]
        print(format_table(table, _measure_terminal()))
        if sizes:
            read = sum(row["bytes"]["model"] for row in rows)
            other_bytes = sum(row["bytes"]["rest"] for row in rows)
            print(
                f"A model reads {read:,} bytes of {len(rows)} tools; {other_bytes:,} are for programs."
            )

    def _format_rows(self) -> list[dict[str, Any]]:
        """Return a row for each tool of the server, sorted by name."""
        from .guard import guard_of
        from .tools import declared, run_now

        server = self.project.create_server()
        guard = guard_of(server)
        served = run_now(server.list_tools(run_middleware=False), server)
        rows = []
        for tool in sorted(served, key=lambda tool: str(tool.name)):
            declaration = declared(tool)
            facts = self.policy.facts(declaration) if declaration else {}
            wire = tool.to_mcp_tool().model_dump(
                mode="json", by_alias=True, exclude_none=True
            )
            read = {
                key: wire.get(key) for key in ("name", "description", "inputSchema")
            }
            size = _measure_json(read)
            wire_size = _measure_json(wire)
            hints = wire.get("annotations", {})
            title = hints.pop("title", None)
            row: dict[str, Any] = {"name": tool.name, "title": title, "hints": hints}
            for key in ("behavior", "gated", "scopes", "exceptions"):
                row[key] = facts.get(key)
            row["bytes"] = {"model": size, "rest": wire_size - size}
            row["toolset"] = guard.facts(tool).toolset
            rows.append(row)
        return rows

    def wire(self, name: str, /) -> None:
        """Print one tool, by its name, as tools/list puts it on the wire."""
        from .tools import run_now

        tool = run_now(self.project.create_server().get_tool(name))
        if tool is None:
            command = f"`{self.policy.server_name} tools list`"
            sys.exit(f"{name!r} is not a tool of this server; {command} shows them")
        definition = tool.to_mcp_tool().model_dump(
            mode="json", by_alias=True, exclude_none=True
        )
        print(json.dumps(definition, indent=2))


def _measure_terminal() -> int | None:
    """Return the width of the terminal; None where a program reads the output."""
    from shutil import get_terminal_size

    return get_terminal_size().columns if sys.stdout.isatty() else None


def _align(table: list[list[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    lines = []
    for row in table:
        lines.append("  ".join(map(str.ljust, row, widths)).rstrip())
    return lines


def format_table(table: list[list[str]], width: int | None) -> str:
    """Return a table in columns, or a paragraph for each row where these are too wide; empty columns go first.

    Args:
        table: Its rows, of which the first has the heads.
        width: The width of the terminal; None if it has none.
    """
    from textwrap import fill

    lines = _align(table)
    if width is not None and max(map(len, lines)) > width:
        columns = [column for column in zip(*table, strict=True) if any(column[1:])]
        table = [list(row) for row in zip(*columns, strict=True)]
        lines = _align(table)
    if width is None or max(map(len, lines)) <= width:
        return "\n".join(lines)
    heads, *rows = table
    paragraphs = []
    for row in rows:
        cells = []
        for head, cell in zip(heads[1:], row[1:], strict=True):
            if cell:
                cells.append(f"{head}: {cell}")
        indent = "  "
        text = fill(
            ", ".join(cells),
            width - 1,
            initial_indent=indent,
            subsequent_indent=indent,
            break_on_hyphens=False,
        )
        paragraphs.append(f"{row[0]}\n{text}")
    return "\n".join(paragraphs)


def _format_heads(sizes: bool) -> list[str]:
    heads = [
        "Tool",
        "Toolset",
        "Behavior",
        "Read-only",
        "Destructive",
        "Idempotent",
        "Open-world",
    ]
    heads.append("Gate")
    if sizes:
        heads += ["Model's bytes", "Others"]
    return heads


def _format_cells(row: dict[str, Any], sizes: bool) -> list[str]:
    words = {True: "yes", False: "no", None: "-"}
    cells = [row["name"], row["toolset"], row["behavior"] or "?"]
    for wire_name in WIRE_NAMES.values():
        cells.append(words[row["hints"].get(wire_name)])
    cells.append("asks" if row["gated"] else "")
    if sizes:
        cells += [f"{size:,}" for size in row["bytes"].values()]
    return cells


def _measure_json(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
