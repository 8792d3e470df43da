"""What needs no question: a constant that is called, a sign-in, a query that is routed to a reader."""

from pathlib import Path

import pytest
from adopting.test_cautious import proposed

SIGN_IN = """def service():
    try:
        return build(load(TOKEN_FILE))
    except RefreshError:
        os.remove(TOKEN_FILE)
    credentials = flow.run_local_server(port=0)
    with open(TOKEN_FILE, "w") as token:
        token.write(credentials.to_json())
    return build(credentials)


"""
READ = 'def get_note(it: str) -> dict:\n    """Get a note."""\n    '
READS = {
    "a constant that is called": READ
    + "return requests.get(endpoints.BUILD(name=it)).json()",
    "a query that is routed to readers": READ
    + "return driver.execute_query(it, routing_control=RoutingControl.READ)",
    "a procedure that describes the schema": READ
    + 'return driver.execute_query("CALL apoc.meta.schema() YIELD value RETURN value")',
}


@pytest.mark.parametrize("function", READS.values(), ids=READS)
def test_a_read_is_not_asked_about(function: str, tmp_path: Path) -> None:
    proposal = proposed(tmp_path, function)
    assert (proposal.behavior, proposal.asked) == ("read", "")


def test_a_helper_that_signs_in_changes_nothing(tmp_path: Path) -> None:
    tool = f"{READ}return service().notes().get(id=it).execute()"
    proposal = proposed(tmp_path, tool, f"{SIGN_IN}@mcp.tool")
    assert (proposal.behavior, proposal.asked) == ("read", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [("TOKEN_FILE", "NOTES_FILE"), ("endpoints.BUILD", "endpoints.DELETE")],
)
def test_data_is_no_credential_and_a_method_no_constant(
    old: str, new: str, tmp_path: Path
) -> None:
    tool = f"{READ}return service().get(endpoints.BUILD(name=it))"
    proposal = proposed(
        tmp_path, tool.replace(old, new), f"{SIGN_IN.replace(old, new)}@mcp.tool"
    )
    assert proposal.asked


def test_a_tool_that_removes_a_token_itself_is_no_read(tmp_path: Path) -> None:
    tool = 'def check_token() -> None:\n    """Check the token."""\n    os.remove(TOKEN_FILE)'
    assert proposed(tmp_path, tool).behavior != "read"


def test_a_download_to_a_path_writes_there(tmp_path: Path) -> None:
    tool = 'def download_note(it: str, save_path: str = ".") -> str:\n    """Note as PDF."""\n    return fetch_it(it, save_path)'
    proposal = proposed(tmp_path, tool)
    assert (proposal.behavior, proposal.asked) == ("put", "")


def test_a_question_names_what_speaks_against_a_read(tmp_path: Path) -> None:
    tool = 'def read_note(it: str, save_path: str = ".") -> str:\n    """Read a note."""\n    return ""'
    assert "but it can write to 'save_path'" in proposed(tmp_path, tool).asked
