"""Add Order Comment."""

from typing import Annotated

from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import create


class AddOrderCommentResult(BaseModel):
    """Result of add_order_comment."""

    id: int = Field(description="The ID of the order comment.")
    etag: str = Field(description="The etag of the order comment.")


@create(
    title="Add Order Comment",
    why="Each call adds a new order comment and changes no existing one.",
    open_world=False,
)
async def add_order_comment(
    order_id: Annotated[int, Field(description="The ID of the order.", ge=1)],
    comment: Annotated[str, Field(description="The comment.", min_length=1, max_length=1000)],
    public: Annotated[bool, Field(description="Whether the customer sees the comment.")] = False,
    confirm: Annotated[bool, Field(description="Must be true to apply the change.")] = False,
) -> AddOrderCommentResult:
    """Add a comment to the history of an order."""
    result = await backend().create(
        "order_comment",
        {"order_id": order_id, "comment": comment, "public": public},
    )
    return AddOrderCommentResult(**result.model_dump())
