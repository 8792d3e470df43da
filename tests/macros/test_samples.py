"""Sample values for probes satisfy the constraints of a parameter."""

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
def test_a_sample_keeps_the_constraints(constraints: dict[str, Any]) -> None:
    (tool,) = specs([{"name": "get_note", "params": [constraints]}])
    (param,) = tool["params"]
    for is_second in (False, True):
        value = json.loads(macro("values", "sample", param, is_second))
        if value is None:
            assert (
                "pattern" in constraints
                or constraints.get("min_length", 0) > 1000
                or constraints.get("type") == "any"
            )
            continue
        checked = dict(constraints, default=value)
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
    "constraints", [{"min_length": 10**9}, {"type": "list[int]", "min_items": 10**9}]
)
def test_a_sample_that_would_fill_the_memory_is_not_made(
    constraints: dict[str, Any],
) -> None:
    (tool,) = specs([{"name": "get_note", "params": [{"name": "a"} | constraints]}])
    assert macro("values", "sample", tool["params"][0]) == "null"
