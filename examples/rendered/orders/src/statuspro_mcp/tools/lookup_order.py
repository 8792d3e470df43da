"""Lookup Order."""

import datetime as dt
from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import read


class LookupOrderItem(BaseModel):
    """One order."""

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


class LookupOrderResult(BaseModel):
    """Result of lookup_order."""

    items: list[LookupOrderItem] = Field(description="The results.")
    total: int = Field(description="Total number of results.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor`; null on the last page.",
    )


@read(title="Look Up Order", open_world=False)
async def lookup_order(
    order_number: Annotated[str, Field(description="The number on the invoice, e.g. 1042.")],
) -> LookupOrderResult:
    """Find an order by the number that its customer knows."""
    result = await backend().search("order", "", {"order_number": order_number})
    return LookupOrderResult(**result.model_dump())
