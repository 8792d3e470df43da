"""Refuse an update that would lose something without a word: the code is the command's own.

Copier runs this before it changes a file, with the names of the answers file and the answers given (JSON).
"""

import sys
from pathlib import Path

TEMPLATE = Path(__file__).parent.parent
sys.path[:0] = [str(TEMPLATE / "src"), str(TEMPLATE / "engine/src")]

from copier_fastmcp.updates.guard import main  # noqa: E402  # found only now

if __name__ == "__main__":
    sys.exit(main(TEMPLATE, *sys.argv[1:]))
