"""Hints follow from how a tool stores data: increments, additions and replacements."""

from pathlib import Path

import pytest
from adopting.test_reading import survey_files

from copier_fastmcp.adopting.hints import combine_hints
from copier_fastmcp.adopting.proposals import Proposal

SHELF = """import json, sqlite3, uuid
from pathlib import Path
from fastmcp import FastMCP

mcp = FastMCP("shelf")
DB = Path("shelf.json")
ITEMS = {}
redis = client()


def _load() -> dict:
    return json.loads(DB.read_text()) if DB.exists() else {}


def _save(data: dict) -> None:
    DB.write_text(json.dumps(data))
"""
# What counts on from what was there: the same call again changes more.
AGAIN = {
    "a step": 'data = _load(); data[it]["qty"] += by; _save(data)',
    "a step down": 'data = _load(); data[it]["qty"] -= by; _save(data)',
    "spelled out": "data = _load(); data[it] = data[it] + by; _save(data)",
    "with a default": "data = _load(); data[it] = data.get(it, 0) + by; _save(data)",
    "by a local name": 'data = _load(); n = data[it]["qty"]; n += by; data[it]["qty"] = n; _save(data)',
    "a sum that is kept": 'data = _load(); n = data[it]["qty"] + by; data[it]["qty"] = n; _save(data)',
    "a part of it": 'data = _load(); part = data[it]; part["n"] = part.get("n", 0) + 1; _save(data)',
    "a switch": 'data = _load(); data[it]["on"] = not data[it]["on"]; _save(data)',
    "a text": 'data = _load(); data[it]["text"] = f"{data[it][\'text\']} {by}"; _save(data)',
    "a list": "data = _load(); data.setdefault(it, []).append(by); _save(data)",
    "a whole list": "data = _load(); data.append(by); _save(data)",
    "in memory": "ITEMS[it] += by",
    "a file": 'DB.write_text(DB.read_text() + "x")',
    "SQL": 'sqlite3.connect("x").execute("UPDATE items SET n = n + ? WHERE id = ?", (by, it))',
    "SQL with COALESCE": 'db.execute("UPDATE items SET n = COALESCE(n, 0) + ? WHERE id = ?", (by, it))',
    "Redis": "redis.set(it, int(redis.get(it)) + by)",
    "INCR": "redis.incr(it)",
    "MongoDB": 'db.items.update_one({"id": it}, {"$inc": {"n": by}})',
    "an attribute": "item = api.get(it); item.qty += by; item.save()",
    "a request": 'old = api.get(it).json(); api.put(it, json={"qty": old["qty"] + by})',
}
ONCE = {
    "a value": "data = _load(); data[it] = by; _save(data)",
    "a default first": 'data = _load(); data.setdefault(it, {})["qty"] = by; _save(data)',
    "a default that is read": 'data = _load(); old = data.get(it, f"{data.get(0)} of all"); data[it] = by; _save(data); return old',
    "a count of its own": "data = _load(); n = 0; n += 1; data[it] = by; _save(data); return n",
    "SQL": 'sqlite3.connect("x").execute("UPDATE items SET n = ? WHERE id = ?", (by, it))',
}
GUARDED = {
    "a key": 'data = _load()\n    if it in data:\n        raise ValueError("exists")\n    data[it] = {"qty": by}\n    _save(data)',
    "a text back": 'data = _load()\n    if data.get(it) is not None:\n        return "it exists"\n    data[it] = by\n    _save(data)',
    "in memory": "if it in ITEMS:\n        raise KeyError(it)\n    ITEMS[it] = by",
    "a file": "if DB.exists():\n        raise KeyError(it)\n    DB.write_text(it)",
    "a key of its own": "key = uuid.uuid4().hex; data = _load(); data[key] = it; _save(data)",
    "a number of its own": "number = max(ITEMS, default=0) + 1; ITEMS[number] = it",
}


def propose_method(
    folder: Path, name: str, body: str, description: str = "Do it."
) -> Proposal:
    function = (
        f'def {name}(it: str, by: int) -> str:\n    """{description}"""\n    {body}\n'
    )
    (proposal,) = survey_files(
        folder, **{"server.py": f"{SHELF}\n\n@mcp.tool\n{function}"}
    ).proposals
    return proposal


@pytest.mark.parametrize("body", AGAIN.values(), ids=AGAIN)
def test_what_counts_on_from_what_was_is_never_called_idempotent(
    body: str, tmp_path: Path
) -> None:
    for name in ("restock", "set_stock", "add_stock", "remove_stock"):
        (folder := tmp_path / name).mkdir()
        proposal = propose_method(folder, name, body)
        assert not combine_hints(proposal)["idempotentHint"], (name, proposal.behavior)
        assert not proposal.asked, "the cautious answer promises nothing"


