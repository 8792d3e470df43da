"""Where consent is asked for: in what is served, and at its door for what comes from elsewhere.

What is asked, and how, is in consent.py.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

from fastmcp.exceptions import ResourceError, ToolError
from fastmcp.prompts.base import InputRequiredPromptResult
from fastmcp.resources.base import InputRequiredResourceResult
from fastmcp.server.dependencies import get_context
from fastmcp.server.middleware import CallNext, Middleware, MiddlewareContext
from fastmcp.tools import ToolResult
from fastmcp.tools.base import InputRequiredToolResult

from ..confirmation.elicitation import Asked
from ..guard import Guard, missing_scopes
from ..policy import Policy
from ..settings import PolicySettings
from ..tools import GRANT, has_mark
from .elicitation import Refusal, require, required_text
from .tokens import metadata_address


class ConsentGuard(Guard):
    """A guard that runs a function that requires consent only after access was granted.

    What needs scopes stays listed, so that the error names the missing scopes to a caller.
    """

    def public_hosts(self, settings: PolicySettings) -> list[str]:
        """Return the name by which browsers reach this server."""
        host = urlsplit(getattr(settings, "server_url", None) or "").hostname
        return [host] if host else []

    lists_scoped = True

    async def admit(
        self, name: str, scopes: Sequence[str], function: Callable[..., Any] | None
    ) -> None:
        """Check scopes, then consent.

        Raises:
            ToolError: Access was not granted.
            Asked: The client is to get a token with more scopes, or to show a link first.
        """
        try:
            await super().admit(name, scopes, function)
        except ToolError as error:
            meta = {"mcp/www_authenticate": [self._challenge(missing_scopes(scopes))]}
            raise Asked(ToolResult(str(error), meta=meta, is_error=True)) from error
        if has_mark(function, GRANT):
            await require(self.consent, self.gate, get_context(), name)

    def _challenge(self, scopes: str) -> str:
        """Return what tells a client which scopes its token lacks, and where it gets one."""
        challenge = f'Bearer error="insufficient_scope", scope="{scopes}"'
        if address := metadata_address(self.mcp.auth):
            challenge += f', resource_metadata="{address}"'
        return challenge


_within: ContextVar[object] = ContextVar("within", default=None)


class ConsentMiddleware(Middleware):
    """A middleware outside of the author's, where a question becomes what the protocol has for it."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy

    async def on_request(
        self, context: MiddlewareContext[Any], call_next: CallNext[Any, Any]
    ) -> Any:
        """Let a request through; calls that bodies make of each other leave through the first."""
        ctx = get_context()
        outermost = (
            ctx.request_context is None or _within.get() is not ctx.request_context
        )
        token = _within.set(ctx.request_context)
        try:
            result = await call_next(context)
        except Asked as asked:
            if not outermost:
                raise
            result = asked.instead
        finally:
            _within.reset(token)
        if not outermost or not isinstance(result, ToolResult):
            return result
        if isinstance(result, Refusal):
            raise result._error
        if context.method == "tools/call":
            return result
        if not isinstance(result, InputRequiredToolResult):
            raise ResourceError(
                getattr(result.content[0], "text", required_text(self._policy))
            )
        if context.method == "prompts/get":
            return InputRequiredPromptResult(result.input_required)
        return InputRequiredResourceResult(result.input_required)
