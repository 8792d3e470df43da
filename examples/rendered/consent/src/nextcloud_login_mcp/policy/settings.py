"""The settings every server of this template has; yours are added in ../settings.py.

Managed by the template. Each is an environment variable with the prefix NEXTCLOUD_LOGIN_MCP_.
"""

from pathlib import Path

from platformdirs import user_data_path
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from .consent_settings import ConsentSettings

SERVER_NAME = "nextcloud-login-mcp"


class PolicySettings(ConsentSettings):
    """What the policy reads from the environment."""

    model_config = SettingsConfigDict(
        env_prefix="NEXTCLOUD_LOGIN_MCP_",
        use_attribute_docstrings=True,
    )

    database: str = Field(default_factory=lambda: str(user_data_path(SERVER_NAME) / "data.db"))
    """Path of the SQLite file, or :memory:."""
    metadata: Path | None = None
    """A metadata file to use instead of the one in your home folder; none for none."""
    state: str = "memory"
    """Where pending confirmations live: memory, a folder, or a redis:// address."""
    state_keys: list[str] = Field(default_factory=list)
    """Secrets that seal a question between replicas, newest first, as a JSON list."""
    confirm_seconds: float = Field(default=600, gt=0)
    """How long a person may take to answer, in seconds."""
