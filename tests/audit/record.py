"""Record the answers to tools/list of the servers in servers.json again; none of their tools is called.

python tests/audit/record.py FOLDER [NAME...]: each (also of fresh_servers.json and fresh_second_servers.json, by name) is installed by pip or npm below FOLDER and started
in an empty home, with an environment of its own; its list is written to FOLDER/NAME.json.
"""

import asyncio
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import anyio
from fastmcp import Client
from fastmcp.client.transports import StdioTransport

from copier_fastmcp.auditing.tool_lists import Tools
from copier_fastmcp.auditing.wire import list_all_tools

SERVERS = json.loads(
    (Path(__file__).parent / "servers.json").read_text(encoding="utf-8")
)
FRESH: dict[str, Any] = {}
for file in (
    "fresh_servers.json",
    "fresh_second_servers.json",
    "fresh_third_servers.json",
):
    FRESH |= json.loads((Path(__file__).parent / file).read_text(encoding="utf-8"))
# Stands for the path of a client's registration, which some servers read when they start.
OAUTH = "{oauth}"
REGISTRATION = {
    "client_id": "none",
    "client_secret": "none",
    "redirect_uris": ["http://localhost"],
}


def install(kind: str, packages: str, at: Path) -> Path:
    """Install packages in a folder; the folder of their commands."""
    if kind == "npm":
        at.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["npm", "install", "--silent", "--prefix", at, packages], check=True
        )
        return at / "node_modules/.bin"
    subprocess.run(["uv", "venv", "-q", at], check=True)
    python = ["--python", str(at / "bin/python")]
    subprocess.run(
        ["uv", "pip", "install", "-q", *python, *packages.split()], check=True
    )
    return at / "bin"


async def record(commands: Path, command: str, variables: dict[str, str]) -> Tools:
    """Start a server and list its tools."""
    words = shlex.split(command)
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryFile("w+") as log:
        paths = f"{commands}:/usr/local/bin:/usr/bin:/bin"
        registration = Path(home, "oauth.json")
        registration.write_text(
            json.dumps({"installed": REGISTRATION}), encoding="utf-8"
        )
        env = {"PATH": paths, "HOME": home, "LANG": "C.UTF-8"}
        for name, value in variables.items():
            env[name] = str(registration) if value == OAUTH else value
        transport = StdioTransport(
            str(commands / words[0]),
            words[1:],
            env,
            cwd=home,
            keep_alive=False,
            log_file=log,
        )
        with anyio.fail_after(90):
            async with Client(transport, init_timeout=90) as client:
                return await list_all_tools(client)


def main(folder: Path, *names: str) -> None:
    """Record some servers, or all."""
    for name in names or SERVERS:
        kind, packages, command, variables = (SERVERS | FRESH)[name]
        commands = install(kind, packages, folder / "installed" / name)
        tools = asyncio.run(record(commands, command, variables))
        lines = []
        for tool in tools:
            lines.append(json.dumps(tool, ensure_ascii=False, sort_keys=True))
        rows = ",\n".join(lines)
        (folder / f"{name}.json").write_text(f"[\n{rows}\n]\n", encoding="utf-8")
        print(f"{name}: {len(tools)} tools")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), *sys.argv[2:])
