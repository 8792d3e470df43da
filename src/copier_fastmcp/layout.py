"""Where a server that was there before keeps its things: its package, its server, its dependencies."""

import ast
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement

from .errors import RefusedError
from .finding import SERVERS
from .sources import FUNCTIONS, Module
from .survey import Survey

FASTMCP = "fastmcp>=4.1,<5"
NEEDS = {
    "anyio": "anyio>=4",
    "fastmcp": FASTMCP,
    "mcp": "mcp>=2.3",
    "mcp-types": "mcp-types>=2.3",
    "opentelemetry-api": "opentelemetry-api>=1.30",
    "platformdirs": "platformdirs>=4",
    "py-key-value-aio": "py-key-value-aio>=0.4.4,<0.5",
    "pydantic": "pydantic>=2.12",
    "pydantic-core": "pydantic-core>=2.41",
    "pydantic-settings": "pydantic-settings>=2",
    "starlette": "starlette>=0.50",
}
PORT = (
    "adopt needs FastMCP 4.1: import FastMCP from fastmcp, raise it to fastmcp>=4.1,<5, run your tests, "
    "then adopt; until then `annotate` writes the hints and `audit` checks them"
)


@dataclass(frozen=True)
class Made:
    """Where a server is made.

    Attributes:
        module: The file.
        statement: The statement that makes it.
        held: The name that holds it there, as in `mcp` or `self.mcp`.
        serves: How the tests find it, as module:name; empty where they cannot.
    """

    module: Module
    statement: ast.stmt
    held: str
    serves: str


def made(seen: Survey) -> list[Made]:
    """Every server that the project makes and does not mount in another one."""
    own = {
        node.name
        for module in seen.project.modules.values()
        for node in module.nodes
        if isinstance(node, ast.ClassDef)
        and any(re.search(r"\b\w*(FastMCP|MCP)\b", ast.unparse(base)) for base in node.bases)
    }
    found = []
    for module in seen.project.modules.values():
        for node in module.nodes:
            targets: list[ast.expr] = node.targets if isinstance(node, ast.Assign) else []
            if isinstance(node, ast.AnnAssign) and node.value:
                targets = [node.target]
            value = getattr(node, "value", None)
            if len(targets) != 1 or not isinstance(value, ast.Call):
                continue
            name = seen.project.dotted(module, value.func).split(".")[-1].split("[")[0]
            if isinstance(value.func, ast.Subscript):
                name = ast.unparse(value.func.value)
            held = ast.unparse(targets[0])
            child = f"{module.name}.{held}" in seen.mounted
            if name in (*SERVERS, *own) and not child and isinstance(node, ast.stmt):
                found.append(Made(module, node, held, _serves(module, node, held)))
    return found


def _serves(module: Module, node: ast.stmt, held: str) -> str:
    functions = [n for n in module.above(node) if isinstance(n, FUNCTIONS)]
    classes = [n for n in module.above(node) if isinstance(n, ast.ClassDef)]
    if held.startswith("self.") and len(classes) == 1:
        return f"{module.name}:{classes[0].name}"
    if not functions and not classes:
        return f"{module.name}:{held}"
    if len(functions) == 1 and not classes:
        returns = [n for n in ast.walk(functions[0]) if isinstance(n, ast.Return) and n.value]
        arguments = functions[0].args
        free = len(arguments.args) <= len(arguments.defaults) and not isinstance(
            functions[0], ast.AsyncFunctionDef
        )
        if free and any(ast.unparse(n.value) == held for n in returns if n.value):
            return f"{module.name}:{functions[0].name}"
    return ""


def place(seen: Survey, servers: list[Made]) -> str:
    """The folder that policy/ goes in: the deepest that holds the server and every tool.

    Raises:
        RefusedError: Nothing here is a server's, or no folder of one package holds it all.
    """
    root = seen.project.root
    homes = [each.found.home or each.found.module for each in seen.proposals]
    folders = [module.path.parent for module in (*homes, *(one.module for one in servers))]
    if not folders:
        why = "no server is made here, and no tool that a decorator can declare"
        raise RefusedError(f"{why}; name the server's own folder")
    common = folders[0]
    for folder in folders:
        while not folder.is_relative_to(common):
            common = common.parent
    if common != root and common.name == "src":
        raise RefusedError("several packages in src/ hold tools; name the folder of one of them")
    return common.relative_to(root).as_posix()


def package(folder: str) -> str:
    """The dotted name under which policy/ is imported."""
    parts = [part for part in folder.split("/") if part not in ("", ".")]
    return ".".join([*(parts[1:] if parts[:1] == ["src"] else parts), "policy"])


def described(root: Path) -> dict[str, Any]:
    """What pyproject.toml says of a project; nothing where there is none.

    Raises:
        RefusedError: It is not TOML.
    """
    path = root / "pyproject.toml"
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise RefusedError(f"pyproject.toml: {error}; mend it") from error


def recent(root: Path, frameworks: set[str]) -> None:
    """Make sure that the server can run on FastMCP 4.1.

    Raises:
        RefusedError: It is written for something older; the steps of porting it are named.
    """
    if "FastMCP" not in frameworks:
        names = " and ".join(sorted(frameworks)) or "no FastMCP"
        raise RefusedError(f"this server is written with {names}; {PORT}")
    for text in described(root).get("project", {}).get("dependencies", ()):
        wanted = _requirement(text)
        if wanted and wanted.name == "fastmcp":
            versions = ("4.1.0", "4.1.2", "4.2.0", "4.9.0")
            if not any(wanted.specifier.contains(version) for version in versions):
                raise RefusedError(f"pyproject.toml asks for {text}; {PORT}")


def _requirement(text: str) -> Requirement | None:
    try:
        return Requirement(text)
    except InvalidRequirement:
        return None


def depends(root: Path) -> tuple[str | None, str]:
    """pyproject.toml with what the policy needs, and what is left to a person.

    Returns:
        Its new text, None where it stays; and what to add by hand, if anything.
    """
    path = root / "pyproject.toml"
    if not isinstance(described(root).get("project", {}).get("dependencies"), list):
        names = ", ".join(NEEDS.values())
        return None, f"add to your dependencies: {names}; and pytest to those of development"
    import tomlkit

    before = path.read_bytes().decode()
    document = tomlkit.parse(before)
    project: Any = document["project"]
    listed: Any = project["dependencies"]
    names_at = {one.name: at for at, text in enumerate(listed) if (one := _requirement(str(text)))}
    for name, need in NEEDS.items():
        if name not in names_at:
            _append(listed, need)
    at = names_at.get("fastmcp")
    if at is not None and not re.search(r">=\s*4\.[1-9]", str(listed[at])):
        extras = re.search(r"\[.*?\]", str(listed[at]))
        listed[at] = FASTMCP.replace("fastmcp", f"fastmcp{extras[0] if extras else ''}", 1)
    if re.search(r">=\s*3\.(8|9|10)\b", str(project.get("requires-python", ""))):
        project["requires-python"] = ">=3.11"
    groups: Any = document.setdefault("dependency-groups", tomlkit.table())
    dev = groups.setdefault("dev", tomlkit.array())
    if not any(str(one).startswith("pytest") for one in dev):
        _append(dev, "pytest>=8.4")
    after = tomlkit.dumps(document)
    return (after if after != before else None), ""


def _append(listed: Any, need: str) -> None:
    """Add a text to a list, on a line of its own where the others have one."""
    if "\n" in listed.as_string():
        listed.add_line(need)
    else:
        listed.append(need)
