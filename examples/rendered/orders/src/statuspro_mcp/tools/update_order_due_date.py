"""Update Order Due Date."""

import datetime as dt
from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import put


class UpdateOrderDueDateResult(BaseModel):
    """Result of update_order_due_date."""

    id: int = Field(description="The ID of the order.")
    etag: str = Field(description="The etag of the order.")


@put(
    title="Update Order Due Date",
    why="It sets what the order holds, and repeating the call ends in the same state.",
    open_world=False,
)
async def update_order_due_date(
    order_id: Annotated[int, Field(description="The ID of the order.", ge=1)],
    due_date: Annotated[dt.date, Field(description="The new day.")],
    confirm: Annotated[bool, Field(description="Must be true to apply the change.")] = False,
) -> UpdateOrderDueDateResult:
    """Set the day on which an order is due."""
    result = await backend().put("order", order_id, {"due_date": due_date})
    return UpdateOrderDueDateResult(**result.model_dump())
