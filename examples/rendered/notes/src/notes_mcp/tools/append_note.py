"""Append Note."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import append


class AppendNoteResult(BaseModel):
    """Result of append_note."""

    id: int = Field(description="The ID of the note.")
    etag: str = Field(description="The etag of the note.")


@append(
    title="Append Note",
    why="Each call adds to the note and keeps what is there.",
    open_world=False,
)
async def append_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
    content: Annotated[str, Field(description="The content.")],
) -> AppendNoteResult:
    """Append to a note; existing content is kept."""
    result = await backend().append("note", note_id, {"content": content})
    return AppendNoteResult(**result.model_dump())
