"""Import Articles."""

import csv
import io
from typing import Annotated

from fastmcp import Context
from fastmcp.exceptions import ToolError
from pydantic import BaseModel, Field

from ..backend import backend
from ..policy import create


class ImportArticlesResult(BaseModel):
    """Result of import_articles."""

    count: int = Field(description="Number of articles imported.")


@create(title="Import Articles", why="Each call adds new articles and changes no existing one.")
async def import_articles(
    text: Annotated[str, Field(description="CSV with the columns title, url and tags.")],
    ctx: Context,
) -> ImportArticlesResult:
    """Import articles from CSV; tags are separated by spaces."""
    rows = list(csv.DictReader(io.StringIO(text)))
    for line, row in enumerate(rows, 2):
        if not row.get("title") or not row.get("url"):
            raise ToolError(f"line {line} has no title or no url; nothing was imported")
    for number, row in enumerate(rows, 1):
        tags = (row.get("tags") or "").split()
        fields = {"title": row["title"], "url": row["url"], "tags": tags, "read": False}
        await backend().create("article", fields)
        await ctx.report_progress(number, len(rows))
    return ImportArticlesResult(count=len(rows))
