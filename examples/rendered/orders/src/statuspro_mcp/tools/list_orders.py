"""List Orders."""

import datetime as dt
from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import read


class ListOrdersItem(BaseModel):
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


class ListOrdersResult(BaseModel):
    """Result of list_orders."""

    items: list[ListOrdersItem] = Field(description="The results.")
    total: int = Field(description="Total number of results.")
    next_cursor: str | None = Field(
        default=None,
        description="Pass it as `cursor`; null on the last page.",
    )


@read(title="List Orders", open_world=False)
async def list_orders(
    status_code: Annotated[
        str | None,
        Field(description="Only orders of this status.", pattern="^st[0-9]{6}$"),
    ] = None,
    limit: Annotated[int, Field(description="Maximum number of results.", ge=1, le=100)] = 20,
    cursor: Annotated[
        str | None,
        Field(description="The next_cursor of the previous page."),
    ] = None,
) -> ListOrdersResult:
    """List orders."""
    result = await backend().search(
        "order",
        "",
        {"status_code": status_code},
        limit=limit,
        cursor=cursor,
    )
    return ListOrdersResult(**result.model_dump())
