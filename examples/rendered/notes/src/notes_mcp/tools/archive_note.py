"""Archive Note."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import put


class ArchiveNoteResult(BaseModel):
    """Result of archive_note."""

    id: int = Field(description="The ID of the note.")
    etag: str = Field(description="The etag of the note.")


@put(
    title="Archive Note",
    why="It sets what the note holds, and repeating the call ends in the same state.",
    open_world=False,
)
async def archive_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
) -> ArchiveNoteResult:
    """Archive a note. Repeating the call changes nothing further."""
    result = await backend().put("note", note_id, {"archived": True}, must_exist=True)
    return ArchiveNoteResult(**result.model_dump())
