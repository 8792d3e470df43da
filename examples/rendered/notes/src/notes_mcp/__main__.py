"""`python -m notes_mcp`, and the file that fastmcp.json names."""

from notes_mcp.cli import main
from notes_mcp.server import create_server

__all__ = ["create_server"]

if __name__ == "__main__":
    main()
