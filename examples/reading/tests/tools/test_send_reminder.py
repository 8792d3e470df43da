from reading_mcp.backend import Backend


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare one article that is not read; no webhook is set."""
    await backend.create("article", {"title": "earlier", "read": False}, id=1)
    return {}
