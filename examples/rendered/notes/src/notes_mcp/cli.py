"""The command line of notes-mcp.

Managed by the template: add your own commands through `commands(app)` in extend.py. What a command
needs is imported by it, so that `--help` loads neither FastMCP nor the policy.
"""

import gc
import json
import logging
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import App, Parameter, validators

SERVER_NAME = "notes-mcp"
EXITS = "Exit codes: 0 done, 1 refused or findings (a line on stderr), 2 not understood or not possible."
PLAIN = Parameter(negative=())
app = App(
    name=SERVER_NAME,
    help="Search and change notes.",
    help_epilogue=EXITS,
    help_format="plaintext",
    default_parameter=PLAIN,
)
tools_app = App(name="tools", help="Look at the tools as clients see them.")
app.command(tools_app)
app.command(
    "notes_mcp.policy.metadata_cli:app",
    name="metadata",
    help="Look at and change the texts that models see.",
)
app.register_install_completion_command(help="Teach your shell to complete these commands.")


@app.command
def run(
    *,
    http: bool = False,
    host: str | None = None,
    port: Annotated[int | None, Parameter(validator=validators.Number(gte=0, lte=65535))] = None,
    toolsets: str | None = None,
    tools: str | None = None,
    exclude: str | None = None,
    read_only: bool | None = None,
    no_destructive: bool | None = None,
    metadata: Path | None = None,
) -> None:
    """Serve over stdio, or over HTTP.

    Args:
        http: Serve Streamable HTTP at /mcp instead of stdio.
        host: The address to listen on; else that of the settings, 127.0.0.1.
        port: The port to listen on; else that of the settings, 8000.
        toolsets: Serve only these folders or files of tools/, as in notes,calendar:readonly.
        tools: Serve only tools of these names, as in get_*,search_notes.
        exclude: Leave out tools of these names.
        read_only: Serve only what changes nothing.
        no_destructive: Leave out what may destroy.
        metadata: A metadata file to use instead of your own; `none` for no file.
    """
    gc.disable()  # what is loaded now stays: looking for garbage in it is a tenth of the start
    logging.basicConfig(format="%(message)s")
    logging.getLogger(__package__).setLevel(logging.INFO)
    from .server import create_server
    from .settings import Settings

    flags = {"metadata": metadata, "host": host, "port": port, "toolsets": toolsets, "tools": tools}
    flags |= {"exclude": exclude, "read_only": read_only, "no_destructive": no_destructive}
    settings = Settings(**{name: it for name, it in flags.items() if it is not None})  # type: ignore[arg-type]
    if settings.audit == "stdout" and not http:
        why = "over stdio stdout is the client's; say stderr or a file"
        sys.exit(f"{SERVER_NAME}: setting audit: {why}")
    server = create_server(settings)
    gc.freeze()
    gc.enable()
    if http:
        server.listen(settings)
    else:
        from .policy.process import stops_at_once, tell_start

        tell_start(settings, "stdio")
        stops_at_once()
        server.run("stdio", show_banner=False)


@tools_app.command(name="list")
def list_tools(
    *,
    json_output: Annotated[bool, Parameter("--json")] = False,
    sizes: Annotated[bool, Parameter("--bytes")] = False,
) -> None:
    """Show every tool with its behavior, hints and gate.

    Args:
        json_output: For programs.
        sizes: Also show the bytes of its name, description and input, which a model reads, and of the rest.
    """
    from .policy.profile import WIRE_NAMES
    from .policy.serving import declared, run_now
    from .server import create_server

    rows: list[dict[str, Any]] = []
    words = {True: "yes", False: "no", None: "-"}
    heads = ["Tool", "Toolset", "Behavior", "Read-only", "Destructive", "Idempotent", "Open-world"]
    heads += ["Gate", "Model's bytes", "Others"][: 3 if sizes else 1]
    table, server = [heads], create_server()
    served = run_now(server.list_tools(run_middleware=False), server)
    for tool in sorted(served, key=lambda tool: tool.name):
        facts = declaration.facts() if (declaration := declared(tool)) else {}
        row = {key: facts.get(key) for key in ("behavior", "gated", "scopes", "exceptions")}
        wire = tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True)
        read = _size({key: wire.get(key) for key in ("name", "description", "inputSchema")})
        row |= {"bytes": (size := {"model": read, "rest": _size(wire) - read})}
        row["toolset"] = toolset = server.facts(tool).toolset
        hints = wire.get("annotations", {})
        rows.append({"name": tool.name, "title": hints.pop("title", None), "hints": hints} | row)
        shown = [words[hints.get(name)] for name in WIRE_NAMES.values()]
        gate = "asks" if row["gated"] else ""
        counts = [f"{each:,}" for each in size.values()] if sizes else []
        table.append([tool.name, toolset, row["behavior"] or "?", *shown, gate, *counts])
    if json_output:
        print(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for line in table:
        print("  ".join(map(str.ljust, line, widths)).rstrip())
    if sizes:
        read, rest = (sum(row["bytes"][part] for row in rows) for part in ("model", "rest"))
        print(f"A model reads {read:,} bytes of {len(rows)} tools; {rest:,} are for programs.")


def _size(value: object) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


@tools_app.command
def wire(name: str) -> None:
    """Print one tool, by its name, as tools/list puts it on the wire."""
    from .policy.serving import run_now
    from .server import create_server

    tool = run_now(create_server().get_tool(name))
    if tool is None:
        sys.exit(f"{name!r} is not a tool of this server; `{SERVER_NAME} tools list` shows them")
    definition = tool.to_mcp_tool().model_dump(mode="json", by_alias=True, exclude_none=True)
    print(json.dumps(definition, indent=2))


def main() -> None:
    """Run the command line; a server that cannot start ends with one line on stderr."""
    from . import extend

    extend.commands(app)
    try:
        app()
    except Exception as error:
        code, why = _explained(error)
        print(f"{SERVER_NAME}: {why}", file=sys.stderr)
        sys.exit(code)


def _explained(error: Exception) -> tuple[int, str]:
    """The exit code and the one line of an error that a user can mend; any other is raised again."""
    if isinstance(error, ImportError):
        cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
        if (cause.name or "").startswith(str(__package__)):
            return 2, f"{cause}; is a policy file gone? See `git status`"
        raise error
    from pydantic import ValidationError
    from pydantic_settings import SettingsError

    from .policy.errors import CouldNotError, StartError
    from .policy.process import SECRET

    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where, given = "_".join(str(part) for part in first["loc"]), first["input"]
        # Where one is missing, or several do not fit together, it is all of them
        shows = isinstance(given, str | int | float) and not SECRET.search(f"{where}={given}")
        got = f" (got {given!r})" if shows else ""
        name = f"NOTES_MCP_{where.upper()}"
        got = f"; set {name}" if first["type"] == "missing" else got
        return 1, f"{f'setting {where}' if where else 'settings'}: {first['msg']}{got}"
    if isinstance(error, SettingsError):
        return 1, f"{error}; write it as JSON"
    if isinstance(error, StartError | OSError):
        return 2 if isinstance(error, CouldNotError) else 1, str(error)
    raise error
