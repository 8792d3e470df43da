"""Unsafe settings stop the start with one line."""

import os
import socket
from pathlib import Path
from typing import Any, ClassVar

import anyio
import keyring
import pytest
from fastmcp import Client
from fastmcp.client.transports import StreamableHttpTransport
from keyring.backend import KeyringBackend
from keyring.backends.fail import Keyring as Fail
from pydantic import SecretStr

from copier_fastmcp_engine.consent.settings import explain_exposed_credentials, serve_at
from copier_fastmcp_engine.project import Project
from copier_fastmcp_engine.serving import serve
from engine.tests.engine_support.cloud.settings import POLICY, Settings
from engine.tests.engine_support.granting import (
    PREFIX,
    SECRET,
    begin_call,
    flow,
    make_cloud_server,
    make_environment,
    text_of,
)
from engine.tests.engine_support.provider import Provider, serve_http
from engine.tests.engine_support.raw import MODERN

pytestmark = pytest.mark.anyio


async def test_a_port_that_is_taken_is_one_line(provider: Provider) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        back = f"http://127.0.0.1:{port}/oauth/callback"
        async with begin_call(
            make_cloud_server(provider, elicitation_callback_url=back), MODERN
        ) as call:
            assert text_of(call.message) == f"port {port} for the page is taken"


def test_a_file_that_is_no_store_stops_the_start(
    provider: Provider, tmp_path: Path
) -> None:
    (tmp_path / "c.db").write_text("no database " * 100)
    (tmp_path / "c.db").chmod(0o600)
    path = str(tmp_path / "c.db")
    with pytest.raises(Exception, match=f"^{PREFIX}CONSENT_DATABASE .*not a database$"):
        make_cloud_server(provider, consent_database=path, secret_keys=SECRET)


KEPT = {"CONSENT_DATABASE": "/tmp/never/c.db"}
UNSAFE: dict[str, tuple[dict[str, str], str]] = {
    "http provider": (
        {"OIDC_ISSUER": "http://example.com"},
        "neither https nor on this machine",
    ),
    "http JWKS": (
        {"JWT_JWKS_URI": "http://example.com/k"},
        "neither https nor on this machine",
    ),
    "http server": (
        {"SERVER_URL": "http://example.com"},
        "neither https nor on this machine",
    ),
    "http callback": (
        {"ELICITATION_CALLBACK_URL": "http://example.com/oauth/callback"},
        "https",
    ),
    "other callback": (
        {"ELICITATION_CALLBACK_URL": "https://example.com/x"},
        "/oauth/callback",
    ),
    "no secret": (KEPT, "SECRET_KEYS is missing"),
    "short secret": (KEPT | {"SECRET_KEYS": "short"}, "32 characters"),
    "no client": ({"OIDC_CLIENT_ID": ""}, "OIDC_CLIENT_ID"),
    "any audience": ({"JWT_AUDIENCE": ""}, "set all three"),
    "other issuer": (
        {"JWT_ISSUER": "https://example.com"},
        "who grants could not be compared",
    ),
    "no openid": ({"OIDC_SCOPES": "notes"}, "add openid"),
    "callback elsewhere": (
        {"ELICITATION_CALLBACK_URL": "https://example.com/oauth/callback"},
        "a browser that began at http://127.0.0.1 has no cookie for it",
    ),
    "callback at another name": (
        {
            "SERVER_URL": "http://127.0.0.1:8000",
            "ELICITATION_CALLBACK_URL": "http://localhost:8000/oauth/callback",
        },
        "a browser that began at http://127.0.0.1:8000 has no cookie for it",
    ),
    "question before link": (
        {"CONFIRM_SECONDS": "100"},
        "CONFIRM_SECONDS 100 is less than _ELICITATION_TIMEOUT_SECONDS 300",
    ),
    "two modes": ({"STATIC_CREDENTIALS": "x"}, "exclude each other"),
    "no provider": (
        {"OIDC_ISSUER": "", "JWT_ISSUER": "", "JWT_AUDIENCE": "", "JWT_JWKS_URI": ""},
        "needs",
    ),
    "no secret for Redis": (
        {"STATE": "redis://127.0.0.1:1/0"},
        "SECRET_KEYS is missing",
    ),
    "one short secret": (
        {"SECRET_KEYS": f"{'x' * 32}, {'y' * 31}"},
        "32 characters",
    ),
    "a callback over https at a server over http": (
        {
            "SERVER_URL": "http://127.0.0.1:8000",
            "ELICITATION_CALLBACK_URL": "https://127.0.0.1/oauth/callback",
        },
        "has no cookie for it",
    ),
    "a callback at another address of this machine": (
        {"ELICITATION_CALLBACK_URL": "http://127.1.2.3:8000/oauth/callback"},
        "a browser that began at http://127.0.0.1 has no cookie for it",
    ),
    "a callback over https without a server": (
        {"ELICITATION_CALLBACK_URL": "https://127.0.0.1/oauth/callback"},
        "has no cookie for it",
    ),
    "public without tokens": (
        {"PUBLIC": "true", "JWT_ISSUER": "", "JWT_AUDIENCE": "", "JWT_JWKS_URI": ""},
        "PUBLIC exempts tools",
    ),
}
HERE = "http://127.0.0.1:8000/oauth/callback"
PROXIED = "https://mcp.example.com"
SAFE: dict[str, dict[str, str]] = {
    "as they are": {},
    "a callback here": {"ELICITATION_CALLBACK_URL": HERE},
    "a callback at the name of this machine": {
        "ELICITATION_CALLBACK_URL": "http://localhost:8000/oauth/callback"
    },
    "a callback of the server": {
        "SERVER_URL": PROXIED,
        "ELICITATION_CALLBACK_URL": f"{PROXIED}/notes/oauth/callback",
    },
    "a secret that is long enough": KEPT | {"SECRET_KEYS": "x" * 32},
    "a comma at the end": KEPT | {"SECRET_KEYS": f"{'x' * 32},"},
    "a keyring": KEPT | {"SECRET_KEYRING": "true"},
    "a question as long as its link": {"CONFIRM_SECONDS": "300"},
    "public with tokens": {"PUBLIC": "true"},
    "no verifier": {"JWT_ISSUER": "", "JWT_AUDIENCE": "", "JWT_JWKS_URI": ""},
    "a public client": {"OIDC_CLIENT_SECRET": ""},
    "tokens of clients alone": {"ENABLE_OFFLINE_ACCESS": "false", "OIDC_ISSUER": ""},
}


