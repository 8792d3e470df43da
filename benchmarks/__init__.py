"""Benchmarks: each compares ours with a floor in one run. `uv run python -m benchmarks.NAME`, from the checkout.

Importing this package lets them use tests/support.py, and lets the programs they start keep their bytecode.
"""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
# Where it is set, Python compiles every module at every start, ours and the floor's alike: nobody's computer does.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
