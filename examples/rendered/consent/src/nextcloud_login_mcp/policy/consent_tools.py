"""The tools with which a person grants, checks and takes back access.

Managed by the template. They are served where tokens are kept, for clients that cannot show a link
themselves. One that starts a login, asks or stores is not read-only, whatever its name says.
"""

from typing import Annotated

from fastmcp import Context
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field

from .asking import SERVER, log_step
from .consent import REQUIRED, TIMED_OUT, Answer, ask, track
from .consent_flow import consent_of, user_of
from .consent_settings import TITLE
from .declarations import Exemption, action, delete, read

AGREED: Exemption = {
    "hint": "confirm",
    "value": False,
    "why": "The page that it leads to is where a person agrees.",
}


class Login(BaseModel):
    """Result of asking for a login."""

    status: Answer = Field(description="yes when access is granted, else what happened instead")


class Started(BaseModel):
    """A login that a person can complete."""

    success: bool = Field(description="Whether there is a link to open, or access already")
    authorization_url: str | None = Field(description="Link for the person to open in a browser")
    elicitation_id: str | None = Field(description="Login ID for check_provisioning_status")
    message: str = Field(description="What to do next")


class Revoked(BaseModel):
    """Result of revoking access."""

    revoked: bool = Field(description="Whether there was access to revoke")
    provider_told: bool = Field(description="Whether the provider revoked its tokens as well")


class Status(BaseModel):
    """State of access, or of one login."""

    provisioned: bool = Field(description="Whether access is granted")
    status: str | None = Field(description="State of the login: pending, complete or failed")
    message: str = Field(description="What is missing, or that access was granted")


@action(
    title="Check Server Login Status",
    why="Without a login it starts one and asks for it.",
    confirm=False,
    exceptions=[AGREED],
    destructive=False,
)
async def check_logged_in(ctx: Context) -> Login:
    """Check whether access to the user's account is granted; if not, ask the user to log in."""
    if await consent_of(SERVER.get()).fresh(user_of(ctx)):
        return Login(status="yes")
    return Login(status=await ask(ctx, "check_logged_in", at_once=True))


@action(
    title=f"Ask for Access to {TITLE}",
    why="It starts a login and stores what is granted; it takes nothing away.",
    confirm=False,
    exceptions=[AGREED],
    destructive=False,
)
async def request_nextcloud_access(ctx: Context) -> Login:
    """Ask the user to grant access in their browser, and wait for it."""
    if await consent_of(SERVER.get()).fresh(user_of(ctx)):
        return Login(status="yes")
    status = await ask(ctx, "request_nextcloud_access", at_once=True)
    return Login(status=status)


@action(
    title=f"Grant Server Access to {TITLE}",
    why="It starts a login, and takes nothing away.",
    confirm=False,
    exceptions=[AGREED],
    destructive=False,
)
async def provision_nextcloud_access(ctx: Context) -> Started:
    """Start a login and return its link for the user to open, for clients that cannot show one."""
    consent, user = consent_of(SERVER.get()), user_of(ctx)
    if await consent.fresh(user):
        message = "Access is granted already."
        return Started(success=True, authorization_url=None, elicitation_id=None, message=message)
    link = await consent.begin(ctx, user)
    return Started(
        success=True,
        authorization_url=consent.address(link),
        elicitation_id=link.id,
        message="Ask the person to open the link and to grant access, then call the tool again.",
    )


@delete(
    title=f"Revoke Access to {TITLE}",
    why="Access has to be granted again afterwards.",
)
async def revoke_nextcloud_access(ctx: Context) -> Revoked:
    """Delete the access that the user granted, and tell the provider to revoke it."""
    gone, told = await consent_of(SERVER.get()).revoke(user_of(ctx))
    return Revoked(revoked=gone, provider_told=told)


@read(title="Check Access Status")
async def check_provisioning_status(
    ctx: Context,
    elicitation_id: Annotated[
        str | None,
        Field(description="ID of a login of this user; omit to check access.", max_length=100),
    ] = None,
    wait_seconds: Annotated[
        float, Field(description="Maximum seconds to wait for the login.", ge=0, le=300)
    ] = 0,
) -> Status:
    """Check whether access is granted, or how far a login is; starts and changes nothing."""
    consent, user = consent_of(SERVER.get()), user_of(ctx)
    if elicitation_id is None:
        granted = await consent.grant(user) is not None
        message = "Access was granted." if granted else REQUIRED
        return Status(provisioned=granted, status=None, message=message)
    link = await consent.elicitation(elicitation_id)
    if link is None or link.user != user.key:
        if link:
            log_step("consent", ctx, "check_provisioning_status", {"outcome": "another user's"})
        raise ToolError(f"Unknown elicitation ID: {elicitation_id}")
    link = await track(ctx, consent, link, wait_seconds)
    if link.status == "pending" and (wait_seconds or not link.waits):
        raise ToolError(TIMED_OUT)
    granted = await consent.grant(user) is not None
    message = link.error_message or ("Access was granted." if granted else REQUIRED)
    return Status(provisioned=granted, status=link.status, message=message)
