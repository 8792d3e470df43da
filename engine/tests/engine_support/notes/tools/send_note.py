"""An action that cannot be taken back: the policy asks before it."""

from typing import Annotated

from pydantic import BaseModel, Field

from copier_fastmcp_engine.declarations import action

from ..store import STORE


class SendResult(BaseModel):
    """Result of send_note."""

    note_id: int = Field(description="The ID of the note.")


@action(title="Send Note", why="It cannot be undone.")
async def send_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
) -> SendResult:
    """Send a note."""
    STORE.sent.append(note_id)
    return SendResult(note_id=note_id)
