"""The resource statuspro://statuses."""

from ..backend import backend
from ..policy import resource


@resource(
    "statuspro://statuses",
    name="Statuses",
    description="Every status an order can have, as JSON.",
)
async def read_statuses() -> str:
    """Return the resource."""
    result = await backend().search("status", limit=100)
    return result.model_dump_json()
