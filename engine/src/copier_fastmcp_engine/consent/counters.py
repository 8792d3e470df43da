"""Counters of logins, for an operator who collects OpenTelemetry's metrics; without its SDK nothing is counted."""

from functools import cache
from typing import Literal

from opentelemetry import metrics

from ..policy import Policy

Step = Literal["asked", "granted", "declined", "refreshed"]


@cache
def _login_counter(server_name: str) -> metrics.Counter:
    """Return the counter of logins on the meter of a server."""
    return metrics.get_meter(server_name).create_counter("mcp.consent.logins")


def count_login(policy: Policy, step: Step) -> None:
    """Count a step of a login; never a user, a link or a token.

    Args:
        policy: The server's policy.
        step: A new link was made, access was granted, a person declined, or a grant was renewed.
    """
    _login_counter(policy.server_name).add(1, {"step": step})