@pytest.mark.parametrize("body", ONCE.values(), ids=ONCE)
def test_what_sets_a_value_is_idempotent(body: str, tmp_path: Path) -> None:
    proposal = propose_method(tmp_path, "set_stock", body)
    assert (proposal.behavior, proposal.asked) == ("put", "")


@pytest.mark.parametrize("body", GUARDED.values(), ids=GUARDED)
def test_what_stores_only_where_nothing_was_creates(body: str, tmp_path: Path) -> None:
    for name in ("add_item", "open_item"):
        (folder := tmp_path / name).mkdir()
        proposal = propose_method(folder, name, body)
        assert (proposal.behavior, proposal.asked) == ("create", "")
    (folder := tmp_path / "set_item").mkdir()
    assert propose_method(folder, "set_item", body).asked


def test_an_addition_that_may_replace_is_asked_about(tmp_path: Path) -> None:
    proposal = propose_method(tmp_path, "add_item", ONCE["a value"])
    assert "its name says 'add', but" in proposal.asked
    overwrites = (
        "if it in ITEMS and by:\n        raise KeyError(it)\n    ITEMS[it] = by"
    )
    assert (
        "its name says 'add', but"
        in propose_method(tmp_path, "add_item", overwrites).asked
    )


STORES = {
    "of a function around": (
        "class Store:\n    def __init__(self): self.tickets = {}\n\n"
        "def register(mcp, store: Store) -> None:\n    @mcp.tool()\n    def close_it(it: int) -> dict:\n"
        '        """Close it."""\n        store.tickets[it]["state"] = "closed"\n'
    ),
    "of another file": (
        "from store import store\nmcp = FastMCP()\n\n@mcp.tool\ndef close_it(it: int) -> dict:\n"
        '    """Close it."""\n    store.tickets[it]["state"] = "closed"\n'
    ),
}


@pytest.mark.parametrize("text", STORES.values(), ids=STORES)
def test_a_store_that_a_tool_is_given_is_written(text: str, tmp_path: Path) -> None:
    store = "class Store:\n    tickets = {}\n\nstore = Store()\n"
    files = {"store.py": store, "server.py": f"from fastmcp import FastMCP\n{text}"}
    (proposal,) = survey_files(tmp_path, **files).proposals
    assert any(
        signal.startswith("it sets store.tickets[it]") for signal in proposal.evidence
    )


WORDS = {
    "the verb and the words differ": (
        "create_it",
        "it: str",
        "Create or update it.",
        "put",
        True,
    ),
    "no verb in the name": ("it_for", "it: str", "Create or update it.", "put", False),
    "the words only complete it": (
        "create_it",
        "it: str",
        "Create it and set its color.",
        "create",
        False,
    ),
    "a flag to append": (
        "update_it",
        "it: str, append: bool = False",
        "Update it.",
        "update",
        False,
    ),
    "a mode to append": (
        "update_it",
        'mode: Literal["set", "append"]',
        "Update it.",
        "update",
        False,
    ),
    "a part by its text": (
        "edit_it",
        "old_text: str, new_text: str",
        "Edit it.",
        "update",
        False,
    ),
    "all of it": ("update_it", "it: str, text: str", "Update it.", "put", False),
}


@pytest.mark.parametrize(
    ("name", "parameters", "description", "behavior", "has_question"),
    WORDS.values(),
    ids=WORDS,
)
def test_where_no_body_shows_it_words_and_parameters_do(
    name: str,
    parameters: str,
    description: str,
    behavior: str,
    has_question: bool,
    tmp_path: Path,
) -> None:
    function = f'def {name}({parameters}) -> str:\n    """{description}"""\n    return api.submitted({{}})\n'
    text = f"{SHELF}\n\n@mcp.tool\n{function}"
    (proposal,) = survey_files(tmp_path, **{"server.py": text}).proposals
    assert (proposal.behavior, bool(proposal.asked)) == (behavior, has_question), (
        proposal.asked
    )


CYPHER = {
    "WITH $it AS it MERGE (n:Note {name: it.name}) SET n += it RETURN n": ("put", True),
    "WITH $it AS it MERGE (n:Note {name: it.name}) RETURN n": ("create", False),
    "MATCH (n:Note) WHERE n.name = $it RETURN n": ("create", False),
}


@pytest.mark.parametrize(
    ("statement", "behavior"), CYPHER.items(), ids=["set", "merge", "match"]
)
def test_an_addition_in_cypher_may_replace(
    statement: str, behavior: tuple[str, bool], tmp_path: Path
) -> None:
    proposal = propose_method(
        tmp_path,
        "create_note",
        f'driver.execute_query("""{statement}""", it)',
        "Create a note.",
    )
    assert (proposal.behavior, bool(proposal.asked)) == behavior, proposal.asked
