"""A helper below most tools hides no write: neither one of its own, nor one that a tool asks it for."""

from pathlib import Path

import pytest
from adopting.test_questions import survey_five
from adopting.test_reading import survey_files
from adopting.test_traps import HEAD

from copier_fastmcp.adopting.proposals import Proposal

IMPORTS = "import httpx, smtplib\n\nREMOVAL = 'DELETE'\n\n\nclass Action:\n    GET = 'get'\n    WIPE = 'wipe'\n\n\n"
REQUEST = "def _request(method, path, body=None):\n    return httpx.request(method, URL + path, json=body).json()\n"
DEFAULT = "def _request(path, method='GET', body=None):\n    return httpx.request(method, URL + path, json=body).json()\n"
REMOTE = "def _call(command, **data):\n    return httpx.post(URL, json={'command': command, **data}).json()\n"
PROCESS = "def _git(*words):\n    return subprocess.run(['git', *words], capture_output=True).stdout\n"
# A helper, what four tools call that read, and what `get_last` calls.
REQUESTED: dict[str, tuple[str, str, str]] = {
    "POST by position": (
        REQUEST,
        "_request('GET', '/pages/1')",
        "_request('POST', '/pages/1/star')",
    ),
    "POST by name": (
        DEFAULT,
        "_request('/pages/1')",
        "_request('/pages/1/star', method='POST')",
    ),
    "a method in a constant": (
        REQUEST,
        "_request('GET', '/pages/1')",
        "_request(REMOVAL, '/pages/1')",
    ),
    "a command in a class": (REMOTE, "_call(Action.GET)", "_call(Action.WIPE)"),
    "a command that another helper passes": (
        f"{REMOTE}\n\ndef _second(it):\n    return _call('wipe', it=it)\n",
        "_call('get', it=it)",
        "_second(it)",
    ),
    "another helper that names the write": (
        f"{REMOTE}\n\ndef _wipe(it):\n    return _call(it)\n",
        "_call('get', it=it)",
        "_wipe(it)",
    ),
    "a part of a path": (
        "def _call(path):\n    return httpx.post(URL + path).json()\n",
        "_call('/pages')",
        "_call('/pages/1/archive')",
    ),
    "an argument of a process": (PROCESS, "_git('status')", "_git('push', '-f')"),
}
# Helpers that write at every read: nothing is silent.
WRITING = {
    "a removal": "os.system('rm -rf ' + it)\n    return it",
    "a process that removes": "return subprocess.run(['rm', it], capture_output=True).stdout",
    "a process that pushes": "return subprocess.run(['git', 'push', it], capture_output=True).stdout",
    "a file that is touched": "return subprocess.run(['touch', it], capture_output=True).stdout",
    "mail": "smtplib.SMTP('x').sendmail('a', 'b', it)\n    return it",
    "a message": "return channel.basic_publish(it)",
    "a count": "return redis.incr(it)",
    "a command to remove": "return httpx.post(URL, json={'action': 'delete', 'id': it}).json()",
    "an address to remove": "return httpx.post('https://example.com/delete/' + it).json()",
    "a mutation": "return httpx.post(URL, json={'query': 'mutation { touch(id: 1) { id } }'}).json()",
    "a change that its method names": "return sdk.update_visits(it)",
    "a mark that its method names": "return sdk.mark_seen(it)",
    "a record that its method names": "return sdk.create_visit(it)",
}
KEEPING = {
    "rows of another table": "db.execute('UPDATE balances SET coins = coins - 1')\n    return it",
    "new rows of another table": "db.execute('INSERT INTO transfers VALUES (1)')\n    return it",
    "a changed record": "return client.patch('https://example.com/' + it).json()",
}
READING: dict[str, tuple[str, str, str]] = {
    "a path with a noun": (
        "def _call(path):\n    return httpx.post(URL + path).json()\n",
        "_call('note')",
        "_call('report')",
    ),
    "headers": (
        "def _call(path):\n    return httpx.post(URL + path, headers={'Cache-Control': 'no-store'}).json()\n",
        "_call('/pages')",
        "_call('/pages/1')",
    ),
    "a session that its method makes": (
        "def _call(path):\n    return sdk.create_session(path).get(path)\n",
        "_call('/pages')",
        "_call('/pages/1')",
    ),
}


