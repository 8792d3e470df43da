"""Questions about operations: one for a family, one line for it in a report."""

from collections.abc import Sequence
from typing import Any

import pytest
from openapi.documents_of import make_document

from copier_fastmcp.openapi import dialog
from copier_fastmcp.openapi.converting import convert
from copier_fastmcp.openapi.operations import operations
from copier_fastmcp.openapi.reporting import report
from copier_fastmcp.openapi.tools import Imported, Options
from copier_fastmcp.terminal import prompts


def import_rows() -> list[Imported]:
    """Import three POSTs that may only read, and one operation without evidence."""
    paths: dict[str, Any] = {
        f"/{noun}/filter": {"post": {}} for noun in ("notes", "parts", "users")
    }
    return convert(
        list(operations(make_document({**paths, "/thing": {"post": {}}}))), Options()
    )


def answer_questions(
    monkeypatch: pytest.MonkeyPatch, *answers: str
) -> tuple[dict[str, str], list[str]]:
    """Answer the questions, and return the decisions and the questions."""
    questions: list[str] = []
    remaining = list(answers)

    def choose(question: str, listed: Sequence[object], default: object = None) -> str:
        questions.append(question)
        return remaining.pop(0)

    monkeypatch.setattr(prompts, "ask_choice", choose)
    monkeypatch.setattr(prompts, "print_line", lambda *_: None)
    return dialog.choose_behaviors(import_rows()), questions


def test_a_family_is_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    result, questions = answer_questions(monkeypatch, "read", "create")
    assert questions == ["What do they do?", "What does it do?"]
    assert [*result.values()] == ["read", "read", "read", "create"]


def test_a_family_may_be_asked_about_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result, questions = answer_questions(
        monkeypatch, "each", "read", "action", "read", "create"
    )
    assert len(questions) == 5
    assert result["POST /parts/filter"] == "action"


def test_a_family_is_one_line_of_the_report() -> None:
    question_lines = []
    for line in report(import_rows()):
        if line.startswith("?"):
            question_lines.append(line)
    assert len(question_lines) == 2
    assert (
        "3 operations, POST .../filter (as POST /notes/filter): action"
        in question_lines[0]
    )
