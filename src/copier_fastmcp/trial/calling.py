"""Calls the reads of an API, each at most three times, with the client that the server itself uses."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from fastmcp.exceptions import ToolError
from pydantic import ValidationError

from copier_fastmcp_engine.api.client import ApiClient
from copier_fastmcp_engine.api.encoding import quoted
from copier_fastmcp_engine.api.responses import ApiResponse, BodyKind
from copier_fastmcp_engine.api.settings import ApiSettings
from copier_fastmcp_engine.settings import settings_config

from ..behaviors import build_policy
from ..errors import RefusedError
from .effects import find_changes
from .identities import Identities
from .reads import PLACEHOLDER, Read

MOST_CALLS = 3


@dataclass
class Trial:
    """What the calls of a read came to.

    Attributes:
        read: The read.
        responses: The successful responses in their order.
        failure: Why a call failed; empty if all succeeded.
        not_called: Why it was not called: no value for a parameter is known, as on a service without records.
        values: The values of its path.
        calls: How often it was called.
        changes: What calling it changed.
        outside_changes: What changed while other reads were called.
    """

    read: Read
    responses: list[ApiResponse] = field(default_factory=list)
    failure: str = ""
    not_called: str = ""
    values: dict[str, Any] = field(default_factory=dict)
    calls: int = 0
    changes: list[str] = field(default_factory=list)
    outside_changes: list[str] = field(default_factory=list)

    def is_open(self) -> bool:
        """Whether it is called once more."""
        has_ended = self.failure or self.not_called
        return not has_ended and self.calls < MOST_CALLS


def load_settings(answers: Mapping[str, Any]) -> ApiSettings:
    """Return the settings of a server from the environment, as the server itself reads them.

    Args:
        answers: The answers of the server.

    Raises:
        RefusedError: A variable has a value that the server would refuse.
    """
    prefix = f"{str(answers['package_name']).upper()}_"

    class Settings(ApiSettings):
        policy = replace(build_policy(answers), env_prefix=prefix)
        model_config = settings_config(policy)

    values: dict[str, Any] = {}
    for name in ("api", "api_auth"):
        if answers.get(name) and not os.environ.get(f"{prefix}{name.upper()}"):
            values[name] = str(answers[name])
    try:
        return Settings(**values)
    except ValidationError as error:
        problem = error.errors()[0]
        name = f"{prefix}{'_'.join(map(str, problem['loc']))}".upper()
        message = str(problem["msg"])
        raise RefusedError(f"{name}: {message}; set it in the environment") from error


def make_client(settings: ApiSettings) -> ApiClient:
    """Return the client for some settings.

    Raises:
        RefusedError: The token cannot be sent as the settings require.
    """
    try:
        return ApiClient(settings)
    except ValueError as error:
        raise RefusedError(str(error)) from error


async def call_reads(
    client: ApiClient, reads: Sequence[Read], values: Mapping[str, str]
) -> list[Trial]:
    """Call each read once, then each twice in a row.

    Between the last two calls of a read nothing else is called, so what differs is by the read or by itself; between
    the first two all other reads are called.

    Args:
        client: The client.
        reads: The reads, lists before what is in them.
        values: Values by the names of parameters.
    """
    identities = Identities(values)
    trials = [Trial(read) for read in reads]
    async with client:
        for trial in trials:
            await _call(client, trial, identities)
        for trial in trials:
            while trial.is_open():
                await _call(client, trial, identities)
    for trial in trials:
        _compare_calls(trial)
    return trials


async def _call(client: ApiClient, trial: Trial, identities: Identities) -> None:
    read = trial.read
    if trial.calls == 0:
        filled = identities.fill(read.path)
        if isinstance(filled, str):
            trial.not_called = (
                f"no value for {filled} is known; pass --value {filled}=..."
            )
            return
        _, trial.values = filled
    arguments = _arguments(trial, identities)
    if isinstance(arguments, str):
        trial.not_called = f"it needs {arguments}; pass --value {arguments}=..."
        return
    trial.calls += 1
    path = fill_path(read.path, trial.values)
    try:
        # `repeat`: an attempt that failed is a call too.
        response = await client.send(read.method, path, repeat=False, **arguments)
    except ToolError as error:
        trial.failure = str(error)
        return
    trial.responses.append(response)
    if response.kind is BodyKind.JSON:
        identities.learn(path, response.body)


def fill_path(template: str, values: Mapping[str, Any]) -> str:
    """Return a path with the values of its parameters."""
    return PLACEHOLDER.sub(lambda match: quoted(values[match[1]]), template)


def _arguments(trial: Trial, identities: Identities) -> dict[str, Any] | str:
    """Return query, headers and body of a call; or the name of a parameter without a value."""
    read = trial.read
    sent: dict[str, dict[str, Any]] = {"query": {**read.query}, "header": {}}
    sent["body"] = {}
    for param in read.required:
        if param.place == "path":
            continue
        value = identities.values.get(param.name, param.usual_value())
        if value is None:
            return param.name
        sent[param.place][param.wire] = value
    body = sent["body"] if read.has_body else None
    return {"query": sent["query"], "headers": sent["header"], "body": body}


def _compare_calls(trial: Trial) -> None:
    """Note what differs between the calls of a read."""
    if len(trial.responses) < MOST_CALLS:
        return
    first, second, third = trial.responses
    trial.changes = _differences(second, third)
    if not trial.changes:
        trial.outside_changes = _differences(first, second)


def _differences(before: ApiResponse, after: ApiResponse) -> list[str]:
    changes = find_changes(before.body, after.body)
    is_same = before.body == after.body
    old_tag = before.headers.get("etag")
    new_tag = after.headers.get("etag")
    if is_same and old_tag != new_tag:
        changes.append(f"ETag ({old_tag} -> {new_tag})")
    return changes
