"""Proposals are never less strict than the author's hints, and ignore setup, caches and misleading names."""

from pathlib import Path

import pytest
from adopting.test_annotate import create_project
from adopting.test_reading import survey_files
from adopting.test_traps import HEAD

from copier_fastmcp.adopting.hints import combine_hints
from copier_fastmcp.adopting.proposals import Proposal
from copier_fastmcp.cli import main


def propose(folder: Path, function: str, decorator: str = "@mcp.tool") -> Proposal:
    """Return the proposal for one function."""
    text = f"{HEAD}\n\n{decorator}\n{function}\n"
    (proposal,) = survey_files(folder, **{"server.py": text}).proposals
    return proposal


ANNOTATED = "@mcp.tool(annotations={{{}}})"
# The function, what its author wrote, and the hints that stay.
WRITTEN = {
    "a read that is declared a write": (
        'def get_note(it: str) -> str:\n    """Get a note."""\n    return Path(it).read_text()',
        {"readOnlyHint": False},
    ),
    "a creation that is declared destructive": (
        'def create_note(it: str) -> str:\n    """Create a note."""\n    return db.insert_one({"it": it})',
        {"readOnlyHint": False, "destructiveHint": True},
    ),
    "an assignment that is declared to repeat": (
        'def set_note(it: str) -> None:\n    """Set a note."""\n    STATE["n"] = it',
        {"idempotentHint": False},
    ),
    "a read that is declared destructive": (
        'def list_notes(it: str) -> list[str]:\n    """List notes."""\n    return os.listdir(it)',
        {"destructiveHint": True},
    ),
}


@pytest.mark.parametrize(("function", "written"), WRITTEN.values(), ids=WRITTEN)
def test_a_stricter_hint_of_the_author_is_kept_and_asked_about(
    function: str, written: dict[str, bool], tmp_path: Path
) -> None:
    pairs = ", ".join(f'"{hint}": {value}' for hint, value in written.items())
    proposal = propose(tmp_path, function, ANNOTATED.format(pairs))
    assert proposal.asked
    assert written.items() <= combine_hints(proposal).items()


