"""Verdicts derived from a definition alone: hand-written names, descriptions and parameters."""

import json
import random
from typing import Any

import pytest

from copier_fastmcp.auditing.findings import audit_tools
from copier_fastmcp.auditing.reports import print_findings, tabulate_decisions
from copier_fastmcp.auditing.sarif import build_sarif
from copier_fastmcp.auditing.snapshot import pin_definitions
from copier_fastmcp.auditing.verdicts import derive_verdicts, explain_tools
from copier_fastmcp_engine.testing.lock import HINTS
from copier_fastmcp_engine.testing.rules import Tool

LETTERS = {True: "T", False: "F", None: "?"}
# Name, description, parameters -> readOnly, destructive, idempotent, openWorld; ! is a clash; . is not asked.
ROWS: list[tuple[str, str, str, str]] = [
    ("get_note", "Get a note by its ID.", "note_id", "T..."),
    ("notes_list", "Lists notes, newest first.", "limit", "T..."),
    ("shopping_list_delete", "Deletes a shopping list.", "id", "FTT."),
    ("comment_list", "List the comments of an issue.", "issue", "T..."),
    ("list_deleted_items", "List items in the trash.", "", "T..."),
    ("delete_queue_report", "Shows what waits to be deleted.", "", "!..."),
    ("check_in_guest", "Note that a guest has arrived.", "guest_id", "?..."),
    ("checkInventory", "Check whether an item is in stock.", "sku", "T..."),
    ("createIssue", "This tool creates a new issue in a project.", "title body", "FF?."),
    ("issue_write", "Create or update an issue.", "title", "FTT."),
    ("create_or_update_page", "Creates a page, or updates it.", "slug", "FTT."),
    ("create_file", "Create a file. Overwrites an existing file.", "path", "FT?."),
    ("create_file", "Create a file. Fails if the file already exists.", "path", "FF?."),
    ("create_table", "Create a table.", "name overwrite:b", "FT?."),
    ("add_comment", "Adds a comment to a task.", "task body", "FF.."),
    ("append_row", "Use this tool to append a row to a sheet.", "row", "FFF."),
    ("send_message", "Send a message to a channel.", "channel text", "F?F."),
    ("update_user", "Update a user's profile.", "id name", "FTT."),
    ("update_user", "Update a user's profile.", "id name etag", "FTF."),
    ("set_status", "Sets your status.", "status", "FTT."),
    ("patch_document", "Partially update a document.", "id patch", "FT.."),
    ("rename_branch", "Rename a branch.", "old new", "FT?."),
    ("enable_user", "Enables a user account.", "id", "FTT."),
    ("archive_channel", "Archives a channel.", "id", "FTT."),
    ("purge_cache", "Purge the whole cache.", "", "FTT."),
    ("revoke_token", "Revokes an access token. This cannot be undone.", "id", "FTT."),
    ("cancel_order", "Cancel an order.", "id", "FTT."),
    ("uninstall_app", "Uninstall an app from a device.", "app", "FTT."),
    ("attach_policy", "Attach a policy to a role.", "role policy", "FFT."),
    ("ensure_folder", "Create a folder, or return the one that is there.", "path", "F.T."),
    ("run_sql", "Execute a SQL statement.", "sql", "FTF."),
    ("run_select_query", "Runs a SELECT query and returns rows.", "query", "T..."),
    ("execute_write", "Run an INSERT, UPDATE or DELETE statement.", "query", "FTF."),
    ("run_query", "Execute a PromQL query.", "query", "T..."),
    ("evaluate_script", "Evaluate JavaScript in the page.", "script", "FTF."),
    ("exec_in_pod", "Execute a command in a pod.", "command", "FTF."),
    ("search_and_replace", "Search for text and replace it with another.", "old new", "FT.."),
    ("find_and_delete", "Finds a document and deletes it.", "filter", "FTT."),
    ("get_or_create_user", "Get a user, or create one.", "email", "FF?."),
    ("pop_message", "Remove and return the oldest message.", "queue", "FT!."),
    ("manage_tags", "Manage the tags of a photo.", "action:list,add,remove", "FT?."),
    ("get_or_create_label", "Gets an existing label or creates it if it doesn't exist.", "name", "FFT."),
    ("save_draft", "Compose and save an unsent draft to the drafts.", "subject", "FF.."),
    ("diagnose_config", "Diagnose issues with a configuration.", "path", "T..."),
    ("suspend_cards", "Suspend cards by their card IDs.", "card_ids", "F.T."),
    ("unresolve_comment", "Unresolves a comment.", "id", "FTT."),
    ("shopping_list_add_items", "Add items to a list.", "items", "FF?."),
    ("shopping_list_clear_items", "Clears a list.", "id", "FTT."),
    ("clipboard", "Read or replace the clipboard.", "text", "FTT."),
    ("calculate", "Calculate the result of an expression.", "expression", "T..F"),
    ("web_search", "Search the web for pages.", "query", "T..T"),
    ("fetch_url", "Fetches a URL from the internet.", "url", "T..T"),
    ("scrape", "Scrape a website and return its text.", "url", "T..T"),
    ("hget", "Get the value of a field.", "key", "T..."),
    ("zfrob", "Frobnicates the zoo.", "zoo", "????"),
    ("click", "Click an element.", "ref", "F?F."),
    ("describe_instances", "Describes the instances of a region. Read-only.", "", "T..."),
    ("validate_manifest", "Validates a manifest without changing anything.", "yaml", "T..."),
    ("diff", "Compare two branches.", "a b", "T..."),
    ("reset_password", "Resets a user's password.", "id", "FTT."),
    ("move_card", "Move a card to another list.", "card to", "FT?."),
    ("move_card", "Move a card to another list.", "card_id list_id", "FTT."),
    ("edit_note", "Edits a note.", "note_id text", "FTT."),
    ("edit_file", "Edits a file.", "path edits", "FT?."),
    ("modify_task", "Modify a task.", "task_id operations", "FT?."),
    ("update_flag", "Update a flag.", "key instructions", "FT?."),
    ("restyle_header", "Apply a style to a header.", "header_color", "F?T."),
    ("copy_range", "Copy a range, overwriting the destination.", "range at", "FTT."),
    ("attach_file", "Attach a file to a card.", "card_id url", "FF?."),
    ("deactivate_user", "Deactivates a user.", "id", "FTT."),
    ("reassign_task", "Reassigns a task.", "task_id user", "FTT."),
    ("disassociate_role", "Disassociates a role.", "role", "FTT."),
    ("log_in", "Log in to the account.", "name", "F.?."),
    ("turn_off_light", "Turn off a light.", "light", "FTT."),
    ("files_cleaner", "## Cleaner\nHandles the deletion of old files.", "", "?..."),
    ("remove_label", "Purpose: removes a label.", "label", "FTT."),
    ("issues", "GitHub - List issues.", "repo", "T..."),
    ("users", "Given a team, returns its users.", "team", "T..."),
    ("feedback_link", "Use this tool when the user wants to submit feedback.", "", "?..."),
    ("list_send", "List all sends.", "", "T..."),
    ("distance", "Calculate a distance.", "a b", "T..."),
    ("frob", "Frobs a file. Returns the file.", "path", "?..."),
    ("troubleshoot", "Helps with a service.", "action:list_events,get_logs", "T..."),
    ("slide_masters", 'Slide masters. operation: what to do ("list", "get_info").', "operation", "T..."),
    ("transitions", 'Transitions. operation: what to do ("set", "remove").', "operation", "FTT."),
    ("manage_label", "Manage labels: create, update, or delete.", "id", "FT?."),
    ("modify_labels", "Modify the labels of a mail.", "id add_labels remove_labels", "FTT."),
    ("resize_sheet", "Resize rows and columns.", "rows insert_rows", "F.!."),
    ("move_rows", "Move rows to a sheet.", "sheet_id start_row", "FT?."),
    ("delete_line", "Delete a line.", "path line", "FT!."),
    ("batch_update", "Apply batch updates.", "id requests", "FT?."),
    ("create_commit", "Create a commit.", "message amend:b", "FT?."),
    ("watch_card", "Subscribe or unsubscribe from a card.", "card subscribed:b", "F.T."),
    ("create_table", "Create a table and populate it.", "bold_headers:b", "F.?."),
    ("read_notebook", "Read a notebook, for operations like delete or insert.", "path", "T..."),
    ("attach_image", "Attach an image to a card.", "card_id imageUrl", "FF?."),
    ("generate_chart", "Generate a chart of your data.", "data", "T..."),
    ("generate_model", "Generate a new model.", "prompt", "?..."),
    ("approve_request", "Approve a request.", "id", "FFT."),
    ("convert_document", "Convert a document to PDF.", "path output_path", "!..."),
    ("pin_message", "Pins a message in a channel.", "id", "FTT."),
    ("toggle_light", "Toggle a light on or off.", "id", "F?F."),
    ("upload_photo", "Upload a photo to an album.", "album", "FF?."),
    ("restoreBackup", "Restore a database from a backup. Existing data will be lost.", "id", "FTT."),
    ("get_report", "[BETA] Retrieves a report (PDF).", "id", "T..."),
    ("delete", "", "id", "FTT."),
    ("get_all", "", "", "T..."),
    ("export_data", "Get records and write them to a file.", "output_path", "F..."),
    ("read_page", "Read a page.", "id output_file", "!..."),
    ("notes-tool", "A tool that allows you to search for notes.", "query", "T..."),
    ("summary", "Returns a summary of the account.", "", "T..."),
    ("lookup", "Safely look up a user. Never modifies anything.", "id", "T..."),
    ("search_issues", "Full-text search across the issues of a workspace.", "query", "T..."),
    ("search_notes", "Semantic search within a notebook.", "query", "T..."),
    ("take_screenshot", "Frobnicate a screenshot of a website.", "url", "?..."),
    ("commit_get", "Get the details of a commit.", "commit_id", "T..."),
    ("commit_diff", "Get the diff for a commit.", "commit_id", "T..."),
    ("refund_get", "Get a refund.", "refund_id", "T..."),
    ("trade_history", "List the trades of an account.", "account", "T..."),
    ("commit_changes", "Commit the staged changes.", "message", "F?.."),
    ("get_console", "Get the output of a build, starting from an offset.", "start", "T..."),
    ("aged_receivables", "Aged receivables (read-only snapshot).", "from_date", "T..."),
    ("pr_decline", "Decline a pull request.", "pr_id", "F.T."),
    ("dismiss_alert", "Dismiss an alert.", "alert_id", "F.T."),
    ("save_issue", "Create or update an issue.", "id? title?", "FTF."),
    ("save_page", "Create or update a page.", "page_id? title", "FTF."),
    ("upsert_label", "Create or update a label.", "label_id color", "FTT."),
    ("save_task", "Create or update a task.", "id parent_id?", "FTT."),
    ("label_create_tool", "", "name", "F..."),
    ("filter_delete_tool", "Delete a filter.", "filter_id", "FTT."),
    ("filter_rows", "Filter the rows of a table.", "query", "T..."),
    ("get_capabilities", "Return static capabilities of a node.", "", "T..."),
    ("get_audit_log", "Return recent command history from the log.", "", "T..."),
    ("preview_cleanup", "Preview sessions that would be cleaned.", "", "T..."),
    ("list_notes", "Preview: lists notes.", "", "T..."),
    ("query_vector_store", "Execute a retrieval query on a vector store.", "query", "?..."),
    ("store_memory", "Store a memory.", "text", "F..."),
    ("wipe_disk", "Returns the disk to its factory state, permanently.", "disk", "!..."),
]  # fmt: skip


