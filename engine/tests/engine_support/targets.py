"""The tools that the attacks aim at, and the notes server with these tools in it."""

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field, model_validator

from copier_fastmcp_engine import declarations
from copier_fastmcp_engine.audit_log import AuditLog
from copier_fastmcp_engine.confirmation.gate import require_confirmation
from copier_fastmcp_engine.declarations import (
    Exemption,
    create,
    declaration_of,
    delete,
    read,
)
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.policy import Behavior, Policy
from copier_fastmcp_engine.tools import PolicyTool, build_tool

from .notes.server import TWO_STEP, NotesSettings, create_server, notes_settings

SETTINGS = notes_settings()
DONE: list[str] = []  # what the tools below changed
Name = Annotated[str, Field(description="Which one.", min_length=1)]
Names = Annotated[list[str], Field(description="Which ones.")]


class Wiped(BaseModel):
    """Result of the tools below."""

    name: str = Field(description="Which one it was.")


class Batch(BaseModel):
    """A request whose fields depend on each other."""

    names: list[str] = Field(description="Which ones.", min_length=1, max_length=50)

    @model_validator(mode="after")
    def check_unique(self) -> "Batch":
        """Refuse a name that is there twice."""
        assert len(set(self.names)) == len(self.names), "each one once"
        return self


async def preview_wipe(name: str, owner: str = "us") -> dict[str, object]:
    """Return what would be wiped, with hidden characters in name and value."""
    if name == "gone":
        raise ToolError("gone is not there any more")
    return {"done": DONE.copy(), "by\n": "\x1b\u202e" + name}


@delete(title="Wipe", confirm="Wipe {name} of {owner}?", preview=preview_wipe)
async def wipe(name: Name, owner: Name = "us") -> Wiped:
    """Wipe one."""
    if name == "fails":
        raise ToolError("it would not go")
    DONE.append(name)
    return Wiped(name=name)


@delete(title="Wipe many", confirm=True)
async def wipe_batch(request: Batch) -> Wiped:
    """Wipe all of a request model."""
    DONE.extend(request.names)
    return Wiped(name="batch")


@delete(title="Wipe two halves, each of which the body asks for")
async def wipe_halves(name: Name, ctx: Context, owner: Name = "us") -> Wiped:
    """Ask twice in the body; the gate asks before, although no `confirm=` says so."""
    answers = []
    for _ in range(2):
        answers.append(await require_confirmation(ctx, "Sure?"))
    for number, answer in enumerate(answers):
        if answer == "confirmed":
            DONE.append(f"{name}{number}")
    return Wiped(name=name)


async def wipe_each(names: Names, ctx: Context) -> Wiped:
    """Call a gated tool for each name; ask in the body when there is none."""
    for name in names:
        await ctx.fastmcp.call_tool("wipe", {"name": name})
    if not names and await require_confirmation(ctx, "Sure?") == "confirmed":
        DONE.append("body")
    return Wiped(name="outer")


@read(title="Done")
async def list_wiped() -> list[str]:
    """List all that was wiped."""
    return DONE


ASKED_INSIDE = Exemption(hint="confirm", value=False, why="What it calls asks.")
create(title="Wipe each", confirm=False, exceptions=[ASKED_INSIDE])(wipe_each)


def build_policy_tool(
    function: Callable[..., object], policy: Policy = TWO_STEP
) -> PolicyTool:
    """Return a function with a policy decorator, as it is served."""
    declaration = declaration_of(function)
    assert declaration is not None
    return build_tool(policy, function, declaration)


@functools.cache
def target_tools(policy: Policy) -> list[PolicyTool]:
    """Return the tools above under a policy; the servers of a process share them."""
    functions = (wipe, wipe_batch, wipe_halves, wipe_each, list_wiped)
    return [build_policy_tool(function, policy) for function in functions]


def make_audit_log(where: str = "", keys: Sequence[str] = ()) -> AuditLog:
    """Return an audit log of the server's policy."""
    return AuditLog(TWO_STEP, where, keys)


def declare(server: FastMCP[Any], name: str, behavior: Behavior, **facts: Any) -> None:
    """Declare a tool of a server that is built already."""
    with declarations.collecting(guard_of(server).declared_elsewhere):
        declarations.declare(name, behavior, **facts)


@contextlib.contextmanager
def declared_by_package(name: str, behavior: Behavior) -> Iterator[None]:
    """Declare a tool for the server that this package's own code makes, as when a module is imported."""
    declarations.declare(name, behavior)
    try:
        yield
    finally:
        del declarations.awaiting(__name__)[name]


def make_target_server(
    seconds: float = 600,
    *functions: Callable[..., Any],
    settings: NotesSettings | None = None,
    **options: Any,
) -> FastMCP[Any]:
    """Return the notes server with the tools above, and more functions.

    Args:
        seconds: How long a confirmation waits.
        functions: Declared functions that are served too.
        settings: The server's settings; those of the policy TWO_STEP when left out.
        options: Further options of `create_server`.
    """
    settings = settings or notes_settings()
    server = create_server(settings, confirm_seconds=seconds, **options)
    for tool in target_tools(settings.policy):
        server.add_tool(tool)
    for function in functions:
        server.add_tool(build_policy_tool(function, settings.policy))
    return server
