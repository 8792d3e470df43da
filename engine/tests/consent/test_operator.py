"""The operator's log of a failed login: one line for each failure, without secrets."""

import json
import logging
import re
from typing import Any

import httpx2
import pytest

from copier_fastmcp_engine.consent.oauth_errors import build_unreachable_error
from copier_fastmcp_engine.pages.listener import REDACTED
from engine.tests.engine_support.granting import (
    COMPLETE,
    FAILED,
    LATER,
    TOKEN,
    Grant,
    begin_call,
    change_parameters,
    collect_secrets,
    flow,
    load_grant,
    make_cloud_server,
    text_of,
)
from engine.tests.engine_support.provider import Browser, Provider, heading, serve_http
from engine.tests.engine_support.raw import LEGACY, MODERN

pytestmark = pytest.mark.anyio
REFUSED = "the provider refused the code"
FAILURES: dict[str, tuple[str, str]] = {
    "wrong issuer": (
        "the provider names another issuer than OIDC_ISSUER",
        "copy what it names",
    ),
    "slash": (
        "the provider names another issuer than OIDC_ISSUER",
        "the slash at the end",
    ),
    "wrong port": ("the provider cannot be reached", "ConnectError at 127.0.0.1:"),
    "down": ("the provider cannot be reached", "HTTP 500 at 127.0.0.1:"),
    "another account": (
        "a different account granted access",
        "the subject of the provider's ID token",
    ),
    "refused code": (REFUSED, "invalid_grant: the code or token was already used"),
    "invalid_client": (
        REFUSED,
        "invalid_client: check OIDC_CLIENT_ID and OIDC_CLIENT_SECRET",
    ),
    "made up": (REFUSED, "an error outside the standard"),
    "access_denied": (
        "the login service did not grant access",
        "access_denied: the user declined",
    ),
}


def read_failure(caplog: pytest.LogCaptureFixture) -> dict[str, Any]:
    """Return the one log line of a failed login."""
    (line,) = [line for line in caplog.messages if '"outcome": "failed"' in line]
    fields: dict[str, Any] = json.loads(line)
    return fields


