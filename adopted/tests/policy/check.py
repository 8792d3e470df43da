"""Run this suite, with settings of its own: `uv run tests/policy/check.py`; arguments go to pytest.

Managed by the template. Your own `pytest` leaves the suite out: its files are no tests outside this script.
"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

if __name__ == "__main__":
    sys.path[:0] = [str(path) for path in (HERE, ROOT, ROOT / "src")]
    settings = ["-c", str(HERE / "suite.ini"), "--rootdir", str(ROOT)]
    selected = sys.argv[1:] or ["--all-proofs"]
    sys.exit(pytest.main([*settings, str(HERE), *selected]))
