"""nextcloud_login_mcp: an MCP server. `create_server` is in server.py, the command line in cli.py."""
