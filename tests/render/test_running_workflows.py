"""`scripts/workflows` runs what a workflow says, and a skip on CI for want of a program is loud."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT, Renders, pin

WORKFLOW = """
on: [push]
jobs:
  first:
    outputs:
      rows: ${{ steps.it.outputs.rows }}
    steps:
      - uses: actions/checkout@v4
      - id: it
        run: echo 'rows={"include":[{"name":"a"},{"name":"b"}]}' >> "$GITHUB_OUTPUT"
  second:
    needs: first
    strategy:
      matrix: ${{ fromJSON(needs.first.outputs.rows) }}
    env:
      NAME: ${{ matrix.name }}
    steps:
      - if: github.event_name == 'schedule'
        run: echo never
      - run: exit 3
        continue-on-error: true
      - run: echo "$NAME in $(cat file.txt)" $CI; ls -a
  third:
    steps:
      - run: false | true
      - run: echo never
  fourth:
    steps:
      - uses: someone/else@v1
"""


def workflows(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run the script."""
    program = [sys.executable, str(ROOT / "scripts/workflows"), str(folder), *words]
    return subprocess.run(program, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A repository with a workflow of four jobs."""
    (tmp_path / ".github/workflows").mkdir(parents=True)
    (tmp_path / ".github/workflows/ci.yml").write_text(WORKFLOW)
    (tmp_path / "file.txt").write_text("here\n")
    return tmp_path


def test_a_job_runs_with_what_it_needs_in_a_checkout_of_its_own(folder: Path) -> None:
    for words, name in (([], "a"), (["name=b"], "b")):
        done = workflows(folder, "ci/second", *words)
        assert done.returncode == 0, done.stderr
        assert f"== ci/second name={name}\n{name} in here true\n" in done.stdout
        assert "never" not in done.stdout
    assert sorted(path.name for path in folder.iterdir()) == [".github", "file.txt"]


def test_what_fails_or_cannot_run_is_one_line(folder: Path) -> None:
    said = {
        "ci/third": (1, "ci/third: 'false | true' ended with 1\n"),
        "ci/fourth": (
            1,
            "ci/fourth: someone/else@v1 is an action, which does not run here\n",
        ),
        "ci/none": (
            2,
            "'ci/none' is not a job; there are ci/first, ci/second, ci/third, ci/fourth\n",
        ),
    }
    for job, (code, line) in said.items():
        done = workflows(folder, job)
        assert (done.returncode, done.stderr) == (code, line)
        assert "never" not in done.stdout
    done = workflows(folder, "ci/second", "name=c")
    assert (done.returncode, done.stderr) == (
        1,
        "ci/second: the matrix has no {'name': 'c'}\n",
    )


def test_the_template_and_a_project_have_jobs_that_can_run(example: Renders) -> None:
    assert {"ci/cell", "ci/gate"} <= set(workflows(ROOT, "--list").stdout.split())
    assert workflows(example("notes"), "--list").stdout == "ci/check\nci/peers\n"


@pytest.mark.nightly
def test_the_workflow_of_a_project_passes(project: Path, tmp_path: Path) -> None:
    mine = tmp_path / "notes"
    shutil.copytree(
        project, mine, ignore=shutil.ignore_patterns(".*cache", "__pycache__")
    )
    pin(mine)  # a project without a lock fails on CI
    done = workflows(mine)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_skip_for_want_of_a_program_is_loud_on_ci(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_redis(): pytest.skip('redis-server is not installed')\n"
        "@pytest.mark.skipif(True, reason='needs fork to be quick')\ndef test_fork(): pass\n"
        "@pytest.mark.xfail\ndef test_known(): assert False\n"
    )
    usual = {
        k: v for k, v in os.environ.items() if k not in ("CI", "LOUD_SKIPS", "MAY_SKIP")
    }
    usual["PYTHONPATH"] = str(ROOT / "tests")

    def run(**environ: str) -> str:
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "loud",
            "-p",
            "no:cacheprovider",
        ]
        done = subprocess.run(
            [*words, "test_it.py"],
            cwd=tmp_path,
            env=usual | environ,
            capture_output=True,
            text=True,
        )
        return done.stdout

    assert "2 skipped, 1 xfailed" in run()
    assert "2 skipped, 1 xfailed" in run(CI="true", MAY_SKIP="chromium redis")
    loud = run(CI="true", MAY_SKIP="chromium")
    assert "1 failed, 1 skipped, 1 xfailed" in loud
    assert "install it (scripts/_system), or name it in MAY_SKIP" in loud
