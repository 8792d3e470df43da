"""Other programs that serve an API's document, behind the same calls.

Each is installed as its authors publish it, and configured with what its README asks for. A result counts as right if the response
is in the result in any form: as structured content, or as text that is the body or its JSON. An error counts as right if the status is in its text.
"""

import json
import os
import re
import shutil
import subprocess
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import yaml
from fastmcp import Client, FastMCP
from fastmcp.client.transports import StdioTransport
from live.calling import fill
from live.judging import Judgement, judge, message_of, parse, value_at
from live.recording import Exchange, Recorder
from live.scenarios import Step
from live.services import Service, UnavailableError, install

PEERS = ("from_openapi", "mcp-openapi-proxy", "openapi-mcp-generator")
CALL_SECONDS = 30


@dataclass
class Peer:
    """A running peer: its client, and its tools by operation with the names of a body's place."""

    client: Client[Any]
    tools: dict[str, str] = field(default_factory=dict)
    body: str = ""


def shape(operation: str) -> str:
    """Return an operation without the names of its parameters."""
    return re.sub(r"\{[^}]*\}", "{}", operation).rstrip("/")


def load_document(service: Service) -> dict[str, Any]:
    """Return the document of a service."""
    loaded = yaml.safe_load(service.document.read_text(encoding="utf-8"))
    # YAML has numbers for statuses and dates for versions, JSON has texts.
    plain = json.loads(json.dumps(loaded, default=str))
    assert isinstance(plain, dict)
    return plain


@asynccontextmanager
async def running(
    name: str, service: Service, address: str, folder: Path, environments: Path
) -> AsyncIterator[Peer]:
    """Run a peer in front of an address.

    Args:
        name: The peer.
        service: The service, for its document and token.
        address: The address of the API, with its path.
        folder: Where files are written.
        environments: Where installations are kept.

    Raises:
        UnavailableError: It cannot be installed.
    """
    if name == "from_openapi":
        async with _from_openapi(service, address) as peer:
            yield peer
        return
    if name == "mcp-openapi-proxy":
        transport, tools, body = _proxy(service, address, folder, environments)
    else:
        transport, tools, body = _generator(service, address, folder, environments)
    async with Client(transport) as client:
        yield Peer(client, tools, body)


@asynccontextmanager
async def _from_openapi(service: Service, address: str) -> AsyncIterator[Peer]:
    headers = service.headers()
    async with httpx2.AsyncClient(base_url=address, headers=headers) as api:
        server = FastMCP.from_openapi(load_document(service), client=api)
        tools = {}
        for tool in await server.list_tools():
            route = tool._route  # type: ignore[attr-defined]
            tools[shape(f"{route.method.upper()} {route.path}")] = tool.name
        async with Client(server) as client:
            yield Peer(client, tools)


def _proxy(
    service: Service, address: str, folder: Path, environments: Path
) -> tuple[StdioTransport, dict[str, str], str]:
    programs = install(environments / "proxy", "mcp-openapi-proxy")
    document = load_document(service)
    file = folder / "document.json"
    file.write_text(json.dumps(document, default=str))
    code = "from mcp_openapi_proxy.utils import normalize_tool_name as n; import sys; print(*map(n, sys.argv[1:]), sep='\\n')"
    operations = list_operations(document)
    command = [str(programs / "python"), "-c", code, *operations]
    names = subprocess.run(command, capture_output=True, text=True, check=True)
    environment = {
        "OPENAPI_SPEC_URL": file.as_uri(),
        "SERVER_URL_OVERRIDE": address,
        "PATH": os.environ["PATH"],
    }
    if token := service.settings.get("API_TOKEN"):
        header = service.settings.get("API_AUTH", "").removeprefix("header:")
        environment["API_KEY"] = token
        # The proxy sends a key in another header only where the document's security says so.
        environment["EXTRA_HEADERS"] = f"{header}: {token}" if header else ""
    transport = StdioTransport(
        str(programs / "mcp-openapi-proxy"), [], env=environment, keep_alive=False
    )
    pairs = zip(operations, names.stdout.split("\n"), strict=False)
    return transport, {shape(operation): tool for operation, tool in pairs}, ""


