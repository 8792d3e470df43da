"""Delete Note."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import delete, requires_consent


class DeleteNoteResult(BaseModel):
    """Result of delete_note."""

    deleted: bool = Field(description="Whether it existed before.")


@requires_consent
@delete(
    title="Delete Note",
    why="What is removed stays removed.",
    scopes=["notes:write"],
    open_world=False,
)
async def delete_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
) -> DeleteNoteResult:
    """Delete a note permanently."""
    result = await backend().delete("note", note_id)
    return DeleteNoteResult(deleted=result)
