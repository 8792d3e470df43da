"""A client that sends JSON-RPC messages by hand, also those that no honest client would send."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import anyio
from fastmcp import FastMCP
from fastmcp.server.auth import AccessToken
from mcp.server.auth.middleware.auth_context import auth_context_var
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.shared.memory import MessageStream, create_client_server_memory_streams
from mcp.shared.message import SessionMessage
from mcp_types.jsonrpc import jsonrpc_message_adapter

Message = dict[str, Any]
LEGACY, MODERN = "legacy", "2026-07-28"
ELICITS: Message = {"elicitation": {}}
WHO = {"name": "raw", "version": "1"}
SECONDS = float(
    os.environ.get("ATTACK_SECONDS", "60")
)  # after which a server that hangs has failed


def outcome(message: Message) -> str:
    """Return the outcome of a call: the envelope's, `asked`, `error`, or `None` for a tool without a gate."""
    result = message.get("result", {"isError": True})
    if result.get("isError"):
        return "error"
    if "inputRequests" in result:
        return "asked"
    structured = result.get("structuredContent")
    return str(structured and structured.get("outcome"))


class Raw:
    """One connection. The person gives the `answers` in turn, the last one for ever; None is silence."""

    def __init__(
        self,
        streams: MessageStream,
        era: str,
        answers: list[Message | None],
        can: Message,
    ) -> None:
        """Speak over these streams as a client with the capabilities `can`."""
        self.read, self.write = streams
        self.answers, self.can, self.modern = answers, can, era == MODERN
        self.meta: Message = {}  # what goes along with each request
        self.sent: list[Message] = []  # the parameters of each request
        self.came: dict[int, Message] = {}  # responses not yet fetched
        self.asked: list[Message] = []  # elicitation requests, as they came
        self.heard: list[Message] = []  # notifications, as they came
        self.questions: list[str] = []  # what the person read
        self.states: list[str] = []  # sealed states, in the newest era

    async def post(self, **fields: object) -> None:
        """Send one message of any kind."""
        message = jsonrpc_message_adapter.validate_python({"jsonrpc": "2.0", **fields})
        await self.write.send(SessionMessage(message))

    async def send(self, method: str, **params: Any) -> int:
        """Send a request; its number fetches the response."""
        self.sent.append(params)
        meta: Message = {}
        if self.modern:
            meta["io.modelcontextprotocol/protocolVersion"] = MODERN
            meta["io.modelcontextprotocol/clientInfo"] = WHO
            meta["io.modelcontextprotocol/clientCapabilities"] = self.can
        params = params | {"_meta": meta | self.meta}
        await self.post(id=len(self.sent), method=method, params=params)
        return len(self.sent)

    def say(self, question: str) -> Message | None:
        """Return the user's answer to the next question."""
        self.questions.append(question)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]

    async def next(self) -> None:
        """Receive one message, and answer it if it is a question."""
        item = await self.read.receive()
        assert isinstance(item, SessionMessage)
        message = item.message.model_dump(by_alias=True, exclude_unset=True)
        if message.get("method") == "elicitation/create":
            self.asked.append(message)
            if answer := self.say(message["params"]["message"]):
                reply = answer if "error" in answer else {"result": answer}
                await self.post(id=message["id"], **reply)
        elif "id" in message:
            self.came[message["id"]] = message
        else:
            self.heard.append(message)

    async def receive(self, number: int) -> Message:
        """Return the response to a request, after the user has answered its questions."""
        while number not in self.came:
            await self.next()
        message = self.came.pop(number)
        if outcome(message) == "asked":
            result = message["result"]
            self.states.append(result["requestState"])
            ((name, question),) = result["inputRequests"].items()
            answer = self.say(question["params"]["message"])
            if answer is not None:
                params = self.sent[number - 1] | {
                    "requestState": self.states[-1],
                    "inputResponses": {name: answer},
                }
                return await self.receive(await self.send("tools/call", **params))
        return message


@asynccontextmanager
async def connect(
    server: FastMCP,
    era: str,
    *answers: Message | None,
    can: Message = ELICITS,
) -> AsyncIterator[Raw]:
    """A connection over memory; leaving the block stops the server."""
    low = server._mcp_server
    with anyio.fail_after(SECONDS):
        async with (
            create_client_server_memory_streams() as (client_streams, server_streams),
            server._lifespan_manager(),
            anyio.create_task_group() as tasks,
        ):
            options = low.create_initialization_options()
            tasks.start_soon(low.run, *server_streams, options)
            raw = Raw(client_streams, era, list(answers) or [None], can)
            if era == LEGACY:
                about = {
                    "protocolVersion": "2025-11-25",
                    "capabilities": can,
                    "clientInfo": WHO,
                }
                await raw.receive(await raw.send("initialize", **about))
                await raw.post(method="notifications/initialized")
            yield raw
            tasks.cancel_scope.cancel()


@contextmanager
def user(name: str) -> Iterator[None]:
    """Send the messages of this block with the token of a user, or without one."""
    token = AccessToken(token=name, client_id="app", scopes=[], subject=name)
    reset = auth_context_var.set(AuthenticatedUser(token) if name else None)
    yield
    auth_context_var.reset(reset)
