"""An update, which a stale etag refuses."""

from typing import Annotated

from fastmcp.exceptions import ToolError
from pydantic import Field

from copier_fastmcp_engine.declarations import update

from ..store import STORE, Note


@update(title="Update Note")
async def update_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
    etag: Annotated[str, Field(description="The etag of the note.")],
    title: Annotated[str | None, Field(description="The title.")] = None,
) -> Note:
    """Update a note."""
    if STORE.get(note_id).etag != etag:
        raise ToolError(f"note {note_id} was changed since; read it again")
    return STORE.save(note_id, title=title)
