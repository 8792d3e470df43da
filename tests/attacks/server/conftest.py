"""What the attacks on what is served share."""

from collections.abc import Iterator

import pytest
from attacks.gate.attacked import DONE
from notes_mcp.policy import declarations


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    """Nothing was done, and nothing is declared of tools from elsewhere."""
    DONE.clear()
    yield
    declarations.ELSEWHERE.clear()