def test_unattended_keeps_it_in_the_file_and_names_the_tool(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decorator = ANNOTATED.format('"readOnlyHint": False, "destructiveHint": True')
    function = WRITTEN["a creation that is declared destructive"][0]
    folder = create_project(
        tmp_path, **{"server.py": f"{HEAD}\n\n{decorator}\n{function}\n"}
    )
    assert main(["annotate", str(folder), "--unattended"]) == 0
    assert '"destructiveHint": True' in (folder / "server.py").read_text()
    assert "review create_note" in capsys.readouterr().err


def test_where_nothing_shows_otherwise_the_author_is_believed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    decorator = ANNOTATED.format('"readOnlyHint": False, "destructiveHint": True')
    function = 'def create_note(it: str) -> str:\n    """Create a note."""\n    return sdk.create_note(it)'
    folder = create_project(
        tmp_path, **{"server.py": f"{HEAD}\n\n{decorator}\n{function}\n"}
    )
    assert main(["annotate", str(folder), "--unattended"]) == 0
    assert '"destructiveHint": True' in (folder / "server.py").read_text()
    stderr = capsys.readouterr().err
    assert (
        "kept as their authors wrote them: create_note (destructiveHint=True)" in stderr
    )
    assert "review create_note" not in stderr


def test_what_the_author_wrote_of_a_read_beyond_that_is_left(tmp_path: Path) -> None:
    decorator = ANNOTATED.format('"readOnlyHint": True, "idempotentHint": False')
    function = WRITTEN["a read that is declared a write"][0]
    proposal = propose(tmp_path, function, decorator)
    assert not proposal.asked
    assert combine_hints(proposal)["idempotentHint"] is False


def test_an_action_is_what_its_author_declared(tmp_path: Path) -> None:
    decorator = ANNOTATED.format('"destructiveHint": False, "idempotentHint": True')
    function = (
        'def send_note(it: str) -> None:\n    """Send a note."""\n    api.send(it)'
    )
    proposal = propose(tmp_path, function, decorator)
    assert (proposal.behavior, proposal.asked) == ("action", "")
    assert combine_hints(proposal) == {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
    }


def test_an_addition_whose_body_also_deletes_is_destructive(tmp_path: Path) -> None:
    function = (
        "def listen_later(it: str, undo: bool = False) -> str:\n"
        '    """Add a show to Listen Later; undo=True removes it."""\n'
        '    return httpx.request("DELETE" if undo else "POST", it).text'
    )
    proposal = propose(tmp_path, function)
    assert combine_hints(proposal)["destructiveHint"] is True


# A parameter, and whether a tool that creates what it names may replace something.
CREATIONS = {
    "output_path": ("output_path: str", True),
    "output_dir": ("output_dir: str", False),
}


@pytest.mark.parametrize(("parameter", "replaces"), CREATIONS.values(), ids=CREATIONS)
@pytest.mark.parametrize("name", ["create_video", "slideshow"])
def test_a_creation_in_a_named_file_may_replace_it(
    name: str, parameter: str, replaces: bool, tmp_path: Path
) -> None:
    function = (
        f"def {name}(image: str, {parameter}) -> str:\n"
        '    """Create a video of images."""\n'
        "    return render_video(image)"
    )
    proposal = propose(tmp_path, function)
    assert combine_hints(proposal)["destructiveHint"] is replaces


OPAQUE = {
    "status_reblog": '"""Reblog (boost) a status."""\n    return sdk.status_reblog(it)',
    "check_in": '"""Check in to a place."""\n    return await sdk.check_in(it)',
    "find_my_ring": '"""Find my ring."""\n    return sdk.find_my_ring(it)',
    "find_phone": '"""Find a phone by making it ring."""\n    return sdk.locator.ping(it)',
    "check_out": '"""Check out a book."""\n    return sdk.checkout(it)',
    "report_user": '"""Report a user."""\n    return sdk.report_user(it)',
    "record_audio": '"""Audio of the room."""\n    return sdk.record_audio(it)',
    "view_story": '"""View a story."""\n    return sdk.view_story(it)',
}


@pytest.mark.parametrize(("name", "body"), OPAQUE.items(), ids=OPAQUE)
def test_a_name_and_a_call_of_the_same_name_are_one_signal(
    name: str, body: str, tmp_path: Path
) -> None:
    proposal = propose(tmp_path, f"async def {name}(it: str) -> dict:\n    {body}")
    assert proposal.asked or proposal.behavior != "read", proposal


SURE = {
    "check_spelling": '"""Check the spelling of a text."""\n    return sorted(it)',
    "find_note": '"""Find a note."""\n    return Path(it).read_text()',
    "status_report": '"""Get the status."""\n    return api.get("/status").json()',
    "list_notes": '"""List notes."""\n    return sdk.list_notes(it)',
    "get_note": '"""Get a note."""\n    return sdk.get_note(it)',
    "search_notes": '"""Search notes."""\n    return sdk.search_notes(it)',
}


@pytest.mark.parametrize(("name", "body"), SURE.items(), ids=SURE)
def test_a_read_by_convention_or_by_its_body_is_not_asked_about(
    name: str, body: str, tmp_path: Path
) -> None:
    proposal = propose(tmp_path, f"async def {name}(it: str) -> dict:\n    {body}")
    assert (proposal.behavior, proposal.asked) == ("read", "")


SETUP = {
    "a table": 'conn.execute("CREATE TABLE IF NOT EXISTS days (day TEXT)")\n    return conn.execute("SELECT * FROM days").fetchall()',
    "a script": 'conn.executescript("""\nPRAGMA foreign_keys = ON;\nCREATE TABLE IF NOT EXISTS days (day TEXT);\nCREATE INDEX IF NOT EXISTS d ON days (day);\n""")\n    return conn.execute("SELECT * FROM days").fetchall()',
    "a folder": 'Path("data").mkdir(parents=True, exist_ok=True)\n    return Path("data", it).read_text()',
    "a memory": "if it in STATE:\n        return STATE[it]\n    day = api.get(it).json()\n    STATE[it] = day\n    return day",
    "a memory that is asked": "day = STATE.get(it)\n    if day is None:\n        day = api.get(it).json()\n        STATE[it] = day\n    return day",
    "a memory with an end": "if it not in STATE:\n        if len(STATE) > 9:\n            STATE.pop(next(iter(STATE)))\n        STATE[it] = api.get(it).json()\n    return STATE[it]",
    "a memory that expires": "if it in STATE:\n        return STATE[it]\n    STATE.clear()\n    day = api.get(it).json()\n    STATE[it] = day\n    return day",
    "a memory in a table": 'conn.execute("DELETE FROM day_cache WHERE made < 1")\n    conn.execute("INSERT OR REPLACE INTO day_cache VALUES (1)")\n    return api.get(it).json()',
    "a memory in a file": 'path = Path("days", it)\n    if path.exists():\n        return json.loads(path.read_text())\n    day = api.get(it).json()\n    path.write_text(json.dumps(day))\n    return day',
}


@pytest.mark.parametrize("body", SETUP.values(), ids=SETUP)
def test_setup_and_memory_of_a_getter_are_no_effects(body: str, tmp_path: Path) -> None:
    proposal = propose(
        tmp_path, f'def get_day(it: str) -> dict:\n    """Get a day."""\n    {body}'
    )
    assert (proposal.behavior, proposal.asked) == ("read", ""), proposal


KEPT = {
    "set from outside": 'def get_day(it: str, text: str) -> str:\n    """Get a day."""\n    if it in STATE:\n        return STATE[it]\n    STATE[it] = text\n    return text',
    "another key": 'def get_day(it: str) -> str:\n    """Get a day."""\n    if it in STATE:\n        return STATE[it]\n    day = api.get(it)\n    STATE["last"] = day\n    return day',
    "taken away": 'def get_day(it: str) -> str:\n    """Get a day."""\n    day = STATE[it]\n    STATE.pop(it)\n    return day',
    "a table with rows": 'def get_day(it: str) -> str:\n    """Get a day."""\n    conn.executescript("CREATE TABLE IF NOT EXISTS d (x); DELETE FROM d WHERE x = 1")\n    return it',
    "a column that is renamed": 'def get_day(it: str) -> str:\n    """Get a day."""\n    conn.execute("ALTER TABLE days RENAME TO old")\n    return it',
    "a file that is always written": 'def get_day(it: str) -> str:\n    """Get a day."""\n    path = Path(it)\n    path.write_text("x")\n    return "x"',
}


@pytest.mark.parametrize("function", KEPT.values(), ids=KEPT)
def test_what_only_looks_like_memory_is_an_effect(
    function: str, tmp_path: Path
) -> None:
    assert propose(tmp_path, function).asked


def test_a_tool_that_makes_tables_does_so(tmp_path: Path) -> None:
    function = 'def create_table(it: str) -> None:\n    """Create a table."""\n    conn.execute("CREATE TABLE IF NOT EXISTS days (day TEXT)")'
    assert propose(tmp_path, function).behavior in ("create", "ensure")


API = """
import httpx


def graphql(query, variables=None):
    return httpx.post("https://example.com/graphql", json={"query": query}).json()


async def call_client(method, **given):
    async with make_client() as client:
        return await getattr(client, method)(**given)
"""
THROUGH = {
    "a query of GraphQL": (
        "get_team",
        "graphql('query($id: ID!) { team(id: $id) { id } }')",
        True,
    ),
    "a short query": ("list_teams", "graphql('{ teams { nodes { id } } }')", True),
    "a mutation": (
        "get_team",
        "graphql('mutation { teamDelete(id: 1) { ok } }')",
        False,
    ),
    "a query from outside": ("get_team", "graphql(it)", False),
    "a method that is said": ("get_paper", "call_client('get_paper', it=it)", True),
    "another method that is said": (
        "get_paper",
        "call_client('delete_paper', it=it)",
        False,
    ),
    "a method from outside": ("get_paper", "call_client(it)", False),
}


@pytest.mark.parametrize(("name", "call", "is_read"), THROUGH.values(), ids=THROUGH)
def test_what_a_helper_is_told_decides(
    name: str, call: str, is_read: bool, tmp_path: Path
) -> None:
    function = f'{API}\n\n@mcp.tool\ndef {name}(it: str) -> str:\n    """Get it."""\n    return {call}'
    text = f"{HEAD}\n{function}\n"
    (proposal,) = survey_files(tmp_path, **{"server.py": text}).proposals
    assert (proposal.behavior == "read" and not proposal.asked) is is_read, proposal
