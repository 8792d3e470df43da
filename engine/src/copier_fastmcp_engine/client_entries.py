"""The entry with which a client starts this server from any folder, and the file in which each client keeps it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .errors import StartError
from .policy import Policy
from .project import package_folder

CACHE = "archive-v"  # how uv names the folders that it may empty


@dataclass(frozen=True)
class Entry:
    """How a client starts the server.

    Attributes:
        name: What the client calls it.
        command: The program.
        arguments: Its arguments.
        environment: Settings of the server, by the names of their variables.
    """

    name: str
    command: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """Return the entry as most clients keep it."""
        fields: dict[str, Any] = {
            "command": self.command,
            "args": [*self.arguments],
        }
        if self.environment:
            fields["env"] = dict(self.environment)
        return fields


@dataclass(frozen=True)
class ClientFile:
    """The file in which a client keeps its servers.

    Attributes:
        path: The file.
        section: The key of its servers.
        extra: Additional fields of each entry.
    """

    path: Path
    section: str = "mcpServers"
    extra: Mapping[str, str] = field(default_factory=dict)


def build_entry(policy: Policy, name: str, environment: Sequence[str]) -> Entry:
    """Return the entry of a server: its project where it runs from one, else the installed program.

    Args:
        policy: The server's policy.
        name: What the client calls it; the server's name when empty.
        environment: Settings, each as NAME=VALUE.

    Raises:
        StartError: A setting has another form.
    """
    values = {}
    for setting in environment:
        variable, equals, value = setting.partition("=")
        if not equals or not variable.isidentifier():
            example = f"{policy.env_prefix}READ_ONLY=true"
            raise StartError(f"--env {setting}: write NAME=VALUE, as in {example}")
        values[variable] = value
    name = name or policy.server_name
    project = find_project(policy)
    if project:
        uv = shutil.which("uv") or "uv"
        arguments = ["--directory", str(project), "run", policy.server_name, "run"]
        return Entry(name, uv, arguments, values)
    program = shutil.which(policy.server_name) or sys.argv[0]
    if CACHE in program:
        uvx = shutil.which("uvx") or "uvx"
        return Entry(name, uvx, [policy.server_name, "run"], values)
    return Entry(name, str(Path(program).absolute()), ["run"], values)


def find_project(policy: Policy) -> Path | None:
    """Return the folder of the server's project; None where it is installed as a package."""
    for folder in package_folder(policy.package).absolute().parents[:2]:
        if (folder / "pyproject.toml").is_file():
            return folder
    return None


def find_client_file(client: str, home: Path, platform: str) -> ClientFile:
    """Return where a client keeps its servers on this machine.

    Args:
        client: claude-desktop, cursor or vscode.
        home: The user's folder.
        platform: As `sys.platform` names it.
    """
    if platform == "darwin":
        settings = home / "Library/Application Support"
    elif platform == "win32":
        settings = Path(os.environ.get("APPDATA") or home / "AppData/Roaming")
    else:
        settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    if client == "claude-desktop":
        return ClientFile(settings / "Claude/claude_desktop_config.json")
    if client == "cursor":
        return ClientFile(home / ".cursor/mcp.json")
    extra = {"type": "stdio"}
    return ClientFile(settings / "Code/User/mcp.json", "servers", extra)


def connect_file(entry: Entry, file: ClientFile, *, dry_run: bool) -> str:
    """Add an entry to a client's file, which keeps everything else.

    Args:
        entry: The entry.
        file: The file.
        dry_run: Whether nothing is written.

    Returns:
        What was done, for people.

    Raises:
        StartError: The client is not there, its file cannot be read, or it has another server of that name.
    """
    fields = {**file.extra, **entry.to_json()}
    snippet = json.dumps({file.section: {entry.name: fields}}, indent=2)
    path = Path(os.path.realpath(file.path))
    if not path.parent.is_dir():
        problem = "does not exist, so the client is not installed for this user"
        raise StartError(f"{path.parent} {problem}; `connect json` prints the entry")
    document = _read_document(path, file.section, snippet)
    servers = document.setdefault(file.section, {})
    present = servers.get(entry.name)
    if present == fields:
        return f"{path} has this entry of {entry.name} already"
    if present is not None and not _is_ours(present, entry):
        problem = f"has another server called {entry.name} ({_describe(present)})"
        raise StartError(
            f"{path} {problem}; add yours with --name, or remove that entry"
        )
    if dry_run:
        return f"{path} would get:\n{snippet}"
    servers[entry.name] = fields
    _write(path, document)
    return f"{path}: {entry.name} is {'changed' if present else 'added'}; restart the client"


def _read_document(path: Path, section: str, snippet: str) -> dict[str, Any]:
    """Return what a client's file holds; StartError where it is not a plain JSON object."""
    if not path.exists():
        return {}
    try:
        text = path.read_text(encoding="utf-8")
        document = json.loads(text) if text.strip() else {}
        if not isinstance(document, dict):
            raise ValueError("no object")
        if not isinstance(document.get(section, {}), dict):
            raise ValueError(f"{section} is no object")
    except (OSError, ValueError) as error:
        raise StartError(
            f"{path} is not plain JSON ({error}); add this by hand:\n{snippet}"
        ) from error
    return document


def _is_ours(present: object, entry: Entry) -> bool:
    """Tell whether an entry starts this very server, perhaps with other settings or another uv."""
    if not isinstance(present, dict) or present.get("args") != [*entry.arguments]:
        return False
    return Path(str(present.get("command"))).stem == Path(entry.command).stem


def _describe(present: object) -> str:
    if not isinstance(present, dict):
        return "not an object"
    words = [
        present.get("command") or present.get("url") or "?",
        *present.get("args", ()),
    ]
    return " ".join(str(word) for word in words)[:100]


def _write(path: Path, document: Mapping[str, Any]) -> None:
    """Replace a file in one step, with the rights that it has."""
    text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        if path.exists():
            shutil.copymode(path, name)
        os.replace(name, path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise StartError(f"{path} cannot be written: {error.strerror}") from error


def connect_claude_code(entry: Entry, *, dry_run: bool) -> str:
    """Add an entry through Claude Code's own command, which refuses a name that it has.

    Raises:
        StartError: The command is not there, or it refuses.
    """
    command = ["claude", "mcp", "add", "--scope", "user", entry.name]
    for variable, value in entry.environment.items():
        command += ["-e", f"{variable}={value}"]
    command += ["--", entry.command, *entry.arguments]
    command_line = " ".join(_quote(word) for word in command)
    if dry_run:
        return command_line
    program = shutil.which("claude")
    if program is None:
        raise StartError(f"claude is not on PATH; where it is, run\n{command_line}")
    process = subprocess.run([program, *command[1:]], capture_output=True, text=True)
    lines = (process.stderr.strip() or process.stdout.strip()).splitlines()
    if process.returncode:
        reason = lines[-1] if lines else f"exit code {process.returncode}"
        raise StartError(f"claude mcp add: {reason}")
    return f"Claude Code: {entry.name} is added"


def _quote(word: str) -> str:
    """Return a word of a command line; shlex quotes for POSIX only, and paths of Windows need no more than this."""
    return f'"{word}"' if " " in word or "\\" in word else word
