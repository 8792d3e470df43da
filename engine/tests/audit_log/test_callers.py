"""The caller in a line of the audit log: client, issuer and subject of a token, otherwise the session."""

from types import SimpleNamespace
from typing import Any

import pytest
from fastmcp.server.auth import AccessToken

from copier_fastmcp_engine import audit_log

ISSUER = "https://login.example.com"


def caller_with(
    monkeypatch: pytest.MonkeyPatch, token: AccessToken | None, session: str = ""
) -> dict[str, str]:
    """Return what a line names of a call in the handshake protocol."""
    monkeypatch.setattr(audit_log, "get_access_token", lambda: token)
    monkeypatch.setattr(audit_log, "is_modern", lambda ctx: not session)
    context: Any = SimpleNamespace(session_id=session)
    return audit_log.caller(context)


def test_a_token_is_logged_as_client_issuer_and_subject(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = AccessToken(
        token="-",
        client_id="app",
        scopes=[],
        subject="ann",
        claims={"iss": ISSUER, "sub": "ann"},
    )
    named = {"client": "app", "issuer": ISSUER, "subject": "ann"}
    assert caller_with(monkeypatch, token) == named


def test_the_subject_may_come_from_the_claims(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = AccessToken(token="-", client_id="app", scopes=[], claims={"sub": "bob"})
    assert caller_with(monkeypatch, token)["subject"] == "bob"


def test_a_token_without_a_subject_is_logged_without_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    token = AccessToken(token="-", client_id="app", scopes=[])
    assert caller_with(monkeypatch, token) == {"client": "app"}


def test_two_sessions_have_different_digests(monkeypatch: pytest.MonkeyPatch) -> None:
    first = caller_with(monkeypatch, None, "one")
    second = caller_with(monkeypatch, None, "two")
    assert first.keys() == second.keys() == {"session"}
    assert first != second
    assert "one" not in first["session"]


def test_without_a_token_and_a_session_no_caller_is_logged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert caller_with(monkeypatch, None) == {}
