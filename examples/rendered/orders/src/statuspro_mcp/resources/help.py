"""The resource statuspro://help."""

from ..policy import resource


@resource(
    "statuspro://help",
    name="Help",
    description="Find an order first, preview a change, then confirm it.",
    mime_type="text/markdown",
)
async def read_help() -> str:
    """Return the resource."""
    lines = [
        "Find an order first, preview a change, then confirm it.",
    ]
    return "\n".join(lines)