def make_tool(name: str, description: str, params: str) -> Tool:
    """Make a tool with parameters: `flag:b` is a boolean, `action:a,b` a choice, `id?` optional."""
    properties: dict[str, Any] = {}
    required: list[str] = []
    for item in params.split():
        parameter, _, kind = item.partition(":")
        if not parameter.endswith("?"):
            required.append(parameter)
        parameter = parameter.removesuffix("?")
        properties[parameter] = {"type": "boolean" if kind == "b" else "string"}
        if "," in kind:
            properties[parameter]["enum"] = kind.split(",")
    schema = {"type": "object", "properties": properties, "required": required}
    return Tool({"name": name, "description": description, "inputSchema": schema})


@pytest.mark.parametrize(("name", "description", "params", "expected"), ROWS)
def test_a_definition_alone(
    name: str, description: str, params: str, expected: str
) -> None:
    (verdicts,) = derive_verdicts([make_tool(name, description, params)])
    letters = []
    for hint in HINTS:
        letters.append("!" if verdicts[hint].clash else LETTERS[verdicts[hint].value])
    marks = "".join(letters)
    for expectation, mark in zip(expected, marks, strict=True):
        assert expectation in (".", mark), marks


def test_other_tools_of_a_server_agree() -> None:
    """Evidence from opposite verbs and from declarations of the same verb."""
    pair = [make_tool(name, "", "id") for name in ("freeze_card", "unfreeze_card")]
    freeze, unfreeze = derive_verdicts(pair)
    assert freeze["idempotentHint"].value is True
    assert unfreeze["idempotentHint"].value is True
    hints = {"annotations": {"destructiveHint": True}}
    family = []
    for amount in ("fee", "tax"):
        family.append(Tool({**make_tool(f"adjust_{amount}", "", "id").wire, **hints}))
    (alone,) = derive_verdicts([make_tool("adjust_rate", "", "id")])
    assert alone["destructiveHint"].value is None
    *_, in_family = derive_verdicts([*family, make_tool("adjust_rate", "", "id")])
    assert in_family["destructiveHint"].value is True
    definitions = []
    for member in (*family, make_tool("adjust_rate", "", "id")):
        definitions.append(member.wire)
    rows = explain_tools(definitions, "adjust_rate")
    assert any("'adjust_fee' and 'adjust_tax'" in line for line in rows[0]["signals"])


