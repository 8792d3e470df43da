"""The notes server, put together as a project's server.py does, under any policy."""

import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastmcp import FastMCP

from copier_fastmcp_engine.policy import Policy
from copier_fastmcp_engine.server import build_server
from copier_fastmcp_engine.settings import (
    DatabaseSettings,
    PageSettings,
    settings_config,
)
from engine.tests.engine_support.servers import make_policy

from . import extend
from .store import connect as connect_store

PACKAGE = __name__.rpartition(".")[0]


def notes_policy(**fields: Any) -> Policy:
    """Return a policy of the notes server."""
    return dataclasses.replace(make_policy("notes-mcp", **fields), package=PACKAGE)


TWO_STEP = notes_policy()
REFUSE = notes_policy(confirm="destructive", confirm_fallback="refuse")
PAGE = notes_policy(confirm_fallback="page")
PREVIEW_FIRST = notes_policy(confirm="writes", preview_first=True)
CONFIRM_NOTHING = notes_policy(confirm="none")


class NotesSettings(DatabaseSettings, PageSettings):
    """The settings of the notes server."""

    model_config = settings_config(TWO_STEP)
    policy = TWO_STEP


@functools.cache
def settings_class(policy: Policy) -> type[NotesSettings]:
    """Return the class of settings under a policy."""

    class Settings(NotesSettings):
        """The settings under this policy."""

    Settings.policy = policy
    return Settings


def notes_settings(policy: Policy = TWO_STEP, **values: Any) -> NotesSettings:
    """Return settings of the notes server under a policy, which read no file of the user."""
    fixed = {"database": ":memory:", "metadata": Path("none")}
    return settings_class(policy)(**{**fixed, **values})


def create_server(
    settings: NotesSettings | None = None,
    *,
    connect: Callable[[Any], object] = connect_store,
    lists_resources: bool = False,
    **values: Any,
) -> FastMCP[Any]:
    """Build the notes server.

    Args:
        settings: Its settings; those of the policy TWO_STEP when left out.
        connect: What `connect()` of a project's backend.py does.
        lists_resources: Whether it has the tool that lists resources.
        values: Settings that differ.
    """
    settings = settings or notes_settings()
    return build_server(
        settings.model_copy(update=values),
        connect=connect,
        extend=extend,
        instructions="Search and change notes.",
        lists_resources=lists_resources,
    )
