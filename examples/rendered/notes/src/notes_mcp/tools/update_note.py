"""Update Note."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import update


class UpdateNoteResult(BaseModel):
    """Result of update_note."""

    id: int = Field(description="The ID of the note.")
    etag: str = Field(description="The etag of the note.")


@update(
    title="Update Note",
    why="It overwrites fields of the note, and its etag is stale after the first call.",
    open_world=False,
)
async def update_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
    etag: Annotated[
        str,
        Field(description="The etag returned by get_note; a stale one is rejected."),
    ],
    title: Annotated[str | None, Field(description="The title.")] = None,
    content: Annotated[str | None, Field(description="The content.")] = None,
) -> UpdateNoteResult:
    """Update a note. A stale etag is rejected; get_note returns the current one."""
    result = await backend().update(
        "note",
        note_id,
        {"title": title, "content": content},
        etag=etag,
    )
    return UpdateNoteResult(**result.model_dump())
