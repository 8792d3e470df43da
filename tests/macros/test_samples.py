"""Samples for the probes: values that keep the constraints of a parameter."""

import json
from typing import Any

import pytest
import strategies_values as strategies
from hypothesis import HealthCheck, given, settings
from support import macro, specs

STEADY = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)


@STEADY
@given(strategies.params("a"))
def test_a_sample_keeps_the_constraints(said: dict[str, Any]) -> None:
    (tool,) = specs([{"name": "get_note", "params": [said]}])
    (param,) = tool["params"]
    for other in (False, True):
        value = json.loads(macro("values", "sample", param, other))
        if value is None:
            assert (
                "pattern" in said
                or said.get("min_length", 0) > 1000
                or said.get("type") == "any"
            )
            continue
        checked = dict(said, default=value)
        checked.pop("required", None)
        assert (
            macro(
                "validate",
                "tool_errors",
                [{"name": "get_note", "params": [checked]}],
                "none",
            )
            == ""
        )


@pytest.mark.parametrize(
    "said", [{"min_length": 10**9}, {"type": "list[int]", "min_items": 10**9}]
)
def test_a_sample_that_would_fill_the_memory_is_not_made(said: dict[str, Any]) -> None:
    (tool,) = specs([{"name": "get_note", "params": [{"name": "a"} | said]}])
    assert macro("values", "sample", tool["params"][0]) == "null"
