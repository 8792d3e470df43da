"""`consent status` and `consent revoke`, for the one user of a server over stdio."""

import asyncio
import sys
from collections.abc import Coroutine
from datetime import datetime
from typing import Any, TypeVar

from cyclopts import App
from fastmcp.exceptions import ToolError

from ..errors import CouldNotError, StartError
from ..project import Project
from .flow import LOCAL, Consent

Answer = TypeVar("Answer")


def _run(work: Coroutine[Any, Any, Answer]) -> Answer:
    try:
        return asyncio.run(work)
    except ToolError as error:
        raise CouldNotError(str(error)) from error


class ConsentCommands:
    """The consent commands of one project."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.title = project.policy.domain_title

    def _consent(self) -> Consent:
        try:
            consent = Consent(self.project.settings())
        except (ValueError, OSError) as error:
            raise StartError(str(error)) from error
        if consent.mode != "offline":
            sys.exit(f"nothing is kept in {consent.mode} mode")
        return consent

    def status(self) -> None:
        """Report whether access was granted over stdio, and how long it lasts."""
        grant = _run(self._consent().grant(LOCAL))
        if grant is None:
            print(f"no access to {self.title} was granted")
            return
        since, until = (
            datetime.fromtimestamp(when).isoformat(" ", "minutes")
            for when in (grant.granted_at, grant.expires_at)
        )
        end = "it renews itself" if grant.refresh_token else f"it ends {until}"
        print(f"access to {self.title} was granted {since} with {grant.scope}; {end}")

    def revoke(self) -> None:
        """Delete what was granted over stdio, and tell the provider."""
        was_granted, is_revoked_there = _run(self._consent().revoke(LOCAL))
        if not was_granted:
            print(f"no access to {self.title} was granted")
        elif is_revoked_there:
            print("revoked")
        else:
            print(
                "removed here; the provider could not be notified, so revoke it there too"
            )


def make_app(project: Project) -> App:
    """Return the `consent` commands of a project."""
    commands = ConsentCommands(project)
    account = f"{project.policy.domain_title} account"
    app = App(name="consent", help=f"What this server may do with your {account}.")
    app.command(commands.status)
    app.command(commands.revoke)
    return app
