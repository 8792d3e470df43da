from statuspro_mcp.backend import Backend


async def arrange(backend: Backend, order_ids: list[int] = [1]) -> dict[str, object]:
    """Prepare the data and return the arguments of one call; tests/policy makes it."""
    for record_id in order_ids:
        await backend.create(
            "order",
            {
                "status_code": "st000000",
                "comment": "earlier",
                "public": True,
                "email_customer": False,
                "email_additional": False,
                "due_date": "2025-12-24",
            },
            id=record_id,
        )
    return {"order_ids": order_ids, "status_code": "st000003"}
