"""The tools of a server as they are pinned: annotations.lock.json and docs/tools.md, written from the running server."""

import inspect
import json
import os
import re
import shutil
import subprocess
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from . import lock
from .cases import parse_probe
from .opening import open_project
from .project import ProjectUnderTest, is_start_error
from .proofs import compute_snapshot_digest, describe_proof, list_methods
from .rules import Tool, format_finding
from .tool_table import format_components, format_table

PAGE = Path("docs/tools.md")
COMMAND = lock.COMMAND
CHANGED = "review these changes in git, and commit both files"
# What the template writes into a probe until its tool can run: nothing to judge the tool by yet
NOT_YET = re.compile("it is not implemented yet|no sample value is known")
VERSION_TAG = re.compile(r"v?\d+(\.\d+)+\S*")
WORDS: tuple[list[str], ...] = (
    [],
    ["--first"],
    ["--released"],
)
LIBRARIES = ("fastmcp", "mcp", "pydantic")  # which render the schemas


@dataclass(frozen=True)
class Pins:
    """The pins of a running server.

    Attributes:
        tools: Its tools with their declarations.
        lock: The content of annotations.lock.json.
        table: The content of docs/tools.md.
    """

    tools: Sequence[Tool]
    lock: lock.Lock
    table: str


def load_tables(project: ProjectUnderTest) -> dict[str, Any]:
    """Return the project's tables.json, with what its policy calls destructive."""
    path = project.root / "tests/policy/tables.json"
    tables: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    tables["destructive"] = project.policy.destructive
    return tables


async def list_on_the_wire(client: Any) -> list[dict[str, Any]]:
    """Return every tool as a client sees it."""
    async with client:
        tools = await client.list_tools()
    return [
        tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools
    ]


