"""Reads that need no question, each next to a tool that differs in one thing and is no read."""

from pathlib import Path

import pytest
from adopting.test_cautious import propose
from adopting.test_reading import survey_files
from adopting.test_traps import HEAD

READ = 'def get_note(it: str) -> dict:\n    """Get a note."""\n    '
FETCH = "return requests.get('https://example.com', params={'it': it}).json()"

# What a call sets for itself: the head of the file, and the body of the tool.
OWN_STATE = {
    "a header of a session": (
        "class Client:\n    def __init__(self):\n        self.session = requests.Session()\n\n"
        "    def load(self, it):\n        self.session.headers['Authorization'] = it\n"
        "        return self.session.get(it).json()\n\n\nclient = Client()\n",
        "return client.load(it)",
    ),
    "a context variable": (
        "from contextvars import ContextVar\n\nPOLICY = ContextVar('policy')\n",
        f"POLICY.set(it)\n    {FETCH}",
    ),
    "data of a thread": (
        "import threading\n\nLOCAL = threading.local()\n",
        f"LOCAL.request = it\n    {FETCH}",
    ),
    "a platform that is asked for": (
        "import platform\n",
        f"platform.system()\n    {FETCH}",
    ),
    "a class of a package": (
        "from query_sdk import models\n",
        f"models.Star(it)\n    {FETCH}",
    ),
}
# The same with what lasts.
LASTING_STATE = {
    "an entry of a store": (
        OWN_STATE["a header of a session"][0].replace("headers", "entries"),
        "return client.load(it)",
    ),
    "a global container": ("POLICY = {}\n", f"POLICY['last'] = it\n    {FETCH}"),
    "a request that is made by a class": (
        "from query_sdk import models\n",
        f"models.DeleteRequest(it)\n    {FETCH}",
    ),
    "an event that stops a player": (
        "import threading\n\nSTOPPED = threading.Event()\n",
        f"STOPPED.set()\n    {FETCH}",
    ),
}


@pytest.mark.parametrize(("head", "body"), OWN_STATE.values(), ids=OWN_STATE)
def test_what_a_call_sets_for_itself_is_no_effect(
    head: str, body: str, tmp_path: Path
) -> None:
    proposal = propose(tmp_path, READ + body, f"{head}\n\n@mcp.tool")
    assert (proposal.behavior, proposal.asked) == ("read", "")


@pytest.mark.parametrize(("head", "body"), LASTING_STATE.values(), ids=LASTING_STATE)
def test_what_lasts_is_an_effect(head: str, body: str, tmp_path: Path) -> None:
    assert propose(tmp_path, READ + body, f"{head}\n\n@mcp.tool").asked


def test_an_event_that_is_cleared_deletes_nothing(tmp_path: Path) -> None:
    tool = "def next_song() -> str:\n    PAUSED.clear()\n    return 'playing'"
    head = "import threading\n\nPAUSED = threading.Event()\n"
    proposal = propose(tmp_path, tool, f"{head}\n\n@mcp.tool")
    assert (proposal.behavior, proposal.asked) == ("action", "")


@pytest.mark.parametrize(
    ("line", "behavior"),
    [("NUMBERS.last = it", "read"), ("Path('last').write_text(it)", "put")],
)
def test_a_module_is_found_by_way_of_the_folder_that_it_is_in(
    line: str, behavior: str, tmp_path: Path
) -> None:
    tool = f"{READ}set_number(it)\n    {FETCH}"
    server = f"{HEAD}\nfrom src.core.numbers import set_number\n\n\n@mcp.tool\n{tool}\n"
    helper = (
        "import threading\nfrom pathlib import Path\n\nNUMBERS = threading.local()\n"
        f"\n\ndef set_number(it):\n    {line}\n"
    )
    folder = tmp_path / "src" / "core"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("", "utf-8")
    (folder / "numbers.py").write_text(helper, "utf-8")
    (proposal,) = survey_files(tmp_path, **{"src/main.py": server}).proposals
    assert proposal.behavior == behavior
    assert bool(proposal.asked) == (behavior != "read")


