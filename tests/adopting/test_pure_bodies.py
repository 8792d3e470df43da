"""Bodies that only compute what they return, and what they write on the way: temporary files and charts."""

from pathlib import Path

import pytest
from adopting.test_cautious import propose
from adopting.test_known_calls import propose_getter

# Functions whose names and words say nothing, with the helpers above them.
PURE = {
    "arithmetic": (
        "def _validate(rows):\n    return [float(row) for row in rows]",
        "return [2 * row for row in _validate(it)]",
    ),
    "a table that is filled": ("", "rows = {}\n    rows[it] = 1\n    return rows"),
    "a client that is made": (
        "def _client():\n    return httpx.Client()",
        "with _client() as client:\n        return client.get(it).text",
    ),
}
NOT_PURE = {
    "a helper that writes a log": (
        "def _log_rows(rows):\n    Path('rows').write_text(rows)",
        "_log_rows(it)\n    return it",
    ),
    "a line of an object that is kept": (
        "",
        "line = STATE[it].connection\n    line.rts = True\n    return True",
    ),
    "an entry of a record that is kept": (
        "",
        "record = STATE[it]\n    record['seen'] = 1\n    return record",
    ),
    "nothing that is returned": ("", "str(it)"),
}


@pytest.mark.parametrize(("head", "body"), PURE.values(), ids=PURE)
def test_a_body_that_only_computes_what_it_returns_is_a_read(
    head: str, body: str, tmp_path: Path
) -> None:
    tool = f"def rows(it: str) -> object:\n    {body}"
    proposal = propose(tmp_path, tool, f"{head}\n\n\n@mcp.tool")
    assert (proposal.behavior, proposal.asked) == ("read", "")


@pytest.mark.parametrize(("head", "body"), NOT_PURE.values(), ids=NOT_PURE)
def test_a_body_that_may_keep_something_is_no_silent_read(
    head: str, body: str, tmp_path: Path
) -> None:
    tool = f"def rows(it: str) -> object:\n    {body}"
    proposal = propose(tmp_path, tool, f"{head}\n\n\n@mcp.tool")
    assert proposal.asked or proposal.behavior != "read"


TEMPORARY = "with tempfile.TemporaryDirectory() as folder:\n        place = Path(folder) / 'x'\n        place.mkdir()\n        return json.loads(place.read_text())"
CHART = "figure, axes = plt.subplots()\n    axes.set_title(it)\n    plt.close(figure)\n    buffer = io.BytesIO()\n    figure.savefig(buffer)\n    buffer.seek(0)\n    return buffer"
# What a getter does on the way, and the change by which it writes.
ON_THE_WAY = {
    "a folder for the call": (
        "import tempfile",
        TEMPORARY,
        ("tempfile.TemporaryDirectory()", "open_folder()"),
    ),
    "a chart": (
        "import io\nimport matplotlib.pyplot as plt",
        CHART,
        ("savefig(buffer)", "savefig(it)"),
    ),
    "a POST to a service that only asks": (
        "",
        "return requests.post(f'{\"https://example.com/api\"}/notes/search', json=it).json()",
        ("search", "visits"),
    ),
    "a move between temporary files": (
        "",
        "os.replace('/tmp/a', '/tmp/b')\n    return requests.get(it).json()",
        ("'/tmp/b'", "'notes.json'"),
    ),
    "a temporary file that is renamed": (
        "",
        "tmp = Path(it)\n    tmp.rename('/tmp/b')\n    return requests.get(it).json()",
        ("'/tmp/b'", "'notes.json'"),
    ),
    "a file of another machine": (
        "",
        "return sftp.stat(it)",
        ("stat(it)", "get(it, 'notes.json')"),
    ),
}


@pytest.mark.parametrize("name", ON_THE_WAY)
def test_what_ends_with_the_call_is_no_question(name: str, tmp_path: Path) -> None:
    head, body, _ = ON_THE_WAY[name]
    proposal = propose_getter(tmp_path, head, body)
    assert (proposal.behavior, proposal.asked) == ("read", "")


@pytest.mark.parametrize("name", ON_THE_WAY)
def test_what_stays_after_the_call_is_asked_about(name: str, tmp_path: Path) -> None:
    head, body, change = ON_THE_WAY[name]
    assert change[0] in body
    assert propose_getter(tmp_path, head, body.replace(*change)).asked
