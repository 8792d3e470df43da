"""What a server over HTTP logs of requests."""

import json
import logging
from typing import Any

import httpx2
import pytest
from fastmcp import Client, FastMCP

from engine.tests.engine_support.http_serving import serve_http
from engine.tests.engine_support.targets import make_target_server

pytestmark = pytest.mark.anyio


def list_failures(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return the logged failures of requests."""
    lines = [line for line in caplog.messages if line.startswith("{")]
    entries = [json.loads(line) for line in lines]
    return [entry for entry in entries if entry["event"] == "request"]


def make_server(_: str) -> FastMCP[Any]:
    return make_target_server()


async def test_a_refused_request_has_one_line_without_its_query(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with serve_http(make_server) as (base, _), httpx2.AsyncClient() as client:
        await client.get(f"{base}/no%0Awhere", params={"token": "secret"})
        await client.post(f"{base}/mcp", headers={"Host": "evil.example"})
        await client.request("X" * 500, f"{base}/{'x' * 500}")
    facts = {"event": "request", "client": "127.0.0.1"}
    first, second, third = list_failures(caplog)
    assert first == facts | {"status": 404, "method": "GET", "path": "/no\nwhere"}
    assert second == facts | {"status": 421, "method": "POST", "path": "/mcp"}
    assert (len(third["path"]), len(third["method"])) == (200, 200)
    assert not any("secret" in line for line in caplog.messages if line[0] == "{")


async def test_a_call_and_a_health_check_have_no_line_of_a_request(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with serve_http(make_server) as (base, _):
        async with Client(f"{base}/mcp", mode="2026-07-28") as client:
            await client.call_tool("list_wiped", {})
        async with httpx2.AsyncClient() as browser:
            health = await browser.get(f"{base}/health")
    assert health.status_code == 200
    assert list_failures(caplog) == []
    assert "tool_call" in caplog.text
