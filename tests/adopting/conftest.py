"""The servers that annotate and adopt start fork from a process with FastMCP imported."""

import pytest


@pytest.fixture(autouse=True)
def _forks(forks: None) -> None:
    """Let every test here start a forked server."""