JUNK: list[Any] = [
    *(None, 1, True, "delete a note", "", [], {}, ["x"], {"properties": [1]}, {"readOnlyHint": 3}),
    {"properties": {"a": 1, "action": {"enum": 3}, "mode": {"enum": ["list", "delete", None]}}},
    {"properties": {"action": {"anyOf": "x"}}, "required": 1, "title": "destructiveHint"},
    {"properties": {"action": {"anyOf": [1, {"enum": ["set"]}, True]}}, "type": ["a"]},
]  # fmt: skip
PARTS = ("name", "title", "description", "annotations", "inputSchema", "outputSchema")


SEEDS = [
    pytest.param(seed, marks=pytest.mark.nightly if seed > 3 else ())
    for seed in range(20)
]


@pytest.mark.parametrize("seed", SEEDS)
def test_nothing_that_a_server_sends_is_a_traceback(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(50):
        part = {}
        for key in PARTS:
            if chance.random() < 0.8:
                part[key] = chance.choice(JUNK)
        for profile in ("foreign", "anthropic", "openai"):
            findings, questions = audit_tools([part, part], profile)
            json.dumps(build_sarif(findings, {}))
        print_findings(findings, questions, 1)
        tabulate_decisions([part])
        pin_definitions([part])
        explain_tools([part], str(part.get("name")))
