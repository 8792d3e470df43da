"""The decisions of well-known clients by the hints of a tool: run it, ask first, or hide it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from copier_fastmcp_engine.testing.lock import HINTS

DEFAULTS = dict(zip(HINTS, (False, True, False, True), strict=True))
Hints = Mapping[str, Any]


def effective_hint(annotations: Hints, hint: str) -> bool:
    """The value of a hint in the protocol: the default if it is missing or not a boolean."""
    value = annotations.get(hint)
    return value if isinstance(value, bool) else DEFAULTS[hint]


@dataclass(frozen=True)
class Client:
    """A client, its rule in words, and the source of the rule."""

    name: str
    decide: Callable[[Hints], str]
    rule: str
    source: str


def _decide_ask_writes(hints: Hints) -> str:
    return "run" if effective_hint(hints, "readOnlyHint") else "ask"


def _decide_hide_writes(hints: Hints) -> str:
    return "run" if effective_hint(hints, "readOnlyHint") else "hide"


def _decide_by_destruction(hints: Hints) -> str:
    if effective_hint(hints, "readOnlyHint"):
        return "run"
    return "ask each time" if effective_hint(hints, "destructiveHint") else "ask"


def _decide_codex(hints: Hints) -> str:
    if hints.get("destructiveHint") is True:
        return "ask"
    if effective_hint(hints, "readOnlyHint"):
        return "run"
    destroys = effective_hint(hints, "destructiveHint")
    reaches_out = effective_hint(hints, "openWorldHint")
    return "ask" if destroys or reaches_out else "run"


CLIENTS = (
    Client(
        "ChatGPT",
        _decide_by_destruction,
        "a read runs; a write asks, and one that destroys asks again even under 'allow all'",
        "github.com/Artexis10/exomem#76, github.com/github/github-mcp-server#3281",
    ),
    Client(
        "Codex",
        _decide_codex,
        "asks before what destroys, and before an open-world write; `codex exec` denies what it asks",
        "github.com/openai/codex#12353, #15519, #30482",
    ),
    Client(
        "Claude Desktop",
        _decide_by_destruction,
        "a read may run by itself; what destroys asks each time (claude.ai does the same)",
        "github.com/makenotion/notion-mcp-server#333, github.com/elgorro/aiquila#388",
    ),
    Client(
        "Claude Code",
        lambda hints: "ask",
        "hints are not used for permission",
        "github.com/anthropics/claude-code#87452",
    ),
    Client(
        "VS Code",
        _decide_ask_writes,
        "readOnlyHint alone decides whether it asks",
        "github.com/github/github-mcp-server#306",
    ),
    Client(
        "Cursor (Ask mode)",
        _decide_hide_writes,
        "a tool is there only with readOnlyHint: true",
        "github.com/colbymchenry/codegraph#1018",
    ),
    Client(
        "Copilot review",
        _decide_hide_writes,
        "a tool is there only with readOnlyHint: true",
        "github.com/microsoft/azure-devops-mcp#1555",
    ),
    Client(
        "Gemini CLI",
        lambda hints: "ask",
        "asks, unless a policy rule on hints says otherwise",
        "geminicli.com/docs/reference/policy-engine",
    ),
    Client(
        "Gemini CLI (plan mode)",
        lambda hints: "ask" if effective_hint(hints, "readOnlyHint") else "hide",
        "reads alone are allowed, after a question",
        "geminicli.com/docs/cli/plan-mode, github.com/google-gemini/gemini-cli#19655",
    ),
    Client(
        "Goose",
        _decide_ask_writes,
        "readOnlyHint: true skips its check",
        "github.com/aaif-goose/goose#1957",
    ),
)


def list_decisions(annotations: object) -> dict[str, str]:
    """The decision of each client about a tool with these annotations."""
    hints = annotations if isinstance(annotations, Mapping) else {}
    return {client.name: client.decide(hints) for client in CLIENTS}
