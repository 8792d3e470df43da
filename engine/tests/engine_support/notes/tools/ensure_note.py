"""An ensure."""

from typing import Annotated

from pydantic import Field

from copier_fastmcp_engine.declarations import ensure

from ..store import STORE, Note


@ensure(title="Ensure Note")
async def ensure_note(
    title: Annotated[str, Field(description="The title.")],
) -> Note:
    """Create a note, or return the one with this title."""
    for note in STORE.notes.values():
        if note.title == title:
            return note
    return STORE.save(None, title=title)
