"""The calls that prove a tool: those that its owner arranges, and those that follow from them. Managed by the template."""

import ast
import asyncio
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .rules import Tool

Arguments = dict[str, Any]
Arrange = Callable[[Any], Awaitable[Any]]
FORMATS = {"date": "2031-02-03", "date-time": "2031-02-03T04:05:06Z", "uuid": f"{0:032}"}
BEFORE, BEHIND, ABSENT = "0", "2", "9999"  # what tells another identity from the one of the owner
UUID = re.compile("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
SOURCE = str(Path(__file__).parents[2] / "src")
CAUGHT = ast.ExceptHandler(ast.Name("Exception", ast.Load()), None, [ast.Pass()])


@dataclass(frozen=True)
class Case:
    """One call, and what it may lose; `arrange` returns arguments, a Case, or a list of these.

    Attributes:
        arguments: What the call gets.
        loses: Keys of the snapshot that it may change or remove beside the record that it names.
    """

    arguments: Arguments
    loses: Collection[str] = ()


class Variant(NamedTuple):
    """A case as it is run: what differs from what the owner arranged, and what the second call gets."""

    arguments: Arguments
    name: str = ""
    again: Arguments | None = None
    loses: Collection[str] = ()


def said_in(path: Path) -> dict[str, Any]:
    """What an owner's file says by name, without running it: plain values, of all else the text."""
    said: dict[str, Any] = {}
    for node in ast.parse(path.read_bytes()).body if path.exists() else ():
        match node:
            case ast.AsyncFunctionDef(name=name):
                said[name] = ast.unparse(node)
            case ast.Assign(targets=[ast.Name(name)], value=value) | ast.AnnAssign(
                ast.Name(name), value=ast.expr() as value
            ):
                try:
                    said[name] = ast.literal_eval(value)
                except ValueError:
                    said[name] = ast.unparse(value)
    return said


def listed(arranged: object) -> list[Case]:
    """The cases that `arrange` returned; TypeError: it returned something else."""
    found: list[Any] = arranged if isinstance(arranged, list) else [arranged]
    cases = [case if isinstance(case, Case) else Case(case) for case in found]
    if not cases or not all(isinstance(case.arguments, dict) for case in cases):
        raise TypeError("arrange() has to return its arguments, a Case, or a list of these")
    return cases


def samples(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Some values that a schema allows: every choice, or one or two of its type."""
    yield from schema.get("enum", ())
    for part in schema.get("anyOf", ()):
        yield from samples(part)
    kind = schema.get("type") if "enum" not in schema else ""
    if kind == "boolean":
        yield from (True, False)
    elif kind in ("integer", "number"):
        least, most = schema.get("minimum", 1), schema.get("maximum", 9)
        yield from (n for n in (2, 3, least, most) if least <= n <= most)
    elif kind == "string" and "pattern" not in schema:
        text = "probe".ljust(schema.get("minLength", 0), "e")[: schema.get("maxLength")]
        yield FORMATS.get(schema.get("format", ""), text)
    elif kind == "array":
        yield from ([item] for item in samples(schema.get("items", {})))


def variants(
    tool: Tool, behavior: str, case: Case, names: list[str], versions: Collection[str]
) -> Iterator[Variant]:
    """A second record beside the one that is named, then each argument changed by itself, the surest first."""
    base, others = case.arguments, []
    required = tool.wire["inputSchema"].get("required", ())
    first = Variant(base, "a second record beside it", loses=case.loses)

    def changed(name: str, value: Any, title: str = "") -> Variant:
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        return first._replace(arguments=base | {name: value}, name=title or f"{name}={shown}")

    if names and behavior != "read":
        yield first
    for name, schema in tool.parameters.items():
        old, given = base.get(name, schema.get("default")), name in base
        same = (old, isinstance(old, bool))  # for True == 1
        found = [changed(name, v) for v in samples(schema) if (v, isinstance(v, bool)) != same]
        parts = [schema, *schema.get("anyOf", ())]
        if name not in names and any("enum" in p or p.get("type") == "boolean" for p in parts):
            yield from found
        elif not given:
            others += found[:1]
        if given and name not in required:
            less = {n: v for n, v in base.items() if n != name}
            others.append(first._replace(arguments=less, name=f"no {name}"))
        if names and re.match("new_|to_|target|dest", name) and isinstance(old, str):
            yield changed(name, other(base[names[0]], BEHIND))
        if given and name not in names and behavior in ("create", "ensure"):
            again = [v._replace(name=f"then {v.name}", again=v.arguments) for v in found[:1]]
            others += [v._replace(arguments=base) for v in again]
    for name, old in base.items():
        one = old[0] if isinstance(old, list) and old else old
        if name in versions and behavior in ("update", "delete") and isinstance(old, (str, int)):
            yield changed(name, other(old, BEFORE), f"a stale {name}")
        elif name in names or (behavior == "read" and isinstance(old, str)):
            absent = other(one, ABSENT)
            if absent != one:
                yield changed(name, [absent] if isinstance(old, list) else absent)
    yield from others


def other(value: Any, mark: str) -> Any:
    """Another identity of the same kind, in order before it or behind it; any other value as it is."""
    if type(value) is int:  # a boolean is none
        return value - 1 if mark == BEFORE else int(f"{value}{mark}")
    if not isinstance(value, str):
        return value
    if UUID.fullmatch(value):
        return value[: -len(mark)] + mark
    place = "(?=[^/]*$)" if mark == BEFORE else r"(?=(\.[^/]*)?$)"  # of docs/note.txt: note
    return re.sub(place, mark, value, count=1)


def twin(module: ModuleType, value: Any, nth: int, mark: str) -> Arrange | None:
    """The owner's arrange() with another identity in one place, or as it is; None: there is no such place."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    word = rf"(?<![\w.-]){re.escape(str(value))}(?![\w-]|\.\d)"
    places = [m.span() for m in re.finditer(word, text)] if value is not None else []
    if nth < len(places):
        start, end = places[nth]
        text = text[:start] + str(other(value, mark)) + text[end:]
    elif nth:
        return None
    tree = ast.parse(text)
    for function in ast.walk(tree):
        if isinstance(function, ast.AsyncFunctionDef) and function.name == "arrange":
            function.body = [ast.Try([one], [CAUGHT], [], []) for one in function.body]
    code = compile(ast.fix_missing_locations(tree), str(module.__file__), "exec")
    names: dict[str, Any] = {"__name__": module.__name__, "__package__": module.__package__}
    exec(code, names)  # noqa: S102
    found: Arrange = names["arrange"]
    return found


def working() -> set[Any]:
    """The threads that run code of this project, and the tasks that are not those of the server itself."""
    found: set[Any] = set()
    frames = sys._current_frames()
    for thread in threading.enumerate():
        frame = frames.get(thread.ident or 0)
        while frame and not frame.f_code.co_filename.startswith(SOURCE):
            frame = frame.f_back
        if thread is not threading.main_thread() and (frame or isinstance(thread, threading.Timer)):
            found.add(thread)
    for task in asyncio.all_tasks():
        code = getattr(task.get_coro(), "cr_code", None)
        if code and not re.search(r"site-packages[/\\](anyio|fastmcp|mcp)[/\\]", code.co_filename):
            found.add(task)
    return found


async def settled(before: set[Any]) -> str:
    """Wait for what a call left running; what runs on after 2 s."""
    for _ in range(200):
        if not (left := working() - before):
            await asyncio.sleep(0)
            return ""
        await asyncio.sleep(0.01)
    return "a task" if isinstance(next(iter(left)), asyncio.Task) else "a thread"
