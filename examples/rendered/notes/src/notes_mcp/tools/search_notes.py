"""Search Notes."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import read


class SearchNotesItem(BaseModel):
    """One note of the page."""

    id: int = Field(description="The ID of the note.")
    etag: str = Field(description="Changes whenever the note does.")
    title: str | None = Field(default=None, description="The title.")
    content: str | None = Field(default=None, description="The text.")
    archived: bool | None = Field(default=None, description="Whether it is archived.")


class SearchNotesResult(BaseModel):
    """What search_notes answers."""

    items: list[SearchNotesItem] = Field(description="One page of what was found.")
    total: int = Field(description="How many there are in all.")
    next_cursor: str | None = Field(
        default=None,
        description="Where the next page begins; null on the last.",
    )


@read(title="Search Notes")
async def search_notes(
    query: Annotated[str, Field(description="The words to look for; empty finds all.")] = "",
    limit: Annotated[int, Field(description="How many to answer at most.", ge=1, le=100)] = 20,
    cursor: Annotated[str | None, Field(description="The next_cursor of the page before.")] = None,
) -> SearchNotesResult:
    """Search notes."""
    result = await backend().search("note", query, limit=limit, cursor=cursor)
    return SearchNotesResult(
        items=[SearchNotesItem(**item.model_dump()) for item in result.items],
        total=result.total,
        next_cursor=result.next_cursor,
    )
