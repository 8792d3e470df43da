"""Run this suite, with settings of its own: `uv run tests/policy/check.py`; arguments go to pytest.

Managed by the template.
"""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / part) for part in ("", "src")]
    settings = ["-c", str(HERE / "suite.ini"), "--rootdir", str(ROOT)]
    sys.exit(pytest.main([*settings, str(HERE), *sys.argv[1:]]))
