"""Ensure Note."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import ensure


class EnsureNoteResult(BaseModel):
    """What ensure_note answers."""

    id: int = Field(description="The ID of the note.")
    etag: str = Field(description="Changes whenever the note does.")


@ensure(title="Ensure Note", why="It creates a note at most once and changes no other.")
async def ensure_note(
    title: Annotated[str, Field(description="The title.")],
    content: Annotated[str, Field(description="The text.")],
) -> EnsureNoteResult:
    """Create a note, or get it when it is there."""
    result = await backend().ensure("note", {"title": title, "content": content})
    return EnsureNoteResult(**result.model_dump())
