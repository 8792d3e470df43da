"""Every attack begins with nothing done, on a profile that gates what deletes."""

import pytest
from attacks.gate.attacked import DONE
from notes_mcp.policy import declarations


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    DONE.clear()
    if declarations.CONFIRM == "none":
        monkeypatch.setattr(declarations, "CONFIRM", "deletes")
