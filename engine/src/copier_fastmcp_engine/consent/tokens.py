"""Who may call over HTTP: a verifier of tokens, by settings, and which tokens it believes beyond their signature.

Over stdio the server trusts the user who started it, and no scope is checked.
"""

import json
import time
from collections.abc import Iterable, Mapping
from typing import Any

import fastmcp
from fastmcp.server.auth import AccessToken, AuthProvider, RemoteAuthProvider
from fastmcp.server.auth.providers.jwt import JWTVerifier
from joserfc.jws import extract_compact
from mcp.server.auth.routes import build_resource_metadata_url
from pydantic import AnyHttpUrl

from ..policy import Policy
from .settings import ConsentSettings

LEEWAY = 60  # seconds by which clocks may differ
# Claims that no access token has
OF_ID_TOKENS = {
    "nonce",
    "at_hash",
    "c_hash",
    "s_hash",
}


class AccessTokens(JWTVerifier):
    """Takes access tokens alone: they end, they are valid already, and they are no ID token."""

    def __init__(self, policy: Policy, **options: Any) -> None:
        super().__init__(**options)
        self._logger = policy.logger("tokens")

    async def load_access_token(self, token: str) -> AccessToken | None:
        """Return a valid token; log one line with the reason for any other."""
        loaded = await super().load_access_token(token)
        if loaded and (
            reason := refused(extract_compact(token.encode()).headers(), loaded.claims)
        ):
            self._logger.warning(
                json.dumps({"event": "token", "outcome": "refused", "why": reason})
            )
            return None
        return loaded

    async def _fetch_jwks(self) -> dict[str, Any]:
        try:
            return await super()._fetch_jwks()
        except Exception as error:
            reason, cause = (
                "JWT_JWKS_URI returns no keys, so no token can be verified",
                type(error).__name__,
            )
            line = {
                "event": "token",
                "outcome": "failed",
                "why": reason,
                "cause": cause,
            }
            self._logger.warning(json.dumps(line))
            raise


def refused(header: Mapping[str, Any], claims: Mapping[str, Any]) -> str | None:
    """Return why a correctly signed token is refused (RFC 9068, section 4; RFC 8725, section 3.11)."""
    typ = str(header.get("typ") or "").lower().removeprefix("application/")
    if typ not in ("", "jwt", "at+jwt"):
        return "its type is that of another kind of token"
    is_id_token = "ID" in (claims.get("typ"), str(claims.get("token_use")).upper())
    if typ != "at+jwt" and (is_id_token or OF_ID_TOKENS & claims.keys()):
        return "it is an ID token, which says who logged in, not what they allow"
    if not isinstance(claims.get("exp"), int | float):
        return "it never expires: exp is missing"
    for name in ("nbf", "iat"):
        since = claims.get(name, 0)
        if not isinstance(since, int | float) or since > time.time() + LEEWAY:
            return f"it is not valid yet: {name} is in the future"
    return None


def metadata_address(auth: AuthProvider | None) -> str | None:
    """Return the address of the metadata of scopes and issuers (RFC 9728): below the host, before the path."""
    if not isinstance(auth, RemoteAuthProvider):
        return None
    resource = str(auth.base_url).rstrip("/") + fastmcp.settings.streamable_http_path
    return str(build_resource_metadata_url(AnyHttpUrl(resource)))


def verifier(settings: ConsentSettings, scopes: Iterable[str]) -> AuthProvider | None:
    """The verifier of clients' tokens, with the metadata that tells clients where to get one (RFC 9728).

    None when the settings name no issuer, audience and keys. A token for another audience is refused: a server
    that takes any token can be made to misuse it.
    """
    if not (settings.jwt_issuer and settings.jwt_audience and settings.jwt_jwks_uri):
        return None
    checked = AccessTokens(
        settings.policy,
        jwks_uri=settings.jwt_jwks_uri,
        issuer=settings.jwt_issuer,
        audience=settings.jwt_audience,
        algorithm=settings.jwt_algorithm,
        required_scopes=settings.jwt_scopes.split(),
    )
    return RemoteAuthProvider(
        checked,
        [AnyHttpUrl(settings.jwt_issuer)],
        settings.server_url or "http://127.0.0.1:8000",
        scopes_supported=sorted({*scopes, *settings.jwt_scopes.split()}),
    )
