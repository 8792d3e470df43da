"""A put."""

from typing import Annotated

from pydantic import Field

from copier_fastmcp_engine.declarations import put

from ..store import STORE, Note


@put(title="Archive Note")
async def archive_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
) -> Note:
    """Archive a note."""
    return STORE.save(note_id, content="archived")
