"""The audit log: one line for each call of a tool that writes, never an argument's value.

docs/operating.md describes a line. A line is there before the call is answered, so that a killed server leaves
none out; what cannot be written waits here, and nothing more is changed until it is written.
"""

import contextlib
import errno
import hmac
import json
import os
import secrets
import stat
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

from .confirmation.elicitation import Asked, digest, is_modern
from .errors import StartError
from .policy import Policy
from .texts import format_value

if TYPE_CHECKING:
    from .confirmation.gate import Call
if sys.platform != "win32":
    import fcntl

# Bytes of one file; a full one is kept next to it, under a name of its own
MOST = 16 * 2**20
STREAMS = ("stdout", "stderr")
LATE = (
    "nothing is changed while the audit log cannot be written ({}); tell the operator"
)


def _open_private(path: str, flags: int) -> int:
    flags |= getattr(os, "O_NONBLOCK", 0)  # else a pipe holds up all
    with contextlib.suppress(PermissionError):  # it may only be written
        return os.open(path, flags & ~os.O_WRONLY | os.O_RDWR, 0o600)
    return os.open(path, flags, 0o600)


def lock_file(descriptor: int, seconds: int = 1) -> None:
    """Wait for the processes that hold this lock, where disks know locks; for one that stands still some seconds."""
    if sys.platform != "win32":
        for _ in range(seconds * 1000):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                time.sleep(0.001)
            except OSError:  # some network drives
                return


def _find_missing_newline(descriptor: int) -> str:
    """Return the newline missing after half a line, which a killed process left; else nothing."""
    with contextlib.suppress(OSError):  # it is empty, a device, or may only be written
        os.lseek(descriptor, -1, os.SEEK_END)
        return "\n" if os.read(descriptor, 1).strip(b"\n") else ""
    return ""


class AuditLog:
    """The lines of one server, in a file or on a stream; `where` is empty for none.

    The handlers of `logging` would swallow errors, leave the mode to chance, and rotate for one process only.
    `keys` are the secrets of the settings: the newest seals the arguments, so that nobody can find them by trying.
    StartError: nothing can be written there.
    """

    def __init__(
        self, policy: Policy, where: str = "", keys: Sequence[str] = ()
    ) -> None:
        self.where = where
        self._logger = policy.logger("audit_log")
        self._late: list[str] = []
        self._grows = False
        seed = keys[0].encode() if keys else secrets.token_bytes(32)
        self._key = hmac.digest(seed, b"audit trail", "sha256")
        try:
            self._path = Path(where).expanduser().absolute()  # wherever a tool goes
            self._write("")
        except (OSError, ValueError, RuntimeError) as error:
            remedy = "name a file that can be written, stdout or stderr"
            raise StartError(
                f"setting audit: {format_value(where)}: {_describe_reason(error)}; {remedy}"
            ) from error

    def ready(self) -> None:
        """Write what waits; ToolError: it still cannot be written."""
        try:
            while self._late:
                self._write(self._late[0])
                del self._late[0]
        except (OSError, ValueError) as error:  # ValueError: a stream that was closed
            raise ToolError(LATE.format(_describe_reason(error))) from error

    def seal(self, arguments: Mapping[str, Any]) -> str:
        """The digest that stands for arguments; ToolError: nested too deep to be written down."""
        try:
            text = json.dumps(
                to_jsonable_python(arguments, fallback=str), sort_keys=True
            )
        except (ValueError, RecursionError) as error:
            raise ToolError("arguments are nested too deeply to record") from error
        return hmac.digest(self._key, text.encode(), "sha256").hex()

    def record(self, sealed: str, **facts: Any) -> None:
        """Write the line of a call, whose arguments are `sealed`; where that fails, it is on stderr until it is written."""
        timestamp = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = json.dumps(
            {"event": "write", "time": timestamp, **facts, "arguments": sealed}
        )
        self._late.append(f"{line}\n")
        try:
            self.ready()
        except ToolError as error:
            self._logger.error("%s: %s", error, line)

    def _write(self, line: str) -> None:
        """Append a line in one piece, to the file that has the name now: others may write and rename it too."""
        if self.where in STREAMS:
            print(line, end="", file=getattr(sys, self.where), flush=True)
        elif self.where:
            with open(self._path, "ab", buffering=0, opener=_open_private) as file:
                kind = os.fstat(at := file.fileno()).st_mode
                if not (stat.S_ISREG(kind) or stat.S_ISCHR(kind)):
                    raise OSError(errno.EINVAL, "Not a file")
                lock_file(at)
                size, data = (
                    os.fstat(at).st_size,
                    f"{line and _find_missing_newline(at)}{line}".encode(),
                )
                full = 0 < size > MOST - len(data) and not self._grows
                if not full and (written := file.write(data) or 0) < len(data):
                    # No other program wrote behind it
                    if os.fstat(at).st_size == size + written:
                        file.truncate(size)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if full:
                self._rotate(self._path.resolve())
                self._write(line)

    def _rotate(self, path: Path) -> None:
        """Rename a full file; where the folder does not allow it, the file keeps growing."""
        try:
            path.rename(f"{path}.{time.time_ns()}-{os.getpid()}")
        except FileNotFoundError:  # another process did it first
            pass
        except OSError as error:
            self._grows = True
            self._logger.warning(
                "the audit log %s is full and grows on: %s",
                path,
                _describe_reason(error),
            )


def _describe_reason(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


@contextlib.contextmanager
def recording(call: "Call", tool: Tool) -> Iterator[Callable[[ToolResult], ToolResult]]:
    """Record the outcome of a call of a tool that writes; the block passes its result through what it gets.

    Raises:
        ToolError: The log cannot be written, so the tool does not run.
    """
    log = call.gate.audit_log
    outcome = "error"

    def record_outcome(result: ToolResult) -> ToolResult:
        nonlocal outcome
        if call.interruption and call.interruption.error is None:
            outcome = call.interruption.outcome  # the gate refused
        elif result.is_error:
            outcome = "error"
        elif isinstance(result, InputRequiredToolResult):
            outcome = "asked"
        else:
            outcome = "applied"
        return result

    if not log.where or call.server.is_read(tool):
        yield record_outcome
        return
    declaration = getattr(tool, "declaration", None)
    behavior = declaration.behavior if declaration else "undeclared"
    caller_facts = caller(call.ctx)
    # Sealed before the tool runs: afterwards, nothing may fail any more
    sealed = log.seal(call.arguments)
    log.ready()
    try:
        yield record_outcome
    except Exception as error:
        outcome = "asked" if isinstance(error, Asked) else "error"
        if call.interruption and call.interruption.error in (None, error):
            outcome = call.interruption.outcome
        raise
    finally:
        approved_by = call.approved_by if outcome in ("applied", "error") else None
        log.record(
            sealed,
            tool=call.tool,
            behavior=behavior,
            caller=caller_facts,
            approved_by=approved_by,
            outcome=outcome,
        )


def caller(ctx: Context) -> dict[str, str]:
    """Return the client, issuer and subject of a token; without one, a digest of the session, if the protocol has one."""
    if token := get_access_token():
        client, issuer, subject = principal_components(token)
        principal = {
            "client": client,
            "issuer": issuer,
            "subject": subject or token.claims.get("sub"),
        }
        return {name: str(value) for name, value in principal.items() if value}
    return {} if is_modern(ctx) else {"session": digest(ctx.session_id)[:16]}
