"""The prepared API, without its pauses."""

import pytest
from attacks.api.scripted import Scripted, backend


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Scripted:
    script = Scripted()

    async def sleep(_: object, seconds: float) -> None:
        script.pauses.append(seconds)

    monkeypatch.setattr(backend.Api, "_sleep", sleep)
    return script
