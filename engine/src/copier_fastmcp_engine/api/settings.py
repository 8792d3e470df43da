"""The settings of a server in front of an API."""

import re
from typing import ClassVar

from pydantic import Field, SecretStr, field_validator

from ..settings import PolicySettings
from .authentication import PATTERN


class ApiSettings(PolicySettings):
    """The settings of a server in front of an API; the project gives `api` and `api_auth` its own defaults."""

    spells_numbers: ClassVar[bool] = True
    api: str = Field(pattern=r"^https?://[^\s/?#@]+(/[^\s?#]*)?$")
    """The address of the API."""
    api_token: SecretStr = SecretStr("")
    """The secret that requests carry; for basic user:password."""
    api_auth: str = "bearer"
    """How requests carry it: bearer, basic, header:NAME, query:NAME or cookie:NAME."""
    api_seconds: float = Field(default=30, gt=0, le=600)
    """The time limit of a call, with all attempts."""
    api_bytes: int = Field(default=5_000_000, ge=1_000, le=500_000_000)
    """The size limit of a response, decoded."""
    api_files: str = ""
    """The folder from which tools may send files; none when empty."""

    @field_validator("api_auth")
    @classmethod
    def check_api_auth(cls, value: str) -> str:
        """Refuse what names no way to send the token; a project's own default does not lose this check."""
        if not re.match(PATTERN, value):
            raise ValueError(
                "write bearer, basic, header:NAME, query:NAME or cookie:NAME"
            )
        return value
