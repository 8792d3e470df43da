"""Tools that need consent, servers that have them, and clients of each kind."""

import base64
import json
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastmcp import Context, FastMCP
from listening import redis as redis
from pydantic import BaseModel, Field

from copier_fastmcp_engine.consent import flow as flow
from copier_fastmcp_engine.consent import store as consent_store
from copier_fastmcp_engine.consent.commands import ConsentCommands
from copier_fastmcp_engine.consent.elicitation import granted_token, requires_consent
from copier_fastmcp_engine.declarations import create, declaration_of, delete, read
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.project import Project
from copier_fastmcp_engine.tools import build_tool
from engine.tests.engine_support.cloud.server import create_server
from engine.tests.engine_support.cloud.settings import (
    POLICY,
    Settings,
    settings_class,
)
from engine.tests.engine_support.provider import Browser, Provider
from engine.tests.engine_support.raw import LEGACY, MODERN, Message, Raw, connect, user

Grant = consent_store.Grant
commands = ConsentCommands(Project(POLICY))
ERAS = [LEGACY, MODERN]
SECRET = "a secret of thirty-two characters or more"
REQUIRED = f"{POLICY.domain_title} access provisioning required"
TIMED_OUT = "Elicitation timed out - user did not complete authorization"
COMMAND = ["-c", "from engine.tests.engine_support.cloud.cli import main; main()"]
OURS = POLICY.package
DOMAIN, PREFIX = POLICY.domain, POLICY.env_prefix
COMPLETE, FAILED = "Authorization Complete!", "Authorization Failed"
STALE, LATER = "Link Not Valid", "Try Again Later"
TOKEN = "/oauth2/token"
ALG_NONE = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
CAN: dict[str, Message] = {
    "url": {"elicitation": {"form": {}, "url": {}}},
    "form": {"elicitation": {}},
    "none": {},
}
YES: Message = {"action": "accept", "content": {"acknowledged": True}}


NO_REDIS = pytest.mark.skipif(
    not shutil.which("redis-server"), reason="no redis-server here"
)


class Held(BaseModel):
    """The result of the tools below."""

    token: str = Field(description="What the tool works with.")


@read(title="Look at what is yours", scopes=["zz:read"])
@requires_consent
async def zz_look() -> Held:
    return Held(token=await granted_token())


@read(title="Look without a scope")
@requires_consent
async def zz_alone() -> Held:
    return Held(token=await granted_token())


@delete(title="Drop what is yours", confirm=True)
@requires_consent
async def zz_drop() -> Held:
    return Held(token=await granted_token())


@create(
    title="Look through another tool",
    confirm=False,
    exceptions=[{"hint": "confirm", "value": False, "why": "The other tool asks."}],
)
async def zz_outer(ctx: Context) -> Held:
    held = await ctx.fastmcp.call_tool("zz_look", {})
    return Held.model_validate(held.structured_content)


# The last one is the policy of the servers that a test makes: see the fixture `policy`
policy_in_use = [POLICY]


def make_environment(provider: Provider, **changes: str) -> dict[str, str]:
    """Return the environment of a server that stores the grants of this provider."""
    values = {
        "DATABASE": ":memory:",
        "METADATA": "none",
        "ENABLE_OFFLINE_ACCESS": "true",
        "CONSENT_DATABASE": ":memory:",
        "OIDC_ISSUER": provider.issuer,
        "OIDC_CLIENT_ID": "this-server",
        "OIDC_CLIENT_SECRET": "the secret of this server",
        "JWT_ISSUER": provider.issuer,
        "JWT_AUDIENCE": "the-client",
        "JWT_JWKS_URI": f"{provider.issuer}/jwks",
    }
    return {PREFIX + name: value for name, value in (values | changes).items()}


def make_settings(provider: Provider, **changes: Any) -> Settings:
    """Return the same as settings, with some changes."""
    fields: Message = {}
    for name, value in make_environment(provider).items():
        fields[name.removeprefix(PREFIX).lower()] = value
    fields["metadata"] = Path("none")
    make: type[Settings] = settings_class(policy_in_use[-1])
    return make(**(fields | changes))


def add_tools(server: FastMCP[Any], *functions: Callable[..., Any]) -> None:
    """Add declared functions to a server, under its policy."""
    for function in functions:
        declaration = declaration_of(function)
        assert declaration
        server.add_tool(build_tool(guard_of(server).policy, function, declaration))


