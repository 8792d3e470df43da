"""Update Order Status."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import put


class UpdateOrderStatusResult(BaseModel):
    """Result of update_order_status."""

    id: int = Field(description="The ID of the order.")
    etag: str = Field(description="The etag of the order.")


@put(
    title="Update Order Status",
    why="It sets what the order holds, and repeating the call ends in the same state.",
    open_world=False,
    confirm="Change order {order_id} to status {status_code}?",
    exceptions=[
        {
            "hint": "idempotent",
            "value": False,
            "why": "Each call adds to the history and may send mails.",
        },
    ],
)
async def update_order_status(
    order_id: Annotated[int, Field(description="The ID of the order.", ge=1)],
    status_code: Annotated[
        str,
        Field(
            description="The 8 characters of the new status, e.g. st000003.",
            pattern="^st[0-9]{6}$",
        ),
    ],
    comment: Annotated[
        str | None,
        Field(description="A comment for the history.", max_length=1000),
    ] = None,
    public: Annotated[bool, Field(description="Whether the customer sees the comment.")] = False,
    email_customer: Annotated[bool, Field(description="Whether the customer gets a mail.")] = True,
    email_additional: Annotated[
        bool,
        Field(description="Whether the further addresses of the order get a mail."),
    ] = True,
    confirm: Annotated[bool, Field(description="Must be true to apply the change.")] = False,
) -> UpdateOrderStatusResult:
    """Change the status of an order, with a note to its history and mails to who is to know."""
    result = await backend().put(
        "order",
        order_id,
        {
            "status_code": status_code,
            "comment": comment,
            "public": public,
            "email_customer": email_customer,
            "email_additional": email_additional,
        },
    )
    return UpdateOrderStatusResult(**result.model_dump())
