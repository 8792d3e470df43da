"""Consent before a tool: a person grants access in a browser, and the call goes on.

Authors write `@requires_consent` above or below the behavior; what each client
gets, and why, is in docs/adr/policy. Questions leave through the middleware, where an error of the
protocol stays whole.
"""

import time
from collections.abc import AsyncGenerator, Callable
from typing import Any, Literal, TypeVar

import anyio
import httpx2
from fastmcp import Context
from fastmcp.exceptions import ToolError
from fastmcp.server.dependencies import get_context
from fastmcp.tools import ToolResult
from mcp.shared.exceptions import MCPError, UrlElicitationRequiredError
from mcp_types import ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult
from pydantic import BaseModel, Field, PrivateAttr

from ..confirmation.elicitation import (
    Asked,
    elicit,
    input_required,
    is_modern,
    log_step,
    response_to,
    shows_forms,
    shows_links,
)
from ..confirmation.pending import PendingStore
from ..policy import Policy
from ..runtime import current_frame, current_server
from ..tools import GRANT
from .counters import count_login
from .flow import Consent, known_user
from .store import Elicitation, User

Declared = TypeVar("Declared", bound=Callable[..., Any])
Outcome = TypeVar("Outcome", bound=str)
Method = Literal["url", "form", "none"]
Answer = Literal[
    "yes", "Login not detected", "Login declined by user.", "Login cancelled by user."
]

TIMED_OUT = "Elicitation timed out - user did not complete authorization"
WAIT = 30.0  # seconds that a call without a progress token waits for the person
SETTLE = 3.0  # the same for a form, which people send when they are through
PACE = 2.0  # seconds between two reports of progress


def required_text(policy: Policy) -> str:
    """Return the message to a caller without access."""
    return f"{policy.domain_title} access provisioning required"


def _explain_consent(policy: Policy) -> str:
    """Return the explanation shown before access is granted."""
    account = f"{policy.domain_title} account"
    return f"Grant this server access to your {account} to continue. This is a one-time setup."


class LoginConfirmation(BaseModel):
    """The form for clients that can show no link."""

    acknowledged: bool = Field(
        default=False,
        description="Check this box after completing login at the provided URL",
    )


FORM: dict[str, Any] = {
    "type": "object",
    "properties": LoginConfirmation.model_json_schema()["properties"],
}


def requires_consent(function: Declared) -> Declared:
    """Run this tool or resource only for users who granted access; the function itself comes back unchanged."""
    vars(function)[GRANT] = True
    return function


async def granted_token(refused: str | None = None) -> str:
    """The token that the user of this call granted, for the body of a tool that `requires_consent`.

    A client's own token is never handed on: it was issued for this server, and for no other.

    Args:
        refused: A token that the service takes no more: another one is got for it, or the user is asked again.

    Raises:
        ToolError: This server keeps no tokens, or the grant has ended meanwhile.
    """
    server = current_server()
    consent: Consent = server.consent
    if token := await _token(consent, refused):
        return token
    if consent.mode != "offline":
        raise ToolError(
            "this server keeps no tokens; enable offline access, or set credentials"
        )
    await require(consent, server.gate, get_context(), "the tool")
    raise ToolError(required_text(server.policy))


async def _token(consent: Consent, refused: str | None = None) -> str | None:
    """Return the token of this call that needs no question."""
    ctx = get_context()
    if (fixed := consent.settings.static_credentials) is not None:
        consent.refuse_strangers(ctx)
        return fixed.get_secret_value()
    user = known_user(ctx) if consent.mode == "offline" else None
    grant = await consent.fresh(user, refused) if user else None
    return grant.access_token if grant else None


class Granted(httpx2.Auth):
    """The `auth` of an HTTP client: requests in a call carry the token that its user granted.

    A service that answers 401 gets a renewed one, once; without one the user is asked. Outside of a call
    requests go as they are.
    """

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        """Send the request with a token, and once more with another one if that is refused."""
        frame = current_frame()
        token = await _token(frame.server.consent) if frame else None
        if token:
            request.headers["Authorization"] = f"Bearer {token}"
        answer = yield request
        if (
            frame
            and answer.status_code == 401
            and (renewed_token := await granted_token(token)) != token
        ):
            request.headers["Authorization"] = f"Bearer {renewed_token}"
            yield request


class Refusal(ToolResult):
    """A result that has to reach the client as an error of the protocol, which no body can raise."""

    _error: MCPError = PrivateAttr()

    def __init__(self, error: MCPError) -> None:
        super().__init__(str(error), is_error=True)
        self._error = error


async def require(
    consent: Consent, gate: PendingStore, ctx: Context, tool: str
) -> None:
    """Come back when the user of this call has granted access.

    Args:
        consent: The server's consent.
        gate: Where the server remembers the clients that cannot be asked.
        ctx: The call's own context.
        tool: What to call again afterwards.

    Raises:
        ToolError: They have not.
        Asked: The client is to show a link or a form first.
    """
    consent.refuse_strangers(ctx)
    if consent.mode != "offline" or await consent.fresh(consent.user_of(ctx)):
        return
    answer = await ask(consent, gate, ctx, tool)
    if answer != "yes":
        required = required_text(consent.policy)
        raise ToolError(f"{required}. {answer.rstrip('.')}; nothing was done.")


