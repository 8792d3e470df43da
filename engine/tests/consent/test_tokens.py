"""Which correctly signed tokens are access tokens that hold now."""

import time
from typing import Any

import pytest

from copier_fastmcp_engine.consent.settings import is_local, is_secure
from copier_fastmcp_engine.consent.tokens import refused, verifier
from engine.tests.engine_support.granting import make_settings
from engine.tests.engine_support.provider import Provider

ACCESS, JWT = {"typ": "at+jwt"}, {"typ": "JWT"}


def refuse(header: dict[str, Any], claims: dict[str, Any]) -> str | None:
    """Return why a token is refused; the numbers of its claims are seconds from now."""
    now = time.time()
    dated: dict[str, Any] = {"exp": now + 600}
    for name, value in claims.items():
        dated[name] = now + value if isinstance(value, int) else value
    return refused(header, dated)


@pytest.mark.parametrize(
    ("header", "claims"),
    [
        (ACCESS, {}),
        ({"typ": "application/AT+JWT"}, {}),
        (JWT, {}),
        ({}, {}),
        ({"typ": None}, {}),
        (ACCESS, {"nonce": "-"}),
        (JWT, {"typ": "Bearer"}),
        (JWT, {"nbf": 30, "iat": 30}),
    ],
    ids=str,
)
def test_an_access_token_is_accepted(
    header: dict[str, Any], claims: dict[str, Any]
) -> None:
    assert refuse(header, claims) is None


@pytest.mark.parametrize(
    ("header", "claims", "reason"),
    [
        ({"typ": "logout+jwt"}, {}, "another kind of token"),
        ({"typ": "at+jwt+x"}, {}, "another kind of token"),
        (JWT, {"nonce": "-"}, "an ID token"),
        ({}, {"c_hash": "-"}, "an ID token"),
        (JWT, {"typ": "ID"}, "an ID token"),
        (JWT, {"token_use": "id"}, "an ID token"),
        (ACCESS, {"exp": None}, "exp is missing"),
        (ACCESS, {"exp": "later"}, "exp is missing"),
        (ACCESS, {"nbf": 90}, "nbf is in the future"),
        (ACCESS, {"iat": 90}, "iat is in the future"),
        (ACCESS, {"nbf": "soon"}, "nbf is in the future"),
        (ACCESS, {"iat": None}, "iat is in the future"),
    ],
    ids=str,
)
def test_another_token_is_refused(
    header: dict[str, Any],
    claims: dict[str, Any],
    reason: str,
) -> None:
    assert reason in str(refuse(header, claims))


@pytest.mark.parametrize(
    ("address", "local", "secure"),
    [
        ("https://example.com", False, True),
        ("https://", False, False),
        ("http://example.com", False, False),
        ("http://127.0.0.1:8000", True, True),
        ("http://127.1.2.3", True, True),
        ("http://[::1]:8000", True, True),
        ("http://localhost", True, True),
        ("http://localhost.example.com", False, False),
        ("http://10.0.0.1", False, False),
        ("ftp://127.0.0.1", True, False),
        ("", False, False),
    ],
)
def test_an_address_is_secure_over_https_or_on_this_machine(
    address: str, local: bool, secure: bool
) -> None:
    assert (is_local(address), is_secure(address)) == (local, secure)


@pytest.mark.parametrize("missing", ["jwt_issuer", "jwt_audience", "jwt_jwks_uri"])
def test_tokens_are_verified_where_the_settings_name_all_three(
    provider: Provider, missing: str
) -> None:
    settings = make_settings(provider, jwt_scopes="all:need")
    auth = verifier(settings, {"zz:read"})
    assert auth is not None
    assert auth.required_scopes == ["all:need"]
    # Where the server is by default
    assert str(auth.base_url).rstrip("/") == "http://127.0.0.1:8000"
    assert verifier(settings.model_copy(update={missing: None}), ()) is None
