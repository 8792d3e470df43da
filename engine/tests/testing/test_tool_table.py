"""The page docs/tools.md: resources, templates and prompts stand next to the tools."""

from copier_fastmcp_engine.testing.tool_table import format_components


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
