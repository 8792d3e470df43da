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
from copier_fastmcp_engine.consent.asking import granted_token, requires_consent
from copier_fastmcp_engine.consent.commands import ConsentCommands
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
from engine.tests.engine_support.provider import Provider
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
    """What the tools below answer."""

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


# The last one is the policy of servers that a test makes: see the fixture `every_write_asks`
policy_in_use = [POLICY]


def variables(provider: Provider, **more: str) -> dict[str, str]:
    """The environment of a server that keeps what this provider grants."""
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
    return {PREFIX + name: value for name, value in (values | more).items()}


def settings(provider: Provider, **more: Any) -> Settings:
    """The same as settings, with others beside them."""
    values = variables(provider)
    fields: Message = {
        name.removeprefix(PREFIX).lower(): value for name, value in values.items()
    }
    made: Settings = settings_class(policy_in_use[-1])(
        **(fields | {"metadata": Path("none")} | more)
    )
    return made


def add_tools(server: FastMCP[Any], *functions: Callable[..., Any]) -> None:
    """Add declared functions to a server, under its policy."""
    for function in functions:
        declaration = declaration_of(function)
        assert declaration
        server.add_tool(build_tool(guard_of(server).policy, function, declaration))


def serving(provider: Provider, **more: Any) -> FastMCP:
    """The cloud server, with the tools above in it."""
    server = create_server(settings(provider, **more))
    add_tools(server, zz_look, zz_alone, zz_drop, zz_outer)
    return server


def link_in(message: object) -> str:
    """The link to our own page that a message carries."""
    place = rf"http://127.0.0.1:\d+/oauth/authorize-{DOMAIN}\?elicitationId=[\w-]+"
    link = re.search(place, json.dumps(message))
    assert link, message
    return link[0]


def text_of(message: Message) -> str:
    """What a call says: its error, or the first text of its result."""
    error = message.get("error")
    return str(error["message"] if error else message["result"]["content"][0]["text"])


class Call:
    """One call by one client, up to where its person has to do something, and on from there."""

    def __init__(self, raw: Raw, tool: str, arguments: Message) -> None:
        """Hold what will be sent."""
        self.raw, self.whole = raw, {"name": tool, "arguments": arguments}
        self.number, self.message = 0, Message()

    async def begin(self) -> "Call":
        """Send it; comes back with an answer, or a question."""
        asked = len(self.raw.asked)
        self.number = await self.raw.send("tools/call", **self.whole)
        while self.number not in self.raw.came and len(self.raw.asked) == asked:
            await self.raw.next()
        done = self.number in self.raw.came
        self.message = self.raw.came.pop(self.number) if done else self.raw.asked[-1]
        return self

    @property
    def link(self) -> str:
        """What the person is to open."""
        return link_in(self.message)

    async def go_on(self, reply: Message = YES) -> Message:
        """Answer where there is a question, else call again."""
        result, again = self.message.get("result", {}), Message()
        if "method" in self.message:
            await self.raw.post(id=self.message["id"], result=reply)
            return await self.raw.receive(self.number)
        if "inputRequests" in result:
            answers = dict.fromkeys(result["inputRequests"], reply)
            again = {"inputResponses": answers, "requestState": result["requestState"]}
        number = await self.raw.send("tools/call", **self.whole, **again)
        return await self.raw.receive(number)


@asynccontextmanager
async def calling(
    server: FastMCP,
    era: str,
    way: str = "url",
    *,
    who: str = "ann",
    tool: str = "zz_look",
    **arguments: Any,
) -> AsyncIterator[Call]:
    """A call that one user makes with a client of a kind, as far as it gets alone."""
    with user(who):
        async with connect(server, era, can=CAN[way]) as raw:
            yield await Call(raw, tool, arguments).begin()
    flow.consent_of(server).listener.close()


async def grant_of(server: FastMCP, who: str) -> Any:
    """What the store holds of a user."""
    return await flow.consent_of(server).grant(
        consent_store.User(f"user:{who}", who) if who else flow.LOCAL
    )


async def nothing(server: FastMCP, *names: str) -> None:
    """Nobody granted anything."""
    for who in names or ("ann", "bob", ""):
        assert await grant_of(server, who) is None


async def end(server: FastMCP, link: str) -> None:
    """Let the time of a link be over, however fast this machine is."""
    consent = flow.consent_of(server)
    elicitation = await consent.elicitation(httpx2.URL(link).params["elicitationId"])
    assert elicitation
    elicitation.expires_at = time.time()
    await consent._save(elicitation)


def changed(address: str, **params: str) -> str:
    """An address with other parameters."""
    return str(httpx2.URL(address).copy_merge_params(params))
