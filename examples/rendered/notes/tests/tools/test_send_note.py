"""Send Note: what its probe works on (the suite in tests/policy runs it)."""

from notes_mcp.backend import Backend


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare the data; answers the arguments of one call."""
    fields: dict[str, object] = {"title": "earlier", "content": "earlier"}
    await backend.create("note", fields, id=1)
    return {"note_id": 1}
