from nextcloud_login_mcp.backend import Backend


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare the data and return the arguments of one call; tests/policy makes it."""
    await backend.create("note", {"title": "earlier", "content": "earlier"}, id=1)
    return {"note_id": 1}
