"""docs/tools.md: a section for each folder of tool files, with titles, then resources, templates and prompts."""

import json
from pathlib import Path
from typing import Any

from copier_fastmcp_engine.testing.rules import Tool
from copier_fastmcp_engine.testing.tool_table import format_components, format_table

ROOT = Path(__file__).parents[3]
TABLES = json.loads((ROOT / "src/copier_fastmcp/tables.json").read_text("utf-8"))
MODULES = {"get_note": "notes", "delete_note": "notes", "list_events": "my_calendar"}


def make_entry(name: str) -> dict[str, Any]:
    """Return the lock's entry of a tool."""
    return {
        "title": name.replace("_", " ").title(),
        "behavior": "read",
        "hints": {"readOnlyHint": True},
        "gated": False,
        "scopes": [],
        "why": "",
        "exceptions": [],
    }


def table_of(modules: dict[str, str]) -> dict[str, list[str]]:
    """Return the first two cells of each row, by section."""
    entries = {name: make_entry(name) for name in modules}
    wire = {"name": "get_note", "title": "Get Note"}
    page = format_table(entries, [Tool(wire)], TABLES, modules)
    sections: dict[str, list[str]] = {}
    heading = ""
    for line in page.partition("## On the wire")[0].splitlines():
        if line.startswith("## "):
            heading = line.removeprefix("## ")
        elif line.startswith("| `"):
            cells = line.split(" | ")
            sections.setdefault(heading, []).append(" | ".join(cells[:2]))
    return sections


def test_tools_are_grouped_by_their_folder_and_show_their_titles() -> None:
    assert table_of(MODULES) == {
        "My calendar": ["| `list_events` | List Events"],
        "Notes": ["| `delete_note` | Delete Note", "| `get_note` | Get Note"],
    }


def test_without_folders_tools_are_grouped_by_record() -> None:
    sections = table_of(dict.fromkeys(MODULES, ""))
    assert sections.keys() == {"Note", "Other"}


def test_resources_templates_and_prompts_are_listed() -> None:
    page = format_components(
        {
            "resources": [
                {
                    "uri": "notes://all",
                    "name": "All notes",
                    "description": "Every note.",
                }
            ],
            "templates": [
                {
                    "uriTemplate": "notes://{note_id}",
                    "name": "One note",
                    "description": "A note.",
                    "mimeType": "application/json",
                }
            ],
            "prompts": [
                {
                    "name": "summarize_note",
                    "title": "Summarize Note",
                    "description": "Summarize a note.",
                    "arguments": [{"name": "note_id", "required": True}],
                }
            ],
        }
    )
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert len(rows) == 3
    for row, name in zip(
        rows, ("notes://all", "notes://{note_id}", "summarize_note"), strict=True
    ):
        assert f"`{name}`" in row
    assert "note_id" in rows[2]


def test_a_server_without_them_has_no_section() -> None:
    assert format_components({"resources": [], "templates": [], "prompts": []}) == ""
