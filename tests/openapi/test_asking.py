"""Questions about operations: one for a family, one line for it in a report."""

from collections.abc import Sequence
from typing import Any

import pytest
from openapi.documents_of import document

from copier_fastmcp.openapi import asking
from copier_fastmcp.openapi.converting import convert
from copier_fastmcp.openapi.operations import operations
from copier_fastmcp.openapi.reporting import report
from copier_fastmcp.openapi.tools import Imported, Options
from copier_fastmcp.terminal import prompts


def rows() -> list[Imported]:
    """Three POSTs that may only read, and one operation that nothing tells anything about."""
    paths: dict[str, Any] = {
        f"/{noun}/filter": {"post": {}} for noun in ("notes", "parts", "users")
    }
    return convert(
        list(operations(document({**paths, "/thing": {"post": {}}}))), Options()
    )


def answered(
    monkeypatch: pytest.MonkeyPatch, *answers: str
) -> tuple[dict[str, str], list[str]]:
    """What comes of some answers, and the questions."""
    questions: list[str] = []
    remaining = list(answers)

    def choose(question: str, listed: Sequence[object], default: object = None) -> str:
        questions.append(question)
        return remaining.pop(0)

    monkeypatch.setattr(prompts, "ask_choice", choose)
    monkeypatch.setattr(prompts, "print_line", lambda *_: None)
    return asking.choose_behaviors(rows()), questions


def test_a_family_is_one_question(monkeypatch: pytest.MonkeyPatch) -> None:
    result, questions = answered(monkeypatch, "read", "create")
    assert questions == ["What do they do?", "What does it do?"]
    assert [*result.values()] == ["read", "read", "read", "create"]


def test_a_family_may_be_asked_about_one_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result, questions = answered(
        monkeypatch, "each", "read", "action", "read", "create"
    )
    assert len(questions) == 5
    assert result["POST /parts/filter"] == "action"


def test_a_family_is_one_line_of_the_report() -> None:
    question = [line for line in report(rows()) if line.startswith("?")]
    assert len(question) == 2
    assert (
        "3 operations, POST .../filter (as POST /notes/filter): action" in question[0]
    )
