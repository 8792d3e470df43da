"""Each decision is logged, traced and counted, and never with an argument's value."""

import json
import logging
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.elicitation import ElicitResult
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from engine.tests.engine_support.notes.server import PACKAGE, create_server
from engine.tests.engine_support.raw import LEGACY, MODERN
from engine.tests.engine_support.targets import SETTINGS

SECRET = 4711
ANSWERS = {"accept": "confirmed", "decline": "declined", "cancel": "cancelled"}
KEYS = ("event", "tool", "era", "way", "outcome", "approved_by", "ms")
# era, way and outcome of each decision below, in order
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


def approver(way: str, outcome: str) -> str | None:
    """Who agreed, as far as the way shows."""
    if outcome != "confirmed":
        return None
    return "client" if way == "two_step" else "person"


async def decide() -> None:
    """Every answer that a person can give, and the two steps without one, in both eras."""
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
    spans, reader, provider = (
        InMemorySpanExporter(),
        InMemoryMetricReader(),
        TracerProvider(),
    )
    provider.add_span_processor(SimpleSpanProcessor(spans))
    trace.set_tracer_provider(provider)
    metrics.set_meter_provider(MeterProvider([reader]))
    with caplog.at_level("INFO"):
        await decide()
    ours = {each.levelname for each in caplog.records if each.name.startswith(PACKAGE)}
    assert ours == {"INFO"}
    assert str(SECRET) not in caplog.text
    texts = [record.getMessage() for record in caplog.records]
    lines = [json.loads(text) for text in texts if '"event": "confirmation"' in text]
    assert {tuple(line) for line in lines} == {KEYS}
    assert [(line["era"], line["way"], line["outcome"]) for line in lines] == EXPECTED
    assert [line["approved_by"] for line in lines] == [
        approver(*each[1:]) for each in EXPECTED
    ]
    decided = [
        span
        for span in spans.get_finished_spans()
        if "mcp.confirmation.way" in (span.attributes or {})
    ]
    keys = [f"mcp.confirmation.{name}" for name in ("way", "outcome", "approved_by")]
    attributes = [
        tuple((span.attributes or {}).get(key) for key in keys) for span in decided
    ]
    assert attributes == [(*each[1:], approver(*each[1:])) for each in EXPECTED]
    bad = [span.attributes for span in decided if not span.status.is_ok]
    assert {(each or {})["mcp.confirmation.outcome"] for each in bad} == {"refused"}
    counted = reader.get_metrics_data()
    assert counted is not None
    points = [
        ((point.attributes or {})["way"], getattr(point, "value", None))
        for resource in counted.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
        if metric.name == "mcp.confirmation.fallbacks"
        for point in metric.data.data_points
    ]
    assert points == [("two_step", 6)]
