"""A delete in the folder `filed`: the policy asks before it."""

from typing import Annotated

from pydantic import BaseModel, Field

from copier_fastmcp_engine.declarations import delete

from ...store import STORE


class DeleteResult(BaseModel):
    """Result of delete_note."""

    deleted: bool = Field(description="Whether it existed before.")


@delete(title="Delete Note", why="What is removed stays removed.")
async def delete_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
) -> DeleteResult:
    """Delete a note permanently."""
    return DeleteResult(deleted=STORE.notes.pop(note_id, None) is not None)
