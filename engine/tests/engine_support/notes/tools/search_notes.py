"""A read with pages."""

from typing import Annotated

from pydantic import BaseModel, Field

from copier_fastmcp_engine.declarations import read

from ..store import STORE, Note


class SearchResult(BaseModel):
    """Result of search_notes."""

    items: list[Note] = Field(description="The results.")
    next_cursor: str | None = Field(default=None, description="Pass it as `cursor`.")


@read(title="Search Notes")
async def search_notes(
    query: Annotated[str, Field(description="Search text.")] = "",
    cursor: Annotated[str | None, Field(description="Where to begin.")] = None,
) -> SearchResult:
    """Search notes."""
    matches = []
    for note in STORE.notes.values():
        if query in f"{note.title} {note.content}":
            matches.append(note)
    return SearchResult(items=matches)
