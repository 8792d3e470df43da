"""`python -m nextcloud_login_mcp`, and the file that fastmcp.json names."""

from nextcloud_login_mcp.cli import main
from nextcloud_login_mcp.server import create_server

__all__ = ["create_server"]

if __name__ == "__main__":
    main()
