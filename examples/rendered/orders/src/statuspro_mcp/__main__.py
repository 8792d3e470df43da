"""`python -m statuspro_mcp`, and the file that fastmcp.json names."""

from statuspro_mcp.cli import main
from statuspro_mcp.server import create_server

__all__ = ["create_server"]

if __name__ == "__main__":
    main()
