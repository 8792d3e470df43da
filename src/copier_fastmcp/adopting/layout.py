"""The layout of an existing server: its package, and the statements that create servers."""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..errors import RefusedError
from ..sources.discovery import SERVERS
from ..sources.modules import Function, Module
from .dependencies import load_pyproject
from .survey import Survey

SERVER_BASE = re.compile(r"\b\w*(FastMCP|MCP)\b")
ENGINE_NAMES = ("engine", "policy_engine")


@dataclass(frozen=True)
class Server:
    """A server that the project creates.

    Attributes:
        module: The file.
        statement: The statement that creates it.
        held: The expression that holds it, as `mcp` or `self.mcp`.
        entry_point: How the tests find it, as module:name; empty where they cannot.
    """

    module: Module
    statement: ast.stmt
    held: str
    entry_point: str


def find_servers(survey: Survey) -> list[Server]:
    """List the servers that the project creates and does not mount in another one, those of its commands first."""
    server_classes = _list_server_classes(survey)
    servers = []
    for module in survey.project.modules.values():
        for node in module.nodes:
            target = _find_only_target(node)
            value = getattr(node, "value", None)
            if target is None or not isinstance(value, ast.Call):
                continue
            name = _get_class_name(survey, module, value)
            held = ast.unparse(target)
            is_mounted = f"{module.name}.{held}" in survey.mounted
            if is_mounted or name not in (*SERVERS, *server_classes):
                continue
            if isinstance(node, ast.stmt):
                entry_point = _describe_entry_point(module, node, held)
                servers.append(Server(module, node, held, entry_point))
    commands = _list_command_modules(survey.project.root)
    return sorted(servers, key=lambda server: server.module.name not in commands)


def _list_command_modules(root: Path) -> set[str]:
    """The modules that the commands of a project call: a.b of "a.b:main"."""
    scripts = load_pyproject(root).get("project", {}).get("scripts")
    if not isinstance(scripts, dict):
        return set()
    return {str(target).partition(":")[0].strip() for target in scripts.values()}


def _find_only_target(node: ast.AST) -> ast.expr | None:
    """The target of an assignment that has just one."""
    if isinstance(node, ast.AnnAssign):
        return node.target if node.value else None
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        return node.targets[0]
    return None


def _get_class_name(survey: Survey, module: Module, call: ast.Call) -> str:
    """The last part of the name of a called class, without its type parameters."""
    if isinstance(call.func, ast.Subscript):
        return ast.unparse(call.func.value)
    dotted = survey.project.dotted(module, call.func)
    name = dotted.split(".")[-1]
    return name.split("[")[0]


def find_entry_point(servers: Iterable[Server]) -> str:
    """The first entry point of some servers; empty where none has one."""
    for server in servers:
        if server.entry_point:
            return server.entry_point
    return ""


def _list_server_classes(survey: Survey) -> set[str]:
    """The names of the project's own subclasses of a server class."""
    names: set[str] = set()
    for module in survey.project.modules.values():
        for node in module.nodes:
            if not isinstance(node, ast.ClassDef):
                continue
            if any(SERVER_BASE.search(ast.unparse(base)) for base in node.bases):
                names.add(node.name)
    return names


def _describe_entry_point(module: Module, node: ast.stmt, held: str) -> str:
    functions = module.list_enclosing_functions(node)
    classes = [n for n in module.above(node) if isinstance(n, ast.ClassDef)]
    if held.startswith("self.") and len(classes) == 1:
        return f"{module.name}:{classes[0].name}"
    if not functions and not classes:
        return f"{module.name}:{held}"
    if len(functions) == 1 and not classes:
        function = functions[0]
        needs_arguments = len(function.args.args) > len(function.args.defaults)
        is_async = isinstance(function, ast.AsyncFunctionDef)
        is_factory = held in _list_returned_texts(function)
        if is_factory and not needs_arguments and not is_async:
            return f"{module.name}:{function.name}"
    return ""


def _list_returned_texts(function: Function) -> set[str]:
    """What a function returns, as its source reads."""
    texts: set[str] = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Return) and node.value is not None:
            texts.add(ast.unparse(node.value))
    return texts


def choose_place(survey: Survey, servers: list[Server]) -> str:
    """Choose the folder for policy/: the deepest one with the server and every tool.

    Raises:
        RefusedError: No server is found, or no folder of one package contains all of it.
    """
    root = survey.project.root
    folders: list[Path] = []
    for proposal in survey.proposals:
        home = proposal.tool.home or proposal.tool.module
        folders.append(home.path.parent)
    for server in servers:
        folders.append(server.module.path.parent)
    if not folders:
        reason = "no server is made here, and no tool that a decorator can declare"
        raise RefusedError(f"{reason}; name the server's own folder")
    common = folders[0]
    for folder in folders:
        while not folder.is_relative_to(common):
            common = common.parent
    place = common.relative_to(root).as_posix()
    above, _, nested = f"{place}/".partition("/src/")
    if nested or above == place:
        raise RefusedError(
            f"the server is in {above}/; adopt there: copier-fastmcp adopt {above}"
        )
    if place == "src" and common not in folders:
        raise RefusedError(
            "several packages in src/ hold tools; name the folder of one of them"
        )
    if place in (".", "src"):
        return place
    if not _is_package_of(survey, common, get_policy_package(place)):
        reason = f"{place}/ is not a package, and nothing imports it by name"
        remedy = f"add __init__.py, or copier-fastmcp adopt {place}"
        raise RefusedError(f"{reason}: {remedy}")
    return place


def choose_engine_name(folder: Path) -> str:
    """Return the name of the engine's folder next to policy/: another one where the author has an `engine`.

    Args:
        folder: The folder that policy/ goes in.

    Raises:
        RefusedError: Both names are taken.
    """
    for name in ENGINE_NAMES:
        if not (folder / name).exists() and not (folder / f"{name}.py").exists():
            return name
    raise RefusedError(
        f"{folder.name}: has {' and '.join(ENGINE_NAMES)} already; rename one of them"
    )


def _is_package_of(survey: Survey, folder: Path, name: str) -> bool:
    """Whether a folder is a package, or imported by its name."""
    dotted = name.rpartition(".")[0]
    if (folder / "__init__.py").exists():
        return True
    import_pattern = re.compile(rf"{re.escape(dotted)}[.:\"']")
    for module in survey.project.modules.values():
        for target in module.imports.values():
            if import_pattern.match(f"{target}."):
                return True
    file = survey.project.root / "pyproject.toml"
    if not file.is_file():
        return False
    settings = file.read_text("utf-8", "replace")
    return import_pattern.search(settings) is not None


def get_policy_package(folder: str) -> str:
    """The dotted name under which policy/ is imported."""
    parts = list(PurePosixPath(folder).parts)
    if parts[:1] == ["src"]:
        del parts[0]
    return ".".join([*parts, "policy"])
