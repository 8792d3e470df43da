"""Get Note."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import read


class GetNoteResult(BaseModel):
    """Result of get_note."""

    id: int = Field(description="The ID of the note.")
    etag: str = Field(description="The etag of the note.")
    title: str | None = Field(default=None, description="The title.")
    content: str | None = Field(default=None, description="The content.")
    archived: bool | None = Field(default=None, description="Whether it is archived.")


@read(title="Get Note", open_world=False)
async def get_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
) -> GetNoteResult:
    """Get a note."""
    result = await backend().get("note", note_id)
    return GetNoteResult(**result.model_dump())
