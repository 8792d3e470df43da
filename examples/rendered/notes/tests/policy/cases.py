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

Arguments = dict[str, Any]
Arrange = Callable[[Any], Awaitable[Any]]
FORMATS = {"date": "2031-02-03", "date-time": "2031-02-03T04:05:06Z", "uuid": f"{0:032}"}
ABSENT = {int: 987_654, str: "absent"}
SOURCE = str(Path(__file__).parents[2] / "src")
TRY = "try: ...\nexcept Exception: ..."


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
    case: int = 0


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
    parameters: Mapping[str, Mapping[str, Any]],
    base: Arguments,
    names: list[str],
    versions: Collection[str],
    behavior: str,
) -> Iterator[Variant]:
    """A second record beside the one that is named, then each argument changed by itself, the surest first."""

    def changed(name: str, value: Any, title: str = "") -> Variant:
        shown = str(value).lower() if isinstance(value, bool) else repr(value)
        return Variant(base | {name: value}, title or f"{name}={shown}")

    if names and behavior != "read":
        yield Variant(base, "a second record beside it")
    others: list[Variant] = []
    for name, schema in parameters.items():
        old = base.get(name, schema.get("default"))
        found = [
            v
            for v in samples(schema)
            if v != old or isinstance(v, bool) is not isinstance(old, bool)
        ]
        parts = [schema, *schema.get("anyOf", ())]
        choices = any("enum" in part or part.get("type") == "boolean" for part in parts)
        if choices and name not in names:
            yield from (changed(name, value) for value in found)
        elif found and name not in base:
            others.append(changed(name, found[0]))
        if name in base and "default" in schema:
            others.append(Variant({n: v for n, v in base.items() if n != name}, f"no {name}"))
        if names and re.match("new_|to_|target|dest", name) and isinstance(old, str):
            yield changed(name, other(base[names[0]], later=True))
        if found and name in base and name not in names and behavior in ("create", "ensure"):
            again = changed(name, found[0])
            others.append(Variant(base, f"then {again.name}", again.arguments))
    for name, old in base.items():
        if name in versions and behavior in ("update", "delete") and isinstance(old, (str, int)):
            stale = f"{old}-stale" if isinstance(old, str) else old - 1
            yield changed(name, stale, f"a stale {name}")
        elif name in names or (behavior == "read" and isinstance(old, str)):
            one = old[0] if isinstance(old, list) and old else old
            folder = re.match(".*[/:]|", str(one))
            absent = FORMATS["uuid"] if is_uuid(one) else ABSENT.get(type(one))
            absent = f"{folder[0]}{absent}" if folder and isinstance(absent, str) else absent
            if absent is not None:
                yield changed(name, [absent] if isinstance(old, list) else absent)
    yield from others


def is_uuid(value: object) -> bool:
    """Whether a value is a UUID."""
    return bool(re.fullmatch("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", str(value)))


def other(value: Any, *, later: bool) -> Any:
    """Another identity of the same kind, before or behind it in order."""
    if isinstance(value, int):
        return value * 10 + 2 if later else value - 1
    if not isinstance(value, str):
        return value
    if is_uuid(value):
        return value[:-1] + ("f" if later else "0")
    stem, dot, ending = value.rpartition("/")[2].partition(".")
    return (
        value[: len(value) - len(stem + dot + ending)]
        + (f"{stem}2" if later else f"0{stem}")
        + dot
        + ending
    )


def twin(module: ModuleType, value: Any, nth: int, *, later: bool) -> Arrange | None:
    """The owner's arrange() with another identity in one place, or as it is; None: there is no such place."""
    text = Path(str(module.__file__)).read_text(encoding="utf-8")
    word = rf"(?<![\w.-]){re.escape(str(value))}(?![\w-]|\.\d)"
    places = [m.span() for m in re.finditer(word, text)] if value is not None else []
    if nth < len(places):
        start, end = places[nth]
        text = text[:start] + str(other(value, later=later)) + text[end:]
    elif nth:
        return None
    tree = ast.parse(text)
    for function in ast.walk(tree):
        if isinstance(function, ast.AsyncFunctionDef) and function.name == "arrange":
            tries = ast.parse(f"{TRY}\n" * len(function.body)).body
            for attempt, statement in zip(tries, function.body, strict=True):
                vars(attempt)["body"] = [statement]
            function.body = tries
    names: dict[str, Any] = {"__name__": module.__name__, "__package__": module.__package__}
    exec(compile(tree, str(module.__file__), "exec"), names)  # noqa: S102
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
