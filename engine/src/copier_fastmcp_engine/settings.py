"""The settings of every server; a project's own are added in its settings.py.

Each is an environment variable with the server's prefix. A project's `PolicySettings` combines the classes that its
answers require: this one, with `DatabaseSettings`, `api.settings.ApiSettings`, `PageSettings`, and those of consent.
"""

import json
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from .policy import Policy


def settings_config(policy: Policy) -> SettingsConfigDict:
    """Return the configuration of a server's settings: where they are read, and that errors repeat no value."""
    return SettingsConfigDict(
        env_prefix=policy.env_prefix,
        env_ignore_empty=True,
        hide_input_in_errors=True,
    )


def _parse_list(value: object) -> object:
    """Return what a variable of the environment lists: values with commas between, or a JSON list."""
    if not isinstance(value, str):
        return value
    if value.lstrip().startswith("["):
        return json.loads(value)
    parts = [part.strip() for part in value.split(",")]
    return [part for part in parts if part]


StringList = Annotated[list[str], NoDecode, BeforeValidator(_parse_list)]


class PolicySettings(BaseSettings):
    """What the policy reads from the environment."""

    policy: ClassVar[Policy]
    spells_numbers: ClassVar[bool] = False  # see `arguments.spell_numbers`

    metadata: Path | None = None
    """A metadata file to use instead of the one in your home folder; `none` for no file."""
    state: str = "memory"
    """Where pending confirmations are stored: memory, a folder, or a redis:// address."""
    state_keys: StringList = Field(default_factory=list, repr=False)
    """Secrets that seal a question between replicas, newest first."""
    confirm_seconds: float = Field(default=600, gt=0, le=86_400)
    """How many seconds a person has to answer."""
    host: str = "127.0.0.1"
    """The address to listen on over HTTP; 0.0.0.0 is every address of this machine."""
    port: int = Field(default=8000, ge=0, le=65535)
    """The port to listen on."""
    allowed_hosts: StringList = Field(default_factory=list)
    """Host names, in addition to localhost, for clients over HTTP; * matches any text."""
    audit: str = ""
    """Where calls that write are recorded: a file, or stdout or stderr; nowhere when empty."""
    trust_reads: StringList = Field(default_factory=list)
    """Undeclared tools whose own readOnlyHint is trusted; * matches any text."""
    toolsets: StringList = Field(default_factory=list)
    """Serve only these folders or files of tools/; notes:readonly serves the reads of notes."""
    tools: StringList = Field(default_factory=list)
    """Serve only the tools with these names; * matches any text."""
    exclude: StringList = Field(default_factory=list)
    """Leave out the tools with these names; * matches any text."""
    read_only: bool = False
    """Serve only tools that change nothing."""
    no_destructive: bool = False
    """Leave out tools that may be destructive."""
    public: bool = False
    """Where tokens are verified, serve tools without scopes and consent to callers without a token."""
    search: bool = False
    """List a tool that searches for tools and one that calls them, in place of all tools."""


class DatabaseSettings(PolicySettings):
    """The settings of a server that keeps its data itself."""

    database: str = Field(default="", validate_default=True)
    """Path of the SQLite file, or :memory:."""

    @field_validator("database")
    @classmethod
    def _default_database(cls, value: str) -> str:
        return value or _data_path(cls.policy, "data.db")


class PageSettings(PolicySettings):
    """The settings of a server that asks on a page."""

    browser: Literal["auto", "never"] = "auto"
    """Whether a page may be opened in the browser of this machine, over stdio."""
    server_url: str | None = None
    """Where browsers reach this server over HTTP, such as https://mcp.example.com."""


def _data_path(policy: Policy, name: str) -> str:
    """Return the path of a file in the user's data folder."""
    from platformdirs import user_data_path

    return str(user_data_path(policy.server_name) / name)


def default_data_path(settings: type[PolicySettings], value: Any, name: str) -> str:
    """Return a setting's value, else the path of a file in the user's data folder."""
    return str(value) or _data_path(settings.policy, name)
