"""Search Notes."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import read


class SearchNotesItem(BaseModel):
    """One note."""

    id: int = Field(description="The ID of the note.")
    etag: str = Field(description="The etag of the note.")
    title: str | None = Field(default=None, description="The title.")
    content: str | None = Field(default=None, description="The content.")
    archived: bool | None = Field(default=None, description="Whether it is archived.")


class SearchNotesResult(BaseModel):
    """Result of search_notes."""

    items: list[SearchNotesItem] = Field(description="The results.")
    total: int = Field(description="Total number of results.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor`; null on the last page.",
    )


@read(title="Search Notes", open_world=False)
async def search_notes(
    query: Annotated[str, Field(description="Search text; empty matches everything.")] = "",
    limit: Annotated[int, Field(description="Maximum number of results.", ge=1, le=100)] = 20,
    cursor: Annotated[
        str | None,
        Field(description="The `next_cursor` of the previous page."),
    ] = None,
) -> SearchNotesResult:
    """Search notes."""
    result = await backend().search("note", query, limit=limit, cursor=cursor)
    return SearchNotesResult(**result.model_dump())