async def ask(
    consent: Consent,
    gate: PendingStore,
    ctx: Context,
    tool: str,
    *,
    at_once: bool = False,
) -> Answer:
    """Ask the user of this call to grant access, in the way their client can.

    Args:
        consent: The server's consent.
        gate: Where the server remembers the clients that cannot be asked.
        ctx: The call's own context.
        tool: What to call again afterwards.
        at_once: Ask within the call where that is possible, instead of ending it with an error.

    Raises:
        ToolError: The link was not used in time, or led nowhere; or this client shows neither links nor
            forms, and the error names the link.
        Asked: The client is to show a link or a form first.
    """
    user = consent.user_of(ctx)
    policy = consent.policy
    method: Method = "form" if await shows_forms(ctx, gate) else "none"
    method = "url" if await shows_links(ctx, gate) else method
    elicitation = await _find_pending_elicitation(ctx, consent, user)
    if elicitation is not None:
        response = response_to(ctx, "consent")
        answer = await _outcome(consent, ctx, elicitation, method, response)
        if answer != "Login not detected" or method == "form":
            return _log(policy, ctx, tool, method, answer)
    else:
        elicitation = await consent.begin(ctx, user)
    address = consent.address(elicitation)
    reason = _explain_consent(policy)
    text = f"{reason}\n\n{address}\n\nAfter completing the login, check the box below and click OK."
    form = ElicitRequestFormParams(message=text, requested_schema=FORM)
    # The id goes with a link only where the protocol has one
    elicitation_id = None if is_modern(ctx) else elicitation.id
    link = ElicitRequestURLParams(
        message=reason, url=address, elicitation_id=elicitation_id
    )
    question = link if method == "url" else form
    if method == "none":
        raise _build_link_error(policy, ctx, tool, address)
    if is_modern(ctx):
        _log(policy, ctx, tool, method, "asked")
        raise input_required("consent", question, elicitation.id)
    if method == "url":
        consent.tell(elicitation, ctx.session)
        if not at_once:
            _log(policy, ctx, tool, method, "asked")
            raise Asked(
                Refusal(UrlElicitationRequiredError([link], required_text(policy)))
            )
    try:
        seconds = elicitation.expires_at - time.time()
        reply = await elicit(ctx, gate, question, seconds)
    except TimeoutError:
        raise ToolError(TIMED_OUT) from None
    if reply is None:
        raise _build_link_error(policy, ctx, tool, address)
    answer = await _outcome(consent, ctx, elicitation, method, reply)
    return _log(policy, ctx, tool, method, answer)


def _build_link_error(
    policy: Policy, ctx: Context, tool: str, address: str
) -> ToolError:
    """The error for a client that can show neither links nor forms."""
    _log(policy, ctx, tool, "none", "told")
    return ToolError(
        f"{required_text(policy)}. Ask the person to open {address} in a browser and to grant access, then call "
        f"{tool} again; check_provisioning_status says whether they have."
    )


async def _find_pending_elicitation(
    ctx: Context, consent: Consent, user: User
) -> Elicitation | None:
    """The elicitation that this request answers: the SDK unsealed its state, made for this very call."""
    if (
        not is_modern(ctx)
        or not ctx.request_state
        or response_to(ctx, "consent") is None
    ):
        return None
    elicitation = await consent.elicitation(ctx.request_state)
    return elicitation if elicitation and elicitation.user == user.key else None


async def _outcome(
    consent: Consent,
    ctx: Context,
    elicitation: Elicitation,
    method: Method,
    response: object,
) -> Answer:
    """Return the outcome of the question; a yes only promises to open the page, so the grant decides.

    Raises:
        ToolError: Access will not be granted: the link failed, or its time is over.
    """
    if not isinstance(response, ElicitResult) or response.action == "cancel":
        return "Login cancelled by user."
    if response.action == "decline":
        count_login(consent.policy, "declined")
        return "Login declined by user."
    seconds = WAIT if method == "url" else SETTLE
    request = ctx.request_context
    if request and request.meta and request.meta.get("progressToken") is not None:
        seconds = max(seconds, elicitation.expires_at - time.time())
    after = await track(ctx, consent, elicitation, seconds)
    if after.status == "failed":
        raise ToolError(
            f"{required_text(consent.policy)}. Access was not granted: {after.error_message}."
        )
    if await consent.fresh(consent.user_of(ctx)):
        return "yes"
    if time.time() >= after.expires_at:
        raise ToolError(TIMED_OUT)
    return "Login not detected"


async def track(
    ctx: Context, consent: Consent, elicitation: Elicitation, seconds: float
) -> Elicitation:
    """Watch a link of this user until it is over, for at most so many seconds.

    Progress is reported to a client that asked for it. Returns the elicitation as it is then.
    """
    began, reported, now = time.time(), 0.0, time.time()
    while elicitation.waits and now < began + seconds:
        if now - reported >= PACE:
            await ctx.report_progress(
                now - began, seconds, "Waiting for OAuth authorization..."
            )
            reported = now
        await anyio.sleep(min(0.25, max(0.01, began + seconds - now)))
        elicitation = await consent.elicitation(elicitation.id) or elicitation
        now = time.time()
    return elicitation


def _log(
    policy: Policy, ctx: Context, tool: str, method: Method, outcome: Outcome
) -> Outcome:
    """Log one step, without its link, user or token."""
    log_step("consent", policy, ctx, tool, {"way": method, "outcome": outcome})
    return outcome
