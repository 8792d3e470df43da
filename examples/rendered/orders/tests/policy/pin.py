"""Pin the tools: `uv run tests/policy/pin.py` writes annotations.lock.json and docs/tools.md.

Managed by the template. Both come from the running server as shipped; what differs from the lock is printed.
"""

import sys
from importlib import import_module
from pathlib import Path

if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    pin = import_module("copier_fastmcp_engine.testing.pin")
    sys.exit(pin.run(root, "statuspro_mcp.policy", sys.argv[1:]))
