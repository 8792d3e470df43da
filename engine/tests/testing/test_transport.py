"""The transport of clients in memory: stdio for the tests of the policy, unchanged for an author's own."""

import importlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fastmcp.server.context import _current_transport, reset_transport, set_transport

from copier_fastmcp_engine.testing import plugin


@pytest.mark.parametrize(
    ("folder", "transport"),
    [("tests/policy", "stdio"), ("tests", "streamable-http")],
)
def test_only_tests_of_the_policy_run_as_over_stdio(
    tmp_path: Path, folder: str, transport: str
) -> None:
    config = SimpleNamespace(rootpath=tmp_path)
    item: Any = SimpleNamespace(config=config, path=tmp_path / folder / "test_a.py")
    outer = set_transport("streamable-http")
    try:
        run = plugin.pytest_runtest_protocol(item)
        next(run)
        assert _current_transport.get() == transport
        with pytest.raises(StopIteration):
            run.send(None)
        assert _current_transport.get() == "streamable-http"
    finally:
        reset_transport(outer)


def test_making_a_suite_leaves_the_transport(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = importlib.import_module(f"{plugin.__name__}.suite")
    pins = SimpleNamespace(tools=[])
    monkeypatch.setattr(suite, "load_tables", lambda _: {})
    monkeypatch.setattr(suite, "collect", lambda *_: pins)
    project: Any = SimpleNamespace(
        policy=None,
        settings=None,
        create_server=list,
        grant_access=lambda _: None,
    )
    outer = set_transport("streamable-http")
    try:
        suite.Suite(project, "tests.policy")
        assert _current_transport.get() == "streamable-http"
    finally:
        reset_transport(outer)
