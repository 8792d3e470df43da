"""The tools with which a person grants, checks and takes back access.

They are served where tokens are kept, for clients that cannot show a link
themselves. One that starts a login, asks or stores is not read-only, whatever its name says.
"""

from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Annotated, Any, cast

from fastmcp import Context
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field

from ..confirmation.elicitation import log_step
from ..declarations import DECLARED, Declaration, Exemption, action, delete, read
from ..policy import Policy
from ..runtime import SERVER
from .asking import TIMED_OUT, Answer, ask, required_text, track
from .flow import consent_of, user_of

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
        description="Whether the provider revoked its tokens as well"
    )


class Status(BaseModel):
    """State of access, or of one login."""

    provisioned: bool = Field(description="Whether access is granted")
    status: str | None = Field(
        description="State of the login: pending, complete or failed"
    )
    message: str = Field(description="What is missing, or that access was granted")


async def _request_access(ctx: Context) -> Login:
    """Ask the user to grant access in their browser, and wait for it."""
    if await consent_of(SERVER.get()).fresh(user_of(ctx)):
        return Login(status="yes")
    status = await ask(
        ctx, f"request_{SERVER.get().policy.domain}_access", at_once=True
    )
    return Login(status=status)


async def _provision_access(ctx: Context) -> Started:
    """Start a login and return its link for the user to open, for clients that cannot show one."""
    consent, user = consent_of(SERVER.get()), user_of(ctx)
    if await consent.fresh(user):
        message = "Access is granted already."
        return Started(
            success=True, authorization_url=None, elicitation_id=None, message=message
        )
    link = await consent.begin(ctx, user)
    return Started(
        success=True,
        authorization_url=consent.address(link),
        elicitation_id=link.id,
        message="Ask the person to open the link and to grant access, then call the tool again.",
    )


async def _revoke_access(ctx: Context) -> Revoked:
    """Delete the access that the user granted, and tell the provider to revoke it."""
    gone, told = await consent_of(SERVER.get()).revoke(user_of(ctx))
    return Revoked(revoked=gone, provider_told=told)


async def _check_logged_in(ctx: Context) -> Login:
    """Check whether access to the user's account is granted; if not, ask the user to log in."""
    if await consent_of(SERVER.get()).fresh(user_of(ctx)):
        return Login(status="yes")
    return Login(status=await ask(ctx, "check_logged_in", at_once=True))


async def _check_provisioning_status(
    ctx: Context,
    elicitation_id: Annotated[
        str | None,
        Field(
            description="ID of a login of this user; omit to check access.",
            max_length=100,
        ),
    ] = None,
    wait_seconds: Annotated[
        float, Field(description="Maximum seconds to wait for the login.", ge=0, le=300)
    ] = 0,
) -> Status:
    """Check whether access is granted, or how far a login is; starts and changes nothing."""
    consent, user = consent_of(SERVER.get()), user_of(ctx)
    if elicitation_id is None:
        granted = await consent.grant(user) is not None
        message = "Access was granted." if granted else required_text()
        return Status(provisioned=granted, status=None, message=message)
    link = await consent.elicitation(elicitation_id)
    if link is None or link.user != user.key:
        if link:
            log_step(
                "consent",
                ctx,
                "check_provisioning_status",
                {"outcome": "another user's"},
            )
        raise ToolError(f"Unknown elicitation ID: {elicitation_id}")
    link = await track(ctx, consent, link, wait_seconds)
    if link.status == "pending" and (wait_seconds or not link.waits):
        raise ToolError(TIMED_OUT)
    granted = await consent.grant(user) is not None
    message = link.error_message or (
        "Access was granted." if granted else required_text()
    )
    return Status(provisioned=granted, status=link.status, message=message)


def tools_module(policy: Policy) -> ModuleType:
    """Return the consent tools of a server as a module that its registry can load; three carry its domain in their names.

    Args:
        policy: The server's policy, with its domain.
    """
    name = f"{__name__}.{policy.domain}"
    module = ModuleType(name, __doc__)
    module.__file__ = __file__
    domain, title = policy.domain, policy.domain_title
    tools: list[tuple[str, Callable[..., Any], Declaration]] = [
        (
            "check_logged_in",
            _check_logged_in,
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
            _request_access,
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
            _provision_access,
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
            _revoke_access,
            delete(
                title=f"Revoke Access to {title}",
                why="Access has to be granted again afterwards.",
            ),
        ),
        (
            "check_provisioning_status",
            _check_provisioning_status,
            read(title="Check Access Status"),
        ),
    ]
    declared = DECLARED.setdefault(name, [])
    declared.clear()
    for tool_name, body, declaration in tools:
        function = _copy_function(body, tool_name)
        vars(function)["__declaration__"] = declaration.named(tool_name)
        setattr(module, tool_name, function)
        declared.append((tool_name, declaration))
    return module


def _copy_function(body: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return a function of its own with a tool's name, so that two servers of a process can have different ones."""
    source = cast("FunctionType", body)
    copied = FunctionType(
        source.__code__, source.__globals__, name, source.__defaults__
    )
    copied.__annotations__ = dict(source.__annotations__)
    copied.__doc__ = source.__doc__
    copied.__module__ = source.__module__
    copied.__qualname__ = name
    return copied
