"""What is added may replace, what is saved may be new, and what is noted for a trace is no effect."""

from pathlib import Path

import pytest
from adopting.test_cautious import propose

DOC = '"""Create a report."""'
SAVED = f"def create_report(text: str, {{}}: str) -> str:\n    {DOC}\n    {{}}\n    return 'done'"
WRITE = "document = lib.Document(text)\n    document.save({})"


def test_a_file_that_is_created_at_a_named_place_may_replace_one(
    tmp_path: Path,
) -> None:
    tool = SAVED.format("output_path", WRITE.format("output_path"))
    proposal = propose(tmp_path, tool, "import lib\n\n\n@mcp.tool")
    assert (proposal.behavior, proposal.asked) == ("put", "")


def test_a_file_of_the_servers_own_replaces_none(tmp_path: Path) -> None:
    tool = SAVED.format("name", WRITE.format("new_place()"))
    head = "import lib\nfrom places import new_place\n\n\n@mcp.tool"
    assert propose(tmp_path, tool, head).behavior == "create"


def test_a_report_that_its_words_create_at_a_named_place_may_replace_one(
    tmp_path: Path,
) -> None:
    tool = f"def quarterly_report(output_path: str) -> str:\n    {DOC}\n    return layout.render(output_path)"
    head = "from elsewhere import layout\n\n\n@mcp.tool"
    assert propose(tmp_path, tool, head).behavior == "put"


def test_a_parameter_that_overwrites_makes_a_creation_a_replacement(
    tmp_path: Path,
) -> None:
    tool = "def create_map(name: str{}) -> str:\n    {}\n    return atlas.make(name)"
    head = "from elsewhere import atlas\n\n\n@mcp.tool"
    doc = '"""Create a map."""'
    plain = propose(tmp_path / "plain", tool.format("", doc), head)
    forced = tool.format(", overwrite: bool = False", doc)
    assert plain.behavior == "create"
    assert propose(tmp_path / "forced", forced, head).behavior == "put"


@pytest.mark.parametrize(
    ("statement", "behavior"),
    [
        ("INSERT INTO notes (text) VALUES (?)", "create"),
        ("INSERT OR REPLACE INTO notes (text) VALUES (?)", "put"),
        (
            "INSERT INTO notes (text) VALUES (?) ON CONFLICT (text) DO UPDATE SET n = 1",
            "put",
        ),
    ],
)
def test_what_saves_a_new_row_creates(
    statement: str, behavior: str, tmp_path: Path
) -> None:
    tool = f'def save_note(text: str) -> str:\n    """Save a note."""\n    db.execute("{statement}", (text,))\n    return text'
    head = "import sqlite3\n\ndb = sqlite3.connect('x')\n\n\n@mcp.tool"
    proposal = propose(tmp_path, tool, head)
    assert (proposal.behavior, proposal.asked) == (behavior, "")


def test_what_is_put_on_another_host_may_replace(tmp_path: Path) -> None:
    tool = (
        'def upload_file(local_path: str, remote_path: str) -> str:\n    """Upload a file."""\n'
        "    with open('places.json', 'w') as places:\n        json.dump([remote_path], places)\n"
        "    sftp.put(local_path, remote_path)\n    return remote_path"
    )
    head = "import json\n\nfrom hosts import sftp\n\n\n@mcp.tool"
    proposal = propose(tmp_path, tool, head)
    assert (proposal.behavior, bool(proposal.asked)) == ("put", True)


NOTE = 'def get_note(it: str) -> dict:\n    """Get a note."""\n    '
TRACES = ("span.set_status(it)", "tracer.start_as_current_span(it)")
EFFECTS = ("player.set_status(it)", "tracer.delete_all(it)")


@pytest.mark.parametrize("call", [*TRACES, *EFFECTS])
def test_what_is_noted_for_a_trace_is_no_effect(call: str, tmp_path: Path) -> None:
    head = "from elsewhere import player, span, store, tracer\n\n\n@mcp.tool"
    proposal = propose(tmp_path, f"{NOTE}{call}\n    return store.load(it)", head)
    assert bool(proposal.asked) is (call in EFFECTS)


