"""Helpers that most reading tools of a server share, which say nothing about any one of them.

A session, a transport or a cache below every tool cannot show which of the tools write. Its effects are
set aside, unless what a tool passes to it names a write. A helper that visibly stores something is set aside
only where its name says that it keeps books: every read may mark what it has read.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Set

from ..analysis.effects import Body, Effect
from ..analysis.vocabulary import load_words
from ..auditing.verbs import find_verb, parse_name, split_name
from ..sources.modules import FUNCTIONS

LEAST_TOOLS = 3
LEAST_SHARE = 0.6
WRITE_KINDS = {"add", "change", "remove"}
# What a request may name: `send-keys` runs something.
REQUEST_KINDS = WRITE_KINDS | {"ensure", "run", "act"}
# Data that one call takes away from the next is no plumbing, whoever shares it.
LOSSES = {"delete", "consume"}
# What stores something. An action, as the start of a process, may be how a helper reads.
STORES = {"create", "ensure", "append", "put", "save"}
# Helpers whose name says that they keep what a sign-in, a log or a cache needs.
BOOKKEEPING = load_words("bookkeeping")
IDENTIFIER = re.compile(r"[\w./{}:-]{3,80}")
# Lines of a script that change nothing: a comment, a local value, an addition to a local list.
# `set x to 1` names a local value; `set read status of it to true` changes something.
HARMLESS_LINE = re.compile(
    r"(?i)--|#|//|set\s+(?:the\s+)?\w+\s+to\b|set\s+\{[^}]*\}\s+to\b|set\s+(?:the\s+)?end\s+of\b|set\s+applescript's\b"
)


def find_plumbing(bodies: Iterable[Body]) -> frozenset[ast.AST]:
    """Find the helpers that most reading tools share.

    Args:
        bodies: The bodies of the tools whose names read for certain.

    Returns:
        The functions below enough of them, and those that these call, whose own names do not write.
    """
    reading = list(bodies)
    counts: Counter[ast.AST] = Counter()
    calls: dict[ast.AST, Set[ast.AST]] = {}
    for body in reading:
        counts.update(body.functions)
        calls |= body.calls
    least = max(LEAST_TOOLS, LEAST_SHARE * len(reading))
    waiting: list[ast.AST] = []
    for function, count in counts.items():
        if count >= least:
            waiting.append(function)
    shared: set[ast.AST] = set()
    while waiting:
        function = waiting.pop()
        if function in shared or not isinstance(function, FUNCTIONS):
            continue
        if _names_write(function.name):
            continue
        shared.add(function)
        waiting.extend(calls.get(function, ()))
    return frozenset(shared)


def is_plumbing(effect: Effect, body: Body, shared: frozenset[ast.AST]) -> bool:
    """Whether an effect is that of a shared helper that no text asks to write.

    Args:
        effect: An effect of the body.
        body: The body of the tool.
        shared: The shared helpers.
    """
    if effect.function not in shared or effect.kind in LOSSES:
        return False
    if _stores(effect) and not _keeps_books(effect.function):
        return False
    return not passes_write(body, shared)


def _stores(effect: Effect) -> bool:
    """Whether an effect visibly stores something.

    A call that only its name shows to write, as POST is, asks where its result is used.
    """
    return effect.kind in STORES and (effect.sure or effect.discards)


def _keeps_books(function: ast.AST | None) -> bool:
    """Whether the name of a helper says that it signs in, logs or caches."""
    name = function.name if isinstance(function, FUNCTIONS) else ""
    return bool(BOOKKEEPING.intersection(split_name(name)))


def passes_write(body: Body, shared: frozenset[ast.AST]) -> bool:
    """Whether a text that a body passes to a helper names a write."""
    for function, texts in body.passed_texts.items():
        is_own = function in body.functions or function is body.function
        if is_own and function not in shared and any(map(_is_write_text, texts)):
            return True
    return False


def _is_write_text(text: str) -> bool:
    """Whether a text names a write: a method, a path, or a line of a script."""
    stripped = text.strip()
    if IDENTIFIER.fullmatch(stripped):
        return _is_write_request(stripped)
    return any(map(_is_write_line, stripped.splitlines()))


def _is_write_request(text: str) -> bool:
    """Whether a part of a path or of a dotted name is a write."""
    parts = re.split(r"[/.:]", text)
    return any(_names_kind(part, REQUEST_KINDS) for part in parts)


def _is_write_line(line: str) -> bool:
    """Whether a line of a script begins with a verb that writes."""
    if HARMLESS_LINE.match(line.strip()):
        return False
    words = split_name(line)
    verb = find_verb(words[0]) if words else None
    return verb is not None and verb.kind in WRITE_KINDS


def _names_write(name: str) -> bool:
    return _names_kind(name, WRITE_KINDS)


def _names_kind(name: str, kinds: Set[str]) -> bool:
    verbs = parse_name(name)
    return bool(verbs) and verbs[0].kind in kinds
