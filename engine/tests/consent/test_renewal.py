"""When a stored grant is used as it is, renewed, or given up."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from fastmcp import FastMCP

from copier_fastmcp_engine.consent.flow import Consent
from copier_fastmcp_engine.consent.store import User
from engine.tests.engine_support.granting import TOKEN, Grant, flow
from engine.tests.engine_support.provider import Provider

pytestmark = pytest.mark.anyio
ANN = User("user:ann", "ann")


@pytest.fixture
def consent(server: FastMCP) -> Consent:
    """The consent of the cloud server."""
    return flow.consent_of(server)


def make_grant(seconds: float, refresh_token: str | None = None) -> Grant:
    """Return a grant whose access token ends after so many seconds."""
    now = time.time()
    return Grant(
        subject="ann",
        access_token="stored",
        refresh_token=refresh_token,
        expires_at=now + seconds,
        granted_at=now,
    )


async def fetch_token(consent: Consent, refused: str | None = None) -> str | None:
    """Return the access token that a call of Ann gets."""
    grant = await consent.fresh(ANN, refused)
    return grant.access_token if grant else None


@pytest.mark.parametrize(
    ("seconds", "refresh_token"),
    [
        (60, "r"),
        (60, None),
        (20, None),
    ],
    ids=["renewable", "not renewable", "not renewable, about to end"],
)
async def test_a_token_that_holds_is_used_as_it_is(
    provider: Provider,
    consent: Consent,
    seconds: float,
    refresh_token: str | None,
) -> None:
    assert await consent.keep(ANN, make_grant(seconds, refresh_token))
    assert await fetch_token(consent) == "stored"
    assert provider.asked == []


async def test_a_token_is_renewed_before_it_ends(
    provider: Provider, consent: Consent
) -> None:
    """The provider does not know this refresh token, and so ends the grant."""
    assert await consent.keep(ANN, make_grant(20, "unknown"))
    assert await fetch_token(consent) is None
    assert TOKEN in provider.asked
    assert await consent.grant(ANN) is None


@pytest.mark.parametrize("refresh_token", ["unknown", None])
async def test_a_token_that_the_service_refused_is_not_used_again(
    provider: Provider, consent: Consent, refresh_token: str | None
) -> None:
    assert await consent.keep(ANN, make_grant(600, refresh_token))
    assert await fetch_token(consent, "another") == "stored"
    assert await fetch_token(consent, "stored") is None
    assert (TOKEN in provider.asked) == (refresh_token is not None)
    assert await consent.grant(ANN) is None


async def test_a_grant_without_a_refresh_token_ends_with_its_access_token(
    provider: Provider, consent: Consent
) -> None:
    assert await consent.keep(ANN, make_grant(-1))
    assert await fetch_token(consent) is None
    assert provider.asked == []


async def test_a_login_that_began_before_a_revocation_stores_nothing(
    consent: Consent,
) -> None:
    before = await consent.mark(ANN)
    assert await consent.revoke(ANN) == (False, False)
    assert not await consent.keep(ANN, make_grant(600), before)
    assert await consent.grant(ANN) is None
    assert await consent._load_name(ANN) is None
    after = await consent.mark(ANN)
    assert await consent.keep(ANN, make_grant(600), after)
    assert await fetch_token(consent) == "stored"
    await consent.revoke(ANN)
    assert not await consent.keep(ANN, make_grant(600), after)
    assert await consent.grant(ANN) is None


async def test_a_grant_is_that_of_its_user_alone(consent: Consent) -> None:
    assert await consent.keep(ANN, make_grant(600))
    bob = User("user:bob", "bob")
    assert await consent.fresh(bob) is None
    await consent.revoke(bob)
    assert await fetch_token(consent) == "stored"


@pytest.mark.parametrize(
    ("refresh_token", "longest"),
    [
        ("r", 10**10),
        (None, 600),
    ],
    ids=["renewable", "not"],
)
async def test_a_grant_is_stored_as_long_as_it_can_be_used(
    consent: Consent, refresh_token: str | None, longest: float
) -> None:
    assert await consent.keep(ANN, make_grant(600, refresh_token))
    rows: Any = consent.store._rows
    sql = "SELECT expires_at FROM rows WHERE collection = 'consent-grants'"
    ((until,),), _ = rows._run(sql)
    assert longest / 2 < until - time.time() <= longest


async def test_a_thousand_links_remember_whom_to_notify(consent: Consent) -> None:
    for number in range(1100):
        elicitation: Any = SimpleNamespace(id=str(number))
        session: Any = object()
        consent.tell(elicitation, session)
        if number == 2:
            assert set(consent._waiting) == {"0", "1", "2"}
    assert set(consent._waiting) == {str(number) for number in range(99, 1100)}
