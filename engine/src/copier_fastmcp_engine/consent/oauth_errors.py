"""How a provider fails, in words that quote nothing of its answer."""

import json
from contextlib import suppress
from urllib.parse import urlsplit

import httpx2
from authlib.integrations.base_client import OAuthError
from joserfc.errors import JoseError

from ..policy import Policy

BROKEN = (
    OAuthError,
    JoseError,
    LookupError,
    ArithmeticError,
    AttributeError,
    RecursionError,
    TypeError,
    ValueError,
)
AWAY = (httpx2.HTTPError, httpx2.InvalidURL, TimeoutError)
DENIED = "the login service did not grant access"
ERRORS = {  # of RFC 6749 and OpenID Connect: what an answer may be called in the log, and what helps
    "access_denied": "the user declined, or may not use this client",
    "consent_required": "the provider requires a consent that it did not request",
    "interaction_required": "the provider could not ask the user",
    "invalid_client": "check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET",
    "invalid_grant": "the code or token was already used, has expired, or belongs to another redirect address or client",
    "invalid_request": "the provider does not accept such requests from this client",
    "invalid_scope": "check OIDC_SCOPES",
    "login_required": "the user did not log in",
    "server_error": "the provider reported an internal error",
    "temporarily_unavailable": "the provider is busy",
    "unauthorized_client": "this client may not use the authorization code flow",
    "unsupported_grant_type": "the provider does not support authorization codes or refresh tokens",
}


class ProviderError(Exception):
    """The provider did not do as asked.

    The message is one line that quotes nothing of its answer; `cause` is more of it, for who runs this server.
    """

    def __init__(self, message: str, cause: object = None) -> None:
        super().__init__(message)
        self.cause = type(cause).__name__ if isinstance(cause, Exception) else cause
        if isinstance(cause, ProviderError):
            self.cause = cause.cause
        if isinstance(cause, httpx2.HTTPStatusError):
            self.cause = f"HTTP {cause.response.status_code}"
        if isinstance(cause, OAuthError):
            self.cause = describe_error_code(cause.error)


class Withdrawn(ProviderError):
    """The grant is over: the provider does not know its refresh token any more."""


def describe_error_code(code: object) -> str:
    """Describe a standard error code and its remedy; other text of a provider is never repeated."""
    word = str(code)
    return (
        f"{word}: {ERRORS[word]}" if word in ERRORS else "an error outside the standard"
    )


def report(policy: Policy, error: ProviderError) -> None:
    """Log one line for the operator, without any token, code, link or user."""
    line = {
        "event": "consent",
        "outcome": "failed",
        "why": str(error),
        "cause": error.cause,
    }
    policy.logger("consent").warning(json.dumps(line))


def build_unreachable_error(error: Exception, address: str) -> ProviderError:
    """Return the error for a provider that does not answer; its cause names the host and port of `address`."""
    failed = ProviderError("the provider cannot be reached", error)
    with suppress(ValueError):
        parts = urlsplit(address)
        failed.cause = (
            f"{failed.cause} at {parts.hostname}:{parts.port or parts.scheme}"
        )
    return failed
