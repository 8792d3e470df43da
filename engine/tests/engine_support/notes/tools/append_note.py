"""An append."""

from typing import Annotated

from pydantic import Field

from copier_fastmcp_engine.declarations import append

from ..store import STORE, Note


@append(title="Append Note")
async def append_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
    content: Annotated[str, Field(description="The content.")],
) -> Note:
    """Append to a note."""
    note = STORE.get(note_id)
    return STORE.save(note_id, content=f"{note.content or ''}{content}")
