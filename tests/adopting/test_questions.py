"""Cases without a question: called constants, sign-ins, and queries routed to a reader."""

from pathlib import Path

import pytest
from adopting.test_cautious import propose
from adopting.test_reading import survey_files
from adopting.test_traps import HEAD

from copier_fastmcp.adopting.proposals import Proposal

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
    proposal = propose(tmp_path, function)
    assert (proposal.behavior, proposal.asked) == ("read", "")


def test_a_helper_that_signs_in_changes_nothing(tmp_path: Path) -> None:
    tool = f"{READ}return service().notes().get(id=it).execute()"
    proposal = propose(tmp_path, tool, f"{SIGN_IN}@mcp.tool")
    assert (proposal.behavior, proposal.asked) == ("read", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [("TOKEN_FILE", "NOTES_FILE"), ("endpoints.BUILD", "endpoints.DELETE")],
)
def test_data_is_no_credential_and_a_method_no_constant(
    old: str, new: str, tmp_path: Path
) -> None:
    tool = f"{READ}return service().get(endpoints.BUILD(name=it))"
    proposal = propose(
        tmp_path, tool.replace(old, new), f"{SIGN_IN.replace(old, new)}@mcp.tool"
    )
    assert proposal.asked


def test_a_tool_that_removes_a_token_itself_is_no_read(tmp_path: Path) -> None:
    tool = 'def check_token() -> None:\n    """Check the token."""\n    os.remove(TOKEN_FILE)'
    assert propose(tmp_path, tool).behavior != "read"


def test_a_download_to_a_path_writes_there(tmp_path: Path) -> None:
    tool = 'def download_note(it: str, save_path: str = ".") -> str:\n    """Note as PDF."""\n    return fetch_it(it, save_path)'
    proposal = propose(tmp_path, tool)
    assert (proposal.behavior, proposal.asked) == ("put", "")


def test_a_question_names_what_speaks_against_a_read(tmp_path: Path) -> None:
    tool = 'def read_note(it: str, save_path: str = ".") -> str:\n    """Read a note."""\n    return ""'
    assert "but it can write to 'save_path'" in propose(tmp_path, tool).asked


# A helper below every tool, and the calls of four tools that read through it.
TRANSPORT = """def run_script(text: str) -> str:
    return subprocess.run(["osascript", "-e", text]).stdout


"""
MARKING = (
    "def mark_seen(text: str) -> str:\n    return db.update_one({'seen': text})\n\n\n"
)
TAKING = "def take(text: str) -> str:\n    return JOBS.pop()\n\n\n"
TOOL = '@mcp.tool\ndef {}(it: str) -> str:\n    """Get it."""\n    return {}\n\n\n'
READING = ("get_note", "list_notes", "search_notes", "read_title")


def survey_five(folder: Path, helper: str, call: str, last: str) -> list[Proposal]:
    """Survey four tools that read through a helper, and `get_last`."""
    tools = "".join(TOOL.format(name, call) for name in READING)
    tools += TOOL.format("get_last", last)
    text = f"{HEAD}\nimport subprocess\n\nJOBS = []\n\n\n{helper}{tools}"
    return survey_files(folder, **{"server.py": text}).proposals


def test_a_transport_that_every_read_shares_is_no_effect_of_any(
    tmp_path: Path,
) -> None:
    proposals = survey_five(
        tmp_path, TRANSPORT, 'run_script("get name of it")', 'run_script("count it")'
    )
    verdicts = set()
    for proposal in proposals:
        verdicts.add((proposal.behavior, proposal.asked))
    assert verdicts == {("read", "")}


@pytest.mark.parametrize(
    "last",
    [
        'run_script("delete every note")',
        'run_script("tell app\\n  set read status of it to true\\nend")',
        'run_script(f"tell app\\n  move {it} to trash")',
        'subprocess.run(["rm", it])',
    ],
)
def test_what_is_passed_to_a_shared_transport_still_counts(
    last: str, tmp_path: Path
) -> None:
    call = 'run_script("get name of it")'
    proposals = survey_five(tmp_path, TRANSPORT, call, last)
    questioned = []
    for proposal in proposals:
        if proposal.asked:
            questioned.append(proposal.tool.name)
    assert questioned == ["get_last"]


@pytest.mark.parametrize(
    ("helper", "call"), [(MARKING, "mark_seen(it)"), (TAKING, "take(it)")]
)
def test_a_shared_helper_that_writes_by_name_or_takes_away_counts(
    helper: str, call: str, tmp_path: Path
) -> None:
    for proposal in survey_five(tmp_path, helper, call, call):
        assert proposal.asked


ENDED = {
    "an entry while it runs": "JOBS.append(it)\n    found = api.get(it).json()\n    JOBS.remove(it)\n    return found",
    "a handler for later": "atexit.register(remove_all)\n    return api.get(it).json()",
}
GLOBALS = "import atexit\n\nJOBS = []\n\n\ndef remove_all():\n    os.remove('x')\n\n\n"


@pytest.mark.parametrize("body", ENDED.values(), ids=ENDED)
def test_what_ends_with_the_call_changes_nothing(body: str, tmp_path: Path) -> None:
    proposal = propose(tmp_path, READ + body, f"{GLOBALS}@mcp.tool")
    assert (proposal.behavior, proposal.asked) == ("read", "")


def test_an_entry_that_is_moved_to_the_end_is_an_effect(tmp_path: Path) -> None:
    body = "JOBS.remove(it)\n    JOBS.append(it)\n    return it"
    assert propose(tmp_path, READ + body, f"{GLOBALS}@mcp.tool").asked


def test_a_process_that_a_tool_starts_counts_and_its_end_does_not(
    tmp_path: Path,
) -> None:
    body = "proc = subprocess.Popen(['x'])\n    proc.kill()\n    return it"
    question = propose(tmp_path, READ + body).asked
    assert "Popen" in question
