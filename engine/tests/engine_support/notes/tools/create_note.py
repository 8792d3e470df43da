"""A create, which asks nobody."""

from typing import Annotated

from pydantic import Field

from copier_fastmcp_engine.declarations import create

from ..store import STORE, Note


@create(title="Create Note")
async def create_note(
    title: Annotated[str, Field(description="The title.")],
    content: Annotated[str, Field(description="The content.")],
) -> Note:
    """Create a note."""
    return STORE.save(None, title=title, content=content)
