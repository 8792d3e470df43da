"""`install`: tell Claude Code, Cursor or VS Code how to start this server. Managed by the template."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter
from fastmcp.cli.install.claude_code import find_claude_command
from fastmcp.cli.install.cursor import generate_cursor_deeplink, open_deeplink
from fastmcp.cli.install.shared import run_cli_command
from fastmcp.mcp_config import StdioMCPServer

from .registry import StartError
from .settings import SERVER_NAME

Client = Literal["claude", "cursor", "vscode"]
# Of each client: the file in a folder that it reads, and the key of the servers in it.
FILES: dict[Client, tuple[str, str]] = {
    "claude": (".mcp.json", "mcpServers"),
    "cursor": (".cursor/mcp.json", "mcpServers"),
    "vscode": (".vscode/mcp.json", "servers"),
}


def write(path: Path, key: str, entry: dict[str, Any]) -> None:
    """Put this server into a client's file; what else stands there stays.

    Raises:
        StartError: The file is no JSON object that can be written back; it is left as it was.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        found.setdefault(key, {})[SERVER_NAME] = entry
    except (ValueError, AttributeError, TypeError) as error:
        mend = "add this by hand: " + json.dumps({SERVER_NAME: entry})
        raise StartError(f"{path} is not plain JSON ({error}); {mend}") from error
    target = path.resolve()
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", newline="\n", dir=target.parent, delete=False
    ) as new:
        new.write(json.dumps(found, indent=2, ensure_ascii=False) + "\n")
    if target.exists():
        shutil.copymode(target, new.name)
    os.replace(new.name, target)


def by_program(program: str | None, words: list[str]) -> None:
    """Let a client's own program do it."""
    if program is None:
        shown = shlex.join(words)
        sys.exit(f"`{words[0]}` was not found; install it, use --workspace, or run later: {shown}")
    try:
        print(run_cli_command([program, *words[1:]]).stdout, end="")
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).split()
        sys.exit(f"`{words[0]}` refused: {' '.join(said)}")


def install(
    client: Client,
    *,
    workspace: Path | None = None,
    env: Annotated[list[str] | None, Parameter(negative_iterable=())] = None,
    read_only: bool = False,
    show: bool = False,
) -> None:
    """Tell a client how to start this server: everywhere, or in one folder.

    Args:
        client: Claude Code, Cursor or VS Code.
        workspace: Write it into the client's file in this folder instead.
        env: A setting to start it with, as NAME=VALUE; may be repeated. It is stored as it stands.
        read_only: Serve only the tools whose hint says that they change nothing.
        show: Print the entry and do nothing.
    """
    if wrong := [p for p in env or [] if "=" not in p or not p.split("=")[0].isidentifier()]:
        sys.exit(f"--env {wrong[0]}: write NAME=VALUE")
    package = __name__.partition(".")[0]
    entry = StdioMCPServer(
        command=sys.executable,
        args=["-m", package, "run", *(["--read-only"] if read_only else [])],
        env=dict(pair.split("=", 1) for pair in env or []),
    )
    said = entry.model_dump(include={"command", "args", "env"})
    file, key = FILES[client]
    if show:
        print(json.dumps({key: {SERVER_NAME: said}}, indent=2, ensure_ascii=False))
    elif workspace:
        if not workspace.is_dir():
            sys.exit(f"--workspace {workspace}: no such folder")
        write(workspace / file, key, said)
        print(f"{workspace / file} starts {SERVER_NAME}; the client asks you before it does")
    elif client == "claude":
        pairs = [word for pair in env or [] for word in ("-e", pair)]
        words = ["claude", "mcp", "add", "--scope", "user", SERVER_NAME, *pairs, "--"]
        by_program(find_claude_command(), [*words, entry.command, *entry.args])
    elif client == "vscode":
        added = json.dumps({"name": SERVER_NAME, **said})
        by_program(shutil.which("code"), ["code", "--add-mcp", added])
    else:
        link = generate_cursor_deeplink(SERVER_NAME, entry)
        if not open_deeplink(link):
            sys.exit(f"no Cursor opened this link; open it there, or use --workspace: {link}")
        print("Cursor asks you whether to add it")
