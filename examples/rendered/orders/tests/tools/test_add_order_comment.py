from statuspro_mcp.backend import Backend


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare the data and return the arguments of one call; tests/policy makes it."""
    await backend.create(
        "order_comment",
        {"order_id": 2, "comment": "earlier", "public": False},
        id=1000,
    )
    return {"order_id": 1, "comment": "sample"}
