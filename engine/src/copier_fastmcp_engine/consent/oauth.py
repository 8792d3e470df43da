"""The OpenID provider, seen from this server: discovery, code for tokens, refresh, revocation.

OAuth 2.1: authorization code with PKCE S256, exact redirect addresses, no token
in a URL. What a provider answers is never shown or logged, since it may hold secrets.
"""

import math
import ssl
import time
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, cast

import anyio
import httpx2
from authlib.integrations.base_client import OAuthError
from authlib.integrations.httpx_client import AsyncOAuth2Client
from joserfc import jwt
from joserfc.jwk import KeySet

from .oauth_errors import (
    AWAY,
    BROKEN,
    DENIED,
    ProviderError,
    Withdrawn,
    build_unreachable_error,
    describe_error_code,
    report,
)
from .settings import ConsentSettings, is_secure
from .store import Grant

SIGNED = [
    "RS256",
    "RS384",
    "RS512",
    "PS256",
    "PS384",
    "PS512",
    "ES256",
    "ES384",
    "ES512",
    "EdDSA",
]
PATIENCE = 10.0  # seconds for each answer of the provider
FRESH = 3600.0  # seconds for which its discovery document is believed
LONGEST = 86_400.0  # seconds for which an access token is believed, whatever the provider says
UNSAID = 300.0  # the same, where it says nothing
NEEDED = ("authorization_endpoint", "token_endpoint", "jwks_uri")


@cache
def load_trust_store() -> ssl.SSLContext:
    """Return the trusted certificates; all requests share them, since loading blocks the server for 20 ms or more."""
    return httpx2.create_ssl_context()


def is_usable_endpoint(address: object, issuer: str) -> bool:
    """Tell whether an endpoint uses https, or is local like its provider."""
    is_local = issuer.startswith("http://")
    return (
        isinstance(address, str)
        and is_secure(address)
        and (is_local or address.startswith("https://"))
    )


def lifetime(expires_in: object) -> float:
    """Return the lifetime of an access token in seconds."""
    if expires_in is None:
        return UNSAID
    try:
        seconds = float(str(expires_in))
    except ValueError:
        return 0
    return min(max(seconds, 0), LONGEST) if math.isfinite(seconds) else 0


