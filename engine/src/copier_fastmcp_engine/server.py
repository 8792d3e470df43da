"""A project's server, put together: settings, tools, the author's `extend()`, metadata over all of it."""

import contextlib
import importlib
import secrets
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType
from typing import Any

import fastmcp
from fastmcp import FastMCP
from mcp.server.request_state import RequestStateSecurity

from . import registry
from .audit_log import AuditLog
from .confirmation.pending import PendingStore
from .declarations import collecting
from .errors import StartError
from .guard import Guard
from .metadata.overrides import overridden_tools, override
from .places import describe_error, describe_place
from .policy import Policy
from .settings import PolicySettings
from .tools import PolicyTool, run_now

RESOURCE_LISTING = "resource_listing"  # the module of the tool list_resources


def build_server(
    settings: PolicySettings,
    *,
    connect: Callable[[Any], object],
    extend: ModuleType,
    instructions: str,
    lists_resources: bool = False,
) -> FastMCP[Any]:
    """Build the server of a project.

    Args:
        settings: The project's settings, whose class names its policy.
        connect: `connect` of the project's backend.py.
        extend: The project's extend.py; its author may have removed any of its functions.
        instructions: What the server is for.
        lists_resources: Whether it has resources, and so the tool that lists them.

    Raises:
        StartError: One line names the tool, resource, setting or file that cannot be served.
    """
    policy = settings.policy
    # `fastmcp run` serves with this setting, too
    if not fastmcp.settings.http_host_origin_protection:
        fastmcp.settings.http_host_origin_protection = "auto"
    _connect(connect, settings)
    audit_log = AuditLog(policy, settings.audit, settings.state_keys)
    gate = PendingStore(policy, settings.state, settings.confirm_seconds, audit_log)
    sealing = _sealing(settings)
    if policy.confirm_fallback == "page":
        from .pages.pages import Pages

        server_url = getattr(settings, "server_url", None)
        gate.pages = Pages(gate, sealing.codec, settings.browser, server_url)  # type: ignore[attr-defined]
    consent = _open_consent(settings)
    modules: list[ModuleType] = []
    if lists_resources:
        modules.append(importlib.import_module(f".{RESOURCE_LISTING}", __package__))
    if consent and consent.mode == "offline":
        from .consent.tools import tools_module

        modules.append(tools_module(policy, consent))
    tools = _load_tools(settings, modules)
    options: dict[str, Any] = {
        "version": _version_of(policy),
        "instructions": instructions,
        "lifespan": getattr(extend, "lifespan", None),
        "on_duplicate": "error",
        "request_state_security": sealing,
    }
    guard = _make_guard(settings, gate, tools, consent, options)
    mcp = guard.mcp
    deferred = _add_tools(mcp, tools)
    if gate.pages:
        gate.pages.serve(mcp)
    registry.add_resources(mcp, f"{policy.package}.resources")
    registry.add_prompts(mcp, f"{policy.package}.prompts")
    if hasattr(extend, "extend"):
        with collecting(guard.declared_elsewhere):
            extend.extend(mcp)
    if deferred:
        added = run_now(mcp.local_provider.list_tools())
        deferred.require_distinct(added)
    guard.check()
    guard.texts = override(
        policy, mcp, settings.metadata, guard.formerly, guard.gated_names()
    )
    if settings.search:
        _add_search(mcp, guard, settings, tools)
    guard.install()
    return mcp


def _load_tools(
    settings: PolicySettings, modules: Sequence[ModuleType]
) -> list[PolicyTool]:
    """Load the tools; those behind a search are imported when they are needed."""
    policy = settings.policy
    package = f"{policy.package}.tools"
    if not settings.search:
        return registry.load_tools(policy, package, *modules)
    named = overridden_tools(policy, settings.metadata)
    return registry.defer_tools(policy, package, named, *modules)


