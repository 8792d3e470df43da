"""Serves over HTTP: where it listens, and the names it answers to. Managed by the template."""

import logging
import socket

import fastmcp
from fastmcp import FastMCP

from .errors import CouldNotError
from .settings import PolicySettings

logger = logging.getLogger(__name__)


def serve(server: FastMCP, settings: PolicySettings) -> None:
    """Serve at /mcp until stopped. Raises CouldNotError where it cannot listen."""
    host, port, prefix = settings.host, settings.port, settings.model_config["env_prefix"]
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        bound = socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        why = str(getattr(error, "strerror", error)).partition(" (while")[0]
        mend = "say another with --host and --port"
        raise CouldNotError(f"cannot listen on {host}:{port}: {why}; {mend}") from error
    names = [host, *settings.allowed_hosts, *(fastmcp.settings.http_allowed_hosts or [])]
    known = ", ".join(dict.fromkeys(["localhost", *names]))
    adds = f"{prefix}ALLOWED_HOSTS adds names"
    logger.info("requests to %s are answered, to other hosts with 421; %s", known, adds)
    guard = {"host_origin_protection": "auto", "allowed_hosts": names}
    with bound:
        server.run("http", host=host, port=port, sockets=[bound], show_banner=False, **guard)
