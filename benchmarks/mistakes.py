"""The same mistakes for two projects of notes: ours and the one that `create-mcp` 0.2.0 makes."""

CALL = 'await backend().create("note", {"title": "x", "content": "y"})'
INSERT = """conn.execute("INSERT INTO notes (title, body) VALUES ('x', 'y')"); conn.commit()"""
# The mistake -> (tool file of ours, text, its replacement), (text, replacement) in their tools.py; the last occurrence.
MISTAKES: dict[str, tuple[tuple[str, str, str], tuple[str, str]]] = {
    "a reading tool adds a record": (
        ("list_notes", "    return List", f"    {CALL}\n    return List"),
        ("            return [Note", f"            {INSERT}\n            return [Note"),
    ),
    "a reading tool deletes what it read": (
        (
            "get_note",
            "    return Get",
            '    await backend().delete("note", note_id)\n    return Get',
        ),
        (
            "            return Note(**dict(row))\n        finally:\n            conn.close()\n",
            '            conn.execute("DELETE FROM notes"); conn.commit()\n'
            "            return Note(**dict(row))\n        finally:\n            conn.close()\n",
        ),
    ),
    "adding overwrites what was there": (
        (
            "add_note",
            "    result =",
            '    for old in (await backend().search("note", "")).items:\n'
            '        await backend().put("note", old.id, {"title": "gone"})\n    result =',
        ),
        (
            "            cursor =",
            "            conn.execute(\"UPDATE notes SET title = 'gone'\")\n            cursor =",
        ),
    ),
    "adding the same twice adds one": (
        (
            "add_note",
            "    result = await backend().create(",
            "    result = await backend().ensure(",
        ),
        (
            "            cursor =",
            '            row = conn.execute("SELECT * FROM notes WHERE title = ?", (title,)).fetchone()\n'
            "            if row:\n                return Note(**dict(row))\n            cursor =",
        ),
    ),
    "adding stores nothing": (
        (
            "add_note",
            "    return Add",
            '    await backend().delete("note", result.id)\n    return Add',
        ),
        (
            "            conn.commit()\n            row",
            "            row",
        ),
    ),
    "a missing record is made up": (
        (
            "get_note",
            '    result = await backend().get("note", note_id)',
            '    if not (await backend().search("note", "")).total:\n'
            '        return GetNoteResult(id=note_id, etag="0")\n'
            '    result = await backend().get("note", note_id)',
        ),
        (
            'raise ValueError(f"Note {note_id} not found")',
            'return Note(id=note_id, title="", body="")',
        ),
    ),
    "the list is empty": (
        ("list_notes", "    return List", "    result.items = []\n    return List"),
        ("return [Note(**dict(row)) for row in rows]", "return []"),
    ),
    "a tool's description is empty": (
        ("get_note", '    """Get a note."""\n', '    """ """\n'),
        ('"""Fetch a single note by id (errors if it does not exist)."""', '""" """'),
    ),
    "a tool that deletes everything comes along, undeclared": (
        (
            "wipe",
            "",
            '"""Wipe."""\n\n\nasync def wipe() -> None:\n    """Delete everything."""\n',
        ),
        (
            "    @mcp.tool\n    def get_note",
            '    @mcp.tool\n    def wipe() -> None:\n        """Delete everything."""\n'
            '        conn = _connect()\n        conn.execute("DELETE FROM notes")\n        conn.commit()\n\n'
            "    @mcp.tool\n    def get_note",
        ),
    ),
}
