"""What `check_provisioning_status` reports: whether access is granted, and how far a login is."""

from typing import Any

import httpx2
import pytest
from fastmcp import FastMCP

from engine.tests.engine_support.granting import (
    COMPLETE,
    FAILED,
    REQUIRED,
    TIMED_OUT,
    Call,
    begin_call,
    expire_link,
    flow,
    text_of,
)
from engine.tests.engine_support.provider import Browser
from engine.tests.engine_support.raw import MODERN, Message

pytestmark = pytest.mark.anyio


async def check_status(call: Call, **arguments: Any) -> Message:
    """Return the response to a check by the user of a call."""
    number = await call.raw.send(
        "tools/call", name="check_provisioning_status", arguments=arguments
    )
    return await call.raw.receive(number)


def status_of(message: Message) -> Message:
    """Return the status in the result of a check."""
    return Message(message["result"]["structuredContent"])


def id_of(link: str) -> str:
    return httpx2.URL(link).params["elicitationId"]


async def test_before_and_after_a_login(server: FastMCP, browser: Browser) -> None:
    async with begin_call(server, MODERN) as call:
        link = id_of(call.link)
        pending = status_of(await check_status(call, elicitation_id=link))
        assert pending == {
            "provisioned": False,
            "status": "pending",
            "message": REQUIRED,
        }
        assert await browser.walk(call.link, "ann") == COMPLETE
        granted = {"provisioned": True, "message": "Access was granted."}
        assert status_of(await check_status(call)) == {"status": None} | granted
        complete = await check_status(call, elicitation_id=link, wait_seconds=1)
        assert status_of(complete) == {"status": "complete"} | granted


async def test_a_login_that_failed(server: FastMCP, browser: Browser) -> None:
    async with begin_call(server, MODERN) as call:
        assert await browser.walk(call.link, "bob") == FAILED
        failed = await check_status(call, elicitation_id=id_of(call.link))
    assert status_of(failed) == {
        "provisioned": False,
        "status": "failed",
        "message": "a different account granted access",
    }


async def test_a_login_that_is_not_completed_in_time(server: FastMCP) -> None:
    async with begin_call(server, MODERN) as call:
        link = id_of(call.link)
        late = await check_status(call, elicitation_id=link, wait_seconds=0.05)
        assert text_of(late) == TIMED_OUT
        await expire_link(server, call.link)
        expired = await check_status(call, elicitation_id=link)
        assert text_of(expired) == TIMED_OUT


async def test_a_login_that_never_began(
    server: FastMCP, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    guess = {"elicitation_id": "guess", "tool": "check_provisioning_status"}
    async with begin_call(server, MODERN, **guess) as call:
        assert text_of(call.message) == "Unknown elicitation ID: guess"
    assert "another user's" not in caplog.text


async def test_a_login_that_is_forgotten_meanwhile(
    server: FastMCP, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store may lose a row; and a check looks at it a few times a second."""
    consent = flow.consent_of(server)
    looks = []
    find = consent.elicitation

    async def lose(link: str) -> Any:
        looks.append(link)
        return await find(link) if len(looks) == 1 else None

    async with begin_call(server, MODERN) as call:
        link = id_of(call.link)
        monkeypatch.setattr(consent, "elicitation", lose)
        late = await check_status(call, elicitation_id=link, wait_seconds=0.6)
        assert text_of(late) == TIMED_OUT
    assert 2 <= len(looks) <= 6
