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
