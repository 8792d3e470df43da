"""Every test begins with nothing done; the policies under which a tool is asked for."""

from typing import Any

import anyio
import pytest

from copier_fastmcp_engine.confirmation import pending
from copier_fastmcp_engine.guard import guard_of
from engine.tests.engine_support.calls import Asking
from engine.tests.engine_support.notes.server import PREVIEW_FIRST, TWO_STEP
from engine.tests.engine_support.targets import DONE

ASKING = {
    "asks-first": Asking(TWO_STEP),
    "previews-first": Asking(PREVIEW_FIRST, {"confirm": True}),
}


@pytest.fixture(autouse=True)
def _nothing_done(monkeypatch: pytest.MonkeyPatch) -> None:
    DONE.clear()
    monkeypatch.setenv("CI", "1")  # where no page is opened in a browser


@pytest.fixture(params=ASKING)
def asking(request: pytest.FixtureRequest) -> Asking:
    """Each policy under which a client is asked, and what its call sends for that."""
    return ASKING[request.param]


@pytest.fixture
def slow_store(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let a server's store answer as over a network: two calls have both read before one deletes."""

    def slow_down(server: Any) -> None:
        store = guard_of(server).gate.store
        get = store.get

        async def get_slowly(*arguments: Any, **options: Any) -> Any:
            entry = await get(*arguments, **options)
            await anyio.sleep(0.02)
            return entry

        monkeypatch.setattr(store, "get", get_slowly)

    return slow_down


@pytest.fixture
def small_store(monkeypatch: pytest.MonkeyPatch) -> int:
    """Let stores hold a few entries of previews; return how many at most."""
    monkeypatch.setattr(pending, "MAX_BYTES", 20 * pending.ENTRY_OVERHEAD)
    return 20
