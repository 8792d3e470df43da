"""Look Up Order: what its probe works on (the suite in tests/policy runs it)."""

from statuspro_mcp.backend import Backend


async def arrange(backend: Backend) -> dict[str, object]:
    """Prepare the data; answers the arguments of one call."""
    fields: dict[str, object] = {
        "status_code": "st000003",
        "comment": "earlier",
        "public": False,
        "email_customer": False,
        "email_additional": False,
        "due_date": "2026-01-31",
    }
    await backend.create("order", fields, id=1)
    return {"order_number": "sample"}
