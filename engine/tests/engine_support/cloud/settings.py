"""The policies of the cloud server, and its settings."""

import dataclasses
import functools
from typing import Any

from copier_fastmcp_engine.consent.settings import ConsentSettings
from copier_fastmcp_engine.policy import Policy
from copier_fastmcp_engine.settings import DatabaseSettings, settings_config
from engine.tests.engine_support.servers import make_policy

PACKAGE = __name__.rpartition(".")[0]


def cloud_policy(**fields: Any) -> Policy:
    """Return a policy of the cloud server."""
    policy = make_policy(
        "cloud-mcp",
        has_consent=True,
        domain="cloud",
        domain_title="Cloud",
        **fields,
    )
    return dataclasses.replace(policy, package=PACKAGE)


POLICY = cloud_policy()
EVERY_WRITE_ASKS = cloud_policy(confirm="writes", preview_first=True)


class Settings(ConsentSettings, DatabaseSettings):
    """The settings of the cloud server."""

    policy = POLICY
    model_config = settings_config(POLICY)


@functools.cache
def settings_class(policy: Policy) -> type[Settings]:
    """Return the class of settings under a policy."""

    class OwnSettings(Settings):
        """The settings under this policy."""

    OwnSettings.policy = policy
    return OwnSettings