@pytest.mark.parametrize(
    ("call", "asked"),
    [
        ("run_get_note(it)", False),
        ("handle_list_notes(it)", False),
        ("run_delete_note(it)", True),
        ("run_everything(it)", True),
    ],
)
def test_what_carries_out_a_read_reads(call: str, asked: bool, tmp_path: Path) -> None:
    head = "from elsewhere import notes\n\n\n@mcp.tool"
    proposal = propose(tmp_path, f"{NOTE}return notes.{call}", head)
    assert bool(proposal.asked) is asked


@pytest.mark.parametrize(
    ("sentence", "asked"),
    [
        ("Reading a parsed code marks it consumed.", True),
        ("Reading is free.", False),
    ],
)
def test_a_side_effect_of_a_read_in_its_description_is_asked_about(
    sentence: str, asked: bool, tmp_path: Path
) -> None:
    tool = f'def get_codes(it: str) -> list:\n    """Get the codes.\n\n    {sentence}\n    """\n    return store.load_codes(it)'
    head = "from elsewhere import store\n\n\n@mcp.tool"
    assert bool(propose(tmp_path, tool, head).asked) is asked


@pytest.mark.parametrize(("parameter", "asked"), [("action", True), ("color", False)])
def test_a_parameter_that_chooses_makes_a_read_a_question(
    parameter: str, asked: bool, tmp_path: Path
) -> None:
    tool = (
        f'def review_gate(it: str, {parameter}: str = "") -> dict:\n    """Get the status of a gate, or act on it."""\n'
        f"    return engine.load(it, {parameter}={parameter})"
    )
    head = "from elsewhere import engine\n\n\n@mcp.tool"
    assert bool(propose(tmp_path, tool, head).asked) is asked


@pytest.mark.parametrize(
    ("name", "body", "behavior"),
    [
        ("upload_status", "return STATE.read_text()", "read"),
        ("set_status", "return STATE.read_text()", "put"),
        ("upload_status", "STATE.write_text('')\n    return 'done'", "put"),
    ],
)
def test_the_status_of_an_act_is_no_act(
    name: str, body: str, behavior: str, tmp_path: Path
) -> None:
    tool = f'def {name}(it: str) -> str:\n    """Check the status of an upload."""\n    {body}'
    head = "STATE = Path('state')\n\n\n@mcp.tool"
    assert propose(tmp_path, tool, head).behavior == behavior


def test_what_begins_something_is_no_read(tmp_path: Path) -> None:
    tool = (
        'def phone_pair() -> str:\n    """Begin linking a phone, and return the code."""\n'
        "    link.pair()\n    return link.get_code()"
    )
    head = "from elsewhere import link\n\n\n@mcp.tool"
    assert propose(tmp_path, tool, head).behavior == "action"


def test_a_statement_that_the_driver_runs_is_read(tmp_path: Path) -> None:
    tool = "{}with engine.connect() as conn:\n        return conn.exec_driver_sql('{}').one()"
    head = "from elsewhere import engine\n\n\n@mcp.tool"
    for statement, asked in (
        ("SELECT text FROM notes", False),
        ("DELETE FROM notes WHERE id = 1", True),
    ):
        proposal = propose(tmp_path / statement[:6], tool.format(NOTE, statement), head)
        assert bool(proposal.asked) is asked


@pytest.mark.parametrize(
    ("body", "behavior"),
    [
        ("for path in Path('data').glob('*.json'):\n        path.unlink()", "delete"),
        ("Path(it).unlink()\n    Path(it).write_text('')", "put"),
    ],
)
def test_what_only_removes_is_a_delete_whatever_its_name(
    body: str, behavior: str, tmp_path: Path
) -> None:
    tool = f'def reset_station(it: str) -> str:\n    """Reset everything of a station."""\n    {body}\n    return it'
    proposal = propose(tmp_path, tool)
    assert (proposal.behavior, proposal.asked) == (behavior, "")
