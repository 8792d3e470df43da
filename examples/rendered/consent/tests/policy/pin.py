"""Pin the tools: `uv run tests/policy/pin.py` writes annotations.lock.json and docs/tools.md.

Managed by the template. Both come from the running server as shipped; what differs from the lock is printed.
"""

import inspect
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from fastmcp import Client, FastMCP

from nextcloud_login_mcp.policy.errors import StartError
from nextcloud_login_mcp.policy.profile import DESTRUCTIVE
from nextcloud_login_mcp.policy.serving import declared, run_now
from nextcloud_login_mcp.policy.settings import PolicySettings
from nextcloud_login_mcp.server import create_server
from nextcloud_login_mcp.settings import Settings

if not __package__:  # run as a script: this folder is the package
    __package__ = "pinning"
    sys.modules[__package__] = ModuleType(__package__)
    sys.modules[__package__].__path__ = [str(Path(__file__).parent)]

from . import lock
from .cases import said_in
from .rules import Tool

ROOT = Path(__file__).resolve().parents[2]
LOCK, PAGE = ROOT / lock.FILE, ROOT / "docs/tools.md"
PROBES = ROOT / "tests/tools"
# What the template writes into a probe until its tool can run: nothing to judge the tool by yet.
NOT_YET = re.compile("it is not implemented yet|no sample value is known")
PIN = "`uv run tests/policy/pin.py`"
TABLES: dict[str, Any] = json.loads((ROOT / "tests/policy/tables.json").read_text(encoding="utf-8"))
TABLES["destructive"] = DESTRUCTIVE
VERBS = {verb for verbs in TABLES["verbs"].values() for verb in verbs}
HEAD = "Tool | Title | Behavior | Read-only | Destructive | Idempotent | Open world | Gate | Scopes | Why"
TOP = """# Tools

Written by `uv run tests/policy/pin.py` from the running server; a test fails when it is stale. [Hints](adr/policy/0001-tool-annotations.md)
are advisory: `-` is one left to the protocol's default. A tool that `asks` waits for a person."""
SHOWN = ("name", "title", "description", "annotations")
WIRE = "\n## On the wire\n\n`tools/list` begins so, schemas left out:\n"
# What is pinned depends on no file and no policy setting of whoever runs it.
OWN = {
    "database": ":memory:",
    "metadata": Path("none"),
    "enable_offline_access": True,
    "consent_database": ":memory:",
    "oidc_issuer": "https://example.com",
    "oidc_client_id": "suite",
}
FIELDS = PolicySettings.model_fields.items()
DEFAULTS = {name: field.get_default(call_default_factory=True) for name, field in FIELDS}
SETTINGS = Settings(**DEFAULTS | OWN)


async def listed(client: Client[Any]) -> list[dict[str, Any]]:
    """Every tool as a client sees it."""
    async with client:
        tools = await client.list_tools()
    return [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools]


def running(mcp: FastMCP) -> tuple[list[Tool], lock.Lock, str]:
    """A server's tools with their declarations; the lock and the tool table of them."""
    tools = []
    served = {tool.name: tool for tool in run_now(mcp.list_tools(run_middleware=False), mcp)}
    for wire in run_now(listed(Client(mcp)), mcp):
        tool = served.get(wire["name"])
        declaration = declared(tool)  # a lifespan may have added it since
        facts = declaration.facts() | {"content": _is_content(tool)} if declaration else None
        probe = PROBES / f"test_{wire['name']}.py"
        said = said_in(probe)
        open_ = not probe.exists() or NOT_YET.search(str(said.get("unprobed")))
        waivers = said.get("waivers", [])
        waivers = waivers if isinstance(waivers, list | tuple) else [waivers]
        probed = None if open_ else "unprobed" not in said
        tools.append(Tool(wire, facts, probed=probed, waivers=waivers))
    pins = lock.lock_of(tools, {name: version(name) for name in ("fastmcp", "mcp", "pydantic")})
    first = [{key: of for key, of in tool.wire.items() if key in SHOWN} for tool in tools[:1]]
    sample = json.dumps({"tools": first}, indent=2, ensure_ascii=False)
    return tools, pins, f"{markdown(pins['tools'])}{WIRE}\n```json\n{sample}\n```\n"


