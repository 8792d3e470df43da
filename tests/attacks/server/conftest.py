"""What the attacks on what is served share."""

import pytest
from attacks.gate.attacked import DONE


@pytest.fixture(autouse=True)
def _fresh() -> None:
    """Nothing was done."""
    DONE.clear()