async def list_components(client: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the resources, resource templates and prompts as a client sees them, by these names."""
    async with client:
        lists = {
            "resources": await client.list_resources(),
            "templates": await client.list_resource_templates(),
            "prompts": await client.list_prompts(),
        }
    components = {}
    for kind, listed in lists.items():
        rows = [row.model_dump(mode="json", by_alias=True) for row in listed]
        components[kind] = rows
    return components


def collect(project: ProjectUnderTest, server: Any, tables: Mapping[str, Any]) -> Pins:
    """Return what is pinned of a running server."""
    from fastmcp import Client

    engine = project.engine("tools")
    served = {}
    for tool in engine.run_now(server.list_tools(run_middleware=False), server):
        served[tool.name] = tool
    backend = project.load_backend()
    methods = list_methods(backend) if backend else set()
    tools = []
    for wire in engine.run_now(list_on_the_wire(Client(server)), server):
        tool = served.get(wire["name"])
        declaration = engine.declared(tool)  # a lifespan may have added it since
        facts = None
        if declaration:
            facts = project.policy.facts(declaration) | {"content": _is_content(tool)}
        tools.append(
            _with_probe(
                wire, facts, project.probes / f"test_{wire['name']}.py", methods
            )
        )
    versions = {name: version(name) for name in LIBRARIES}
    released = is_released(project)
    snapshot = compute_snapshot_digest(backend) if backend else ""
    pinned = lock.build_lock(tools, versions, released=released, snapshot=snapshot)
    if excluded := describe_proof(project.probes / "components.py", methods):
        pinned["proof"]["components"] = excluded
    modules = {name: _module_of(project, tool) for name, tool in served.items()}
    components = engine.run_now(list_components(Client(server)), server)
    page = format_table(pinned["tools"], tools, tables, modules)
    page += format_components(components)
    return Pins(tools, pinned, page)


def _module_of(project: ProjectUnderTest, tool: object) -> str:
    """Return the folder of a tool's file below tools/, as in `calendar`; empty for a file without one."""
    function: Any = getattr(tool, "fn", _module_of)
    module = str(getattr(inspect.unwrap(function), "__module__", ""))
    _, _, name = module.partition(f"{project.package}.tools.")
    return name.rpartition(".")[0]


def _with_probe(
    wire: Mapping[str, Any],
    facts: dict[str, Any] | None,
    probe: Path,
    methods: Collection[str],
) -> Tool:
    """Return a tool with the facts of its probe.

    Args:
        wire: The tool as it is served.
        facts: The facts of its declaration.
        probe: The file of its probe.
        methods: The names of the functions of the backend.
    """
    definitions = parse_probe(probe)
    probed = None
    if probe.exists() and not NOT_YET.search(str(definitions.get("unprobed"))):
        probed = "unprobed" not in definitions
    waivers = definitions.get("waivers", [])
    if not isinstance(waivers, list | tuple):
        waivers = [waivers]
    proof = describe_proof(probe, methods)
    return Tool(wire, facts, probed=probed, waivers=waivers, proof=proof)


def _is_content(tool: object) -> bool:
    """Tell whether a tool returns an image, bytes or other content, for which there is no schema."""
    function: Any = getattr(tool, "fn", _is_content)
    result = inspect.signature(inspect.unwrap(function)).return_annotation
    unknown = (inspect.Signature.empty, None, "None", Any, "Any")
    return getattr(tool, "output_schema", None) is None and result not in unknown


def is_released(project: ProjectUnderTest) -> bool:
    """Tell whether a server has users: it is older than its policy, or git has a version tag of it."""
    git = shutil.which("git")
    if project.is_existing or not git:
        return project.is_existing
    command = [git, "tag", "--merged", "HEAD"]
    tags = subprocess.run(command, cwd=project.root, capture_output=True, text=True)
    return any(map(VERSION_TAG.fullmatch, tags.stdout.split()))


def read_pinned(root: Path) -> lock.Lock | None:
    """Return the pinned lock of a project, None where nothing was ever pinned.

    Raises:
        ValueError: It is damaged, or missing in git or in CI.
    """
    path = root / lock.FILE
    if path.exists():
        return lock.load_lock(path)
    git = shutil.which("git")
    is_known = bool(os.environ.get("CI"))
    for words in ("ls-files", "log -1 --format=%H --all") if git else ():
        command = [str(git), *words.split(), "--", lock.FILE]
        is_known |= bool(subprocess.run(command, cwd=root, capture_output=True).stdout)
    if is_known:
        remedy = f"restore it from git, or run {COMMAND} and commit it"
        text = f"{lock.FILE} is missing"
        raise ValueError(format_finding(text, remedy, lock.READABLE))
    return None


def pin(project: ProjectUnderTest, words: Sequence[str] = ()) -> str:
    """Write the lock and the table.

    Args:
        project: The project.
        words: Nothing; `--first`: only where nothing was ever pinned; or `--released`: from now on there are callers.

    Returns:
        What changed, a line each.

    Raises:
        ValueError: The words are others, or the lock is damaged or missing.
    """
    if [*words] not in WORDS:
        options = "nothing, --first or --released"
        raise ValueError(f"{' '.join(words)}: {COMMAND} takes {options}")
    is_first = "--first" in words
    path = project.root / lock.FILE
    before = read_pinned(project.root) if is_first or path.exists() else None
    if before and is_first:
        return f"{lock.FILE} is there already"
    pins = collect(project, project.create_server(), load_tables(project))
    was_released = before is not None and before["released"]
    pins.lock["released"] |= was_released or "--released" in words
    path.write_text(lock.format_lock(pins.lock), encoding="utf-8", newline="\n")
    (project.root / PAGE).write_text(pins.table, encoding="utf-8", newline="\n")
    lines = []
    changed = lock.report_differences(before, pins.lock) if before else []
    if changed:
        lines.append(format_finding("\n".join(changed), CHANGED, lock.CURRENT))
    if pins.lock["released"] and not was_released:
        lines.append("released: from now on each change that breaks callers is listed")
    lines.append(f"{lock.FILE} and docs/tools.md hold {len(pins.lock['tools'])} tools")
    return "\n".join(lines)


def run(
    root: Path,
    policy_package: str,
    words: Sequence[str],
    location: str | None = None,
) -> str | None:
    """Run the script `tests/policy/pin.py`.

    Args:
        root: The project's folder.
        policy_package: The dotted name of its policy.
        words: The script's arguments.
        location: As in `open_project`.

    Returns:
        What went wrong, in a line; None where nothing did.
    """
    try:
        print(pin(open_project(root, policy_package, location), words))
    except ValueError as error:
        return str(error)
    except ImportError as error:
        return f"the server cannot be imported: {error}; `uv sync` installs what pyproject.toml declares"
    except Exception as error:
        if not is_start_error(error):
            raise
        return str(error)
    return None
