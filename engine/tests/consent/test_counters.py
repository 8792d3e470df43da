"""Logins are counted for an operator who collects metrics: asked, granted, declined, refreshed."""

import httpx2
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader

from copier_fastmcp_engine.consent import counters
from engine.tests.engine_support.cloud.settings import POLICY
from engine.tests.engine_support.granting import (
    COMPLETE,
    FAILED,
    begin_call,
    change_parameters,
    make_cloud_server,
)
from engine.tests.engine_support.provider import Browser, Provider, heading
from engine.tests.engine_support.raw import LEGACY, MODERN

pytestmark = pytest.mark.anyio


class Metrics:
    """The metrics of this test alone."""

    def __init__(self) -> None:
        """Collect into memory."""
        self.reader = InMemoryMetricReader()
        self.provider = MeterProvider([self.reader])

    def steps(self) -> dict[str, int]:
        """Return how often each step was counted, on the meter of the server."""
        counts = {}
        data = self.reader.get_metrics_data()
        assert data
        for scope in data.resource_metrics[0].scope_metrics:
            assert scope.scope.name == POLICY.server_name
            for point in scope.metrics[0].data.data_points:
                assert point.attributes
                counts[str(point.attributes["step"])] = int(getattr(point, "value", 0))
        return counts


@pytest.fixture
def metrics(monkeypatch: pytest.MonkeyPatch) -> Metrics:
    """The counters of logins, in place of those of this process."""
    collected = Metrics()
    monkeypatch.setattr("opentelemetry.metrics.get_meter", collected.provider.get_meter)
    counters._login_counter.cache_clear()
    monkeypatch.setattr(counters, "_login_counter", counters._login_counter.__wrapped__)
    return collected


async def test_a_login_that_is_granted_and_renewed(
    provider: Provider, browser: Browser, metrics: Metrics
) -> None:
    provider.wrong["token"] = {"expires_in": 1}
    async with begin_call(make_cloud_server(provider), LEGACY, "none") as call:
        assert metrics.steps() == {"asked": 1}
        await call.begin()  # the same link: nobody is asked twice
        assert await browser.walk(call.link, "ann") == COMPLETE
        provider.wrong.clear()  # the next token lasts
        await call.go_on()
    assert metrics.steps() == {"asked": 1, "granted": 1, "refreshed": 1}


async def test_a_login_that_is_declined_in_the_client(
    provider: Provider, metrics: Metrics, era: str
) -> None:
    async with begin_call(make_cloud_server(provider), era, "form") as call:
        await call.go_on({"action": "decline"})
    assert metrics.steps() == {"asked": 1, "declined": 1}


async def test_a_login_that_fails_is_not_declined(
    provider: Provider, browser: Browser, metrics: Metrics
) -> None:
    provider.wrong["refuses"] = "server_error"
    async with begin_call(make_cloud_server(provider), MODERN) as call:
        assert await browser.walk(call.link, "ann") == FAILED
    assert metrics.steps() == {"asked": 1}


async def test_a_login_that_is_declined_at_the_provider(
    provider: Provider, browser: Browser, metrics: Metrics
) -> None:
    async with begin_call(make_cloud_server(provider), MODERN) as call:
        back = await browser.log_in(call.link, "ann")
        without_code = str(httpx2.URL(back).copy_remove_param("code"))
        refused = change_parameters(without_code, error="access_denied")
        assert heading(await browser.get(refused)) == FAILED
    assert metrics.steps() == {"asked": 1, "declined": 1}
