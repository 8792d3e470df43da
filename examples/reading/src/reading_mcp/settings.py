"""Your settings: each field is an environment variable, READING_MCP_<NAME>."""

from .policy.settings import PolicySettings


class Settings(PolicySettings):
    """Where reminders go; without an address they are only recorded."""

    webhook: str = ""
