"""Create Note."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import create


class CreateNoteResult(BaseModel):
    """Result of create_note."""

    id: int = Field(description="The ID of the note.")
    etag: str = Field(description="The etag of the note.")


@create(
    title="Create Note",
    why="Each call adds a new note and changes no existing one.",
    open_world=False,
)
async def create_note(
    title: Annotated[str, Field(description="The title.")],
    content: Annotated[str, Field(description="The content.")],
) -> CreateNoteResult:
    """Create a note."""
    result = await backend().create("note", {"title": title, "content": content})
    return CreateNoteResult(**result.model_dump())
