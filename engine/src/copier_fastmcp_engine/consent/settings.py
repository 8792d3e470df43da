"""The settings of consent and of tokens, and which of them stop the start.

Each is an environment variable with the server's prefix; docs/consent.md explains them.
"""

import ipaddress
import os
from collections.abc import Iterator
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator

from ..policy import Policy
from ..settings import PolicySettings, default_data_path

CALLBACK = "/oauth/callback"
HERE = ("127.0.0.1", "localhost")
Mode = Literal["pass-through", "offline", "single-user"]
# What signs with a key pair, as FastMCP's JWTVerifier knows it
Algorithm = Literal[
    "RS256",
    "RS384",
    "RS512",
    "ES256",
    "ES384",
    "ES512",
    "PS256",
    "PS384",
    "PS512",
    "EdDSA",
    "Ed25519",
    "Ed448",
]


def is_local(address: str) -> bool:
    """Tell whether an address is on this machine."""
    host = urlsplit(address).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def is_secure(address: str) -> bool:
    """Tell whether an address uses https or is on this machine."""
    parts = urlsplit(address)
    if parts.scheme == "https" and parts.hostname:
        return True
    return parts.scheme == "http" and is_local(address)


class ConsentSettings(PolicySettings):
    """What consent and the token verifier read from the environment."""

    enable_offline_access: bool = False
    """Keep tokens that a person grants in a browser, and serve the tools for it."""
    server_url: str | None = None
    """Where browsers and clients reach this server over HTTP, such as https://mcp.example.com."""
    elicitation_callback_url: str | None = None
    """Where the provider returns the browser; by default the server URL and /oauth/callback."""
    elicitation_timeout_seconds: float = Field(default=300, gt=0, le=86_400)
    """How long a person may take to grant access."""
    oidc_issuer: str | None = None
    """The issuer of the OpenID provider, exactly as in its discovery document."""
    oidc_client_id: str | None = None
    """The client ID of this server at the provider."""
    oidc_client_secret: SecretStr | None = None
    """The secret of this client; left out for a public client."""
    oidc_scopes: str = "openid"
    """The scopes to ask for, separated by spaces."""
    consent_database: str = Field(default="", validate_default=True)
    """Path of the SQLite file that keeps grants, or :memory:."""
    secret_keys: SecretStr = SecretStr("")
    """Secrets that encrypt what is kept, newest first, separated by commas."""
    secret_keyring: bool = False
    """Keep such a secret in the keyring of this computer's user."""
    static_credentials: SecretStr | None = None
    """A token or password of the only user, who is then never asked."""
    jwt_issuer: str | None = None
    """The issuer of client tokens."""
    jwt_audience: str | None = None
    """The audience that a client's token must name: this server."""
    jwt_jwks_uri: str | None = None
    """Where the issuer publishes its keys."""
    jwt_algorithm: Algorithm = "RS256"
    """The signature algorithm of client tokens."""
    jwt_scopes: str = ""
    """Scopes that every client's token must have, separated by spaces."""

    @field_validator("consent_database")
    @classmethod
    def _default_consent_database(cls, value: str) -> str:
        return default_data_path(cls, value, "consent.db")

    @property
    def mode(self) -> Mode:
        """Whose credentials a tool works with."""
        if self.static_credentials is not None:
            return "single-user"
        return "offline" if self.enable_offline_access else "pass-through"

    @property
    def secrets(self) -> list[str]:
        """The secrets that encrypt, newest first."""
        values = self.secret_keys.get_secret_value().split(",")
        return [secret.strip() for secret in values if secret.strip()]

    def find_mistakes(self, state: str, confirm_seconds: float) -> Iterator[str]:
        """Yield why the server must not start with these settings, one line each.

        Args:
            state: Where confirmations wait.
            confirm_seconds: For how long they wait.
        """
        yield from self._find_address_mistakes()
        yield from self._find_verifier_mistakes()
        if any(len(secret) < 32 for secret in self.secrets):
            prefix = self.policy.env_prefix
            yield f"{prefix}SECRET_KEYS: each secret needs 32 characters or more"
        if self.enable_offline_access:
            yield from self._find_offline_mistakes(state, confirm_seconds)

    def _find_address_mistakes(self) -> Iterator[str]:
        prefix = self.policy.env_prefix
        for name in ("oidc_issuer", "jwt_issuer", "jwt_jwks_uri", "server_url"):
            address = getattr(self, name)
            if address and not is_secure(address):
                yield f"{prefix}{name.upper()} {address!r} is neither https nor on this machine"
        callback = self.elicitation_callback_url
        if callback and not (is_secure(callback) and callback.endswith(CALLBACK)):
            yield f"{prefix}ELICITATION_CALLBACK_URL {callback!r}: write an address with https, or on this machine, that ends in {CALLBACK}"
        elif callback and not self._sees_its_cookie(callback):
            start = self.server_url or "http://127.0.0.1"
            yield f"{prefix}ELICITATION_CALLBACK_URL {callback!r}: a browser that began at {start} has no cookie for it"

    def _find_verifier_mistakes(self) -> Iterator[str]:
        prefix = self.policy.env_prefix
        verifier = [self.jwt_issuer, self.jwt_audience, self.jwt_jwks_uri]
        if any(verifier) and not all(verifier):
            yield f"{prefix}JWT_ISSUER, _JWT_AUDIENCE and _JWT_JWKS_URI go together; set all three"
        if self.public and not all(verifier):
            yield f"{prefix}PUBLIC exempts tools from what {prefix}JWT_ISSUER and the others close; set them too"

    def _find_offline_mistakes(
        self, state: str, confirm_seconds: float
    ) -> Iterator[str]:
        """Yield what is wrong with the settings of a server that keeps tokens."""
        prefix = self.policy.env_prefix
        if self.static_credentials is not None:
            yield f"{prefix}STATIC_CREDENTIALS and _ENABLE_OFFLINE_ACCESS exclude each other"
        if not (self.oidc_issuer and self.oidc_client_id):
            yield f"{prefix}ENABLE_OFFLINE_ACCESS needs {prefix}OIDC_ISSUER and _OIDC_CLIENT_ID"
        if self.jwt_issuer and self.jwt_issuer != self.oidc_issuer:
            yield f"{prefix}JWT_ISSUER is not _OIDC_ISSUER: the user who grants could not be compared with the one who asks"
        if "openid" not in self.oidc_scopes.split():
            yield f"{prefix}OIDC_SCOPES {self.oidc_scopes!r}: add openid, which identifies who granted"
        if confirm_seconds < self.elicitation_timeout_seconds:
            yield (
                f"{prefix}CONFIRM_SECONDS {confirm_seconds:g} is less than _ELICITATION_TIMEOUT_SECONDS "
                f"{self.elicitation_timeout_seconds:g}: a question would be over before its link"
            )
        is_shared = state.startswith(("redis://", "rediss://"))
        is_stored = self.consent_database != ":memory:" or is_shared
        if is_stored and not (self.secrets or self.secret_keyring):
            yield (
                f"{prefix}SECRET_KEYS is missing, so tokens would be stored unencrypted; generate one with "
                "`openssl rand -hex 32`, or set _SECRET_KEYRING=true"
            )

    def _sees_its_cookie(self, callback: str) -> bool:
        """Tell whether the callback receives the cookie of the link: both have one scheme and one host."""
        back = urlsplit(callback)
        if self.server_url is None:
            return back.scheme == "http" and back.hostname in HERE
        server = urlsplit(self.server_url)
        return (back.scheme, back.hostname) == (server.scheme, server.hostname)


