"""Small servers on the engine, written by hand: a policy, some functions, and clients of both protocol eras."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastmcp import Client, FastMCP
from fastmcp.client.elicitation import ElicitResult

from copier_fastmcp_engine.audit_log import AuditLog
from copier_fastmcp_engine.confirmation.pending import PendingStore
from copier_fastmcp_engine.declarations import declaration_of
from copier_fastmcp_engine.guard import Guard
from copier_fastmcp_engine.policy import BEHAVIORS, Meaning, Policy
from copier_fastmcp_engine.settings import PolicySettings
from copier_fastmcp_engine.tools import build_tool

ERAS = ["legacy", "2026-07-28"]
ALWAYS = "always always always always"
TRUTH = {
    "read": "true false true declared",
    "create": "false false false declared",
    "ensure": "false false true declared",
    "append": "false false false declared",
    "update": "false true false declared",
    "put": "false true true declared",
    "delete": "false true true declared",
    "action": "false declared declared declared",
}


def make_policy(name: str = "notes-mcp", **fields: Any) -> Policy:
    """Return a policy with the hints of the explicit profile."""
    behaviors = {
        behavior: Meaning.parse(behavior, TRUTH[behavior], ALWAYS)
        for behavior in BEHAVIORS
    }
    package = name.replace("-", "_")
    prefix = f"{package.upper()}_"
    return Policy(
        server_name=name,
        package=package,
        env_prefix=prefix,
        behaviors=behaviors,
        **fields,
    )


def make_settings(policy: Policy, **values: Any) -> PolicySettings:
    """Return settings of a policy."""

    class Settings(PolicySettings):
        """The settings of one server."""

    Settings.policy = policy
    return Settings(metadata=Path("none"), **values)


def make_server(
    policy: Policy, *functions: Callable[..., Any], **values: Any
) -> FastMCP[Any]:
    """Return a server with these declared functions as its tools."""
    settings = make_settings(policy, **values)
    audit_log = AuditLog(policy, settings.audit, settings.state_keys)
    gate = PendingStore(policy, settings.state, settings.confirm_seconds, audit_log)
    server: FastMCP[Any] = FastMCP(policy.server_name)
    Guard(server, policy, gate, settings).install()
    for function in functions:
        declaration = declaration_of(function)
        assert declaration is not None, f"{function.__name__} has no decorator"
        server.add_tool(build_tool(policy, function, declaration))
    return server


def client_of(
    server: FastMCP[Any], era: str, *, agrees: bool | None = None
) -> Client[Any]:
    """Return a client whose user agrees or declines; with None it cannot be asked."""

    async def answer(*_: object) -> ElicitResult[Any]:
        if agrees:
            return ElicitResult(action="accept", content={"confirm": True})
        return ElicitResult(action="decline")

    handler = None if agrees is None else answer
    return Client(server, mode=era, elicitation_handler=handler)


async def outcome_of(client: Client[Any], tool: str, **arguments: Any) -> str:
    """Return the outcome of a gated call, or `error`, or `ok` for a result without an envelope."""
    result = await client.call_tool(tool, arguments, raise_on_error=False)
    if result.is_error:
        return "error"
    return str((result.structured_content or {}).get("outcome", "ok"))
