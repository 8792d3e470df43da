"""Your settings: each field is an environment variable, NEXTCLOUD_LOGIN_MCP_<NAME>."""

from .policy.settings import PolicySettings


class Settings(PolicySettings):
    """Add your own fields here, with a default or without."""
