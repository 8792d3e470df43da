"""Who calls, and what a client can show: the facts that an answer is bound to, and that decide how it is asked."""

from types import SimpleNamespace
from typing import Any

import pytest
from fastmcp.server.auth import AccessToken
from mcp_types import (
    ClientCapabilities,
    ElicitationCapability,
    FormElicitationCapability,
    UrlElicitationCapability,
)

from copier_fastmcp_engine.confirmation import elicitation
from copier_fastmcp_engine.confirmation.elicitation import (
    caller_of,
    digest,
    response_to,
    shows_forms,
    shows_links,
)
from copier_fastmcp_engine.guard import guard_of
from engine.tests.engine_support.targets import DONE, make_target_server

pytestmark = pytest.mark.anyio
OLD, LATEST, MODERN = "2025-06-18", "2025-11-25", "2026-07-28"
FORM = ElicitationCapability(form=FormElicitationCapability())
URL = ElicitationCapability(url=UrlElicitationCapability())
BOTH = ElicitationCapability(
    form=FormElicitationCapability(), url=UrlElicitationCapability()
)
BARE = ElicitationCapability()


def make_context(
    version: str = LATEST,
    capability: ElicitationCapability | None = None,
    session: str = "1",
) -> Any:
    """Return the context of a call."""
    capabilities = ClientCapabilities(elicitation=capability)
    request = SimpleNamespace(
        protocol_version=version,
        session=SimpleNamespace(client_capabilities=capabilities),
    )
    return SimpleNamespace(request_context=request, session_id=session)


def name_caller(
    monkeypatch: pytest.MonkeyPatch, token: AccessToken | None, **context: Any
) -> str:
    """Return the name of a caller with a token."""
    monkeypatch.setattr(elicitation, "get_access_token", lambda: token)
    return caller_of(make_context(**context))


def make_token(
    client: str = "app", subject: str | None = None, **claims: str
) -> AccessToken:
    """Return a token."""
    return AccessToken(
        token="-", client_id=client, scopes=[], subject=subject, claims=claims
    )


async def test_callers_with_different_tokens_are_different(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tokens = [
        make_token(),
        make_token(client="other"),
        make_token(subject="ann"),
        make_token(subject="bob"),
        make_token(sub="ann"),
        make_token(sub="bob"),
        make_token(subject="ann", iss="https://example.com"),
    ]
    names = [name_caller(monkeypatch, token) for token in tokens]
    assert len(set(names)) == len(tokens)


@pytest.mark.parametrize("version", [LATEST, MODERN])
async def test_a_token_names_its_user_in_every_session(
    monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    token = make_token(sub="ann")
    first = name_caller(monkeypatch, token, version=version, session="1")
    assert name_caller(monkeypatch, token, version=version, session="2") == first


async def test_without_a_token_a_session_names_the_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = name_caller(monkeypatch, None, session="1")
    assert name_caller(monkeypatch, None, session="2") != first
    modern = name_caller(monkeypatch, None, version=MODERN, session="1")
    assert modern == name_caller(monkeypatch, None, version=MODERN, session="2")


def test_a_digest_depends_on_the_values_and_not_on_the_order_of_their_keys() -> None:
    assert digest("wipe", {"a": 1, "b": 2}) == digest("wipe", {"b": 2, "a": 1})
    assert digest("wipe", {"a": 1}) != digest("wipe", {"a": 2})
    assert digest("wipe", "a") != digest("a", "wipe")
    assert digest(OLD, object) != digest(OLD, str)


@pytest.mark.parametrize(
    ("version", "capability", "forms", "links"),
    [
        (LATEST, None, False, False),
        (LATEST, BARE, True, False),
        (LATEST, FORM, True, False),
        (LATEST, URL, False, True),
        (LATEST, BOTH, True, True),
        (OLD, BARE, True, False),
        (OLD, BOTH, True, False),
        (MODERN, None, False, False),
        (MODERN, FORM, True, False),
        (MODERN, BOTH, True, True),
    ],
)
async def test_a_client_shows_what_it_declares_where_the_protocol_has_it(
    version: str, capability: ElicitationCapability | None, forms: bool, links: bool
) -> None:
    gate = guard_of(make_target_server()).gate
    ctx = make_context(version, capability)
    assert (await shows_forms(ctx, gate), await shows_links(ctx, gate)) == (
        forms,
        links,
    )


async def test_without_a_request_or_capabilities_nothing_is_shown() -> None:
    gate = guard_of(make_target_server()).gate
    no_request: Any = SimpleNamespace(request_context=None)
    no_capabilities = make_context()
    no_capabilities.request_context.session.client_capabilities = None
    for ctx in (no_request, no_capabilities):
        assert not await shows_forms(ctx, gate)
        assert not await shows_links(ctx, gate)


async def test_a_call_without_a_request_has_its_preview_as_its_result() -> None:
    DONE.clear()
    result = await make_target_server().call_tool("wipe", {"name": "a"})
    assert result.structured_content is not None
    assert result.structured_content["outcome"] == "preview"
    assert DONE == []


def test_an_answer_to_a_question_that_was_not_asked_is_none() -> None:
    answers = {"confirmation": "an answer"}
    unasked: Any = SimpleNamespace(request_state=None, input_responses=answers)
    asked: Any = SimpleNamespace(request_state="sealed", input_responses=answers)
    assert response_to(unasked, "confirmation") is None
    assert response_to(asked, "confirmation") == "an answer"


async def test_a_client_that_could_not_show_a_form_is_mute_for_its_session() -> None:
    gate = guard_of(make_target_server()).gate
    await gate.put("mute-1", {}, 60)
    assert not await shows_forms(make_context(LATEST, BOTH, "1"), gate)
    assert not await shows_links(make_context(LATEST, BOTH, "1"), gate)
    assert await shows_forms(make_context(LATEST, BOTH, "2"), gate)
    assert await shows_links(make_context(MODERN, BOTH, "1"), gate)
