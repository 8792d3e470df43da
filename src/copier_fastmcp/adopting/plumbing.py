"""Helpers that most reading tools of a server share, which say nothing about any one of them.

A session, a transport or a cache below every tool cannot show which of the tools write. Its effects are
set aside, unless what a tool passes to it, or what it passes itself, names a write. A helper that visibly
stores something is set aside only where its name says that it keeps books: every read may mark what it has read.
"""

import ast
import re
from collections import Counter
from collections.abc import Iterable, Set

from ..analysis.effects import Body, Effect, changes_records, keeps_data
from ..analysis.vocabulary import load_words
from ..auditing.verbs import find_verb, parse_name, split_name
from ..auditing.vocabulary import get_word_list
from ..sources.modules import FUNCTIONS, list_calls

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
# What carries a request, whatever is requested: it writes where its texts do.
TRANSPORTS = load_words("transports")
PLUMBING = load_words("plumbing")
# The first words of what sends something to somebody.
MESSAGES = load_words("messages")
# How methods begin that wait for what was sent.
AWAITED = ("recv", "receive", "read", "get", "wait", "poll", "listen", "fetch")
# A helper that touches a file or grants a role changes something, too.
CHANGE_KINDS = WRITE_KINDS | {"ensure"}
NOUNS = get_word_list("nouns")
# What the last part of an address names that only asks: `/notes/search`, `/notes:query`.
QUESTIONS = {
    "aggregate",
    "count",
    "describe",
    "fetch",
    "filter",
    "find",
    "get",
    "info",
    "list",
    "lookup",
    "query",
    "read",
    "search",
    "statistics",
    "stats",
}
PLACEHOLDER = "x"
IDENTIFIER = re.compile(r"[\w./{}:-]{3,80}")
# The part of an address that all requests of a service share.
HOST = re.compile(r"\w+://[^/]+(?:/(?:api|rest|v\d[\w.]*))*/?")
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
    if writes_itself(effect):
        return False
    if _stores(effect) and not _keeps_books(effect, body):
        return False
    if names_write_between(effect, body, shared):
        return False
    return not passes_write(body, shared, REQUEST_KINDS)


def writes_itself(effect: Effect) -> bool:
    """Whether a call writes whatever its callers ask for."""
    if effect.kind == "action" and effect.sure:
        is_statement = effect.text.startswith("its ")
        if is_statement or (effect.callee and effect.callee not in TRANSPORTS):
            return True  # it sends a mutation or a mail, or counts
    if not effect.sure and (_names_change(effect.callee) or _is_message(effect)):
        return True
    return any(_is_write_text(text, CHANGE_KINDS) for text in effect.call_texts)


def _names_change(callee: str) -> bool:
    """Whether a method names a record that it changes: `update_visits`, but not `create_session`."""
    words = split_name(callee)
    if len(words) < 2 or PLUMBING.intersection(words):
        return False
    verb = find_verb(words[0])
    return verb is not None and verb.kind in WRITE_KINDS


def _is_message(effect: Effect) -> bool:
    """Whether a call sends something for which its function awaits no answer."""
    words = split_name(effect.callee)
    if not words or words[0] not in MESSAGES:
        return False
    if effect.text == f"it calls {effect.callee}()":
        return True  # a function of a package, and not a method of a connection
    return effect.discards and not _receives(effect.function)


def _receives(function: ast.AST | None) -> bool:
    """Whether a function makes a call that waits for what was sent, as `channel.recv(100)`."""
    calls = list_calls(function) if function else ()
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr.startswith(AWAITED):
            return True
    return False


def _stores(effect: Effect) -> bool:
    """Whether an effect visibly stores something.

    A call that only its name shows to write, as POST is, asks where its result is used.
    """
    return effect.kind in STORES and (effect.sure or effect.discards)


def _keeps_books(effect: Effect, body: Body) -> bool:
    """Whether a helper is named to sign in, log or cache, and stores nothing that is named otherwise."""
    function = effect.function
    name = function.name if isinstance(function, FUNCTIONS) else ""
    if not BOOKKEEPING.intersection(split_name(name)):
        return False
    return not changes_records(effect) and not keeps_data(effect, body.effects)


def is_requested(
    effect: Effect, body: Body, shared: frozenset[ast.AST], *, queries: bool
) -> bool:
    """Whether something between a tool and an effect farther down asks it to write.

    Args:
        effect: The effect.
        body: The body of the tool.
        shared: The shared helpers.
        queries: Whether the effect is a query, which may be sent by POST.
    """
    if writes_itself(effect) or names_write_between(effect, body, shared):
        return True
    ignored = "post" if queries else ""
    return passes_write(body, shared, WRITE_KINDS, ignored)


