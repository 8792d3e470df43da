"""List Orders."""

import datetime as dt
from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import read


class ListOrdersItem(BaseModel):
    """One order of the page."""

    id: int = Field(description="The ID of the order.")
    etag: str = Field(description="Changes whenever the order does.")
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


class ListOrdersResult(BaseModel):
    """What list_orders answers."""

    items: list[ListOrdersItem] = Field(description="One page of what was found.")
    total: int = Field(description="How many there are in all.")
    next_cursor: str | None = Field(
        default=None,
        description="Where the next page begins; null on the last.",
    )


@read(title="List Orders")
async def list_orders(
    status_code: Annotated[
        str | None,
        Field(description="Only orders of this status.", pattern="^st[0-9]{6}$"),
    ] = None,
    limit: Annotated[int, Field(description="How many to answer at most.", ge=1, le=100)] = 20,
    cursor: Annotated[str | None, Field(description="The next_cursor of the page before.")] = None,
) -> ListOrdersResult:
    """List orders."""
    result = await backend().search(
        "order",
        "",
        {"status_code": status_code},
        limit=limit,
        cursor=cursor,
    )
    return ListOrdersResult(
        items=[ListOrdersItem(**item.model_dump()) for item in result.items],
        total=result.total,
        next_cursor=result.next_cursor,
    )
