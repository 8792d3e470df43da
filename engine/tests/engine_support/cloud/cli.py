"""The command line of the cloud server, as a project's cli.py makes it."""

from copier_fastmcp_engine.cli import run_cli

from .settings import POLICY


def main() -> None:
    """Run the command line with the words of this process."""
    run_cli(POLICY, "Search the notes of a cloud account.", lambda app: None)
