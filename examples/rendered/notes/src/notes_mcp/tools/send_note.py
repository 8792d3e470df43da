"""Send Note."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import action


class SendNoteResult(BaseModel):
    """Result of send_note."""

    action_id: int = Field(description="The ID of the action.")


@action(title="Send Note", why="It cannot be undone.", open_world=False)
async def send_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
) -> SendNoteResult:
    """Send a note."""
    result = await backend().act("send_note", {"note_id": note_id})
    return SendNoteResult(action_id=int(result.id))
