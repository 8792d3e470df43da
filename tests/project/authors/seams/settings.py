"""Settings of an owner's own, beside the policy's."""

from notes_mcp.policy.settings import PolicySettings


class Settings(PolicySettings):
    """One setting more."""

    greeting: str = "hello"
