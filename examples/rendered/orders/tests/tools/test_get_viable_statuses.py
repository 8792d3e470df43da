from statuspro_mcp.backend import Backend


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare the data and return the arguments of one call; tests/policy makes it."""
    await backend.create("status", {"title": "earlier", "content": "earlier"}, id=1)
    return {"order_id": 1}