def explain_exposed_credentials(policy: Policy) -> str:
    """Return the error for single-user credentials that others could use."""
    prefix = policy.env_prefix
    return (
        f"{prefix}STATIC_CREDENTIALS would be available to anyone over HTTP: set {prefix}JWT_ISSUER, _JWT_AUDIENCE and "
        "_JWT_JWKS_URI, or serve on 127.0.0.1 with a _SERVER_URL of this machine"
    )


def find_removed_variables(policy: Policy) -> Iterator[str]:
    """Yield a warning for each environment variable that is no longer supported."""
    prefix = policy.env_prefix
    remedies = {
        "ENABLE_PROGRESSIVE_CONSENT": f"set {prefix}ENABLE_OFFLINE_ACCESS instead",
        "MCP_SERVER_CLIENT_ID": f"set {prefix}OIDC_CLIENT_ID instead",
    }
    for name, remedy in remedies.items():
        for variable in {name, prefix + name} & os.environ.keys():
            yield f"{variable} has no effect any more; {remedy}"


def serve_at(settings: ConsentSettings, host: str, port: int) -> str | None:
    """Before serving over HTTP: complete the server's address, or say why it cannot be served there."""
    prefix = settings.policy.env_prefix
    if settings.enable_offline_access and not settings.jwt_audience:
        return f"over HTTP, users are unknown without a token: set {prefix}JWT_ISSUER, _JWT_AUDIENCE, _JWT_JWKS_URI"
    if settings.mode == "single-user" and not settings.jwt_audience:
        addresses = [
            f"http://{f'[{host}]' if ':' in host else host}",
            settings.server_url,
        ]
        if any(address and not is_local(address) for address in addresses):
            return explain_exposed_credentials(settings.policy)
    if settings.server_url is None:
        address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        if not is_secure(address) and settings.mode == "offline":
            return (
                f"{prefix}SERVER_URL is missing: browsers cannot be sent to {address}"
            )
        settings.server_url = address
    return None
