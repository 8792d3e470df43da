"""List Statuses."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import read


class ListStatusesItem(BaseModel):
    """One status of the page."""

    id: int = Field(description="The ID of the status.")
    etag: str = Field(description="Changes whenever the status does.")
    title: str | None = Field(default=None, description="The title.")
    content: str | None = Field(default=None, description="The text.")


class ListStatusesResult(BaseModel):
    """What list_statuses answers."""

    items: list[ListStatusesItem] = Field(description="One page of what was found.")
    total: int = Field(description="How many there are in all.")
    next_cursor: str | None = Field(
        default=None,
        description="Where the next page begins; null on the last.",
    )


@read(title="List Statuses")
async def list_statuses(
    limit: Annotated[int, Field(description="How many to answer at most.", ge=1, le=100)] = 20,
    cursor: Annotated[str | None, Field(description="The next_cursor of the page before.")] = None,
) -> ListStatusesResult:
    """List statuses."""
    result = await backend().search("status", limit=limit, cursor=cursor)
    return ListStatusesResult(
        items=[ListStatusesItem(**item.model_dump()) for item in result.items],
        total=result.total,
        next_cursor=result.next_cursor,
    )