def _add_tools(mcp: FastMCP[Any], tools: Sequence[PolicyTool]) -> Any:
    """Add the tools to a server, and return the provider of the deferred ones, if there are any."""
    deferred = []
    for tool in tools:
        if tool.is_deferred:
            deferred.append(tool)
        else:
            mcp.add_tool(tool)
    if not deferred:
        return None
    from .deferred_tools import DeferredTools

    provider = DeferredTools(deferred)
    mcp.add_provider(provider)
    return provider


def _add_search(
    mcp: FastMCP[Any], guard: Guard, settings: PolicySettings, tools: list[Any]
) -> None:
    """List a search in place of the tools: what is listed costs a model in every conversation."""
    from .search import ToolSearch

    toolsets = {guard.facts(tool).toolset for tool in tools}
    mcp.add_transform(ToolSearch(toolsets - {""}, read_only=settings.read_only))


def shipped_settings(settings: type[PolicySettings]) -> Any:
    """Return settings without the user's own texts: with them, tables, locks and exports are written."""
    values: dict[str, Any] = {"metadata": Path("none"), "search": False}
    if settings.policy.has_consent:
        values.update(
            state="memory",
            enable_offline_access=True,
            consent_database=":memory:",
            static_credentials=None,
            oidc_issuer="https://example.com",
            oidc_client_id=settings.policy.server_name,
            jwt_issuer=None,
            jwt_audience=None,
            jwt_jwks_uri=None,
        )
    return settings(**values)


def _connect(connect: Callable[[Any], object], settings: PolicySettings) -> None:
    """Connect the backend; StartError names the setting of its address."""
    database = getattr(settings, "database", None)
    where = str(database if database is not None else getattr(settings, "api", ""))
    try:
        connect(settings)
    except Exception as error:
        reason = describe_error(error, where)
        if database is not None:
            variable = f"{settings.policy.env_prefix}DATABASE"
            reason += f"; see {variable} ({describe_place(where)!r})"
        raise StartError(f"backend.py: connect: {reason}") from error


def _sealing(settings: PolicySettings) -> RequestStateSecurity:
    """Return what seals questions; StartError: a key cannot be used."""
    keys: list[Any] = [*settings.state_keys] or [secrets.token_bytes(32)]
    try:
        return RequestStateSecurity(keys=keys, ttl=settings.confirm_seconds)
    except ValueError as error:
        raise StartError(f"setting state_keys: {error}") from error


def _open_consent(settings: PolicySettings) -> Any:
    """Return the server's consent, where its policy has it."""
    if not settings.policy.has_consent:
        return None
    from .consent.flow import Consent

    try:
        return Consent(settings)  # type: ignore[arg-type]
    except (ImportError, OSError, ValueError) as error:
        raise StartError(str(error)) from error


def _make_guard(
    settings: Any,
    gate: PendingStore,
    tools: list[Any],
    consent: Any,
    options: dict[str, Any],
) -> Guard:
    """Make the server and its guard, with a verifier of tokens where its policy has consent.

    Args:
        settings: The server's settings.
        gate: Where its pending confirmations are.
        tools: Its tools.
        consent: Its consent; None where its policy has none.
        options: Further options of the server.
    """
    policy: Policy = settings.policy
    if consent is None:
        mcp: FastMCP[Any] = FastMCP(policy.server_name, **options)
        return Guard(mcp, policy, gate, settings)
    from .consent.serving import ConsentGuard, ConsentMiddleware
    from .consent.tokens import verifier

    scopes = {scope for tool in tools for scope in tool.declaration.scopes}
    auth = verifier(settings, scopes)
    mcp = FastMCP(policy.server_name, auth=auth, **options)
    guard = ConsentGuard(mcp, policy, gate, settings)
    guard.consent = consent
    consent.serve(mcp)
    mcp.add_middleware(ConsentMiddleware(policy))
    return guard


def _version_of(policy: Policy) -> str | None:
    """Return the version of the server's distribution; None in a checkout that is not installed."""
    with contextlib.suppress(PackageNotFoundError):
        return version(policy.server_name)
    return None
