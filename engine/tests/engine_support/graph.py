"""The imports between the modules of a package, the engine unless told, read from their source."""

import ast
from importlib.util import resolve_name
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src/copier_fastmcp_engine"
PACKAGE = "copier_fastmcp_engine"


def module_names(source: Path = SOURCE) -> dict[str, Path]:
    """Return every module of a package with code in it, by its name below the package."""
    modules = {}
    for path in sorted(source.rglob("*.py")):
        name = ".".join(path.relative_to(source).with_suffix("").parts)
        if path.read_text(encoding="utf-8").strip():
            modules[name.removesuffix(".__init__")] = path
    return modules


def _is_type_checking(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def _imports(node: ast.AST) -> list[ast.ImportFrom]:
    """Return the imports of a tree, early and late, except those for type checkers only."""
    if _is_type_checking(node):
        return []
    if isinstance(node, ast.ImportFrom):
        return [node]
    imports = []
    for child in ast.iter_child_nodes(node):
        imports += _imports(child)
    return imports


def imported_modules(
    name: str,
    text: str,
    modules: set[str],
    *,
    is_package: bool = False,
    root: str = PACKAGE,
) -> set[str]:
    """Return the modules of the package that the source of a module, or of a package's `__init__`, imports."""
    path = root if name == "__init__" else f"{root}.{name}"
    package = path if is_package else path.rpartition(".")[0]
    imported = set()
    for node in _imports(ast.parse(text)):
        if not node.level:
            continue
        source = resolve_name("." * node.level + (node.module or ""), package)
        for alias in node.names:
            submodule = f"{source}.{alias.name}".removeprefix(f"{root}.")
            parent = source.removeprefix(f"{root}.")
            imported.add(submodule if submodule in modules else parent)
    return (imported & modules) - {name}


def import_graph(source: Path = SOURCE) -> dict[str, set[str]]:
    """Return what each module of a package imports of it."""
    modules = module_names(source)
    graph = {}
    for name, path in modules.items():
        text = path.read_text(encoding="utf-8")
        is_package = path.name == "__init__.py"
        graph[name] = imported_modules(
            name,
            text,
            set(modules),
            is_package=is_package,
            root=source.name,
        )
    return graph


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules that import each other in a circle, or can only be imported after one; empty if none."""
    ready: set[str] = set()
    while True:
        free = {name for name, imported in graph.items() if imported <= ready} - ready
        if not free:
            return sorted(set(graph) - ready)
        ready |= free
