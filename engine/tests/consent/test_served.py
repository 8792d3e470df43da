"""Consent and scopes hold for whatever is served: resources, prompts, tools that were mounted, renamed or found.

Each row was seen to be answered without consent before what stops it was there.
"""

import json
from collections.abc import Callable

import pytest
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StreamableHttpTransport
from fastmcp.server.context import reset_transport, set_transport
from fastmcp.server.middleware.error_handling import ErrorHandlingMiddleware
from fastmcp.server.transforms import ToolTransform
from fastmcp.server.transforms.search import RegexSearchTransform
from fastmcp.tools.tool_transform import ToolTransformConfig
from mcp.shared.exceptions import MCPError

from copier_fastmcp_engine.consent.elicitation import requires_consent
from copier_fastmcp_engine.declarations import read
from copier_fastmcp_engine.guard import guard_of
from copier_fastmcp_engine.registry import resource
from copier_fastmcp_engine.tools import build_tool
from engine.tests.engine_support.cloud.settings import POLICY
from engine.tests.engine_support.granting import (
    CAN,
    COMPLETE,
    ERAS,
    REQUIRED,
    find_link,
    make_cloud_server,
    zz_look,
)
from engine.tests.engine_support.provider import Browser, Provider, serve_http
from engine.tests.engine_support.raw import LEGACY, MODERN, Message, Raw, connect, user
from engine.tests.engine_support.targets import make_target_server

pytestmark = pytest.mark.anyio
SECRET = "what only its user may read"
Serve = Callable[[FastMCP], Message]


@requires_consent
async def zz_mine() -> str:
    """Answer what belongs to a user."""
    return SECRET


async def zz_of_nobody() -> str:
    """Answer what no user may read."""
    return SECRET


async def zz_of(name: str) -> str:
    """Answer what belongs to a user, by its name."""
    return f"{SECRET}: {name}"


def add_resource(server: FastMCP) -> Message:
    """A resource of the policy."""
    server.add_resource(
        resource("mine://all", name="Mine", description="Mine.")(zz_mine)
    )
    return {"method": "resources/read", "uri": "mine://all"}


def add_template(server: FastMCP) -> Message:
    """A template, with the decorators the other way round."""
    mine = resource("mine://{name}", name="One", description="One.")(zz_of)
    server.add_resource(requires_consent(mine))
    return {"method": "resources/read", "uri": "mine://one"}


def add_plain_resource(server: FastMCP) -> Message:
    """A resource that FastMCP's own decorator declares."""
    server.resource("mine://all")(zz_mine)
    return {"method": "resources/read", "uri": "mine://all"}


def mount_template(server: FastMCP) -> Message:
    """A resource of a server that is mounted."""
    child = FastMCP("child")
    child.resource("mine://{name}")(requires_consent(zz_of))
    server.mount(child, namespace="child")
    return {"method": "resources/read", "uri": "mine://child/one"}


def mount_resource(server: FastMCP) -> Message:
    """A resource without parameters of a server that is mounted."""
    child = FastMCP("child")
    child.resource("mine://all")(zz_mine)
    server.mount(child, namespace="child")
    return {"method": "resources/read", "uri": "mine://child/all"}


def add_prompt(server: FastMCP) -> Message:
    """A prompt."""
    server.prompt(zz_mine)
    return {"method": "prompts/get", "name": "zz_mine"}


def mount_prompt(server: FastMCP) -> Message:
    """A prompt of a server that is mounted."""
    child = FastMCP("child")
    child.prompt(zz_mine)
    server.mount(child, namespace="child")
    return {"method": "prompts/get", "name": "child_zz_mine"}


def mount_guarded_prompt(server: FastMCP) -> Message:
    """A prompt of a server that is mounted, whose own policy has no consent."""
    child = make_target_server()
    child.prompt(zz_mine)
    server.mount(child, namespace="child")
    return {"method": "prompts/get", "name": "child_zz_mine"}


def mount_policy_tool(server: FastMCP) -> Message:
    """A tool of a server that is mounted, which the policy built."""
    child = FastMCP("child")
    child.add_tool(build_tool(POLICY, zz_mine, read(title="Mine")))
    server.mount(child, namespace="child")
    return {"method": "tools/call", "name": "child_zz_mine", "arguments": {}}


def mount_foreign_tool(server: FastMCP) -> Message:
    """A tool of a server that is mounted, which FastMCP built."""
    child = FastMCP("child")
    child.tool(read(title="Mine")(zz_mine))
    server.mount(child, namespace="child")
    return {"method": "tools/call", "name": "child_zz_mine", "arguments": {}}


def rename_tool(server: FastMCP) -> Message:
    """A tool under another name."""
    server.add_transform(ToolTransform({"zz_look": ToolTransformConfig(name="look")}))
    return {"method": "tools/call", "name": "look", "arguments": {}}


def add_search(server: FastMCP) -> Message:
    """A tool that a search found."""
    server.add_transform(RegexSearchTransform())
    arguments = {"name": "zz_look", "arguments": {}}
    return {"method": "tools/call", "name": "call_tool", "arguments": arguments}


def add_error_handler(server: FastMCP) -> Message:
    """A tool below a middleware that makes another error of every error."""
    server.add_middleware(ErrorHandlingMiddleware())
    return {"method": "tools/call", "name": "zz_look", "arguments": {}}


