"""A provider, a server that knows it, and a person's browser."""

import pytest
from attacks.consent.granting import serving
from attacks.consent.provider import Browser, Provider
from fastmcp import FastMCP


@pytest.fixture
def provider() -> Provider:
    """The provider, honest again."""
    return Provider.fresh()


@pytest.fixture
def server(provider: Provider) -> FastMCP:
    """The rendered server, which sends its users to that provider."""
    return serving(provider)


@pytest.fixture
def browser() -> Browser:
    """A browser without cookies."""
    return Browser()
