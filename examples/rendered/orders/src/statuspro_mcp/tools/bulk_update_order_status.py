"""Bulk Update Order Status."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import put


class BulkUpdateOrderStatusResult(BaseModel):
    """Result of bulk_update_order_status."""

    success: bool = Field(default=True, description="Whether the change was taken on.")
    count: int = Field(description="How many orders were named.")
    note: str = Field(
        default="Bulk updates are queued and processed asynchronously.",
        description="How it goes on.",
    )


class BulkUpdateOrderStatusRequest(BaseModel):
    """Arguments of bulk_update_order_status, flat on the wire."""

    order_ids: Annotated[
        list[int],
        Field(description="The IDs of the orders.", min_length=1, max_length=50),
    ]
    status_code: Annotated[
        str,
        Field(
            description="The 8 characters of the new status, e.g. st000003.",
            pattern="^st[0-9]{6}$",
        ),
    ]
    comment: Annotated[
        str | None,
        Field(description="A comment for the history.", max_length=1000),
    ] = None
    public: Annotated[bool, Field(description="Whether the customer sees the comment.")] = False
    email_customer: Annotated[bool, Field(description="Whether the customer gets a mail.")] = True
    confirm: Annotated[bool, Field(description="Must be true to apply the change.")] = False


@put(
    title="Update Status of Many Orders",
    why="It sets what the order holds, and repeating the call ends in the same state.",
    open_world=False,
    exceptions=[
        {
            "hint": "idempotent",
            "value": False,
            "why": "Each call adds to the history and may send mails.",
        },
    ],
)
async def bulk_update_order_status(
    request: BulkUpdateOrderStatusRequest,
) -> BulkUpdateOrderStatusResult:
    """Change the status of up to 50 orders at once."""
    for each in request.order_ids:
        await backend().put(
            "order",
            each,
            {
                "status_code": request.status_code,
                "comment": request.comment,
                "public": request.public,
                "email_customer": request.email_customer,
            },
        )
    result = len(request.order_ids)
    return BulkUpdateOrderStatusResult(count=result)
