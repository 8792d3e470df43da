"""Every test begins with nothing done."""

import pytest

from engine.tests.engine_support.targets import DONE


@pytest.fixture(autouse=True)
def _nothing_done() -> None:
    DONE.clear()
