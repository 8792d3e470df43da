"""The command `run`, which serves until the client leaves or a signal comes."""

import gc
import logging
import sys
from typing import Any

from .project import Project


def serve(project: Project, *, http: bool = False, **options: Any) -> None:
    """Serve a project over stdio, or over HTTP.

    Args:
        project: The project.
        http: Whether to serve Streamable HTTP.
        options: Settings that replace those of the environment.

    Raises:
        StartError: The server cannot be built.
        ValidationError: A setting is invalid.
        SystemExit: The settings do not fit the transport; its text is one line.
    """
    policy = project.policy
    gc.disable()  # what is loaded now stays: looking for garbage in it is a tenth of the start
    logging.basicConfig(format="%(message)s")
    logging.getLogger(policy.package).setLevel(logging.INFO)
    server_module = project.load("server")
    settings = project.settings(**options)
    if http and policy.has_consent:
        from .consent.settings import serve_at

        if reason := serve_at(settings, settings.host, settings.port):
            sys.exit(f"{policy.server_name}: {reason}")
    if settings.audit == "stdout" and not http:
        problem = "over stdio, stdout carries the protocol; use stderr or a file"
        sys.exit(f"{policy.server_name}: setting audit: {problem}")
    server = server_module.create_server(settings)
    gc.freeze()
    gc.enable()
    if http:
        from .guard import guard_of
        from .http import listen

        listen(guard_of(server), settings)
        return
    from .logs import log_startup
    from .stdio import stop_at_once

    log_startup(settings, "stdio")
    stop_at_once()
    server.run("stdio", show_banner=False)
