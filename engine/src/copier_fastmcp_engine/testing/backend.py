"""What holds the data that the tools of a server work on, as the suite sees it."""

from typing import Any


class Backend:
    """A fresh backend for one case.

    Attributes:
        client: What `arrange` gets.
        has_own_client: Whether the engine makes the client, not the project.
    """

    has_own_client = False

    def __init__(self, client: Any) -> None:
        self.client = client

    async def snapshot(self) -> Any:
        """Return all data."""
        return await self.client.snapshot()

    def begin(self, tool: str) -> None:
        """Forget what arranged the case; from now on the calls of a tool count."""

    def find_unproven(
        self, *, read_only: bool, idempotent: bool, refused: bool = False
    ) -> str:
        """Return what was sent to an API that the truth of a tool does not allow, or nothing.

        Args:
            read_only: Whether the tool only reads.
            idempotent: Whether the tool is idempotent.
            refused: Whether the tool ended with an error.
        """
        return ""
