"""`consent status` and `consent revoke`, for the one user of a server over stdio. Managed by the template."""

import asyncio
import sys
from collections.abc import Coroutine
from datetime import datetime
from typing import Any, TypeVar

from cyclopts import App
from fastmcp.exceptions import ToolError

from ..settings import Settings
from .consent_flow import LOCAL, Consent
from .consent_settings import TITLE
from .errors import CouldNotError, StartError

Answer = TypeVar("Answer")
app = App(name="consent", help=f"What this server may do with your {TITLE} account.")


def _consent() -> Consent:
    try:
        consent = Consent(Settings())
    except (ValueError, OSError) as error:
        raise StartError(str(error)) from error
    if consent.mode != "offline":
        sys.exit(f"nothing is kept in {consent.mode} mode")
    return consent


def _now(work: Coroutine[Any, Any, Answer]) -> Answer:
    try:
        return asyncio.run(work)
    except ToolError as error:
        raise CouldNotError(str(error)) from error


@app.command
def status() -> None:
    """Report whether access was granted over stdio, and how long it lasts."""
    grant = _now(_consent().grant(LOCAL))
    if grant is None:
        print(f"no access to {TITLE} was granted")
        return
    since, until = (
        datetime.fromtimestamp(when).isoformat(" ", "minutes")
        for when in (grant.granted_at, grant.expires_at)
    )
    end = "it renews itself" if grant.refresh_token else f"it ends {until}"
    print(f"access to {TITLE} was granted {since} with {grant.scope}; {end}")


@app.command
def revoke() -> None:
    """Delete what was granted over stdio, and tell the provider."""
    gone, told = _now(_consent().revoke(LOCAL))
    if not gone:
        print(f"no access to {TITLE} was granted")
    else:
        print(
            "revoked" if told else "forgotten here; the provider could not be told, so tell it too"
        )
