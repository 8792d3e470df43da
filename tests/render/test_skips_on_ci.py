"""A skip because of a missing program fails on CI (tests/loud.py)."""

import os
import subprocess
import sys
from pathlib import Path

from support import ROOT


def test_a_skip_for_want_of_a_program_fails_on_ci(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(
        "import pytest\n"
        "def test_redis(): pytest.skip('redis-server is not installed')\n"
        "@pytest.mark.skipif(True, reason='needs fork to be quick')\ndef test_fork(): pass\n"
        "@pytest.mark.xfail\ndef test_known(): assert False\n"
    )
    usual = {}
    for name, value in os.environ.items():
        if name not in ("CI", "LOUD_SKIPS", "MAY_SKIP"):
            usual[name] = value
    usual["PYTHONPATH"] = str(ROOT / "tests")
    usual["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"

    def summary(**environ: str) -> str:
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

    assert "2 skipped, 1 xfailed" in summary()
    assert "2 skipped, 1 xfailed" in summary(CI="true", MAY_SKIP="chromium redis")
    loud = summary(CI="true", MAY_SKIP="chromium")
    assert "1 failed, 1 skipped, 1 xfailed" in loud
    assert "install it (scripts/_system), or name it in MAY_SKIP" in loud
