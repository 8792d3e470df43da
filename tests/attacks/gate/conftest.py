"""Every attack begins with nothing done, on a profile that gates what deletes."""

import pytest
from attacks.gate.attacked import DONE
from notes_mcp.policy.profile import CONFIRM


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    DONE.clear()
    if CONFIRM == "none":
        monkeypatch.setattr("notes_mcp.policy.declarations.CONFIRM", "deletes")
