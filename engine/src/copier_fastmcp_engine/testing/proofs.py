"""How a tool is proven, as the lock records it: read from its probe, without running it."""

import ast
import fnmatch
import hashlib
import inspect
import io
import re
import tokenize
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

ANY = "*"  # stands for text that is known only when a probe runs
DIGEST = 16  # characters of a digest
DECLARED = ("effects", "outside")  # what a probe excludes, each with its reason
FORMATTING = re.compile(r"[\s,()'\"\\]+")  # follows from how the code is formatted
DOUBLED = re.compile(r"([{}])\1")
SUBSTITUTES = ("setattr", "object", "patch")  # functions that replace an attribute


def compute_digest(text: str) -> str:
    """Return a short digest of a text, whatever its line ends."""
    normalized = text.replace("\r\n", "\n").encode()
    return hashlib.sha256(normalized).hexdigest()[:DIGEST]


def compute_code_digest(source: str) -> str:
    """Return a digest of Python code, whatever its format, its comments and the version of Python."""
    parts = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.INDENT:
            parts.append("<block>")
        elif token.type == tokenize.DEDENT:
            parts.append("</block>")
        elif token.type == tokenize.NEWLINE:
            parts.append(";")
        elif token.type != tokenize.COMMENT:
            parts.append(token.string)
    code = FORMATTING.sub("", "".join(parts))
    # Python 3.12 reads a doubled brace of an f-string as a single one
    return compute_digest(DOUBLED.sub(r"\1", code))


def describe_proof(path: Path, methods: Collection[str]) -> dict[str, Any]:
    """Return what the lock records of a probe.

    Args:
        path: The file of the probe.
        methods: The names of the functions of the project's backend.

    Returns:
        `code`, a digest, and where they say anything `cases`, `effects`, `loses`, `outside`, `replaces`, `skips` and
        `unprobed`; nothing where there is no probe.
    """
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    proof: dict[str, Any] = {"code": compute_code_digest(text)}
    assigned = _collect_assigned(tree)
    for name in ("unprobed", "skips"):
        if name in assigned:
            proof[name] = _read_reasons(assigned[name])
    if isinstance(proof.get("unprobed"), str):
        return proof
    for name in DECLARED:
        if name in assigned:
            proof[name] = _read_reasons(assigned[name])
    arrange = _find_arrange(tree)
    if arrange is not None:
        proof["cases"] = _count_cases(arrange)
    if lost_keys := sorted(_list_losses(tree)):
        proof["loses"] = lost_keys
    if replaced := sorted(_list_replaced(tree) & set(methods)):
        proof["replaces"] = replaced
    return proof


def _find_arrange(tree: ast.Module) -> ast.AsyncFunctionDef | None:
    """Return the function of a probe that prepares its cases; the last one of several counts, as in Python."""
    arrange = None
    for node in tree.body:
        if isinstance(node, ast.AsyncFunctionDef) and node.name == "arrange":
            arrange = node
    return arrange


def _collect_assigned(tree: ast.Module) -> dict[str, ast.expr]:
    """Return the values that a module assigns to names, by name."""
    assigned = {}
    for node in tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(name)], value=value)
                | ast.AnnAssign(target=ast.Name(name), value=ast.expr() as value)
            ):
                assigned[name] = value
    return assigned


def _read_reasons(value: ast.expr) -> Any:
    """Return a reason, or the reason of each key; what is computed is its source text."""
    if isinstance(value, ast.Constant):
        return str(value.value)
    if not isinstance(value, ast.Dict):
        return {ANY: ast.unparse(value)}
    reasons = {}
    for key, reason in zip(value.keys, value.values, strict=True):
        name = ANY if key is None else _read_pattern(key)
        text = reason.value if isinstance(reason, ast.Constant) else ast.unparse(reason)
        reasons[name] = str(text)
    return dict(sorted(reasons.items()))


def _read_pattern(value: ast.expr) -> str:
    """Return a text as it is written, with `*` for its computed parts."""
    match value:
        case ast.Constant(value=constant):
            return str(constant)
        case ast.JoinedStr(values=parts):
            return "".join(_read_pattern(part) for part in parts)
        case _:
            return ANY


def _count_cases(arrange: ast.AsyncFunctionDef) -> int:
    """Return how many cases `arrange` returns; 0 where they are computed."""
    counts = [0]
    for node in ast.walk(arrange):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        match node.value:
            case ast.List(elts=elements):
                counts.append(len(elements))
            case ast.Dict() | ast.Call():
                counts.append(1)
    return max(counts)


def _list_losses(tree: ast.Module) -> set[str]:
    """Return the keys that the cases of a probe may lose."""
    losses: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or _name_of(node.func) != "Case":
            continue
        values = node.args[1:2]
        for keyword in node.keywords:
            if keyword.arg in ("loses", None):
                values.append(keyword.value)
        for value in values:
            if isinstance(value, ast.List | ast.Tuple | ast.Set):
                losses.update(_read_pattern(element) for element in value.elts)
            else:
                losses.add(ANY)
    return losses


def _list_replaced(tree: ast.Module) -> set[str]:
    """Return the names of attributes to which a probe assigns something else."""
    replaced: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            replaced.add(node.attr)
        if isinstance(node, ast.Call) and _name_of(node.func) in SUBSTITUTES:
            for argument in node.args:
                if isinstance(argument, ast.Constant):
                    replaced.add(str(argument.value).rpartition(".")[2])
    return replaced


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def is_recorded(key: str, patterns: Iterable[str]) -> bool:
    """Tell whether the lock's record of a probe names a key."""
    return any(fnmatch.fnmatchcase(key, pattern) for pattern in patterns)


# The backend, on whose snapshot() every proof rests


def list_methods(backend: ModuleType) -> set[str]:
    """Return the names of the functions in a module, and in its classes."""
    names = {name for name, _ in inspect.getmembers(backend, inspect.isfunction)}
    for _, owner in inspect.getmembers(backend, inspect.isclass):
        names.update(name for name, _ in inspect.getmembers(owner, inspect.isfunction))
    return names


def compute_snapshot_digest(backend: ModuleType) -> str:
    """Return the digest of every `snapshot` in a module; nothing where there is none."""
    sources = [*_read_snapshots(backend)]
    return compute_digest("\n".join(sources)) if sources else ""


def _read_snapshots(backend: ModuleType) -> Iterator[str]:
    for owner in (backend, *_classes_of(backend)):
        function = vars(owner).get("snapshot")
        if function is None:
            continue
        try:
            yield inspect.getsource(inspect.unwrap(function))
        except (OSError, TypeError):
            yield repr(function)


def _classes_of(backend: ModuleType) -> list[type]:
    """Return the classes that a module names, and those from which they inherit, in the order of their names."""
    classes: dict[type, None] = {}
    for _, owner in inspect.getmembers(backend, inspect.isclass):
        classes.update(dict.fromkeys(owner.__mro__))
    return [*classes]
