"""What runs now, and the server that runs it.

A tool holds its server. FastMCP calls the function behind a tool, a resource or a prompt with its own arguments alone,
so one context variable leads from that function to its call: for `require_confirmation` and `granted_token`, which
authors call without naming a server, and for a tool of ours in a mounted server that has no policy of its own.
"""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from fastmcp.exceptions import ToolError

if TYPE_CHECKING:
    from fastmcp.tools import Tool

    from .confirmation.gate import Call
    from .confirmation.pending import PendingStore
    from .policy import Policy


class Runtime(Protocol):
    """The interface of the guard that a tool, a resource or a prompt uses.

    Attributes:
        policy: The server's policy.
        gate: Where its pending confirmations are.
        consent: Its consent; None where its policy has none.
        spells_numbers: Whether a number may stand for the text that spells it.
    """

    policy: "Policy"
    gate: "PendingStore"
    consent: Any
    spells_numbers: bool

    def is_read(self, tool: "Tool") -> bool:
        """Tell whether a served tool changes nothing."""

    async def admit(
        self, name: str, scopes: Sequence[str], function: Callable[..., Any] | None
    ) -> None:
        """Raise ToolError unless the caller has what a tool, a resource or a prompt requires."""


@dataclass(frozen=True)
class Frame:
    """The running code.

    Attributes:
        server: Its innermost server.
        call: Its tool call.
        path: The names of the tools, resources and prompts that led to it, as their servers serve them.
        served_as: The name under which the server serves the tool that runs next, where it is mounted.
    """

    server: Runtime
    call: "Call | None" = None
    path: tuple[str, ...] = ()
    served_as: str = ""


_frame: ContextVar[Frame | None] = ContextVar("frame", default=None)


def current_frame() -> Frame | None:
    """Return what runs now; None outside of every server of ours."""
    return _frame.get()


def current_server() -> Runtime:
    """Return the server that runs the present function.

    Raises:
        ToolError: The function runs outside of every server of ours.
    """
    frame = _frame.get()
    if frame is None:
        raise ToolError("this function runs through its own server only")
    return frame.server


@contextlib.contextmanager
def running(
    server: Runtime,
    call: "Call | None" = None,
    *,
    served_as: str = "",
    component: str = "",
) -> Iterator[None]:
    """Run the block as code of a server.

    Args:
        server: The server.
        call: The call of a tool that the block belongs to; the one that runs already when left out.
        served_as: The name under which the server serves the tool that runs next, where it is mounted.
        component: The resource or prompt that runs, where one does.
    """
    outer = _frame.get()
    path = outer.path if outer else ()
    if call is None and outer:
        call = outer.call
    if name := served_as or component:
        path = (*path, name)
    token = _frame.set(Frame(server, call, path, served_as))
    try:
        yield
    finally:
        _frame.reset(token)
