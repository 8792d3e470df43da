"""A read of the user's own account."""

from typing import Annotated

from pydantic import Field

from copier_fastmcp_engine.consent.elicitation import requires_consent
from copier_fastmcp_engine.declarations import read

from ...notes.store import STORE, Note


@requires_consent
@read(title="Get Note", scopes=["notes:read"])
async def get_note(
    note_id: Annotated[int, Field(description="The ID of the note.", ge=1)],
) -> Note:
    """Get a note."""
    return STORE.get(note_id)
