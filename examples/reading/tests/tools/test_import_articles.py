from reading_mcp.backend import Backend

CSV = "title,url,tags\nOne,https://example.com/1,a b\nTwo,https://example.com/2,\n"


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare an article that the import must not touch."""
    await backend.create("article", {"title": "earlier", "tags": ["earlier"]}, id=1000)
    return {"text": CSV}
