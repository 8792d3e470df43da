"""Calls the tools of a generated server by the operations of its document."""

import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import yaml
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from fastmcp.client.transports import StdioTransport
from live.judging import Judgement, judge, parse, value_at
from live.recording import Exchange, Recorder
from live.scenarios import Step
from live.services import Service

ERAS = ("legacy", "2026-07-28")


@dataclass
class Tools:
    """The tools of the answers by their operations."""

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)

    @classmethod
    def load(cls, answers: Path) -> "Tools":
        """Read an answers file."""
        tools = yaml.safe_load(answers.read_text(encoding="utf-8"))["tools"]
        rows: dict[str, dict[str, Any]] = {}
        for tool in tools:
            method, target = tool["http"].split(" ")[:2]
            rows.setdefault(_shape(f"{method} {target.partition('?')[0]}"), tool)
        return cls(rows)

    def call_of(
        self, step: Step, values_kept: Mapping[str, Any]
    ) -> tuple[str, dict[str, Any]] | str:
        """Return the tool and the arguments of a step, or what is missing."""
        tool = self.rows.get(_shape(step.operation))
        if tool is None:
            return "there is no tool"
        http = tool["http"].split(" ")[1]
        path, _, query = http.partition("?")
        wires = dict(re.findall(r"([^=&]+)=\{([^}]+)\}", query))
        params = {param["name"]: param for param in tool.get("params", [])}
        arguments: dict[str, Any] = {}
        for name, value in zip(
            re.findall(r"\{([^}]+)\}", path), step.path, strict=True
        ):
            arguments[name] = fill(value, values_kept)
        for wire, value in step.query.items():
            name = wires.get(wire, wire)
            # A tool takes the place of a page as text, whatever the document calls it.
            arguments[name] = (
                str(fill(value, values_kept))
                if name == "cursor"
                else fill(value, values_kept)
            )
        whole = next(
            (name for name, param in params.items() if param.get("whole")), None
        )
        if whole is not None and step.body is not None:
            arguments[whole] = fill(step.body, values_kept)
        elif isinstance(step.body, Mapping):
            arguments |= fill(step.body, values_kept)
        elif step.body is not None:
            return "the tool takes no such body"
        missing = sorted(arguments.keys() - params.keys())
        if missing:
            return f"the tool has no {', '.join(missing)}"
        return tool["name"], arguments


def _shape(operation: str) -> str:
    return re.sub(r"\{[^}]*\}", "{}", operation).rstrip("/")


def fill(value: Any, values_kept: Mapping[str, Any]) -> Any:
    """Return a value with what earlier steps kept."""
    if isinstance(value, str) and value.startswith("$") and value[1:] in values_kept:
        return values_kept[value[1:]]
    if isinstance(value, Mapping):
        return {name: fill(item, values_kept) for name, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [fill(item, values_kept) for item in value]
    return value


@dataclass
class Person:
    """The user who is asked."""

    agrees: bool = True
    questions: int = 0

    async def __call__(self, *_: object) -> ElicitResult[Any]:
        """Answer a question."""
        self.questions += 1
        action = "accept" if self.agrees else "decline"
        return ElicitResult(action=action, content={"confirm": True})


@asynccontextmanager
async def served(
    project: Path, era: str, person: Person, environment: Mapping[str, str]
) -> Any:
    """Run a generated server over stdio, and yield its client."""
    package = next(
        path.name for path in (project / "src").iterdir() if (path / "policy").is_dir()
    )
    prefix = package.upper()
    variables = {f"{prefix}_{name}": value for name, value in environment.items()}
    transport = StdioTransport(
        sys.executable,
        ["-m", package, "run"],
        env={
            "PYTHONPATH": str(project / "src"),
            f"{prefix}_METADATA": "none",
            **variables,
        },
        keep_alive=False,
    )
    async with Client(transport, mode=era, elicitation_handler=person) as client:
        yield client


def unwrap(structured: dict[str, Any] | None) -> tuple[dict[str, Any] | None, str]:
    """Return a result without the envelope of a gated tool, and the outcome."""
    if structured and {"outcome", "approved_by"} <= structured.keys():
        return structured["result"], structured["outcome"]
    return structured, ""


async def play(
    steps: Sequence[Step],
    tools: Tools,
    clients: Mapping[str, Client[Any]],
    person: Person,
    recorder: Recorder,
    service: Service,
    values_kept: dict[str, Any],
) -> tuple[list[Judgement], list[str]]:
    """Play a scenario.

    Args:
        steps: The calls.
        tools: The tools by operation.
        clients: A client of each era.
        person: The user who is asked.
        recorder: The proxy in front of the service.
        service: The service.
        known: Values that steps name; those that steps keep are added.

    Returns:
        A judgement of each step, and the deletes that did something although the user declined.
    """
    judgements: list[Judgement] = []
    unasked: list[str] = []
    for number, step in enumerate(steps):
        call = tools.call_of(step, values_kept)
        if isinstance(call, str):
            judgements.append(Judgement(step.operation, "no tool", call))
            if step.keep:
                await anyio.to_thread.run_sync(
                    send_raw, recorder, service, step, values_kept
                )
                _keep(step, recorder.exchanges[-1], values_kept)
            continue
        name, arguments = call
        if step.operation.startswith("DELETE"):
            unasked += await _declined(clients, person, recorder, name, arguments)
        before = len(recorder.exchanges)
        client = clients[ERAS[number % len(ERAS)]]
        outcome = await client.call_tool(name, arguments, raise_on_error=False)
        sent = recorder.exchanges[before:]
        exchange = sent[-1] if sent else None
        result, _ = unwrap(outcome.structured_content)
        judgements.append(
            judge(step, exchange, result, outcome.is_error, outcome.content)
        )
        if exchange is not None:
            _keep(step, exchange, values_kept)
    return judgements, unasked


def _keep(step: Step, exchange: Exchange, values_kept: dict[str, Any]) -> None:
    """Keep what later steps name."""
    body = parse(exchange) if exchange.status < 400 else None
    for name, place in step.keep.items():
        value = value_at(body, place)
        if value is not None:
            values_kept[name] = value


def send_raw(
    recorder: Recorder, service: Service, step: Step, values_kept: Mapping[str, Any]
) -> None:
    """Send what no tool sends, so that the steps behind it have what they need."""
    method, _, path = step.operation.partition(" ")
    for value in step.path:
        path = re.sub(r"\{[^}]*\}", str(fill(value, values_kept)), path, count=1)
    url = f"{recorder.address}{service.base}{path}"
    body = fill(step.body, values_kept)
    httpx2.request(method, url, headers=service.headers(), json=body, timeout=30)


async def _declined(
    clients: Mapping[str, Client[Any]],
    person: Person,
    recorder: Recorder,
    name: str,
    arguments: dict[str, Any],
) -> list[str]:
    """Return in which eras a delete was not asked, or was sent although the user declined."""
    failures = []
    for era, client in clients.items():
        before, question = len(recorder.exchanges), person.questions
        person.agrees = False
        await client.call_tool(name, arguments, raise_on_error=False)
        person.agrees = True
        if person.questions == question or len(recorder.exchanges) > before:
            failures.append(f"{name} ({era})")
    return failures
