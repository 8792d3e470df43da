"""Add Order Comment: what its probe works on (the suite in tests/policy runs it)."""

from statuspro_mcp.backend import Backend


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare the data; answers the arguments of one call."""
    fields: dict[str, object] = {"order_id": 2, "comment": "earlier", "public": False}
    await backend.create("order_comment", fields, id=1000)
    return {"order_id": 1, "comment": "sample"}