def survey_with(folder: Path, helper: str, call: str, last: str) -> dict[str, Proposal]:
    """Survey four tools that make one call, and `get_last` with another."""
    proposals = survey_five(folder, f"{IMPORTS}{helper}\n\n", call, last)
    return {proposal.tool.name: proposal for proposal in proposals}


@pytest.mark.parametrize(("helper", "call", "last"), REQUESTED.values(), ids=REQUESTED)
def test_a_tool_that_asks_a_shared_helper_to_write_is_no_silent_read(
    helper: str, call: str, last: str, tmp_path: Path
) -> None:
    proposals = survey_with(tmp_path, helper, call, last)
    assert proposals.pop("get_last").asked
    for proposal in proposals.values():
        assert (proposal.behavior, proposal.asked) == ("read", ""), proposal


@pytest.mark.parametrize("body", WRITING.values(), ids=WRITING)
def test_a_shared_helper_that_writes_itself_counts(body: str, tmp_path: Path) -> None:
    helper = f"def _touch(it):\n    {body}\n"
    for proposal in survey_with(tmp_path, helper, "_touch(it)", "_touch(it)").values():
        assert proposal.asked, proposal


@pytest.mark.parametrize("body", KEEPING.values(), ids=KEEPING)
def test_a_helper_that_is_called_after_a_session_may_change_other_records(
    body: str, tmp_path: Path
) -> None:
    helper = f"def _session_of(it):\n    {body}\n"
    call = "_session_of(it)"
    for proposal in survey_with(tmp_path, helper, call, call).values():
        assert proposal.asked, proposal


@pytest.mark.parametrize(("helper", "call", "last"), READING.values(), ids=READING)
def test_a_shared_helper_that_only_asks_is_no_question(
    helper: str, call: str, last: str, tmp_path: Path
) -> None:
    for proposal in survey_with(tmp_path, helper, call, last).values():
        assert (proposal.behavior, proposal.asked) == ("read", ""), proposal


BOX = """class Box:
    def __init__(self): self._keep()
    def _keep(self): db.execute("UPDATE notes SET seen = 1")
    def read(self): return self._keep()


@mcp.tool
def get_it() -> str:
    \"\"\"Get it.\"\"\"
    box = Box()
    return box.read()
"""
TRACKED = """def _track(it):
    {}


@mcp.tool
def get_it(it: str) -> str:
    \"\"\"Get it.\"\"\"
    _track(it)
    return Path(it).read_text()
"""


def propose_one(folder: Path, text: str) -> Proposal:
    """Return the proposal for the only tool of a server."""
    (proposal,) = survey_files(folder, **{"server.py": f"{HEAD}\n{text}"}).proposals
    return proposal


def test_what_a_constructor_also_calls_still_counts(tmp_path: Path) -> None:
    assert propose_one(tmp_path, BOX).asked


@pytest.mark.parametrize(
    ("body", "is_asked"),
    [
        ("db.execute('UPDATE notes SET views = views + 1')", True),
        ("api.put('https://example.com/views', json={'note': it})", True),
        ("db.execute('INSERT INTO access_log VALUES (1)')", False),
        ("STATE['calls'] = 1", False),
    ],
)
def test_a_helper_that_prepares_changes_no_record_of_the_user_s(
    body: str, is_asked: bool, tmp_path: Path
) -> None:
    proposal = propose_one(tmp_path, TRACKED.format(body))
    assert bool(proposal.asked) is is_asked, proposal


SEARCH = """def _request(method, path, body=None):
    return httpx.request(method, URL + path, json=body).json()


def _find(path, it):
    return _request("POST", path, {"text": it})


@mcp.tool
def search_notes(it: str) -> str:
    \"\"\"Search notes.\"\"\"
    return _find("/notes/search", it)


@mcp.tool
def list_notes(it: str) -> str:
    \"\"\"List notes.\"\"\"
    return _request("GET", "/notes")
"""


def test_a_search_by_post_through_helpers_is_no_question(tmp_path: Path) -> None:
    survey = survey_files(tmp_path, **{"server.py": f"{HEAD}\n{SEARCH}"})
    for proposal in survey.proposals:
        assert (proposal.behavior, proposal.asked) == ("read", ""), proposal
