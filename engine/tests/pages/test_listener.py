"""The listener on loopback, beside other servers of the same process."""

import logging
import time

import httpx2
import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route

from engine.tests.engine_support.paging import page


@pytest.mark.anyio
async def test_the_access_log_of_others_stays_and_the_own_has_no_line(
    browser: httpx2.AsyncClient, caplog: pytest.LogCaptureFixture
) -> None:
    async def tell(request: Request) -> PlainTextResponse:
        return PlainTextResponse("told")

    log, handler = logging.getLogger("uvicorn.access"), logging.StreamHandler()
    log.addHandler(handler)
    listener = page.Listener([Route("/", tell)])
    try:
        with caplog.at_level(logging.INFO, "uvicorn.access"):
            base = await listener.open(time.time() + 600)
            assert (await browser.get(base, params={"link": "secret"})).text == "told"
            assert handler in log.handlers
            assert log.propagate
            assert [each for each in caplog.messages if "secret" in each] == []
    finally:
        listener.close()
        log.removeHandler(handler)