def make_cloud_server(provider: Provider, **changes: Any) -> FastMCP:
    """Return the cloud server with the tools above."""
    server = create_server(make_settings(provider, **changes))
    add_tools(server, zz_look, zz_alone, zz_drop, zz_outer)
    return server


def find_link(message: object) -> str:
    """Return the link to the server's page in a message."""
    place = rf"http://127.0.0.1:\d+/oauth/authorize-{DOMAIN}\?elicitationId=[\w-]+"
    link = re.search(place, json.dumps(message))
    assert link, message
    return link[0]


def text_of(message: Message) -> str:
    """Return the error of a response, or the first text of its result."""
    error = message.get("error")
    return str(error["message"] if error else message["result"]["content"][0]["text"])


class Call:
    """One call by one client, up to the login that it needs, and after it."""

    def __init__(self, raw: Raw, tool: str, arguments: Message) -> None:
        """Keep the parameters of the call."""
        self.raw = raw
        self.whole = {"name": tool, "arguments": arguments}
        self.number = 0
        self.message = Message()

    async def begin(self) -> "Call":
        """Send the call, and wait for a response or a question."""
        count = len(self.raw.asked)
        self.number = await self.raw.send("tools/call", **self.whole)
        while self.number not in self.raw.came and len(self.raw.asked) == count:
            await self.raw.next()
        if self.number in self.raw.came:
            self.message = self.raw.came.pop(self.number)
        else:
            self.message = self.raw.asked[-1]
        return self

    @property
    def link(self) -> str:
        """The link that the user has to open."""
        return find_link(self.message)

    async def go_on(self, reply: Message = YES) -> Message:
        """Answer the question if there is one; otherwise call again."""
        result = self.message.get("result", {})
        answer = Message()
        if "method" in self.message:
            await self.raw.post(id=self.message["id"], result=reply)
            return await self.raw.receive(self.number)
        if "inputRequests" in result:
            answer["inputResponses"] = dict.fromkeys(result["inputRequests"], reply)
            answer["requestState"] = result["requestState"]
        number = await self.raw.send("tools/call", **self.whole, **answer)
        return await self.raw.receive(number)


@asynccontextmanager
async def begin_call(
    server: FastMCP,
    era: str,
    mode: str = "url",
    *,
    caller: str = "ann",
    tool: str = "zz_look",
    **arguments: Any,
) -> AsyncIterator[Call]:
    """Begin a call of one user, with a client that supports one elicitation mode."""
    with user(caller):
        async with connect(server, era, can=CAN[mode]) as raw:
            yield await Call(raw, tool, arguments).begin()
    flow.consent_of(server).listener.close()


async def load_grant(server: FastMCP, subject: str) -> Any:
    """Return the stored grant of a user."""
    owner = flow.LOCAL
    if subject:
        owner = consent_store.User(f"user:{subject}", subject)
    return await flow.consent_of(server).grant(owner)


async def assert_no_grant(server: FastMCP, *names: str) -> None:
    """Assert that no user has granted access."""
    for name in names or ("ann", "bob", ""):
        assert await load_grant(server, name) is None


async def expire_link(server: FastMCP, link: str) -> None:
    """Let a link expire, however fast this machine is."""
    consent = flow.consent_of(server)
    elicitation = await consent.elicitation(httpx2.URL(link).params["elicitationId"])
    assert elicitation
    elicitation.expires_at = time.time()
    await consent._save(elicitation)


async def close_stores(server: FastMCP) -> None:
    """Close the stores of a server in Redis."""
    stores: list[Any] = [
        flow.consent_of(server).store._rows,
        guard_of(server).gate.store,
    ]
    for store in stores:
        await (
            store._client.aclose()
        )  # which the store does not close, since it was handed it


def collect_secrets(provider: Provider, browser: Browser) -> set[str]:
    """Return the tokens of a provider, and the long parameters of the addresses that a browser opened."""
    secrets = {*provider.tokens}
    for page in browser.seen:
        secrets |= {*httpx2.URL(str(page.url)).params.values()}
    return {secret for secret in secrets if len(secret) > 15}


def change_parameters(address: str, **params: str) -> str:
    """Return an address with other parameters."""
    return str(httpx2.URL(address).copy_merge_params(params))
