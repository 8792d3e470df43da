"""Findings from hints and definitions: never less strict than the author, and complete about wrong defaults."""

from typing import Any

import pytest

from copier_fastmcp.auditing.findings import AuditFinding, Question, audit_tools

READ_ONLY, DESTRUCTIVE, IDEMPOTENT = "readOnlyHint", "destructiveHint", "idempotentHint"
TEXT = {"type": "string", "description": "A text."}


def make_definition(
    name: str,
    description: str,
    annotations: dict[str, Any] | None = None,
    **parameters: dict[str, Any],
) -> dict[str, Any]:
    """Make a tool definition as in tools/list."""
    tool: dict[str, Any] = {
        "name": name,
        "description": description,
        "inputSchema": {"type": "object", "properties": parameters},
    }
    if annotations is not None:
        tool["annotations"] = annotations
    return tool


def audit(tool: dict[str, Any]) -> tuple[list[AuditFinding], list[Question]]:
    return audit_tools([tool])


def find_advice(tool: dict[str, Any], hint: str) -> bool | None:
    """Return the advised value of a hint, or None without a finding."""
    findings, _ = audit(tool)
    for finding in findings:
        if finding.hint == hint:
            return finding.derived
    return None


def collect_hints(items: list[AuditFinding] | list[Question]) -> set[str | None]:
    """The hints that findings or questions are about."""
    return {item.hint for item in items}


def collect_rules(findings: list[AuditFinding]) -> set[str]:
    return {finding.rule for finding in findings}


def test_the_first_sentence_alone_is_a_read() -> None:
    assert (
        find_advice(make_definition("get_inbox", "Get the inbox."), READ_ONLY) is True
    )


@pytest.mark.parametrize(
    "description",
    [
        "Get the inbox. Marks every message as read.",
        "Get the inbox. It also marks the messages as read.",
        "Get the inbox.\n\nAll messages are then marked as read.",
        "Get the inbox. Messages will be moved to the archive afterwards.",
        "Get the inbox. This tool will also delete expired messages.",
        "Get the inbox, which removes messages from the queue.",
        "Get the inbox. Returned messages are automatically deleted.",
        "Get the inbox and saves the result to a file.",
        "Analyze the inbox. The report is written to report.md.",
    ],
)
def test_a_read_verdict_needs_the_whole_description(description: str) -> None:
    assert find_advice(make_definition("get_inbox", description), READ_ONLY) is None


@pytest.mark.parametrize(
    "description",
    [
        "Get the inbox. Never deletes anything.",
        "Get the inbox. Use delete_message to remove one.",
        "Get the inbox. Messages that were deleted are left out.",
        "Get the inbox before you update it.",
        "Get the inbox. Returns the IDs needed to move messages.",
        "Get the inbox, sorted by when messages were created.",
    ],
)
def test_a_mentioned_write_of_something_else_is_no_write(description: str) -> None:
    assert find_advice(make_definition("get_inbox", description), READ_ONLY) is True


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("mark_as_read", {"type": "boolean"}),
        ("save", {"type": "boolean"}),
        ("create_if_missing", {"anyOf": [{"type": "boolean"}, {"type": "null"}]}),
        (
            "seen",
            {"type": "boolean", "description": "Whether to mark the messages as read."},
        ),
        ("keep", {"type": "boolean", "description": "If false, deletes the messages."}),
        ("afterwards", {"type": "string", "enum": ["keep", "archive", "delete"]}),
        ("then", {"anyOf": [{"enum": ["show", "remove_all"]}, {"type": "null"}]}),
    ],
)
def test_a_read_verdict_needs_every_switch_and_choice(
    name: str, schema: dict[str, Any]
) -> None:
    tool = make_definition("get_inbox", "Get the inbox.", **{name: schema})
    assert find_advice(tool, READ_ONLY) is None


@pytest.mark.parametrize(
    ("name", "schema"),
    [
        ("include_deleted", {"type": "boolean"}),
        ("sort_descending", {"type": "boolean"}),
        ("event_type", {"type": "string", "enum": ["create", "delete"]}),
        (
            "full",
            {"type": "boolean", "description": "If true, includes deleted messages."},
        ),
    ],
)
def test_a_filter_is_no_write(name: str, schema: dict[str, Any]) -> None:
    tool = make_definition("get_inbox", "Get the inbox.", **{name: schema})
    assert find_advice(tool, READ_ONLY) is True


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("list_box_fill", "Add items to a box."),
        ("get_box", "Tick an item off the box, or put it back."),
        ("shopping_list_check_item", "Tick an item off the list."),
        ("shopping_list_add_items", "Takes a whole recipe."),
    ],
)
def test_a_name_that_reads_is_no_read_beside_another_description(
    name: str, description: str
) -> None:
    tool = make_definition(name, description, limit={"type": "integer"})
    assert find_advice(tool, READ_ONLY) is None


@pytest.mark.parametrize(
    ("name", "hint"),
    [("get_inbox", READ_ONLY), ("delete_note", DESTRUCTIVE), ("set_color", IDEMPOTENT)],
)
def test_a_name_alone_never_contradicts_a_declared_false(name: str, hint: str) -> None:
    declared = {READ_ONLY: False, hint: False}
    findings, questions = audit(make_definition(name, "", declared))
    assert hint not in collect_hints(findings)
    assert (name, hint) in {(question.tool, question.hint) for question in questions}
    findings, _ = audit(make_definition(name, "Frobs the zoo.", declared))
    assert hint not in collect_hints(findings)


