"""The command line of nextcloud-login-mcp.

Managed by the template: add your own commands through `commands(app)` in extend.py. What a command
needs is imported by it, so that `--help` loads no FastMCP.
"""

from . import extend
from .policy import POLICY, run_cli


def main() -> None:
    """Run the command line; a server that cannot start ends with one line on stderr."""
    run_cli(
        POLICY,
        "Search and change the notes of a Nextcloud account.",
        getattr(extend, "commands", None),
    )
