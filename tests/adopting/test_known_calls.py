"""Calls of which the source shows more than their verb: timers, matches, requests that are built, tokens that are kept."""

from pathlib import Path

import pytest
from adopting.test_cautious import propose

from copier_fastmcp.adopting.proposals import Proposal

GET = '@mcp.tool\ndef get_note(it: str) -> dict:\n    """Get a note."""\n    {}'
CONNECT = (
    "from googleapiclient.discovery import build\n\nservice = build('drive', 'v3')"
)
TIMED = "import threading\n\n\ndef _ask(sql):\n    timer = {}\n    timer.start()\n    return conn.execute(sql)"
CLIENT = (
    "class Client:\n    def __init__(self):\n        self.profiles = {{}}\n\n"
    "    def load(self, it):\n        response = requests.get(it)\n        {}\n        return response\n\n\nclient = Client()"
)
# What is above the tool, and its body.
READS = {
    "a position in a text": (
        "import re",
        "found = re.search('x', it)\n    return Path(it).read_text()[found.start():]",
    ),
    "a timer": (
        TIMED.format("threading.Timer(5, conn.interrupt)"),
        "return _ask('SELECT * FROM notes')",
    ),
    "a token that is renewed": (
        CLIENT.format("self.profiles['a']['service_token'] = response.headers['t']"),
        "return client.load(it)",
    ),
    "a list that is built and sent": (
        CONNECT,
        "return service.files().list(q=it).execute()",
    ),
    "a connection that is opened": (
        "from websockets.sync.client import connect",
        "with connect(it) as channel:\n        return channel.recv()",
    ),
}
WRITES = {
    "a timer that removes": (
        TIMED.format("threading.Timer(5, os.remove, [sql])"),
        "return _ask('SELECT * FROM notes')",
    ),
    "an entry that is renewed": (
        CLIENT.format("self.profiles['a']['visits'] = response.headers['t']"),
        "return client.load(it)",
    ),
    "an update that is built and sent": (
        CONNECT,
        "service.files().update(fileId=it).execute()\n    return {}",
    ),
    "a removal that is built, and sent later": (
        CONNECT,
        "request = service.files().delete(fileId=it)\n    return request.execute()",
    ),
    "rows that are inserted": (
        "from supabase import create_client\n\ndb = create_client(URL, KEY)",
        "return db.table('visits').insert({'it': it}).execute()",
    ),
}


def propose_getter(folder: Path, head: str, body: str) -> Proposal:
    """Propose a behavior for a getter below some definitions."""
    return propose(folder, GET.format(body), f"{head}\n\n")


@pytest.mark.parametrize(("head", "body"), READS.values(), ids=READS)
def test_a_call_that_is_known_to_change_nothing_is_no_question(
    head: str, body: str, tmp_path: Path
) -> None:
    proposal = propose_getter(tmp_path, head, body)
    assert (proposal.behavior, proposal.asked) == ("read", "")


@pytest.mark.parametrize(("head", "body"), WRITES.values(), ids=WRITES)
def test_a_call_that_differs_in_what_it_changes_is_asked_about(
    head: str, body: str, tmp_path: Path
) -> None:
    assert propose_getter(tmp_path, head, body).asked


# A function without a verb in its name, and the behavior that is proposed.
TOOLS = {
    "an update that is built": (
        "def cells(it: str) -> None:\n    service.files().update(fileId=it).execute()",
        "put",
    ),
    "an addition that is sent as an update": (
        'def add_row(it: str) -> None:\n    """Add a row."""\n    service.files().update(fileId=it).execute()',
        "create",
    ),
    "a removal on the side": (
        'def world(it: str) -> None:\n    """Save the world."""\n    Path("old").unlink()',
        "action",
    ),
    "a removal that is described": (
        'def world(it: str) -> None:\n    """Delete the world."""\n    Path(it).unlink()',
        "delete",
    ),
    "a comparison with another tool": (
        'def simulation(it: str) -> None:\n    """Run the simulation.\n\n    Unlike run_all (fast, quiet), this steps it."""\n    go(it)',
        "action",
    ),
    "a return without an article": (
        'def value_counts(it: str) -> list:\n    """Return top value counts for a column."""\n    return conn.execute("SELECT * FROM notes").fetchall()',
        "read",
    ),
    "a return with advice": (
        'def log_text(it: str) -> str:\n    """Returns the text content — save to disk for later."""\n    return requests.get(it).text',
        "read",
    ),
}


@pytest.mark.parametrize(("function", "behavior"), TOOLS.values(), ids=TOOLS)
def test_a_tool_is_proposed_what_its_words_and_requests_say(
    function: str, behavior: str, tmp_path: Path
) -> None:
    proposal = propose(tmp_path, function, f"{CONNECT}\n\n\n@mcp.tool")
    assert (proposal.behavior, proposal.asked) == (behavior, "")


def test_a_vague_word_alone_is_no_read(tmp_path: Path) -> None:
    tool = 'def simulation(it: str) -> None:\n    """The simulation, to see it live."""\n    go(it)'
    assert propose(tmp_path, tool).asked
