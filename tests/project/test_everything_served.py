"""What is served besides a project's own tools is proven too: declared tools of mounted servers, resources, prompts."""

import shutil
from pathlib import Path

from support import PYTEST, python

MOUNTING = Path(__file__).parent / "authors/mounting.py"
COMPONENTS = """    from notes_mcp.backend import backend

    @mcp.resource("notes://deleting")
    async def delete() -> str:
        await backend().delete("note", 1)
        return "x"

    @mcp.resource("notes://{note_id}")
    async def read(note_id: str) -> str:
        return str(await backend().get("note", note_id))

    @mcp.prompt
    def summarize(note_id: str) -> str:
        return note_id

    mcp.mount(child"""


def test_what_is_served_is_proven_or_named(project: Path, tmp_path: Path) -> None:
    mine = Path(shutil.copytree(project, tmp_path / "p"))
    text = MOUNTING.read_text(encoding="utf-8")
    text = text.replace("    mcp.mount(child", COMPONENTS)
    (mine / "src/notes_mcp/extend.py").write_text(text, encoding="utf-8")
    selected = ["-k", "child_count or reading", "tests/policy/test_behavior.py"]
    done = python(mine, *PYTEST, *selected)
    lines = done.stdout.splitlines()
    probe = "child_count: it has no probe in tests/tools/test_child_count.py; write"
    probe_lines = []
    for line in lines:
        if line.startswith(probe):
            probe_lines.append(line)
    assert len(probe_lines) == 2, done.stdout
    changed = "notes://deleting: reading it changed note/1"
    changed_lines = []
    for line in lines:
        if line.startswith(changed):
            changed_lines.append(line)
    assert changed_lines, done.stdout
    assert "notes://{note_id}" not in done.stdout
    assert "summarize" not in done.stdout