@pytest.mark.parametrize("kind", FAILURES)
async def test_each_failure_of_the_provider_is_one_line(
    provider: Provider, browser: Browser, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    issuer = provider.issuer
    user = "bob" if kind == "another account" else "ann"
    if kind == "wrong port":
        issuer = "http://127.0.0.1:1"
    issuers = {"wrong issuer": "http://127.0.0.1:1", "slash": f"{issuer}/"}
    if kind in issuers:
        provider.wrong["discovery"] = {"issuer": issuers[kind]}
    if kind == "down":
        provider.wrong["down"] = [TOKEN]
    if kind in ("invalid_client", "made up"):
        provider.wrong["refuses"] = kind
    server = make_cloud_server(provider, oidc_issuer=issuer, jwt_issuer=issuer)
    async with begin_call(server, MODERN) as call:
        if kind in (*issuers, "wrong port"):
            assert heading(await browser.get(call.link)) == LATER
        else:
            back = await browser.log_in(call.link, user)
            if kind == "access_denied":
                without_code = httpx2.URL(back).copy_remove_param("code")
                back = change_parameters(str(without_code), error=kind)
            if kind == "refused code":
                back = change_parameters(back, code="another")
            assert heading(await browser.get(back)) == FAILED
    line = read_failure(caplog)
    reason, cause = FAILURES[kind]
    assert line["why"] == reason
    assert cause in line["cause"]
    for secret in collect_secrets(provider, browser):
        assert secret not in json.dumps(line)


@pytest.mark.parametrize(
    ("address", "cause"),
    [
        ("https://login.example/token", "TimeoutError at login.example:https"),
        ("https://login.example:8443/token", "TimeoutError at login.example:8443"),
        ("https://[", "TimeoutError"),
    ],
)
def test_a_provider_that_does_not_answer_is_named_by_host_and_port(
    address: str, cause: str
) -> None:
    assert build_unreachable_error(TimeoutError(), address).cause == cause


async def test_a_renewal_that_is_refused_is_one_line(
    provider: Provider, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    provider.wrong["token"] = {"expires_in": 1}
    async with begin_call(make_cloud_server(provider), LEGACY, "none") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        provider.wrong["refuses"] = "invalid_grant"
        await call.go_on()
    assert read_failure(caplog)["why"] == "the provider ended the grant"


async def test_a_renewal_that_cannot_be_had_now_is_one_line(
    provider: Provider, browser: Browser, caplog: pytest.LogCaptureFixture
) -> None:
    """The grant stays: the provider did not say that it is over."""
    provider.wrong["token"] = {"expires_in": 1}
    server = make_cloud_server(provider)
    async with begin_call(server, LEGACY, "none") as call:
        assert await browser.walk(call.link, "ann") == COMPLETE
        provider.wrong["refuses"] = "temporarily_unavailable"
        refusal = text_of(await call.go_on())
    assert refusal == f"{REFUSED}; try again later"
    assert read_failure(caplog)["why"] == REFUSED
    assert await load_grant(server, "ann") is not None


async def test_keys_that_cannot_be_had_are_one_line(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"jwt_jwks_uri": "http://127.0.0.1:1/jwks"}
    async with (
        serve_http(
            lambda base: make_cloud_server(provider, server_url=base, **settings)
        ) as (base, _),
        httpx2.AsyncClient() as client,
    ):
        headers = {"Authorization": f"Bearer {provider.token_of('ann', 'zz:read')}"}
        response = await client.post(f"{base}/mcp", json={}, headers=headers)
    assert response.status_code == 401
    assert caplog.text.count("JWT_JWKS_URI returns no keys") == 1


async def test_a_token_in_an_address_is_not_in_the_access_log(
    provider: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "uvicorn.access")
    # Which the servers of other tests may have added
    logging.getLogger("uvicorn.access").removeFilter(REDACTED)
    async with (
        serve_http(lambda base: make_cloud_server(provider, server_url=base)) as (
            base,
            _,
        ),
        httpx2.AsyncClient() as client,
    ):
        await client.post(f"{base}/mcp", params={"access_token": "secret"}, json={})
        await client.get(f"{base}/another", params={"access_token": "secret"})
    paths = []
    for record in caplog.records:
        if record.name != "uvicorn.access":
            continue
        line = record.getMessage()
        assert "secret" not in line
        paths += re.findall(r"(?:^|\s)(/\S*)", line)
    assert paths == ["/mcp", "/another"]


@pytest.mark.parametrize("named", [True, False])
async def test_a_provider_that_names_itself_must_do_so_each_time(
    provider: Provider, browser: Browser, named: bool
) -> None:
    provider.wrong["discovery"] = {
        "authorization_response_iss_parameter_supported": True
    }
    async with begin_call(make_cloud_server(provider), MODERN) as call:
        back = await browser.log_in(call.link, "ann")
        back = change_parameters(back, iss=provider.issuer) if named else back
        assert heading(await browser.get(back)) == (COMPLETE if named else FAILED)


@pytest.mark.parametrize(
    ("wrong", "cause"),
    [
        ({"down": ["/revoke"]}, "HTTP 500"),
        ({"down": ["/.well-known/openid-configuration"]}, "HTTP 500 at 127.0.0.1:"),
        ({"discovery": {"revocation_endpoint": None}}, None),
    ],
    ids=["refused", "away", "no address"],
)
async def test_a_revocation_that_the_provider_does_not_take(
    provider: Provider,
    caplog: pytest.LogCaptureFixture,
    wrong: dict[str, Any],
    cause: str | None,
) -> None:
    """The grant is gone here; a provider that has no address for it is no failure."""
    provider.wrong |= wrong
    consent = flow.consent_of(make_cloud_server(provider))
    grant = Grant(subject="ann", access_token="t", expires_at=10**10, granted_at=0)
    await consent.keep(flow.LOCAL, grant)
    assert await consent.revoke(flow.LOCAL) == (True, False)
    if cause:
        line = read_failure(caplog)
        assert line["why"] == "the provider could not be notified of a revocation"
        assert line["cause"].startswith(cause)
    else:
        assert '"outcome": "failed"' not in caplog.text
