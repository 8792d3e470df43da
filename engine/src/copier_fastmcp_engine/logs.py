"""Startup and call logging; never an argument's value."""

import json
import logging
import os
import time
from collections.abc import Awaitable, Iterator, Mapping
from difflib import get_close_matches
from http import HTTPStatus

from fastmcp.tools import ToolResult
from fastmcp.tools.base import InputRequiredToolResult
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .declarations import Declaration
from .places import describe_place
from .policy import Policy
from .settings import PolicySettings
from .texts import cut

# How settings end that name a data location
LOCATIONS = (
    "database",
    "api",
    "state",
    "audit",
)
MAX_SHOWN = 200  # characters of what a client chose in the log


def log_startup(settings: PolicySettings, transport: str) -> None:
    """Log the transport and the data locations, addresses without their passwords."""
    locations = {}
    for name in type(settings).model_fields:
        if name.rpartition("_")[2] in LOCATIONS:
            locations[name] = describe_place(str(getattr(settings, name) or ""))
    configured = {name: where for name, where in locations.items() if where}
    logger = settings.policy.logger("process")
    logger.info(json.dumps({"event": "start", "transport": transport, **configured}))
    for line in find_unknown_variables(settings, os.environ):
        logger.warning(line)


def find_unknown_variables(
    settings: PolicySettings, environ: Mapping[str, str]
) -> Iterator[str]:
    """Yield a line for each variable that sets nothing: NOTES_READONLY for NOTES_READ_ONLY would allow writes."""
    prefix = str(settings.model_config["env_prefix"]).upper()
    names = {name.upper() for name in type(settings).model_fields}
    for variable in sorted(environ):
        if not variable.upper().startswith(prefix) or not environ[variable]:
            continue
        setting = variable.upper().removeprefix(prefix).partition("__")[0]
        if setting in names:
            continue
        close = get_close_matches(setting, names, 1)
        remedy = f"; is {prefix}{close[0]} meant?" if close else ""
        yield f"{variable}: this server has no such setting{remedy}"


class FailedRequestLog:
    """ASGI middleware: one line of the log for each request that was refused or failed; a tool's call has its own."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self.app = app
        self.policy = policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, and log it if it failed."""

        async def send_noted(message: Message) -> None:
            is_start = message["type"] == "http.response.start"
            if is_start and message["status"] >= HTTPStatus.BAD_REQUEST:
                self._log(scope, message["status"])
            await send(message)

        await self.app(scope, receive, send_noted)

    def _log(self, scope: Scope, status: int) -> None:
        client = scope.get("client")
        entry = {
            "event": "request",
            "status": status,
            "method": cut(scope["method"], MAX_SHOWN),
            "path": cut(scope["path"], MAX_SHOWN),
            "client": client[0] if client else "",
        }
        self.policy.logger("process").info(json.dumps(entry))


async def log_tool_call(
    policy: Policy,
    run: Awaitable[ToolResult],
    name: str,
    current_name: str,
    declaration: Declaration | None,
) -> ToolResult:
    """Run a tool and log its call.

    The line is a warning, and names what to use, where the tool or the name that was called is deprecated.

    Args:
        policy: The server's policy.
        run: The call.
        name: The name that was called, perhaps a former one.
        current_name: The tool's name now.
        declaration: What the tool declares, if it is known.
    """
    started = time.perf_counter()
    outcome = "error"
    try:
        result = await run
        if isinstance(result, InputRequiredToolResult):
            outcome = "asked"
        elif not getattr(result, "is_error", False):
            outcome = "ok"
        return result
    finally:
        entry: dict[str, object] = {
            "event": "tool_call",
            "outcome": outcome,
            "tool": name,
            "behavior": declaration.behavior if declaration else "unknown",
            "ms": round((time.perf_counter() - started) * 1000, 1),
        }
        successor = declaration.deprecated if declaration else None
        if not successor and current_name != name:
            successor = current_name
        if successor:
            entry["deprecated"] = successor
        level = logging.WARNING if successor else logging.INFO
        policy.logger("process").log(level, json.dumps(entry))
