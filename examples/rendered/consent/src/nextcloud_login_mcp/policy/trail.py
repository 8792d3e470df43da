"""The audit trail: one line for each call of a tool that writes, never an argument's value. Managed by the template.

docs/operating.md says what a line holds. A line is there before the call is answered, so that a killed server leaves
none out; what cannot be written waits here, and nothing more is changed until it is written.
"""

import contextlib
import errno
import hmac
import json
import logging
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastmcp import Context
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_access_token
from fastmcp.tools.base import InputRequiredToolResult, Tool, ToolResult
from mcp.server.auth.provider import principal_components
from pydantic_core import to_jsonable_python

from .asking import SERVER, Asked, digest, is_modern
from .errors import StartError

if TYPE_CHECKING:
    from .gate import Call

logger = logging.getLogger(__name__)
MOST = 16 * 2**20  # bytes of one file; a full one is kept beside it, under a name of its own
STREAMS = ("stdout", "stderr")
LATE = "nothing is changed while the audit trail cannot be written ({}); tell who runs this server"


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


class Trail:
    """The lines of one server, in a file or on a stream; `where` is empty for none.

    The handlers of `logging` would swallow errors, leave the mode to chance, and rotate for one process only.
    `keys` are the secrets of the settings: the newest seals the arguments, so that nobody can find them by trying.
    StartError: nothing can be written there.
    """

    def __init__(self, where: str = "", keys: Sequence[str] = ()) -> None:
        self.where, self._torn, self._late = where, "", list[str]()
        seed = keys[0].encode() if keys else secrets.token_bytes(32)
        self._key = hmac.digest(seed, b"audit trail", "sha256")
        try:
            self._write("")
        except OSError as error:
            mend = "name a file that can be written, stdout or stderr"
            raise StartError(f"setting audit: {where}: {error.strerror}; {mend}") from error

    def ready(self) -> None:
        """Write what waits; ToolError: it still cannot be written."""
        try:
            while self._late:
                self._write(self._late[0])
                del self._late[0]
        except OSError as error:
            raise ToolError(LATE.format(error.strerror)) from error

    def record(self, arguments: Mapping[str, Any], **facts: Any) -> None:
        """Write the line of a call, `arguments` as a digest; where that fails, it is on stderr until it is written."""
        text = json.dumps(to_jsonable_python(arguments, fallback=str), sort_keys=True)
        sealed = hmac.digest(self._key, text.encode(), "sha256").hex()
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps({"event": "write", "time": now, **facts, "arguments": sealed})
        self._late.append(f"{line}\n")
        try:
            self.ready()
        except ToolError as error:
            logger.error("%s: %s", error, line)

    def _write(self, line: str) -> None:
        """Append a line in one piece, to the file that has the name now: others may write and rename it too."""
        if self.where in STREAMS:
            print(line, end="", file=getattr(sys, self.where), flush=True)
        elif self.where:
            path = Path(self.where).expanduser()
            data = (self._torn + line).encode()
            with open(path, "ab", buffering=0, opener=_private) as file:
                size = os.fstat(file.fileno()).st_size
                full = size > 0 and size + len(data) > MOST
                if not full and file.write(data) < len(data):
                    self._torn = "\n"  # the line is written again, below what there is of it
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if full:
                with contextlib.suppress(FileNotFoundError):  # another process did it first
                    path.rename(f"{path}.{time.time_ns()}-{os.getpid()}")
                self._write(line)
            self._torn = ""


@contextlib.contextmanager
def recorded(call: "Call", tool: Tool) -> Iterator[Callable[[ToolResult], ToolResult]]:
    """Record what a call of a tool that writes comes to; the block passes its result through what it gets.

    ToolError: the trail cannot be written, so the tool does not run.
    """

    def ended(result: ToolResult) -> ToolResult:
        asked = "asked" if isinstance(result, InputRequiredToolResult) else "applied"
        call.outcome = call.outcome or ("error" if result.is_error else asked)
        return result

    trail = call.gate.trail
    if not trail.where or SERVER.get().facts(tool).reads:
        yield ended
        return
    trail.ready()
    try:
        yield ended
    except Asked:
        call.outcome = call.outcome or "asked"
        raise
    finally:
        known = getattr(tool, "declaration", None)
        behavior = known.behavior if known else "undeclared"
        facts = {"tool": call.tool, "behavior": behavior, "caller": caller(call.ctx)}
        facts |= {"approved_by": call.approved_by, "outcome": call.outcome or "error"}
        trail.record(call.arguments, **facts)


def caller(ctx: Context) -> dict[str, str]:
    """Of a token its client, issuer and subject; else of the session, if the protocol has one, a digest."""
    if token := get_access_token():
        client, issuer, subject = principal_components(token)
        known = {"client": client, "issuer": issuer, "subject": subject or token.claims.get("sub")}
        return {name: str(value) for name, value in known.items() if value}
    return {} if is_modern(ctx) else {"session": digest(ctx.session_id)[:16]}
