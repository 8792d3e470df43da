"""Get Viable Statuses."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import read


class GetViableStatusesItem(BaseModel):
    """One status of the page."""

    id: int = Field(description="The ID of the status.")
    etag: str = Field(description="Changes whenever the status does.")
    title: str | None = Field(default=None, description="The title.")
    content: str | None = Field(default=None, description="The text.")


class GetViableStatusesResult(BaseModel):
    """What get_viable_statuses answers."""

    items: list[GetViableStatusesItem] = Field(description="One page of what was found.")
    total: int = Field(description="How many there are in all.")
    next_cursor: str | None = Field(
        default=None,
        description="Where the next page begins; null on the last.",
    )


@read(title="Get Viable Statuses")
async def get_viable_statuses(
    order_id: Annotated[int, Field(description="The ID of the order.", ge=1)],
) -> GetViableStatusesResult:
    """List the statuses that an order may change to."""
    result = await backend().search("status", "", {"order_id": order_id})
    return GetViableStatusesResult(
        items=[GetViableStatusesItem(**item.model_dump()) for item in result.items],
        total=result.total,
        next_cursor=result.next_cursor,
    )
