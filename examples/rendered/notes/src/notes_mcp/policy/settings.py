"""The settings every server of this template has; yours are added in ../settings.py. Managed by the template."""

from . import POLICY, DatabaseSettings, settings_config


class PolicySettings(DatabaseSettings):
    """What the policy reads from the environment: variables with the prefix NOTES_MCP_."""

    policy = POLICY
    model_config = settings_config(POLICY)
