"""A run that left out proofs fails, whatever left them out."""

from pathlib import Path

import pytest

from copier_fastmcp_engine.testing import lock
from copier_fastmcp_engine.testing.plugin.completeness import (
    ERAS,
    find_missing,
    selects_tests,
)
from copier_fastmcp_engine.testing.rules import Tool


@pytest.mark.parametrize(
    ("arguments", "selects"),
    [
        ([], False),
        (["-n", "2", "-q", "--maxfail=1", "-x", "-p", "no:randomly"], False),
        (["-k", "delete"], True),
        (["-kdelete"], True),
        (["-m", "not slow"], True),
        (["--deselect=a::b"], True),
        (["--lf"], True),
        (["--collect-only"], True),
        (["tests"], True),
        (["tests/test_one.py::test_it"], True),
    ],
)
def test_a_person_may_select_tests_on_the_command_line(
    tmp_path: Path, arguments: list[str], selects: bool
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/test_one.py").touch()
    assert selects_tests(arguments, tmp_path) is selects


def test_each_proof_that_did_not_run_is_named() -> None:
    tools = [
        Tool({"name": "get_note"}, probed=True, proof={"skips": {"legacy": "why"}}),
        Tool({"name": "put_note"}, probed=True),
        Tool({"name": "run_motor"}, probed=False),
    ]
    pinned = lock.build_lock(tools, {})
    proven = {("put_note", era) for era in ERAS}
    assert [*find_missing(pinned, proven)] == ["get_note in 2026-07-28"]
    assert len([*find_missing(pinned, set())]) == 3