class Provider:
    """An OpenID provider; this server is its client."""

    def __init__(self, settings: ConsentSettings) -> None:
        self.policy = settings.policy
        self.issuer = settings.oidc_issuer or ""
        self._id = settings.oidc_client_id or ""
        secret = settings.oidc_client_secret
        self._secret = secret.get_secret_value() if secret else None
        scopes = [*settings.oidc_scopes.split(), "offline_access"]
        self.scope = " ".join(dict.fromkeys(scopes))
        self._known: dict[str, Any] = {}
        self._until = 0.0

    async def metadata(self) -> Mapping[str, Any]:
        """The discovery document, checked.

        Raises:
            ProviderError: It cannot be had, or must not be used.
        """
        if time.monotonic() < self._until:
            return self._known
        document = await self._get(
            f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
        )
        if document.get("issuer") != self.issuer:
            slash = str(document.get("issuer")).rstrip("/") == self.issuer.rstrip("/")
            cause = (
                "they differ in the slash at the end" if slash else "copy what it names"
            )
            raise ProviderError(
                "the provider names another issuer than OIDC_ISSUER", cause
            )
        try:
            self._check(document)
        except BROKEN as error:
            raise ProviderError(
                "the provider's discovery document is not valid", error
            ) from error
        self._known, self._until = document, time.monotonic() + FRESH
        return document

    def _check(self, document: Mapping[str, Any]) -> None:
        optional = [name for name in ("revocation_endpoint",) if document.get(name)]
        for name in (*NEEDED, *optional):
            if not is_usable_endpoint(document.get(name), self.issuer):
                raise ProviderError(
                    "an endpoint of the provider is missing or not https", name
                )
        if "S256" not in document.get("code_challenge_methods_supported", ["S256"]):
            raise ProviderError("the provider does not support PKCE with S256")
        if not isinstance(
            document.get("token_endpoint_auth_methods_supported", []), list
        ):
            raise ProviderError("the provider's discovery document is not valid")

    async def code(self, query: Mapping[str, str]) -> str:
        """The code that a browser brought back.

        Raises:
            ProviderError: It brought none, or one that may be another provider's (RFC 9207).
        """
        metadata = await self.metadata()
        sure = metadata.get("authorization_response_iss_parameter_supported") is True
        if query.get("iss", None if sure else self.issuer) != self.issuer:
            raise ProviderError(
                DENIED, "the response does not name OIDC_ISSUER as its issuer"
            )
        if not query.get("code"):
            raise ProviderError(DENIED, describe_error_code(query.get("error")))
        return query["code"]

    async def authorization_url(
        self, *, state: str, verifier: str, nonce: str, redirect_uri: str
    ) -> str:
        """Return the address at which the browser asks the user."""
        metadata = await self.metadata()
        async with self._client() as client:
            url, _ = client.create_authorization_url(
                metadata["authorization_endpoint"],
                state=state,
                code_verifier=verifier,
                nonce=nonce,
                redirect_uri=redirect_uri,
                scope=self.scope,
                prompt="consent",
            )
        return str(url)

    async def exchange(
        self, *, code: str, verifier: str, nonce: str, redirect_uri: str
    ) -> Grant:
        """The tokens for a code, and who granted them.

        Raises:
            ProviderError: There are none, or they are not what was asked for.
        """
        metadata = await self.metadata()
        token = await self._token(
            "authorization_code",
            code=code,
            code_verifier=verifier,
            redirect_uri=redirect_uri,
        )
        subject = await self._subject(str(token.get("id_token") or ""), metadata, nonce)
        return self._grant(token, subject, granted_at=time.time())

    async def refresh(self, grant: Grant) -> Grant:
        """The grant with a new access token.

        Raises:
            Withdrawn: It is over.
            ProviderError: The provider cannot be asked now.
        """
        metadata = await self.metadata()
        token = await self._token("refresh_token", refresh_token=grant.refresh_token)
        if id_token := token.get("id_token"):
            if await self._subject(str(id_token), metadata, None) != grant.subject:
                raise Withdrawn("the provider answered for a different user")
        token = {"refresh_token": grant.refresh_token, "scope": grant.scope, **token}
        renewed = self._grant(token, grant.subject, granted_at=grant.granted_at)
        return renewed.model_copy(update={"asked": grant.asked})

    async def revoke(self, grant: Grant) -> bool:
        """Revoke tokens at the provider; tell whether it worked."""
        tokens = {
            "refresh_token": grant.refresh_token,
            "access_token": grant.access_token,
        }
        try:
            address = (await self.metadata()).get("revocation_endpoint")
            with anyio.fail_after(PATIENCE):
                for hint, token in tokens.items():
                    if address and token:
                        await self._revoke_token(address, token, hint)
        except (ProviderError, *AWAY, *BROKEN) as error:
            report(
                self.policy,
                ProviderError(
                    "the provider could not be notified of a revocation", error
                ),
            )
            return False
        return bool(address)

    async def _revoke_token(self, address: str, token: str, hint: str) -> None:
        """Tell the provider that a token is not needed any more."""
        async with self._client() as client:
            done = await client.revoke_token(address, token=token, token_type_hint=hint)
            done.raise_for_status()

    def _client(self) -> AsyncOAuth2Client:
        methods = self._known.get(
            "token_endpoint_auth_methods_supported", ["client_secret_basic"]
        )
        posted = (
            "client_secret_basic" not in methods and "client_secret_post" in methods
        )
        with_secret = "client_secret_post" if posted else "client_secret_basic"
        return AsyncOAuth2Client(
            self._id,
            self._secret,
            token_endpoint_auth_method=with_secret if self._secret else "none",
            revocation_endpoint_auth_method=with_secret if self._secret else "none",
            code_challenge_method="S256",
            timeout=PATIENCE,
            follow_redirects=False,
            verify=load_trust_store(),
        )

    async def _get(self, address: str) -> dict[str, Any]:
        try:
            with anyio.fail_after(PATIENCE):
                async with httpx2.AsyncClient(
                    timeout=PATIENCE, verify=load_trust_store()
                ) as client:
                    answer = await client.get(address)
                    answer.raise_for_status()
                    return dict(answer.json())
        except (*AWAY, *BROKEN) as error:
            raise build_unreachable_error(error, address) from error

    async def _token(self, kind: str, **form: object) -> dict[str, Any]:
        try:
            with anyio.fail_after(PATIENCE):
                async with self._client() as client:
                    address = self._known["token_endpoint"]
                    token = dict(
                        await client.fetch_token(address, grant_type=kind, **form)
                    )
        except OAuthError as error:
            if kind == "refresh_token" and error.error == "invalid_grant":
                raise Withdrawn("the provider ended the grant", error) from None
            raise ProviderError("the provider refused the code", error) from None
        except AWAY as error:
            raise build_unreachable_error(
                error, str(self._known["token_endpoint"])
            ) from error
        except BROKEN as error:
            raise ProviderError("the provider returned no token", error) from error
        if str(token.get("token_type", "")).lower() != "bearer" or not token.get(
            "access_token"
        ):
            raise ProviderError("the provider returned no token")
        return token

    def _grant(
        self, token: Mapping[str, Any], subject: str, *, granted_at: float
    ) -> Grant:
        return Grant(
            subject=subject,
            access_token=str(token["access_token"]),
            refresh_token=str(token["refresh_token"])
            if token.get("refresh_token")
            else None,
            scope=str(token.get("scope") or self.scope),
            expires_at=time.time() + lifetime(token.get("expires_in")),
            granted_at=granted_at,
        )

    async def _subject(
        self, id_token: str, metadata: Mapping[str, Any], nonce: str | None
    ) -> str:
        """Who granted: the subject of an ID token that is meant for us, and for this very flow."""
        published = await self._get(metadata["jwks_uri"])
        demands: dict[str, Any] = {
            "iss": {"essential": True, "value": self.issuer},
            "aud": {"essential": True, "value": self._id},
            "exp": {"essential": True},
            "sub": {"essential": True},
        }
        if nonce is not None:
            demands["nonce"] = {"essential": True, "value": nonce}
        try:
            keys = KeySet.import_key_set(cast("Any", published))
            claims = jwt.decode(id_token, keys, algorithms=SIGNED).claims
            jwt.JWTClaimsRegistry(leeway=60, **demands).validate(claims)
        except BROKEN as error:
            raise ProviderError(
                "the provider's ID token is not valid", error
            ) from error
        if _has_several(claims["aud"]) and claims.get("azp") != self._id:
            raise ProviderError("the provider's ID token is for a different user")
        return str(claims["sub"])


def _has_several(audience: object) -> bool:
    return (
        isinstance(audience, Iterable)
        and not isinstance(audience, str)
        and len([*audience]) > 1
    )
