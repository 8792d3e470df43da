"""A read in the folder `filed`."""

from typing import Annotated

from pydantic import Field

from copier_fastmcp_engine.declarations import read

from ...store import STORE, Note


@read(title="Get Note")
async def get_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
) -> Note:
    """Get a note."""
    return STORE.get(note_id)
