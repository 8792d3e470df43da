"""Benchmarks: each compares ours with a floor in one run. `uv run python -m benchmarks.NAME`, from the checkout.

Importing this package lets them use tests/support.py.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
