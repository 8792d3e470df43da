"""The server that the present request is served by.

A tool, a resource or the body of one asks here for the gate, the audit log and the policy of its own server: a body is
called with its arguments alone, and a server may be mounted in another one with a policy of its own.
"""

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from fastmcp.tools import Tool

    from .confirmation.pending import PendingStore
    from .policy import Policy
    from .subsets import Facts


class Runtime(Protocol):
    """What the engine needs of the server that a request came to."""

    policy: "Policy"
    gate: "PendingStore"

    def facts(self, tool: "Tool") -> "Facts":
        """Return what a subset goes by."""

    async def admit(
        self, name: str, scopes: Sequence[str], function: Callable[..., Any] | None
    ) -> None:
        """Raise ToolError unless the caller has what a tool or a resource requires."""


# The innermost server of ours that answers, however deep it is mounted.
SERVER: ContextVar[Runtime] = ContextVar("server")
