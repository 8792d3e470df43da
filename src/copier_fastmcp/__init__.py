"""The command `copier-fastmcp`: what makers of servers need, once, and not in every server."""