def names_question(effect: Effect, body: Body) -> bool:
    """Whether what a request is sent to names a question, as `/notes/search` does.

    Args:
        effect: The request.
        body: The body of the tool.
    """
    addresses = _select_addresses(effect.call_texts)
    if not addresses:
        for function, texts in body.passed_texts.items():
            if function in body.functions or function is body.function:
                addresses.extend(_select_addresses(texts))
    return bool(addresses) and all(map(_asks_only, addresses))


def _select_addresses(texts: Iterable[str]) -> list[str]:
    """The texts that are addresses."""
    addresses: list[str] = []
    for text in texts:
        is_type = text.startswith(("application/", "text/"))
        is_host = HOST.fullmatch(text) is not None
        if "/" in text and IDENTIFIER.fullmatch(text) and not (is_type or is_host):
            addresses.append(text)
    return addresses


def _asks_only(address: str) -> bool:
    """Whether the last part of an address, a placeholder aside, names a question, and no part a write."""
    parts = re.split(r"[/:]", address.partition("?")[0])
    named = [part for part in parts if part and part != PLACEHOLDER]
    words = split_name(named[-1].strip("_{}")) if named else ()
    asks = bool(words) and not QUESTIONS.isdisjoint({words[0], words[-1]})
    return asks and not _is_write_path(address, REQUEST_KINDS)


def passes_write(
    body: Body, shared: frozenset[ast.AST], kinds: Set[str], ignored: str = ""
) -> bool:
    """Whether a text that a body passes to a helper names a write.

    Args:
        body: The body of the tool.
        shared: The shared helpers.
        kinds: The kinds of verbs that write.
        ignored: A text that does not count.
    """
    for function, texts in body.passed_texts.items():
        is_own = function in body.functions or function is body.function
        if not is_own or function in shared:
            continue
        for text in texts:
            if text.lower() != ignored and _is_write_text(text, kinds):
                return True
    return False


def names_write_between(effect: Effect, body: Body, shared: frozenset[ast.AST]) -> bool:
    """Whether a helper of one tool, whose name writes, leads to an effect."""
    for function in body.functions - shared:
        if not isinstance(function, FUNCTIONS) or not _names_write(function.name):
            continue
        prepares = not PLUMBING.isdisjoint(split_name(function.name))
        if not prepares and _reaches(function, effect.function, body):
            return True
    return False


def _reaches(start: ast.AST, target: ast.AST | None, body: Body) -> bool:
    """Whether a function is another one, or calls it, directly or not."""
    waiting = [start]
    visited: set[ast.AST] = set()
    while waiting:
        function = waiting.pop()
        if function is target:
            return True
        if function not in visited:
            visited.add(function)
            waiting.extend(body.calls.get(function, ()))
    return False


def _is_write_text(text: str, kinds: Set[str]) -> bool:
    """Whether a text names a write: a method, a path, or a line of a script."""
    stripped = text.strip()
    if IDENTIFIER.fullmatch(stripped):
        return _is_write_path(stripped, kinds)
    return any(map(_is_write_line, stripped.splitlines()))


def _is_write_line(line: str) -> bool:
    """Whether a line of a script begins with a verb that writes."""
    if HARMLESS_LINE.match(line.strip()):
        return False
    words = split_name(line)
    verb = find_verb(words[0]) if words else None
    return verb is not None and verb.kind in WRITE_KINDS


def _is_write_path(path: str, kinds: Set[str]) -> bool:
    """Whether a part of a path names a write; a noun in front names a record: `/notes/1/star`, but not `note`."""
    _, host_mark, rest = path.partition("://")
    parts = [part for part in re.split(r"[/.:]", path) if part]
    if host_mark:
        parts = [part for part in re.split(r"[/.:]", rest.partition("/")[2]) if part]
    for position, part in enumerate(parts):
        is_record = position == 0 and part in NOUNS
        if not is_record and _names_kind(part, kinds):
            return True
    return False


def _names_write(name: str) -> bool:
    return _names_kind(name, WRITE_KINDS)


def _names_kind(name: str, kinds: Set[str]) -> bool:
    verbs = parse_name(name)
    return bool(verbs) and verbs[0].kind in kinds
