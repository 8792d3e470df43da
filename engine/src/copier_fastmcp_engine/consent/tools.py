"""The tools with which a person grants, checks and takes back access.

They are served where tokens are kept, for clients that cannot show a link
themselves. One that starts a login, asks or stores is not read-only, whatever its name says.
"""

import functools
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Annotated, Any

from fastmcp import Context
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field

from ..confirmation.elicitation import log_step
from ..declarations import DECLARED, Declaration, Exemption, action, delete, read
from ..policy import Policy
from ..runtime import current_server
from ..signatures import resolve_signature, with_signature
from .elicitation import TIMED_OUT, Answer, ask, required_text, track
from .flow import Consent

AGREED: Exemption = {
    "hint": "confirm",
    "value": False,
    "why": "The page that it leads to is where a person agrees.",
}


class Login(BaseModel):
    """Result of asking for a login."""

    status: Answer = Field(
        description="yes when access is granted, else what happened instead"
    )


class Started(BaseModel):
    """A login that a person can complete."""

    success: bool = Field(
        description="Whether there is a link to open, or access already"
    )
    authorization_url: str | None = Field(
        description="Link for the person to open in a browser"
    )
    elicitation_id: str | None = Field(
        description="Login ID for check_provisioning_status"
    )
    message: str = Field(description="What to do next")


class Revoked(BaseModel):
    """Result of revoking access."""

    revoked: bool = Field(description="Whether there was access to revoke")
    provider_told: bool = Field(
        description="Whether the provider also revoked its tokens"
    )


class Status(BaseModel):
    """State of access, or of one login."""

    provisioned: bool = Field(description="Whether access is granted")
    status: str | None = Field(
        description="State of the login: pending, complete or failed"
    )
    message: str = Field(description="What is missing, or that access was granted")


class ConsentTools:
    """The bodies of the tools of one server.

    Args:
        policy: The server's policy, with its domain.
        consent: Its consent.
    """

    def __init__(self, policy: Policy, consent: Consent) -> None:
        self._policy = policy
        self._consent = consent

    async def _ask(self, ctx: Context, tool: str) -> Answer:
        """Ask the user of a call to grant access, within the call where that is possible."""
        gate = current_server().gate
        return await ask(self._consent, gate, ctx, tool, at_once=True)

    async def request_access(self, ctx: Context) -> Login:
        """Ask the user to grant access in their browser, and wait for it."""
        if await self._consent.fresh(self._consent.user_of(ctx)):
            return Login(status="yes")
        tool = f"request_{self._policy.domain}_access"
        return Login(status=await self._ask(ctx, tool))

    async def provision_access(self, ctx: Context) -> Started:
        """Start a login and return its link for the user to open, for clients that cannot show one."""
        consent = self._consent
        user = consent.user_of(ctx)
        if await consent.fresh(user):
            message = "Access is already granted."
            return Started(
                success=True,
                authorization_url=None,
                elicitation_id=None,
                message=message,
            )
        link = await consent.begin(ctx, user)
        return Started(
            success=True,
            authorization_url=consent.address(link),
            elicitation_id=link.id,
            message="Ask the user to open the link and grant access, then call the tool again.",
        )

    async def revoke_access(self, ctx: Context) -> Revoked:
        """Delete the access that the user granted, and tell the provider to revoke it."""
        user = self._consent.user_of(ctx)
        was_granted, is_revoked_there = await self._consent.revoke(user)
        return Revoked(revoked=was_granted, provider_told=is_revoked_there)

    async def check_logged_in(self, ctx: Context) -> Login:
        """Check whether access to the user's account is granted; if not, ask the user to log in."""
        if await self._consent.fresh(self._consent.user_of(ctx)):
            return Login(status="yes")
        return Login(status=await self._ask(ctx, "check_logged_in"))

    async def check_provisioning_status(
        self,
        ctx: Context,
        elicitation_id: Annotated[
            str | None,
            Field(
                description="ID of a login of this user; omit to check access.",
                max_length=100,
            ),
        ] = None,
        wait_seconds: Annotated[
            float,
            Field(description="Maximum seconds to wait for the login.", ge=0, le=300),
        ] = 0,
    ) -> Status:
        """Check whether access is granted, or how far a login is; starts and changes nothing."""
        consent = self._consent
        user = consent.user_of(ctx)
        if elicitation_id is None:
            is_granted = await consent.grant(user) is not None
            message = required_text(self._policy)
            if is_granted:
                message = "Access was granted."
            return Status(provisioned=is_granted, status=None, message=message)
        link = await consent.elicitation(elicitation_id)
        if link is None or link.user != user.key:
            if link:
                tool = "check_provisioning_status"
                details = {"outcome": "another user's"}
                log_step("consent", self._policy, ctx, tool, details)
            raise ToolError(f"Unknown elicitation ID: {elicitation_id}")
        link = await track(ctx, consent, link, wait_seconds)
        if link.status == "pending" and (wait_seconds or not link.waits):
            raise ToolError(TIMED_OUT)
        is_granted = await consent.grant(user) is not None
        message = "Access was granted." if is_granted else required_text(self._policy)
        return Status(
            provisioned=is_granted,
            status=link.status,
            message=link.error_message or message,
        )


def tools_module(policy: Policy, consent: Consent) -> ModuleType:
    """Return the consent tools of a server as a module that its registry can load; three carry its domain in their names.

    Args:
        policy: The server's policy, with its domain.
        consent: Its consent.
    """
    name = f"{__name__}.{policy.domain}"
    module = ModuleType(name, __doc__)
    module.__file__ = __file__
    domain, title = policy.domain, policy.domain_title
    bodies = ConsentTools(policy, consent)
    tools: list[tuple[str, Callable[..., Any], Declaration]] = [
        (
            "check_logged_in",
            bodies.check_logged_in,
            action(
                title="Check Server Login Status",
                why="Without a login it starts one and asks for it.",
                confirm=False,
                exceptions=[AGREED],
                destructive=False,
            ),
        ),
        (
            f"request_{domain}_access",
            bodies.request_access,
            action(
                title=f"Ask for Access to {title}",
                why="It starts a login and stores what is granted; it takes nothing away.",
                confirm=False,
                exceptions=[AGREED],
                destructive=False,
            ),
        ),
        (
            f"provision_{domain}_access",
            bodies.provision_access,
            action(
                title=f"Grant Server Access to {title}",
                why="It starts a login, and takes nothing away.",
                confirm=False,
                exceptions=[AGREED],
                destructive=False,
            ),
        ),
        (
            f"revoke_{domain}_access",
            bodies.revoke_access,
            delete(
                title=f"Revoke Access to {title}",
                why="Access has to be granted again afterwards.",
            ),
        ),
        (
            "check_provisioning_status",
            bodies.check_provisioning_status,
            read(title="Check Access Status"),
        ),
    ]
    declared = DECLARED.setdefault(name, [])
    declared.clear()
    for tool_name, body, declaration in tools:
        function = _make_function(body, tool_name)
        vars(function)["__declaration__"] = declaration.named(tool_name)
        setattr(module, tool_name, function)
        declared.append((tool_name, declaration))
    return module


def _make_function(
    body: Callable[..., Awaitable[Any]], name: str
) -> Callable[..., Any]:
    """Return a function with a tool's name that runs a body."""

    @functools.wraps(body)
    async def run(**arguments: Any) -> Any:
        return await body(**arguments)

    run.__name__ = name
    run.__qualname__ = name
    return with_signature(run, resolve_signature(body))