# Tools whose proposal needs no question, as a whole source after the head.
CLEAR = {
    "a POST to an address that asks": (
        f"@mcp.tool\n{READ}return requests.post('https://example.com/notes/search', json={{'it': it}}).json()",
        "read",
    ),
    "a program that only reads": (
        f'@mcp.tool\n{READ}return subprocess.run(["git", "log", it]).stdout',
        "read",
    ),
    "a verb that only reads": (
        'from todo_sdk import sdk\n\n\n@mcp.tool\ndef diagnose_note(it: str) -> str:\n    """Diagnose a note."""\n    return sdk.look(it)',
        "read",
    ),
    "a declared read of which nothing shows a write": (
        '@mcp.tool(annotations={"readOnlyHint": True})\ndef billing(it: str) -> str:\n    return sdk(it)',
        "read",
    ),
    "an operation that is compared with a write": (
        '@mcp.tool\ndef radio(operation: str) -> str:\n    """Get the state of the radio."""\n    if operation == "set_mode":\n        return sdk(operation)\n    return ""',
        "action",
    ),
    "operations that list a write": (
        '@mcp.tool\ndef radio(operation: str) -> str:\n    """Get the state.\n\n    operations: get, list, set_mode."""\n    return sdk(operation)',
        "action",
    ),
    "a change that counts on": (
        '@mcp.tool\ndef update_note(it: str) -> None:\n    """Update a note."""\n    STATE["n"] = STATE["n"] + it',
        "action",
    ),
}
UNCLEAR = {
    "a POST to an address that does not ask": CLEAR["a POST to an address that asks"][
        0
    ].replace("notes/search", "notes/visits"),
    "a POST to an address that is a write": CLEAR["a POST to an address that asks"][
        0
    ].replace("notes/search", "delete/search"),
    "a POST that nothing uses": CLEAR["a POST to an address that asks"][0].replace(
        "return requests", "requests"
    ),
    "a program that may write": CLEAR["a program that only reads"][0].replace(
        "log", "gc"
    ),
    "a verb that may write": CLEAR["a verb that only reads"][0].replace(
        "diagnose_note", "find_note"
    ),
    "a declared read with a call that may write": CLEAR[
        "a declared read of which nothing shows a write"
    ][0].replace("sdk(it)", "sdk.charge_account(it)"),
    "an operation that is compared with a read": CLEAR[
        "an operation that is compared with a write"
    ][0].replace("set_mode", "get_mode"),
}


@pytest.mark.parametrize(("source", "behavior"), CLEAR.values(), ids=CLEAR)
def test_what_is_clear_is_not_asked_about(
    source: str, behavior: str, tmp_path: Path
) -> None:
    (proposal,) = survey_files(
        tmp_path, **{"server.py": f"{HEAD}\n{source}\n"}
    ).proposals
    assert (proposal.behavior, proposal.asked) == (behavior, "")


@pytest.mark.parametrize("source", UNCLEAR.values(), ids=UNCLEAR)
def test_what_is_unclear_is_no_silent_read(source: str, tmp_path: Path) -> None:
    (proposal,) = survey_files(
        tmp_path, **{"server.py": f"{HEAD}\n{source}\n"}
    ).proposals
    assert proposal.asked or proposal.behavior != "read"


IMAP = (
    "import imaplib\nfrom fastmcp import FastMCP\n\nmcp = FastMCP('mail')\n\n\n@mcp.tool\n"
    'def read_mail(it: str) -> str:\n    """Read a mail."""\n    conn = imaplib.IMAP4_SSL("example.com")\n'
    '    conn.select("INBOX")\n    return conn.fetch(it, "(RFC822)")'
)
MARKING = {
    "a whole message": IMAP,
    "its body by number": IMAP.replace('fetch(it, "(RFC822)"', 'uid("fetch", "BODY[]"'),
}
NOT_MARKING = {
    "a folder opened to read": IMAP.replace('"INBOX"', '"INBOX", readonly=True'),
    "a look at the body": IMAP.replace("(RFC822)", "(BODY.PEEK[])"),
    "its size": IMAP.replace("(RFC822)", "(RFC822.SIZE)"),
}


