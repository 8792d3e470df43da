from reading_mcp.backend import Backend


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare one article that is read."""
    await backend.create("article", {"title": "earlier", "read": True}, id=1)
    return {}
