"""Add Order Comment: what its probe works on (the suite in tests/policy runs it)."""

from statuspro_mcp.backend import Backend


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare the data; answers the arguments of one call."""
    return {"order_id": 1, "comment": "sample"}
