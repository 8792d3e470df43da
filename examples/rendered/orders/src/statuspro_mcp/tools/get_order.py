"""Get Order."""

import datetime as dt
from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import read


class GetOrderResult(BaseModel):
    """Result of get_order."""

    id: int = Field(description="The ID of the order.")
    etag: str = Field(description="The etag of the order.")
    status_code: str | None = Field(
        default=None,
        description="The 8 characters of the new status, e.g. st000003.",
    )
    comment: str | None = Field(default=None, description="A comment for the history.")
    public: bool | None = Field(default=None, description="Whether the customer sees the comment.")
    email_customer: bool | None = Field(
        default=None,
        description="Whether the customer gets a mail.",
    )
    email_additional: bool | None = Field(
        default=None,
        description="Whether the further addresses of the order get a mail.",
    )
    due_date: dt.date | None = Field(default=None, description="The new day.")


@read(title="Get Order", open_world=False)
async def get_order(
    order_id: Annotated[int, Field(description="The ID of the order.", ge=1)],
) -> GetOrderResult:
    """Get an order."""
    result = await backend().get("order", order_id)
    return GetOrderResult(**result.model_dump())
