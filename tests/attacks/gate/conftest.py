"""Every attack begins with nothing done, on a profile that gates what deletes."""

import pytest
from attacks.gate.attacked import DONE
from notes_mcp.policy import behaviors


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    DONE.clear()
    if behaviors.CONFIRM == "none":
        monkeypatch.setattr(behaviors, "CONFIRM", "deletes")
