"""Ensure Note."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import ensure


class EnsureNoteResult(BaseModel):
    """Result of ensure_note."""

    id: int = Field(description="The ID of the note.")
    etag: str = Field(description="The etag of the note.")


@ensure(
    title="Ensure Note",
    why="It creates the note at most once and changes no existing one.",
    open_world=False,
)
async def ensure_note(
    title: Annotated[str, Field(description="The title.")],
    content: Annotated[str, Field(description="The content.")],
) -> EnsureNoteResult:
    """Create a note, or return the existing one."""
    result = await backend().ensure("note", {"title": title, "content": content})
    return EnsureNoteResult(**result.model_dump())
