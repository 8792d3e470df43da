"""List Statuses."""

from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field

from ..policy import read


class ListStatusesResult(BaseModel, serialize_by_alias=True):
    """Result of list_statuses."""

    result_: str = Field(description="What it found.", alias="result")


@read(title="List Statuses", open_world=False)
async def list_statuses() -> ListStatusesResult:
    """List statuses."""
    raise ToolError("list_statuses is yours to write, in src/statuspro_mcp/tools/list_statuses.py")
