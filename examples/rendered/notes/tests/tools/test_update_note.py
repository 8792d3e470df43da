from notes_mcp.backend import Backend


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare the data and return the arguments of one call; tests/policy makes it."""
    record = await backend.create("note", {"title": "earlier", "content": "earlier"}, id=1)
    return {"note_id": 1, "title": "sample", "content": "sample", "etag": record.etag}
