"""The settings every server of this template has; yours are added in ../settings.py.

Managed by the template. Each is an environment variable with the prefix NOTES_MCP_.
"""

import json
from pathlib import Path
from typing import Annotated

from platformdirs import user_data_path
from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

SERVER_NAME = "notes-mcp"


def _listed(given: object) -> object:
    """What a variable of the environment lists: values with commas between, or a JSON list."""
    if not isinstance(given, str):
        return given
    parts = map(str.strip, given.split(","))
    return json.loads(given) if given.lstrip().startswith("[") else [*filter(None, parts)]


Listed = Annotated[list[str], NoDecode, BeforeValidator(_listed)]


class PolicySettings(BaseSettings):
    """What the policy reads from the environment."""

    model_config = SettingsConfigDict(
        env_prefix="NOTES_MCP_",
        env_ignore_empty=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )

    database: str = Field(default_factory=lambda: str(user_data_path(SERVER_NAME) / "data.db"))
    """Path of the SQLite file, or :memory:."""
    metadata: Path | None = None
    """A metadata file to use instead of the one in your home folder; none for none."""
    state: str = "memory"
    """Where pending confirmations live: memory, a folder, or a redis:// address."""
    state_keys: Listed = Field(default_factory=list, repr=False)
    """Secrets that seal a question between replicas, newest first."""
    confirm_seconds: float = Field(default=600, gt=0, le=86_400)
    """How long a person may take to answer, in seconds."""
    host: str = "127.0.0.1"
    """The address to listen on over HTTP; 0.0.0.0 is every one of this machine."""
    port: int = Field(default=8000, ge=0, le=65535)
    """The port to listen on."""
    allowed_hosts: Listed = Field(default_factory=list)
    """Names besides localhost by which clients reach this server over HTTP; * stands for any text."""
    audit: str = ""
    """Where calls that write are recorded: a file, or stdout or stderr; nowhere when empty."""
    trust_reads: Listed = Field(default_factory=list)
    """Names of undeclared tools whose own readOnlyHint is believed; * stands for any text."""
    toolsets: Listed = Field(default_factory=list)
    """Only these folders or files of tools/ are served; notes:readonly serves what reads in notes."""
    tools: Listed = Field(default_factory=list)
    """Only tools of these names are served; * stands for any text."""
    exclude: Listed = Field(default_factory=list)
    """Tools of these names are not served; * stands for any text."""
    read_only: bool = False
    """Serve only what changes nothing."""
    no_destructive: bool = False
    """Serve nothing that may destroy."""