SERVED = [
    add_resource,
    add_template,
    add_plain_resource,
    mount_template,
    mount_resource,
    add_prompt,
    mount_prompt,
    mount_guarded_prompt,
]
SERVED += [
    mount_policy_tool,
    mount_foreign_tool,
    rename_tool,
    add_search,
    add_error_handler,
]


async def send_request(raw: Raw, what: Message) -> Message:
    """Send a request; return its response, or the question that it causes."""
    count = len(raw.asked)
    number = await raw.send(**what)
    while number not in raw.came and len(raw.asked) == count:
        await raw.next()
    if number in raw.came:
        return raw.came.pop(number)
    return raw.asked[-1]


WAYS = [(serve, "url") for serve in SERVED] + [
    (add_resource, "form"),
    (add_resource, "none"),
]


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize(("serve", "mode"), WAYS)
async def test_nothing_is_served_without_consent(
    provider: Provider,
    browser: Browser,
    serve: Serve,
    mode: str,
    era: str,
) -> None:
    server = make_cloud_server(provider)
    what = serve(server)
    with user("ann"):
        async with connect(server, era, can=CAN[mode]) as raw:
            message = await send_request(raw, what)
            assert SECRET not in json.dumps(message)
            if mode == "url" and era == LEGACY:
                assert message["error"]["code"] == -32042, message
            elif mode != "none" and era == MODERN:
                assert "consent" in message["result"]["inputRequests"], message
            assert await browser.walk(find_link(message), "ann") == COMPLETE
            if "method" in message:  # a form within the call, which the user closes now
                accepted = {"action": "accept", "content": {"acknowledged": True}}
                await raw.post(id=message["id"], result=accepted)
                message = await raw.receive(len(raw.sent))
            else:
                message = await send_request(raw, what)
    held = provider.tokens[0] if "look" in json.dumps(what) else SECRET
    assert held in json.dumps(message), message


@pytest.mark.parametrize("era", ERAS)
async def test_a_resource_without_its_scope_is_refused_and_the_scope_named(
    provider: Provider, era: str
) -> None:
    @resource("scoped://all", name="Scoped", description="Scoped.", scopes=["zz:read"])
    async def zz_scoped() -> str:
        return SECRET

    def make(base: str) -> FastMCP:
        server = make_cloud_server(provider, server_url=base)
        server.add_resource(zz_scoped)
        guard_of(server).check()
        return server

    async with serve_http(make) as (base, _):
        answers = []
        for scope in ("other:read", "zz:read"):
            token = provider.token_of("ann", scope)
            transport = StreamableHttpTransport(f"{base}/mcp", auth=token)
            async with Client(transport, mode=era) as client:
                try:
                    answers.append(str(await client.read_resource("scoped://all")))
                except MCPError as error:
                    answers.append(str(error))
    assert SECRET not in answers[0]
    assert "insufficient_scope: zz_scoped needs a token with zz:read" in answers[0]
    assert SECRET in answers[1]


async def test_a_verifier_without_metadata_names_none(provider: Provider) -> None:
    """An author's own verifier of tokens has no page that names the issuer."""

    def make(base: str) -> FastMCP:
        server = make_cloud_server(provider, server_url=base)
        server.auth = getattr(server.auth, "token_verifier", None)
        return server

    async with serve_http(make) as (base, _):
        token = provider.token_of("ann", "other:read")
        transport = StreamableHttpTransport(f"{base}/mcp", auth=token)
        async with Client(transport, mode=MODERN) as client:
            refusal = await client.call_tool("zz_look", {}, raise_on_error=False)
    (challenge,) = (refusal.meta or {})["mcp/www_authenticate"]
    assert challenge == 'Bearer error="insufficient_scope", scope="zz:read"'


async def test_a_call_outside_of_a_request_is_refused_with_a_result(
    provider: Provider,
) -> None:
    """As of the author's own code, with a token that lacks the scope."""
    server = make_cloud_server(provider)
    token = set_transport("streamable-http")
    try:
        with user("ann"):
            result = await server.call_tool("zz_look", {})
    finally:
        reset_transport(token)
    assert result.is_error
    assert "insufficient_scope" in str(result.content[0])


async def test_the_link_is_the_only_thing_a_refusal_tells(provider: Provider) -> None:
    server = make_cloud_server(provider)
    async with connect(server, MODERN, can={}) as raw:
        with user("ann"):
            message = await send_request(raw, add_resource(server))
    assert message["error"]["message"].startswith(REQUIRED)
    assert zz_look.__name__ not in json.dumps(message)
    assert zz_mine.__name__ not in json.dumps(message)
    assert "then call mine://all again" in message["error"]["message"]


@pytest.mark.parametrize(
    "request_sent",
    [
        {"method": "resources/read", "uri": "mine://all"},
        {"method": "tools/call", "name": "zz_of_nobody", "arguments": {}},
    ],
    ids=["resource", "tool"],
)
async def test_a_check_of_its_author_holds_next_to_consent(
    provider: Provider, request_sent: Message
) -> None:
    server = make_cloud_server(provider)
    server.resource("mine://all", auth=lambda context: False)(zz_of_nobody)
    tool = read(title="Mine", why="Of nobody.")(zz_of_nobody)
    server.tool(tool, auth=lambda context: False)
    guard_of(server).check()
    transport = set_transport("streamable-http")  # over stdio, no check hides anything
    async with connect(server, MODERN) as raw:
        with user("ann"):
            message = await send_request(raw, request_sent)
    reset_transport(transport)
    assert SECRET not in json.dumps(message)
    assert "error" in message or message["result"]["isError"]
