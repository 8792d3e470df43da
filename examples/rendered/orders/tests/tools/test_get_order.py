from statuspro_mcp.backend import Backend


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare the data and return the arguments of one call; tests/policy makes it."""
    await backend.create(
        "order",
        {
            "status_code": "st000000",
            "comment": "earlier",
            "public": False,
            "email_customer": False,
            "email_additional": False,
            "due_date": "2025-12-24",
        },
        id=1,
    )
    return {"order_id": 1}
