"""List Statuses."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import read


class ListStatusesItem(BaseModel):
    """One status."""

    id: int = Field(description="The ID of the status.")
    etag: str = Field(description="The etag of the status.")
    title: str | None = Field(default=None, description="The title.")
    content: str | None = Field(default=None, description="The content.")


class ListStatusesResult(BaseModel):
    """Result of list_statuses."""

    items: list[ListStatusesItem] = Field(description="The results.")
    total: int = Field(description="Total number of results.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor`; null on the last page.",
    )


@read(title="List Statuses")
async def list_statuses(
    limit: Annotated[int, Field(description="Maximum number of results.", ge=1, le=100)] = 20,
    cursor: Annotated[
        str | None,
        Field(description="The `next_cursor` of the previous page."),
    ] = None,
) -> ListStatusesResult:
    """List statuses."""
    result = await backend().search("status", limit=limit, cursor=cursor)
    return ListStatusesResult(**result.model_dump())
