"""The command line of statuspro-mcp.

Managed by the template: add your own commands through `commands(app)` in extend.py. What a command
needs is imported by it, so that `--help` loads no FastMCP.
"""

from . import extend
from .policy import POLICY, run_cli


def main() -> None:
    """Run the command line; a server that cannot start ends with one line on stderr."""
    run_cli(
        POLICY,
        "Read orders, and change their status, comments and due dates.",
        getattr(extend, "commands", None),
    )