def _generator(
    service: Service, address: str, folder: Path, environments: Path
) -> tuple[StdioTransport, dict[str, str], str]:
    home = environments / "generator"
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        raise UnavailableError("npm is not on PATH")
    packages = [
        "openapi-mcp-generator@4.0.1",
        "esbuild",
        "axios",
        "dotenv",
        "json-schema-to-zod",
        "@modelcontextprotocol/sdk@1",
        "zod@3",
    ]
    if not (home / "node_modules/esbuild").is_dir():
        home.mkdir(parents=True, exist_ok=True)
        command = [npm, "install", "--silent", "--prefix", str(home), *packages]
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise UnavailableError("openapi-mcp-generator cannot be installed")
    bins = home / "node_modules/.bin"
    file = folder / "document.json"
    document = load_document(service)
    file.write_text(json.dumps(document, default=str))
    out = home / f"generated-{service.name}"
    options = ["--output", str(out), "--base-url", address, "--force"]
    for command in (
        [str(bins / "openapi-mcp-generator"), "--input", str(file), *options],
        [
            str(bins / "esbuild"),
            str(out / "src/index.ts"),
            "--format=esm",
            f"--outfile={out}/build/index.js",
        ],
    ):
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
        if ran.returncode:
            raise UnavailableError(f"{Path(command[0]).name}: {ran.stderr[-200:]}")
    source = (out / "src/index.ts").read_text(encoding="utf-8")
    entry = re.compile(
        r'name: "([^"]+)",(?:(?!name: ").)*?method: "(\w+)",\s*pathTemplate: "([^"]+)"',
        re.DOTALL,
    )
    tools = {shape(f"{m[2].upper()} {m[3]}"): m[1] for m in entry.finditer(source)}
    environment = {"PATH": os.environ["PATH"], "API_BASE_URL": address}
    token = service.settings.get("API_TOKEN", "")
    for scheme in document.get("components", {}).get("securitySchemes", {}):
        name = re.sub("[^a-zA-Z0-9]", "_", scheme).upper()
        for kind in ("API_KEY", "BEARER_TOKEN", "OAUTH_TOKEN"):
            environment[f"{kind}_{name}"] = token
    transport = StdioTransport(
        node, [str(out / "build/index.js")], env=environment, keep_alive=False
    )
    return transport, tools, "requestBody"


def list_operations(document: Mapping[str, Any]) -> list[str]:
    """Return the operations of a document, as `METHOD /path`."""
    methods = ("get", "put", "post", "delete", "patch", "head")
    result = []
    for path, item in document.get("paths", {}).items():
        for method in methods:
            if method in item:
                result.append(f"{method.upper()} {path}")
    return result


async def play_peer(
    steps: list[Step], peer: Peer, recorder: Recorder, values_kept: dict[str, Any]
) -> list[Judgement]:
    """Play a scenario with a peer; what a failed step would have kept is missing in later ones, as for its users."""
    judgements = []
    for step in steps:
        tool = peer.tools.get(shape(step.operation))
        if tool is None:
            judgements.append(Judgement(step.operation, "no tool"))
            continue
        arguments = build_arguments(step, peer, values_kept)
        before = len(recorder.exchanges)
        try:
            outcome = await peer.client.call_tool(
                tool, arguments, raise_on_error=False, timeout=CALL_SECONDS
            )
        except Exception as error:  # a peer may fail in any way
            judgements.append(Judgement(step.operation, "refused", str(error)[:200]))
            continue
        sent = recorder.exchanges[before:]
        exchange = sent[-1] if sent else None
        judgements.append(judge_leniently(step, exchange, outcome))
        if exchange is not None and exchange.status < 400:
            keep_values(step, exchange, values_kept)
    return judgements


def build_arguments(
    step: Step, peer: Peer, values_kept: dict[str, Any]
) -> dict[str, Any]:
    """Build the arguments of a step as a peer names them."""
    names = re.findall(r"\{([^}]+)\}", step.operation)
    arguments = {}
    for name, value in zip(names, step.path, strict=True):
        arguments[name] = fill(value, values_kept)
    for name, value in step.query.items():
        arguments[name] = fill(value, values_kept)
    if step.body is None:
        return arguments
    body = fill(step.body, values_kept)
    if peer.body:
        arguments[peer.body] = body
    elif isinstance(step.body, Mapping):
        arguments |= body
    else:
        arguments["body"] = body
    return arguments


def keep_values(step: Step, exchange: Exchange, values_kept: dict[str, Any]) -> None:
    """Keep the values of a response that later steps use."""
    body = parse(exchange)
    for name, place in step.keep.items():
        value = value_at(body, place)
        if value is not None:
            values_kept[name] = value


def judge_leniently(step: Step, exchange: Exchange | None, outcome: Any) -> Judgement:
    """Judge a result as `judge` does, and accept the body as text, and errors that are no errors of the protocol."""
    strict = judge(
        step,
        exchange,
        outcome.structured_content,
        outcome.is_error,
        outcome.content,
    )
    if strict.verdict == "right" or exchange is None:
        return strict
    body = parse(exchange)
    text = " ".join(getattr(block, "text", "") for block in outcome.content)
    if exchange.status >= 400:
        accepted = has_error(text, step, exchange)
    elif step.status:
        accepted = False
    elif body is None:
        return Judgement(step.operation, "lost" if outcome.is_error else "right")
    else:
        accepted = has_body(text, body)
    return Judgement(step.operation, "right") if accepted else strict


def has_error(text: str, step: Step, exchange: Exchange) -> bool:
    """Whether a text has the expected status, or the service's own words in an error."""
    if exchange.status == step.status and str(exchange.status) in text:
        return True
    message = message_of(parse(exchange))
    return bool(step.status) and bool(message) and message in text


def has_body(text: str, body: Any) -> bool:
    """Whether a text has a body, as its text or as JSON at any place."""
    if isinstance(body, str):
        return body.strip() in text
    starts = [match.start() for match in re.finditer(r"[\[{\"\d]", text)][:50]
    for start in starts:
        try:
            value, _ = json.JSONDecoder().raw_decode(text[start:])
        except ValueError:
            continue
        if value == body:
            return True
    return False