@pytest.mark.parametrize("name", SAFE)
def test_safe_settings_do_not_stop_the_start(
    provider: Provider, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in make_environment(provider, **SAFE[name]).items():
        monkeypatch.setenv(variable, value)
    settings = Settings()
    mistakes = settings.find_mistakes(settings.state, settings.confirm_seconds)
    assert list(mistakes) == []


@pytest.mark.parametrize("name", UNSAFE)
def test_unsafe_settings_stop_the_start_with_one_line(
    provider: Provider, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes, reason = UNSAFE[name]
    for variable, value in make_environment(provider, **changes).items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(ValueError, match="^" + PREFIX) as stopped:
        flow.Consent(Settings())
    assert reason in str(stopped.value)
    assert "\n" not in str(stopped.value)


def run_refused(
    monkeypatch: pytest.MonkeyPatch,
    environment: dict[str, str],
    host: str = "127.0.0.1",
) -> str:
    """Return the line with which `run --http` refuses to serve: sys.exit prints it, and makes the exit code 1."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("gc.disable", lambda: None)
    with pytest.raises(SystemExit) as stopped:
        serve(Project(POLICY), http=True, host=host, port=1)
    line = stopped.value.code
    assert isinstance(line, str)
    assert "\n" not in line
    return line


def test_an_http_server_without_a_verifier_does_not_start(
    provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    nobody = make_environment(provider, JWT_ISSUER="", JWT_AUDIENCE="", JWT_JWKS_URI="")
    line = run_refused(monkeypatch, nobody)
    assert f"set {PREFIX}JWT_ISSUER" in line


STRANGERS_ARE_REFUSED = explain_exposed_credentials(POLICY)
STRANGERS: dict[str, tuple[str, str | None]] = {
    "all addresses": ("0.0.0.0", None),
    "a name": ("mcp.example.com", None),
    "behind a proxy": ("127.0.0.1", "https://mcp.example.com"),
}


@pytest.mark.parametrize("name", STRANGERS)
def test_the_credentials_of_one_user_are_not_for_strangers(name: str) -> None:
    host, public = STRANGERS[name]
    alone = Settings(static_credentials=SecretStr("the only one"), server_url=public)
    assert serve_at(alone, host, 8000) == STRANGERS_ARE_REFUSED
    near = alone.model_copy(update={"server_url": None})
    assert serve_at(near, "127.0.0.1", 8000) is None


SINGLE = {"static_credentials": SecretStr("the only one")}
OFFLINE = {"enable_offline_access": True}
TOKENS = {"jwt_audience": "the-client"}
# Settings, the host that is served, and the address of the server with port 8000
SERVED: dict[str, tuple[dict[str, Any], str, str]] = {
    "one user here": (SINGLE, "127.0.0.1", "http://127.0.0.1:8000"),
    "one user here, over IPv6": (SINGLE, "::1", "http://[::1]:8000"),
    "one user with tokens": (SINGLE | TOKENS, "0.0.0.0", "http://0.0.0.0:8000"),
    "grants with tokens": (OFFLINE | TOKENS, "127.0.0.1", "http://127.0.0.1:8000"),
    "grants behind a proxy": (
        OFFLINE | TOKENS | {"server_url": "https://mcp.example.com"},
        "0.0.0.0",
        "https://mcp.example.com",
    ),
    "nothing kept": ({}, "0.0.0.0", "http://0.0.0.0:8000"),
}


@pytest.mark.parametrize("name", SERVED)
def test_a_server_is_served_at_its_address(name: str) -> None:
    fields, host, address = SERVED[name]
    settings = Settings(**fields)
    assert serve_at(settings, host, 8000) is None
    assert settings.server_url == address


@pytest.mark.parametrize(
    ("fields", "host", "reason"),
    [
        (OFFLINE, "127.0.0.1", "users are unknown without a token"),
        (OFFLINE | TOKENS, "0.0.0.0", "browsers cannot be sent to http://0.0.0.0:8000"),
    ],
)
def test_grants_without_users_or_an_address_are_not_served(
    fields: dict[str, Any], host: str, reason: str
) -> None:
    assert reason in str(serve_at(Settings(**fields), host, 8000))


def test_the_command_refuses_strangers_with_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    single = {
        f"{PREFIX}STATIC_CREDENTIALS": "the only one",
        f"{PREFIX}DATABASE": ":memory:",
    }
    line = run_refused(monkeypatch, single, "0.0.0.0")
    assert line == f"{POLICY.server_name}: {STRANGERS_ARE_REFUSED}"


@pytest.mark.parametrize("verifies", [True, False])
async def test_without_the_command_the_credentials_need_a_verified_caller(
    provider: Provider, verifies: bool
) -> None:
    fields = {"enable_offline_access": False, "static_credentials": "the only one"}
    if not verifies:
        fields |= dict.fromkeys(["jwt_issuer", "jwt_audience", "jwt_jwks_uri"])
    async with serve_http(lambda base: make_cloud_server(provider, **fields)) as (
        base,
        _,
    ):
        token = provider.token_of("ann", "zz:read") if verifies else None
        transport = StreamableHttpTransport(f"{base}/mcp", auth=token)
        async with Client(transport, mode=MODERN) as client:
            answer = await client.call_tool("zz_alone", {}, raise_on_error=False)
    assert answer.is_error != verifies
    assert ("the only one" in str(answer)) == verifies


@pytest.mark.skipif(os.name != "posix", reason="file modes are of POSIX")
@pytest.mark.parametrize("mode", [0o666, 0o604, 0o602])
def test_a_store_that_anybody_may_use_stops_the_start(
    provider: Provider, tmp_path: Path, mode: int
) -> None:
    path = tmp_path / "c.db"
    path.touch()
    path.chmod(mode)
    with pytest.raises(
        Exception, match=f"^{PREFIX}CONSENT_DATABASE .*run `chmod 600 {path}`$"
    ):
        make_cloud_server(provider, consent_database=str(path), secret_keys=SECRET)


class Ring(KeyringBackend):
    """A keyring in memory."""

    passwords: ClassVar[dict[tuple[str, str], str]] = {}

    def get_password(self, service: str, username: str) -> str | None:
        """Return a stored password."""
        return self.passwords.get((service, username))

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a password."""
        self.passwords[service, username] = password


@pytest.mark.parametrize("ring", [Ring, Fail])
def test_the_secret_is_stored_in_the_keyring_or_its_absence_reported(
    provider: Provider, tmp_path: Path, ring: type[KeyringBackend]
) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(ring())
    Ring.passwords.clear()
    fields = {"consent_database": str(tmp_path / "c.db"), "secret_keyring": True}
    try:
        if ring is Fail:
            with pytest.raises(
                Exception, match="there is no keyring here; set SECRET_KEYS"
            ):
                make_cloud_server(provider, **fields)
            return
        first = flow.consent_of(make_cloud_server(provider, **fields)).store
        second = flow.consent_of(make_cloud_server(provider, **fields)).store
        anyio.run(first.put, "grants", "a", {"x": 1}, 60)
        assert anyio.run(second.get, "grants", "a") == {"x": 1}
        (secret,) = Ring.passwords.values()
        assert len(secret) == 64
    finally:
        keyring.set_keyring(before)


@pytest.mark.parametrize(
    "variable", ["MCP_SERVER_CLIENT_ID", f"{PREFIX}ENABLE_PROGRESSIVE_CONSENT"]
)
def test_a_setting_that_is_gone_is_warned_about(
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    variable: str,
) -> None:
    monkeypatch.setenv(variable, "x")
    make_cloud_server(provider)
    assert f"{variable} has no effect any more; set {PREFIX}" in caplog.text
