"""A rendered server with tools that the attacks aim at, whatever tools it has of its own."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from attacks.raw import Message
from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError
from notes_mcp.policy import POLICY, create, delete, read, require_confirmation
from notes_mcp.server import create_server
from notes_mcp.settings import Settings
from pydantic import BaseModel, Field, model_validator

from copier_fastmcp_engine import declarations
from copier_fastmcp_engine.audit_log import AuditLog
from copier_fastmcp_engine.declarations import Exemption, declaration_of
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.policy import Behavior
from copier_fastmcp_engine.tools import PolicyTool, build_tool

DONE: list[str] = []  # all the data that the tools below change
# Where the profile asks before nothing, as if it asked before deletes
GATING = POLICY
if POLICY.confirm == "none":
    GATING = dataclasses.replace(POLICY, confirm="deletes")


class GatingSettings(Settings):
    """The server's settings with a policy that asks."""

    policy = GATING


SETTINGS = GatingSettings(database=":memory:", state="memory", metadata=Path("none"))
Name = Annotated[str, Field(description="Which one.", min_length=1)]
Names = Annotated[list[str], Field(description="Which ones.")]

# Where the profile previews first, `confirm` is what asks.
ASK: Message = {"confirm": True} if POLICY.preview_first else {}
TWO_STEP = POLICY.confirm_fallback == "two_step"
STEP = "preview" if TWO_STEP else "error"  # what a client gets that cannot be asked


class Wiped(BaseModel):
    """Result of the tools below."""

    name: str = Field(description="Which one it was.")


class Batch(BaseModel):
    """A request whose fields depend on each other."""

    names: list[str] = Field(description="Which ones.", min_length=1, max_length=50)

    @model_validator(mode="after")
    def each_once(self) -> "Batch":
        """Refuse a name that is there twice."""
        assert len(set(self.names)) == len(self.names), "each one once"
        return self


async def now(name: str, owner: str = "us") -> Message:
    """What would be wiped; with hidden characters in name and value."""
    if name == "gone":
        raise ToolError("gone is not there any more")
    return {"done": DONE.copy(), "by\n": "\x1b\u202e" + name}


@delete(title="Wipe", confirm="Wipe {name} of {owner}?", preview=now)
async def zz_wipe(name: Name, owner: Name = "us") -> Wiped:
    """Wipe one."""
    if name == "fails":
        raise ToolError("it would not go")
    DONE.append(name)
    return Wiped(name=name)


@delete(title="Wipe many", confirm=True)
async def zz_batch(request: Batch) -> Wiped:
    """Wipe all of a request model."""
    DONE.extend(request.names)
    return Wiped(name="batch")


@delete(title="Wipe what its body asks for, gated although its author said nothing")
async def zz_both(name: Name, ctx: Context, owner: Name = "us") -> Wiped:
    """Ask twice in the body too."""
    answers = [await require_confirmation(ctx, "Sure?") for _ in range(2)]
    DONE.extend(
        f"{name}{number}"
        for number, answer in enumerate(answers)
        if answer == "confirmed"
    )
    return Wiped(name=name)


async def zz_outer(names: Names, ctx: Context) -> Wiped:
    """Call a gated tool for each name; ask in the body when there is none."""
    for name in names:
        await ctx.fastmcp.call_tool("zz_wipe", {"name": name})
    if not names and await require_confirmation(ctx, "Sure?") == "confirmed":
        DONE.append("body")
    return Wiped(name="outer")


@read(title="Done")
async def zz_done() -> list[str]:
    """All that was done."""
    return DONE


WHY = Exemption(hint="confirm", value=False, why="What it calls asks.")
create(title="Call", confirm=False, exceptions=[WHY])(zz_outer)


def built(function: Callable[..., object]) -> PolicyTool:
    """A function with a policy decorator, as it is served."""
    declaration = declaration_of(function)
    assert declaration is not None
    return build_tool(GATING, function, declaration)


def audit_log(where: str = "", keys: Sequence[str] = ()) -> AuditLog:
    """Return an audit log of the server's policy."""
    return AuditLog(POLICY, where, keys)


def declare(server: FastMCP, name: str, behavior: Behavior, **facts: Any) -> None:
    """Declare a tool of a server that is built already."""
    with declarations.collecting(guard_of(server).declared_elsewhere):
        declarations.declare(name, behavior, **facts)


def serving(seconds: float = 600, settings: Settings = SETTINGS) -> FastMCP:
    """The project's own server with these tools in it."""
    # A link of consent, where there is consent, may not outlive a question
    short = {
        "confirm_seconds": seconds,
        "elicitation_timeout_seconds": min(seconds, 300),
    }
    server = create_server(settings.model_copy(update=short))
    for function in (zz_wipe, zz_batch, zz_both, zz_outer, zz_done):
        server.add_tool(built(function))
    return server
