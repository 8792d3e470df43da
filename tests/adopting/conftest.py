"""The servers that annotate and adopt start fork from a process with FastMCP imported."""

import os
from collections.abc import Iterator

import forked
import pytest


@pytest.fixture(scope="package", autouse=True)
def _forks() -> Iterator[None]:
    """Hand the programs of these tests on to that process."""
    variables = forked.handing_on()
    os.environ |= variables
    yield
    for name in variables:
        del os.environ[name]
