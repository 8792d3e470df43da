"""Send Reminder."""

from typing import Annotated, Literal

import httpx2
from fastmcp import Context
from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import action, ask
from ..settings import Settings


class Reminder(BaseModel):
    """When to remind, and of what."""

    day: Literal["monday", "friday"] = "friday"
    note: str = ""


class SendReminderResult(BaseModel):
    """Result of send_reminder."""

    done: bool = Field(description="Whether it was sent.")


@action(title="Send Reminder", why="A reminder that was sent cannot be taken back.")
async def send_reminder(
    ctx: Context,
    day: Annotated[Literal["monday", "friday"] | None, Field(description="The day.")] = None,
) -> SendReminderResult:
    """Send a reminder of the unread articles to the webhook of the settings."""
    reminder = Reminder(day=day) if day else await ask(ctx, "When?", Reminder, parameter="day")
    unread = await backend().search("article", "", {"read": False}, limit=100)
    fields = {**reminder.model_dump(), "unread": unread.total}
    if webhook := Settings().webhook:
        async with httpx2.AsyncClient(timeout=10) as client:
            (await client.post(webhook, json=fields)).raise_for_status()
    await backend().act("send_reminder", fields)
    return SendReminderResult(done=True)
