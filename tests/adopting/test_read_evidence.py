"""What twenty servers showed: computations, entries of one call and searches are reads; a flag that runs a statement is not."""

from pathlib import Path

import pytest
from adopting.test_reading import survey_files
from adopting.test_shared_helpers import propose_one
from adopting.test_traps import format_function, propose_tool

from copier_fastmcp.adopting.proposals import Proposal

HEAD = """import builtins, numpy as np, pandas as pd
from fastmcp import FastMCP

mcp = FastMCP("it")


class Channel:
    def __init__(self): self._pending = {}
    def ask(self, it):
        self._pending[it] = waiter = object()
        try:
            return self.receive(waiter)
        finally:
            self._pending.pop(it, None)
    def keep(self, it):
        self._pending.pop(it, None)
        self._pending[it] = it
        return it


channel = Channel()


"""
READS = {
    "an entry while an answer is awaited": "return channel.ask(it)",
    "an empty array": "values = np.empty(3)\n    return np.sum(values)",
    "a change between rows": "return pd.Series([1]).pct_change()",
    "the type of a value": "return builtins.type(it)",
}
WRITES = {
    "an entry that stays": "return channel.keep(it)",
    "an array that is saved": "return np.save(it, [1])",
    "rows that are saved": "return pd.DataFrame([1]).to_csv(it)",
    "any code": "return builtins.exec(it)",
    "an entry that is set by a name of builtins": "builtins.setattr(channel, 'last', it)\n    return it",
}


def propose(folder: Path, body: str) -> Proposal:
    text = f"{HEAD}@mcp.tool\n{format_function('get_it', body)}\n"
    (proposal,) = survey_files(folder, **{"server.py": text}).proposals
    return proposal


@pytest.mark.parametrize("body", READS.values(), ids=READS)
def test_a_computation_is_no_question(body: str, tmp_path: Path) -> None:
    proposal = propose(tmp_path, body)
    assert (proposal.behavior, proposal.asked) == ("read", "")


@pytest.mark.parametrize("body", WRITES.values(), ids=WRITES)
def test_what_saves_or_runs_next_to_it_is_one(body: str, tmp_path: Path) -> None:
    assert propose(tmp_path, body).asked


def test_a_search_by_post_needs_no_description(tmp_path: Path) -> None:
    function = "def search_it(q: str) -> str:\n    return requests.post('https://example.com/x', json={'q': q}).json()"
    proposal = propose_tool(tmp_path, function)
    assert (proposal.behavior, proposal.asked) == ("read", "")


EVALUATE = """@mcp.tool
def evaluate_it(it: list[float]) -> float:
    \"\"\"{}\"\"\"
    {}
"""


@pytest.mark.parametrize(
    ("description", "body", "behavior"),
    [
        ("Rank alternatives.", "return np.sum(np.empty(3))", "read"),
        ("Rank alternatives.", "return ranking.best(it)", "action"),
        ("Rank alternatives.", "return page.run(it)", "action"),
        ("Rank alternatives.", "return sdk.start_ranking(it)", "action"),
        ("Evaluate it in the page.", "return page.best(it)", "action"),
    ],
)
def test_an_evaluation_that_ranks_is_a_read(
    description: str, body: str, behavior: str, tmp_path: Path
) -> None:
    text = f"import numpy as np\n\n\n{EVALUATE.format(description, body)}"
    assert propose_one(tmp_path, text).behavior == behavior


EXPLAIN = """@mcp.tool(annotations={{"readOnlyHint": True}})
def explain_query(sql: str, {}) -> str:
    \"\"\"Explain a query.\"\"\"
    return planner.explain(sql)
"""


@pytest.mark.parametrize(
    ("parameter", "is_asked"),
    [
        ("analyze: bool = False", True),
        ("execute: bool = False", True),
        (
            "timing: bool = Field(False, description='Actually runs the query.')",
            True,
        ),
        ("verbose: bool = False", False),
    ],
)
def test_a_flag_that_runs_a_statement_is_asked_about(
    parameter: str, is_asked: bool, tmp_path: Path
) -> None:
    text = f"from pydantic import Field\n\n\n{EXPLAIN.format(parameter)}"
    assert bool(propose_one(tmp_path, text).asked) is is_asked


WRAPPED = """def _tool(annotations, mutating=False):
    def register(function):
        return mcp.tool(function, annotations=annotations)
    return register


@_tool({"readOnlyHint": True, "destructiveHint": False})
def list_it() -> str:
    \"\"\"List it.\"\"\"
    return _first()


def _first(): return _second()


def _second(): return subprocess.run(["osascript"]).stdout
"""


def test_hints_that_a_registering_decorator_is_passed_count(tmp_path: Path) -> None:
    proposal = propose_one(tmp_path, WRAPPED)
    assert (proposal.behavior, proposal.asked) == ("read", "")


def test_what_prepends_adds(tmp_path: Path) -> None:
    function = 'def prepend_note(it: str) -> str:\n    """Prepend text to a note."""\n    return sdk.carry(it)'
    assert propose_tool(tmp_path, function).behavior in ("append", "create")
