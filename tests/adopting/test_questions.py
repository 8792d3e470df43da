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


def test_a_question_names_the_verb_that_writes(tmp_path: Path) -> None:
    tool = 'def validate_note(it: str) -> str:\n    """Validate a note and update its status."""\n    return sdk.check(it)'
    assert "its description says 'update'" in propose(tmp_path, tool).asked


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


# Helpers with a neutral name that write at every read, and those that only keep what a sign-in or a log needs.
TOUCH = "def _touch(text: str) -> str:\n    {}\n    return text\n\n\n"
SILENT_WRITES = {
    "a row": "db.execute('UPDATE notes SET seen = seen + 1 WHERE id = ?', (text,))",
    "a file": "open('seen.txt', 'w').write(text)",
    "a path": "Path('seen.txt').write_text(text)",
    "an entry": "SEEN.append(text)",
    "a sent record": "httpx.post('https://example.com/visits', json={'note': text})",
    "a replaced record": "httpx.put('https://example.com/seen', json={'note': text})",
    "a call that is only named": "sdk.update_visits(text)",
    "a document": "db.notes.update_one({'id': text}, {'$set': {'seen': True}})",
}
BOOKKEEPING = {
    "a token": "def _refresh_token_if_old(text: str) -> str:\n    Path('state.json').write_text(text)\n    return text\n\n\n",
    "a log": "def _keep_log_line(text: str) -> str:\n    open('server.txt', 'a').write(text)\n    return text\n\n\n",
    "an answer that is used": "def _ask(text: str) -> str:\n    return httpx.post('https://example.com/rpc', json={'text': text}).json()\n\n\n",
}


@pytest.mark.parametrize("body", SILENT_WRITES.values(), ids=SILENT_WRITES)
def test_a_shared_helper_with_a_neutral_name_that_writes_counts(
    body: str, tmp_path: Path
) -> None:
    helper = f"import httpx\n\nSEEN = []\n\n\n{TOUCH.format(body)}"
    for proposal in survey_five(tmp_path, helper, "_touch(it)", "_touch(it)"):
        assert proposal.asked, proposal


@pytest.mark.parametrize("helper", BOOKKEEPING.values(), ids=BOOKKEEPING)
def test_a_shared_helper_that_only_keeps_books_is_no_effect(
    helper: str, tmp_path: Path
) -> None:
    name = helper.partition("(")[0].removeprefix("def ")
    call = f"{name}(it)"
    for proposal in survey_five(tmp_path, f"import httpx\n\n\n{helper}", call, call):
        assert (proposal.behavior, proposal.asked) == ("read", ""), proposal


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
