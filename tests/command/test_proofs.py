"""The proofs that `new` runs once: what remains to be done is named."""

import os
from pathlib import Path

import pytest
from calling import call

from copier_fastmcp.errors import UnableError
from copier_fastmcp.project.proofs import parse_report, run_proofs

# As pytest writes it.
REPORT = """<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite name="pytest" tests="4">
<testcase classname="tests.policy.test_behavior" name="test_hints_are_true[get_note]" time="0.1" />
<testcase classname="tests.policy.test_behavior" name="test_hints_are_true[run_note]" time="0.1"><failure
 message="Failed: run_note: it says read-only, but sent POST /notes&#10;second line">...</failure></testcase>
<testcase classname="tests.policy.test_behavior" name="test_hints_are_true[move_note]" time="0.1"><skipped
 type="pytest.skip" message="move_note is unprobed: no sample value is known for place">...</skipped></testcase>
<testcase classname="tests.policy.test_annotations" name="test_lock" time="0.1"><skipped
 type="pytest.skip" message="nothing was ever pinned">...</skipped></testcase>
</testsuite></testsuites>"""
PARCELS = Path(__file__).parents[2] / "examples/documents/parcels.yaml"


def test_what_remains_is_named() -> None:
    proofs = parse_report(REPORT)
    assert proofs.passed == 1
    assert proofs.unprobed == {"move_note": "no sample value is known for place"}
    assert proofs.failed == {
        "test_hints_are_true[run_note]": "run_note: it says read-only, but sent POST /notes"
    }
    assert proofs.lines() == [
        "proofs: 1 test passed",
        "to fix: test_hints_are_true[run_note]: run_note: it says read-only, but sent POST /notes",
        "to prove: move_note: no sample value is known for place; write arrange() in tests/tools/test_move_note.py",
    ]


def write_uv(folder: Path, script: str) -> None:
    """Write a program that stands in for uv."""
    program = folder / "bin/uv"
    program.parent.mkdir(exist_ok=True)
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)


def test_proofs_run_once_in_the_project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}/usr/bin:/bin")
    (tmp_path / "report.xml").write_text(REPORT)
    write_uv(
        tmp_path, 'echo "$@" >> calls\nfor last; do :; done\ncp report.xml "${last#*=}"'
    )
    assert run_proofs(tmp_path).passed == 1
    assert (tmp_path / "calls").read_text().startswith("run --quiet pytest")
    write_uv(tmp_path, "echo 'error: no such command' >&2\nexit 2")
    with pytest.raises(UnableError, match="do not run: error: no such command"):
        run_proofs(tmp_path)


@pytest.mark.nightly
def test_new_proves_the_server_that_it_installs(tmp_path: Path) -> None:
    words = ("--from", PARCELS, "--unattended", "--install", "--operation", "GET *")
    done = call(tmp_path, "new", tmp_path / "p", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "tests passed" in done.stdout
    assert "to fix:" not in done.stdout
