"""Get Viable Statuses."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import read


class GetViableStatusesItem(BaseModel):
    """One status."""

    id: int = Field(description="The ID of the status.")
    etag: str = Field(description="The etag of the status.")
    title: str | None = Field(default=None, description="The title.")
    content: str | None = Field(default=None, description="The content.")


class GetViableStatusesResult(BaseModel):
    """Result of get_viable_statuses."""

    items: list[GetViableStatusesItem] = Field(description="The results.")
    total: int = Field(description="Total number of results.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor`; null on the last page.",
    )


@read(title="Get Viable Statuses", open_world=False)
async def get_viable_statuses(
    order_id: Annotated[int, Field(description="The ID of the order.", ge=1)],
) -> GetViableStatusesResult:
    """List the statuses that an order may change to."""
    result = await backend().search("status", "", {"order_id": order_id})
    return GetViableStatusesResult(**result.model_dump())
