"""A provider, a server that knows it, a browser, and the policies that ask for different tools."""

from collections.abc import Iterator

import pytest
from fastmcp import FastMCP

from engine.tests.engine_support import granting
from engine.tests.engine_support.cloud.settings import EVERY_WRITE_ASKS, POLICY
from engine.tests.engine_support.granting import make_cloud_server
from engine.tests.engine_support.provider import Browser, Provider

EACH_POLICY = [
    pytest.param(POLICY, id="deletes-ask"),
    pytest.param(EVERY_WRITE_ASKS, id="every-write-asks"),
]

MOSTLY_ONE_POLICY = [
    EACH_POLICY[0],
    pytest.param(EVERY_WRITE_ASKS, id="every-write-asks", marks=pytest.mark.nightly),
]


@pytest.fixture
def policy(request: pytest.FixtureRequest) -> Iterator[None]:
    """Let the servers of a test have the policy of its parameter."""
    granting.policy_in_use.append(request.param)
    yield
    granting.policy_in_use.pop()


@pytest.fixture
def provider() -> Provider:
    """The provider, honest again."""
    return Provider.fresh()


@pytest.fixture
def server(provider: Provider) -> FastMCP:
    """The cloud server, which sends its users to that provider."""
    return make_cloud_server(provider)


@pytest.fixture
def browser() -> Browser:
    """A browser without cookies."""
    return Browser()
