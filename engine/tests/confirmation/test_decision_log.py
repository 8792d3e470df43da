"""Each decision is logged, traced and counted, and never with an argument's value."""

import json
import logging
from functools import cache
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import Counter, MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    InMemoryMetricReader,
)
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from engine.tests.engine_support.calls import ACCEPT, CANNOT_ASK, message_of
from engine.tests.engine_support.notes.server import (
    PACKAGE,
    REFUSE,
    create_server,
    notes_settings,
)
from engine.tests.engine_support.raw import LEGACY, MODERN, connect
from engine.tests.engine_support.targets import SETTINGS, make_target_server

SECRET = 4711
ANSWERS = {"accept": "confirmed", "decline": "declined", "cancel": "cancelled"}
KEYS = ("event", "tool", "era", "way", "outcome", "approved_by", "ms")
# Era, channel and outcome of each decision below, in order
EXPECTED = [
    *(("handshake", "elicitation", outcome) for outcome in ANSWERS.values()),
    ("handshake", "two_step", "preview"),
    ("handshake", "two_step", "confirmed"),
    ("handshake", "two_step", "refused"),
    *(
        ("2026-07-28", "input_required", outcome)
        for answer in ANSWERS.values()
        for outcome in ("asked", answer)
    ),
    ("2026-07-28", "two_step", "preview"),
    ("2026-07-28", "two_step", "confirmed"),
    ("2026-07-28", "two_step", "refused"),
]


def approver(channel: str, outcome: str) -> str | None:
    """Return who agreed, as far as the channel shows."""
    if outcome != "confirmed":
        return None
    return "client" if channel == "two_step" else "person"


async def decide() -> None:
    """Give each possible answer, and take the two steps without one, in both eras."""
    server = create_server(SETTINGS)
    for era in (LEGACY, MODERN):
        for answer in (*ANSWERS, None):

            async def person(
                *question: object, action: Any = answer
            ) -> ElicitResult[dict[str, bool]]:
                content = {"confirm": True} if action == "accept" else None
                return ElicitResult(action=action, content=content)

            handler = person if answer else None
            async with Client(server, mode=era, elicitation_handler=handler) as client:
                await client.call_tool("delete_note", {"note_id": SECRET})
                if not answer:
                    for _ in range(2):
                        sent = {"note_id": SECRET, "confirm": True}
                        await client.call_tool(
                            "delete_note", sent, raise_on_error=False
                        )


@pytest.mark.anyio
async def test_each_decision_is_logged_traced_and_counted_without_values(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("fastmcp"), "propagate", True)
    spans, reader = install_telemetry()
    spans.clear()
    reader.get_metrics_data()  # what an earlier run in this process counted
    with caplog.at_level("INFO"):
        await decide()
    check_lines(caplog)
    check_spans(spans)
    check_metrics(reader)


@pytest.fixture
def log(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> pytest.LogCaptureFixture:
    """The log of this server, as it starts."""
    monkeypatch.setattr(logging.getLogger("fastmcp"), "propagate", True)
    caplog.set_level("INFO")
    return caplog


def decisions_of(log: pytest.LogCaptureFixture) -> list[tuple[str, str, str | None]]:
    """Return the tool, the way and the outcome of each decision in a log."""
    return [(line["tool"], line["way"], line["outcome"]) for line in parse_lines(log)]


@pytest.mark.anyio
async def test_a_refusal_is_logged_and_counted_as_one(
    log: pytest.LogCaptureFixture, era: str
) -> None:
    _, reader = install_telemetry()
    reader.get_metrics_data()
    server = make_target_server(settings=notes_settings(REFUSE))
    async with connect(server, era, can=CANNOT_ASK) as raw:
        refused = await message_of(raw, "wipe", name="a")
        nested = await message_of(raw, "wipe_each", names=["a"])
    assert decisions_of(log) == [("wipe", "refuse", "refused")] * 2
    assert "use a client that" in refused["result"]["content"][0]["text"]
    assert "call it by itself" in nested["result"]["content"][0]["text"]
    assert count_fallbacks(reader) == [({"tool": "wipe", "way": "refuse"}, 2)]


@pytest.mark.anyio
async def test_the_rest_after_a_partial_result_is_logged_as_refused(
    log: pytest.LogCaptureFixture,
) -> None:
    """In the newest era the rest cannot be asked for without a second run of the first part."""
    async with connect(make_target_server(), MODERN, ACCEPT) as raw:
        message = await message_of(raw, "wipe_each", names=["a", "b"])
    assert message["result"]["content"][0]["text"].startswith("wipe was applied; ")
    assert decisions_of(log) == [
        ("wipe", "input_required", "asked"),
        ("wipe", "input_required", "confirmed"),
        ("wipe", "refuse", "refused"),
    ]


@cache
def install_telemetry() -> tuple[InMemorySpanExporter, InMemoryMetricReader]:
    """Install the providers of this process, which can be set only once; mutmut runs the tests several times in one."""
    spans = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    reader = InMemoryMetricReader({Counter: AggregationTemporality.DELTA})
    metrics.set_meter_provider(MeterProvider([reader]))
    return spans, reader


def parse_lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """Return the log lines about confirmations."""
    lines = []
    for record in caplog.records:
        if record.name.startswith(PACKAGE):
            assert record.levelname == "INFO"
        text = record.getMessage()
        if '"event": "confirmation"' in text:
            assert record.name == f"{PACKAGE}.confirmation"
            lines.append(json.loads(text))
    return lines


def check_lines(caplog: pytest.LogCaptureFixture) -> None:
    """Compare the log lines with the decisions."""
    assert str(SECRET) not in caplog.text
    for line, (era, channel, outcome) in zip(
        parse_lines(caplog), EXPECTED, strict=True
    ):
        assert tuple(line) == KEYS
        assert (line["era"], line["way"], line["outcome"]) == (era, channel, outcome)
        assert line["approved_by"] == approver(channel, outcome)


def check_spans(exporter: InMemorySpanExporter) -> None:
    """Compare the spans with the decisions; only a refusal is an error."""
    decisions = []
    for span in exporter.get_finished_spans():
        attributes = span.attributes or {}
        if "mcp.confirmation.way" not in attributes:
            continue
        channel = str(attributes["mcp.confirmation.way"])
        outcome = str(attributes["mcp.confirmation.outcome"])
        decisions.append((channel, outcome))
        approved_by = attributes.get("mcp.confirmation.approved_by")
        assert approved_by == approver(channel, outcome)
        assert None not in attributes.values()
        assert span.status.is_ok == (outcome != "refused")
    assert decisions == [(channel, outcome) for _, channel, outcome in EXPECTED]


def count_fallbacks(reader: InMemoryMetricReader) -> list[tuple[dict[str, Any], int]]:
    """Return the attributes and the count of each kind of fallback since the last reading."""
    data = reader.get_metrics_data()
    counts = []
    for resource in data.resource_metrics if data else ():
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                if metric.name != "mcp.confirmation.fallbacks":
                    continue
                for point in metric.data.data_points:
                    count = getattr(point, "value", 0)
                    counts.append((dict(point.attributes or {}), count))
    return counts


def check_metrics(reader: InMemoryMetricReader) -> None:
    """Compare the count of fallbacks with the decisions."""
    expected = {"tool": "delete_note", "way": "two_step"}
    assert count_fallbacks(reader) == [(expected, 6)]
