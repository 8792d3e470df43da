from notes_mcp.backend import Backend


async def arrange(backend: Backend, note_id: int = 1) -> dict[str, object]:
    """Prepare the data and return the arguments of one call; tests/policy makes it."""
    await backend.create("note", {"title": "earlier", "content": "earlier"}, id=note_id)
    return {"note_id": note_id}
