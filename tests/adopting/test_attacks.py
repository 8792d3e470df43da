"""Attacks that were written before anything had read them end in a question, or in a behavior that writes."""

from pathlib import Path

import pytest
from adopting.attacks import ATTACKS, IMPORTS
from adopting.test_questions import survey_five
from adopting.test_shared_helpers import propose_one

# A POST below every tool is how an API is asked, whatever it is asked.
TRANSPORTS = {
    "a POST by a session that is passed on",
    "a POST by urllib two calls down",
}
BELOW_ALL = {name: row for name, row in ATTACKS.items() if name not in TRANSPORTS}
TOOL = '@mcp.tool\ndef get_it(it: str) -> str:\n    """Get it."""\n    {}\n'


@pytest.mark.parametrize(("helper", "body"), ATTACKS.values(), ids=ATTACKS)
def test_an_attack_of_one_tool_is_asked_about(
    helper: str, body: str, tmp_path: Path
) -> None:
    text = f"{IMPORTS}\n\n{helper}\n\n{TOOL.format(body)}"
    assert propose_one(tmp_path, text).asked


@pytest.mark.parametrize(("helper", "body"), BELOW_ALL.values(), ids=BELOW_ALL)
def test_an_attack_below_every_tool_is_asked_about(
    helper: str, body: str, tmp_path: Path
) -> None:
    call = body.removeprefix("return ")
    for proposal in survey_five(tmp_path, f"{IMPORTS}\n\n{helper}\n\n", call, call):
        assert proposal.asked, proposal
