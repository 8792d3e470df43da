"""What a helper does to its own store whoever calls it: it fills what is missing, loads an index, drops what is over."""

from pathlib import Path

import pytest
from adopting.test_cautious import propose

GET = '@mcp.tool\ndef get_note(it: str) -> dict:\n    """Get a note."""\n    return {}'
INDEX = (
    "class Index:\n    def __init__(self):\n        self.entries = {}\n\n"
    "    def _load(self):\n        for path in Path('notes').glob('*.json'):\n"
    "            note = json.loads(path.read_text())\n            self.entries[note['id']] = note\n\n"
    "    def find(self, it):\n        self._load()\n        return self.entries[it]\n\n\nindex = Index()\n\n\n"
)
STORE = (
    "class Store:\n    path = Path('notes.json')\n\n"
    "    def _ensure(self, it):\n        if not self.path.exists():\n            self.save({'notes': []})\n\n"
    "    def save(self, notes):\n        self.path.write_text(json.dumps(notes))\n\n"
    "    def read(self, it):\n        self._ensure(it)\n        return json.loads(self.path.read_text())\n\n\n"
    "store = Store()\n\n\n"
)
FILE = (
    "def _notes(it):\n    if not os.path.exists('notes.json'):\n"
    "        with open('notes.json', 'w') as file:\n            json.dump({}, file)\n"
    "    return json.loads(Path('notes.json').read_text())\n\n\n"
)
JOBS = (
    "JOBS = {}\n\n\ndef _prune_jobs(it):\n    for key in list(JOBS):\n"
    "        if JOBS[key].done():\n            JOBS.pop(key, None)\n\n\n"
    "def _jobs(it):\n    _prune_jobs(it)\n    return JOBS[it]\n\n\n"
)
# The helper, the call of the tool, and a change after which something else is lost or kept.
UPKEEP = {
    "a file that is missing": (FILE, "_notes(it)", ("json.dump({}", "json.dump(it")),
    "a file that is missing, through a method": (
        STORE,
        "store.read(it)",
        ("{'notes': []}", "{'notes': [it]}"),
    ),
    "a file that is written anyway": (
        STORE,
        "store.read(it)",
        (
            "self._ensure(it)\n        return",
            "self._ensure(it)\n        self.save(it)\n        return",
        ),
    ),
    "a file that is there": (STORE, "store.read(it)", ("if not self", "if self")),
    "an index": (INDEX, "index.find(it)", ("self.entries[note['id']]", "self.last[0]")),
    "an index under another name": (INDEX, "index.find(it)", ("_load", "_mark")),
    "jobs that are over": (JOBS, "_jobs(it)", ("_prune_jobs", "_visit_jobs")),
}


@pytest.mark.parametrize("name", UPKEEP)
def test_upkeep_below_a_read_is_no_question(name: str, tmp_path: Path) -> None:
    helper, call, _ = UPKEEP[name]
    proposal = propose(tmp_path, GET.format(call), helper)
    assert (proposal.behavior, proposal.asked) == ("read", "")


@pytest.mark.parametrize("name", UPKEEP)
def test_what_is_no_upkeep_is_asked_about(name: str, tmp_path: Path) -> None:
    helper, call, change = UPKEEP[name]
    assert change[0] in helper
    assert propose(tmp_path, GET.format(call), helper.replace(*change)).asked


def test_upkeep_counts_where_nothing_says_that_the_tool_reads(tmp_path: Path) -> None:
    tool = GET.format("index.find(it)").replace("get_note", "note")
    proposal = propose(tmp_path, tool.replace("Get a note.", ""), INDEX)
    assert proposal.asked or proposal.behavior != "read"