@pytest.mark.parametrize("tool", MARKING.values(), ids=MARKING)
def test_a_fetch_that_marks_mail_as_read_is_no_silent_read(
    tool: str, tmp_path: Path
) -> None:
    (proposal,) = survey_files(tmp_path, **{"server.py": tool}).proposals
    assert "marks it as read" in proposal.asked


@pytest.mark.parametrize("tool", NOT_MARKING.values(), ids=NOT_MARKING)
def test_a_fetch_that_marks_nothing_is_a_read(tool: str, tmp_path: Path) -> None:
    (proposal,) = survey_files(tmp_path, **{"server.py": tool}).proposals
    assert (proposal.behavior, proposal.asked) == ("read", "")


DEVICE = "import serial\n\nconnection = serial.Serial('/dev/ttyUSB0')\n\n\n@mcp.tool"


def test_a_write_to_a_device_is_an_act_each_time(tmp_path: Path) -> None:
    tool = 'def write_port(it: str) -> None:\n    """Write to the port."""\n    connection.write(it.encode())'
    assert propose(tmp_path, tool, DEVICE).behavior == "action"


def test_a_read_of_a_device_takes_away_what_it_reads(tmp_path: Path) -> None:
    tool = f"{READ}return connection.read(8)"
    proposal = propose(tmp_path, tool, DEVICE)
    assert proposal.behavior == "delete"
    assert proposal.asked


def test_a_manager_of_resources_that_is_given_out_removes_nothing(
    tmp_path: Path,
) -> None:
    tool = f"{READ}manager = state.rm()\n    return manager.get(it)"
    assert propose(tmp_path, tool).asked == ""


def test_only_the_first_argument_of_a_thread_is_run(tmp_path: Path) -> None:
    tool = f"{READ}return asyncio.to_thread(load, state.delete_note, it)"
    head = "def load(state, it):\n    return requests.get(it).json()\n\n\n@mcp.tool"
    assert propose(tmp_path, tool, head).asked == ""
    asked = propose(tmp_path, tool.replace("load, ", ""), head).asked
    assert "state.delete_note" in asked


def test_an_approval_that_is_used_up_is_an_act(tmp_path: Path) -> None:
    tool = 'def approve_run(it: str) -> str:\n    """Approve a run."""\n    return take(it)'
    head = (
        "def take(it):\n    return drop(it)\n\n\n"
        "def drop(it):\n    db.execute('DELETE FROM approvals WHERE token = ?', (it,))\n\n\n@mcp.tool"
    )
    proposal = propose(tmp_path, tool, head)
    assert (proposal.behavior, proposal.asked) == ("action", "")


def test_to_return_a_device_to_a_state_is_no_read(tmp_path: Path) -> None:
    tool = 'def radio_local(it: str) -> str:\n    """Return the radio to local control."""\n    return sdk(it)'
    assert propose(tmp_path, tool).asked
    tool = tool.replace("the radio to local control", "the state of the radio")
    assert propose(tmp_path, tool).behavior == "read"


def test_to_run_a_search_is_to_search(tmp_path: Path) -> None:
    tool = 'def search_notes(it: str) -> str:\n    """Run a semantic search over the notes."""\n    return sdk(it)'
    assert propose(tmp_path, tool).asked == ""
    tool = tool.replace("a semantic search", "a cleanup")
    assert propose(tmp_path, tool).asked


# A class, and what makes its object.
PARSER = (
    "class Parser:\n    def __init__(self, text):\n        self.text = text\n        self.rows = []\n\n"
    "    def run(self):\n        self.rows.append(self.text)\n        return self.rows\n\n\n"
)