def test_verbs_alone_never_contradict_a_write_that_the_author_declares() -> None:
    tool = make_definition("get_inbox", "Get the inbox.", {READ_ONLY: False})
    findings, questions = audit(tool)
    assert READ_ONLY not in collect_hints(findings)
    assert READ_ONLY in collect_hints(questions)
    tool = make_definition(
        "get_inbox", "Get the inbox. This is a read-only tool.", {READ_ONLY: False}
    )
    assert find_advice(tool, READ_ONLY) is True


def test_a_name_and_a_description_contradict_another_declared_false() -> None:
    declared = {READ_ONLY: False, DESTRUCTIVE: False}
    assert (
        find_advice(
            make_definition("delete_note", "Delete a note.", declared), DESTRUCTIVE
        )
        is True
    )


@pytest.mark.parametrize(
    ("name", "description", "parameters"),
    [
        ("delete_item", "Delete an item by its position number.", {"number": TEXT}),
        ("delete_todo", "Delete a todo.", {"item_number": {"type": "integer", "description": "Line number of the task"}}),
        ("remove_entry", "Remove an entry.", {"at": {"type": "integer", "description": "The 1-based index of the entry."}}),
        ("move_item", "Move an item by its position number.", {"item_id": TEXT}),
        ("resize_disk", "Change the size of a disk.", {"id": TEXT, "size": {"type": "string", "description": "The new size, as 20G or +10G."}}),
        ("set_volume", "Sets the volume relative to the current one.", {"id": TEXT}),
        ("update_stock", "Update the stock of a product.", {"id": TEXT, "quantity_delta": TEXT}),
        ("save_to_note", "Save a text to a note.", {"note_id": TEXT, "text": TEXT}),
        ("update_note", "Update a note by adding a text to its end.", {"note_id": TEXT}),
    ],
)  # fmt: skip
def test_a_relative_act_is_not_idempotent(
    name: str, description: str, parameters: dict[str, Any]
) -> None:
    tool = make_definition(
        name, description, {READ_ONLY: False, IDEMPOTENT: False}, **parameters
    )
    assert find_advice(tool, IDEMPOTENT) is None
    declared = {READ_ONLY: False, IDEMPOTENT: True}
    findings, questions = audit({**tool, "annotations": declared})
    reported = collect_hints(findings) | collect_hints(questions)
    assert IDEMPOTENT in reported


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("update_subtask", "Appends timestamped information to a subtask."),
        ("patch_children", "Append block children."),
        ("update_log", "Add an entry to the log."),
        ("add_label", "Add a label and set its color."),
    ],
)
def test_an_addition_is_not_destructive(name: str, description: str) -> None:
    tool = make_definition(name, description, {READ_ONLY: False, DESTRUCTIVE: True})
    assert find_advice(tool, DESTRUCTIVE) is False
    tool = make_definition(name, description, {READ_ONLY: False, DESTRUCTIVE: False})
    assert find_advice(tool, DESTRUCTIVE) is None


def test_a_wrong_default_is_reported_where_the_author_declares_a_write() -> None:
    """The author declares a write and the text is ambiguous, so the other two hints apply."""
    tool = make_definition("get_ticket", "Creates a ticket for a guest.")
    tool["annotations"] = {READ_ONLY: False, "openWorldHint": False}
    assert find_advice(tool, DESTRUCTIVE) is False


@pytest.mark.parametrize("annotations", [{"title": "Frob"}, {"openWorldHint": False}])
def test_a_tool_without_a_hint_that_says_what_it_does_is_a_finding(
    annotations: dict[str, Any],
) -> None:
    findings, _ = audit(make_definition("frob", "Frobs the zoo.", annotations))
    assert "applicable-hint" in collect_rules(findings)


def test_hints_that_are_left_out_are_one_finding_each() -> None:
    findings, _ = audit(
        make_definition("get_inbox", "Get the inbox.", {"title": "Inbox"})
    )
    rules = []
    for finding in findings:
        if finding.rule != "parameters-described":
            rules.append(finding.rule)
    assert rules == ["default-contradicts"]


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {"payload": {"type": "object"}}},
        {"type": "object", "properties": {"data": {"type": "object", "additionalProperties": True}}},
        {"type": "object", "properties": {"data": {"anyOf": [{"type": "object"}, {"type": "null"}]}}},
        {"type": "object", "additionalProperties": True},
    ],
)  # fmt: skip
@pytest.mark.parametrize("is_own", [True, False])
def test_an_input_of_one_free_object_is_a_finding(
    schema: dict[str, Any], is_own: bool
) -> None:
    tool = make_definition(
        "frob", "Frobs the zoo.", {READ_ONLY: False, DESTRUCTIVE: True}
    )
    findings, _ = audit_tools([{**tool, "inputSchema": schema}], is_own=is_own)
    assert "parameters-typed" in collect_rules(findings)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {"payload": {"type": "object"}, "id": TEXT}},
        {"type": "object", "properties": {"data": {"type": "object", "properties": {"a": TEXT}}}},
        {"type": "object", "properties": {"data": {"type": "object", "additionalProperties": TEXT}}},
    ],
)  # fmt: skip
def test_a_described_input_is_no_finding(schema: dict[str, Any]) -> None:
    findings, _ = audit(
        {**make_definition("frob", "Frobs the zoo."), "inputSchema": schema}
    )
    assert "parameters-typed" not in collect_rules(findings)


@pytest.mark.parametrize(
    "description",
    [
        "Return one run with its event timeline.",
        "Lists every page. Use this to answer questions about them.",
    ],
)
def test_a_returned_record_and_an_answered_question_are_reads(description: str) -> None:
    assert find_advice(make_definition("get_run", description), READ_ONLY) is True
