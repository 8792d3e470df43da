"""Where the tools of the notes server keep their notes: in memory, cleared for each server that is made."""

from typing import Any

from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field


class Note(BaseModel):
    """One note."""

    id: int = Field(description="The ID of the note.")
    etag: str = Field(description="Changes with the note.")
    title: str | None = Field(default=None, description="The title.")
    content: str | None = Field(default=None, description="The content.")


class NoteStore:
    """The notes by their IDs, and the IDs of the notes that were sent."""

    def __init__(self) -> None:
        """Begin without notes."""
        self.notes: dict[int, Note] = {}
        self.sent: list[int] = []

    def clear(self) -> None:
        """Forget everything."""
        self.notes.clear()
        self.sent.clear()

    def get(self, note_id: int) -> Note:
        """Return a note.

        Raises:
            ToolError: There is none with this ID.
        """
        if note_id not in self.notes:
            raise ToolError(f"note {note_id} does not exist")
        return self.notes[note_id]

    def save(self, note_id: int | None, **fields: Any) -> Note:
        """Write the fields of a note, a new one where its ID is None."""
        if note_id is None:
            note_id = max(self.notes, default=0) + 1
        version = 1
        values: dict[str, Any] = {"id": note_id}
        if note := self.notes.get(note_id):
            version = int(note.etag) + 1
            values = note.model_dump(exclude={"etag"})
        self.notes[note_id] = Note(**{**values, **fields}, etag=str(version))
        return self.notes[note_id]


STORE = NoteStore()


def connect(settings: object) -> NoteStore:
    """Open the store, as `connect` of a project's backend.py does."""
    STORE.clear()
    return STORE