def test_an_object_that_ends_with_the_call_keeps_nothing(tmp_path: Path) -> None:
    tool = f"{READ}parser = Parser(it)\n    return parser.run()"
    proposal = propose(tmp_path, tool, f"{PARSER}@mcp.tool")
    assert (proposal.behavior, proposal.asked) == ("read", "")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "class Parser:\n",
            "class Parser:\n    def __new__(cls, text): return ONE\n\n",
        ),
        ("        self.rows = []\n", "        self.rows = text.rows\n"),
        ("@mcp", "parser = Parser('')\n\n\n@mcp"),
    ],
)
def test_an_object_that_may_be_shared_keeps_what_it_is_passed(
    old: str, new: str, tmp_path: Path
) -> None:
    head = f"{PARSER}@mcp.tool".replace(old, new)
    tool = f"{READ}parser = Parser(it)\n    return parser.run()"
    if "parser = Parser('')" in head:
        tool = f"{READ}return parser.run()"
    assert propose(tmp_path, tool, head).asked


MEMOS = {
    "a key of a cache": "cache_key = it\n    NAMES[cache_key] = requests.get(it).json()\n    return NAMES",
    "an entry in an expression": "if it not in NAMES:\n        NAMES[it] = requests.get(it).json()\n    return str(NAMES[it])",
    "an entry that is looked up": "if it not in NAMES:\n        NAMES[it] = requests.get(it).json()\n    return NAMES.get(it)",
}


@pytest.mark.parametrize("body", MEMOS.values(), ids=MEMOS)
def test_an_entry_that_is_computed_and_given_back_is_a_memo(
    body: str, tmp_path: Path
) -> None:
    head = "NAMES = {}\n\n\n@mcp.tool"
    assert propose(tmp_path, READ + body, head).asked == ""
    stored = body.replace("requests.get(it).json()", "it")
    assert propose(tmp_path, READ + stored, head).asked


def test_a_class_that_is_named_a_cache_keeps_no_data(tmp_path: Path) -> None:
    owner = (
        "class PageCache:\n    def __init__(self):\n        self._pages = {}\n\n"
        "    def load(self, it):\n        page = requests.get(it).json()\n        self._pages[it] = page\n        self._pages.popitem()\n        return page\n\n\n"
        "pages = PageCache()\n\n\n@mcp.tool"
    )
    tool = f"{READ}return pages.load(it)"
    assert propose(tmp_path, tool, owner).asked == ""
    assert propose(tmp_path, tool, owner.replace("PageCache", "PageStore")).asked


@pytest.mark.parametrize(
    ("body", "asked"),
    [
        ("future = pool.submit(load, it)\n    future.cancel()", False),
        ("future = sdk.order(it)\n    future.cancel()", True),
        ("note_lock.acquire_read_lock()", False),
        ("door.acquire_read_lock()", True),
    ],
)
def test_what_tasks_of_a_call_do_to_each_other_is_no_effect(
    body: str, asked: bool, tmp_path: Path
) -> None:
    head = "def load(it):\n    return it\n\n\n@mcp.tool"
    proposal = propose(tmp_path, f"{READ}{body}\n    {FETCH}", head)
    assert bool(proposal.asked) is asked


def test_a_module_that_is_asked_for_a_loop_stores_nothing(tmp_path: Path) -> None:
    tool = (
        'def set_note(it: str) -> None:\n    """Set a note."""\n'
        "    asyncio.run(work(f'{asyncio.get_event_loop()}', it))\n    STATE['n'] = it"
    )
    proposal = propose(tmp_path, tool)
    assert (proposal.behavior, proposal.asked) == ("put", "")


def test_a_description_that_names_a_thing_does_not_make_a_read(tmp_path: Path) -> None:
    tool = 'def weld_table(rows: list[str]) -> str:\n    """Draw the notes, with a title that is not empty."""\n    return sdk(rows)'
    assert propose(tmp_path, tool).behavior != "read"
