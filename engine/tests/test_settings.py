"""The settings of a server are read quickly: each start of a server, by each client, makes their classes."""

import pytest

from copier_fastmcp_engine.api.settings import ApiSettings
from copier_fastmcp_engine.consent.settings import ConsentSettings
from copier_fastmcp_engine.settings import (
    DatabaseSettings,
    PageSettings,
    PolicySettings,
)
from engine.tests.engine_support.cloud.settings import Settings

CLASSES = [
    PolicySettings,
    DatabaseSettings,
    PageSettings,
    ApiSettings,
    ConsentSettings,
    Settings,
]


@pytest.mark.parametrize("settings", CLASSES)
def test_no_docstring_is_looked_for(settings: type[PolicySettings]) -> None:
    """Nothing uses it, and to find one, pydantic looks through every module that is imported."""
    assert not settings.model_config.get("use_attribute_docstrings")
