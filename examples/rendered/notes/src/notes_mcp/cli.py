"""The command line of notes-mcp.

Managed by the template: add your own commands through `commands(app)` in extend.py. What a command
needs is imported by it, so that `--help` loads no FastMCP.
"""

from . import extend
from .policy import POLICY, make_cli, run_cli

app = make_cli(POLICY, "Search and change notes.")


def main() -> None:
    """Run the command line; a server that cannot start ends with one line on stderr."""
    run_cli(app, POLICY, getattr(extend, "commands", None))