def _is_content(tool: object) -> bool:
    """Whether a tool returns an image, bytes or other content, for which there is no schema."""
    answer = inspect.signature(inspect.unwrap(getattr(tool, "fn", _is_content))).return_annotation
    unknown = (inspect.Signature.empty, None, "None", Any, "Any")
    return getattr(tool, "output_schema", None) is None and answer not in unknown


def record_of(name: str) -> str:
    """What a tool is about: the word of its name behind the verb, in the singular."""
    words = name.lower().split("_")
    behind = next((n + 1 for n, word in enumerate(words[:3]) if word in VERBS), 0)
    word = re.sub("(ch|sh|us|x|z)es$", r"\1", (words[behind:] or words)[0])
    return re.sub("(?<![su])s$", "", re.sub("ies$", "y", word))


def markdown(tools: Mapping[str, Mapping[str, Any]]) -> str:
    """The lock's tools as Markdown, a section for each record of several tools."""
    records = Counter(map(record_of, tools))
    sections: dict[str, list[str]] = {}
    for name in sorted(tools):
        shared = (r for r in map(record_of, (name, *name.split("_"))) if records[r] > 1)
        group = next(shared, "").capitalize() or "other"
        sections.setdefault(group, []).append(_row(name, tools[name]))
    lines = [TOP]
    for group, rows in sorted(sections.items()):  # "other" is in lower case, and so the last one
        lines += [f"\n## {_escaped(group.capitalize())}"] * (len(sections) > 1)
        lines += [f"\n| {HEAD} |", "|" + " --- |" * len(HEAD.split("|")), *rows]
    return "\n".join([*lines, ""])


def _row(name: str, tool: Mapping[str, Any]) -> str:
    hints = [{True: "yes", False: "no"}.get(tool["hints"].get(hint), "-") for hint in lock.HINTS]
    rest = ["asks" if tool["gated"] else "", " ".join(tool["scopes"])]
    meaning = TABLES["behaviors"].get(tool["behavior"], {"meaning": ""})["meaning"].capitalize()
    whys = [tool["why"] or meaning, *(f"{e['hint']}: {e['why']}" for e in tool["exceptions"])]
    whys += [f"Formerly {', '.join(tool['formerly'])}."] if "formerly" in tool else []
    whys += [f"Deprecated: {tool['deprecated']}"] if "deprecated" in tool else []
    whys += (f"{e['rule']} waived until {e['until']}: {e['why']}" for e in tool.get("waivers", ()))
    cells = [tool["title"], tool["behavior"] or "?", *hints, *rest, " ".join(filter(None, whys))]
    return " | ".join([f"| `{name}`", *map(_escaped, cells)]) + " |"


def _escaped(text: str) -> str:
    return "".join("\\" + c if c in "\\`*_[]<|&" else c for c in text.replace("\n", " "))


def pinned() -> lock.Lock | None:
    """The pinned lock, None when nothing ever was; ValueError: it is damaged, or missing in git or in CI."""
    if LOCK.exists():
        return lock.read(LOCK)
    git, asked = shutil.which("git") or "", ("ls-files", "log -1 --format=%H --all")
    commands = [[git, *words.split(), "--", lock.FILE] for words in asked if git]
    known = [subprocess.run(words, cwd=ROOT, capture_output=True).stdout for words in commands]
    if any(known) or os.environ.get("CI"):
        raise ValueError(f"{lock.FILE} is missing: restore it from git, or run {PIN} and commit it")
    return None


def main(*words: str) -> str:
    """Pin, and say what changed; with `--first` only where nothing was ever pinned; else ValueError."""
    if words not in ((), ("--first",)):
        raise ValueError(f"{' '.join(words)}: {PIN} takes nothing or --first")
    before = pinned() if words or LOCK.exists() else None
    if before and words:
        return f"{lock.FILE} is there already"
    _, after, page = running(create_server(SETTINGS))
    LOCK.write_text(lock.text_of(after), encoding="utf-8", newline="\n")
    PAGE.write_text(page, encoding="utf-8", newline="\n")
    changed = lock.differences(before, after) if before else []
    return "\n".join([*changed, f"{lock.FILE} and docs/tools.md hold {len(after['tools'])} tools"])


if __name__ == "__main__":
    try:
        print(main(*sys.argv[1:]))
    except (ValueError, StartError) as error:
        sys.exit(str(error))
