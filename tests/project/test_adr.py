"""The decision records say what the code does: their tables are held against the generated policy and server."""

import json
import re
import shutil
import textwrap
import types
from pathlib import Path

import pytest
from support import Answers, rendered, server
from tables import TABLES

from copier_fastmcp_engine.policy import WIRE_NAMES

ADRS = "docs/adr/policy/"
HEADINGS = """Context Decision Benefits Consequences Alternatives; Resolved questions; Future
    considerations; Decision timeline; References"""
WANTED = [*HEADINGS.split(";")[0].split()]
WANTED += [" ".join(part.split()) for part in HEADINGS.split(";")[1:]]
HEAD = '''"""What the record shows, with what it leaves out."""

from typing import Annotated

from fastmcp import Context
from pydantic import BaseModel, Field

from ..policy import ConfirmationResult, action, delete, put, require_confirmation


class MoveDraftsResult(BaseModel):
    """Result of move_drafts."""

    moved: int = Field(description="How many were moved.")


class SendRemindersResult(BaseModel):
    """Result of send_reminders."""

    sent: int = Field(description="How many were sent.")


'''
ASKS = '''

@action(title="Send Reminders", why="Each goes out once more.")
async def send_reminders(ctx: Context) -> SendRemindersResult:
    """Send reminders."""
    due = ["ann", "bob"]
{body}
    return SendRemindersResult(sent=len(due))
'''
CUSTOM = {
    "profile": "custom",
    "hints": "narrow",
    "destructive": "deletes",
    "confirm": "writes",
}
ANSWERS: dict[str, Answers] = {
    "explicit": {"profile": "explicit"},
    "end-state": {"profile": "end-state"},
    "narrow": {"profile": "narrow"},
    "confirm-all": {"profile": "confirm-all"},
    "custom": CUSTOM,
    "consent": {"consent": "url"},
}


def table(text: str, head: str) -> list[list[str]]:
    """The rows of the table whose first line begins with `head`, without their marks."""
    lines = text[text.index(f"\n| {head}") + 1 :].split("\n\n")[0].splitlines()
    rows = []
    for line in lines[2:]:
        rows.append([cell.strip().strip("`") for cell in line[1:-1].split(" | ")])
    return rows


def profile_of(files: dict[str, str]) -> types.ModuleType:
    """The generated policy/profile.py, which imports nothing of the project."""
    module = types.ModuleType("profile_of_this_answer")
    exec(files["src/notes_mcp/policy/profile.py"], vars(module))
    return module


@pytest.mark.parametrize("profile", ANSWERS)
def test_the_table_of_behaviors_is_the_codes(profile: str) -> None:
    files = rendered(ANSWERS[profile])
    code = profile_of(files)
    rows = table(files[ADRS + "0001-tool-annotations.md"], "behavior")
    assert [row[0] for row in rows] == list(code.BEHAVIORS)
    for behavior, meaning, *cells in rows:
        assert meaning == TABLES["behaviors"][behavior]["meaning"]
        cases = zip(
            cells, WIRE_NAMES, *map(str.split, code.BEHAVIORS[behavior]), strict=True
        )
        for cell, hint, word, mode in cases:
            value = hint == "open_world" or word == "true"
            if word == "declared" and hint != "open_world":
                expected = {
                    "always": "as declared",
                    "true": "where true",
                    "never": "absent",
                }[mode]
            elif mode in ("always", str(value).lower()):
                expected = "yes" if value else "no"
            else:
                expected = "absent"
            assert cell == expected, (behavior, hint)


@pytest.mark.parametrize("profile", ANSWERS)
def test_the_policy_that_is_named_is_the_codes(profile: str) -> None:
    files = rendered(ANSWERS[profile])
    code = profile_of(files)
    assert f"(`confirm: {code.CONFIRM}`)" in files[ADRS + "0003-confirmation.md"]
    overwrites = (
        "and an overwrite" in files[ADRS + "0002-destructive-and-idempotent.md"]
    )
    assert overwrites == (code.DESTRUCTIVE == "deletes_and_overwrites")


@pytest.mark.parametrize("profile", ANSWERS)
def test_no_record_lists_tools(profile: str) -> None:
    """They come and go; docs/tools.md has them, and the records point there."""
    tools = {"tools": ["get_owl", "delete_owl", "send_owl"]}
    plain, with_tools = rendered(ANSWERS[profile]), rendered(ANSWERS[profile] | tools)
    records = set()
    for name in plain:
        if name.startswith(ADRS):
            records.add(name)
    assert {name for name in records if plain[name] != with_tools[name]} == set()
    pointing = {name for name in records if "(../../tools.md)" in plain[name]}
    assert len(pointing) >= 3


@pytest.mark.parametrize("profile", ANSWERS)
def test_each_record_has_every_part_in_order(profile: str) -> None:
    files = {}
    for n, t in rendered(ANSWERS[profile]).items():
        if n.startswith(ADRS):
            files[n] = t
    index = files.pop(ADRS + "README.md")
    for name, text in files.items():
        heads = re.findall("^## (.+)$", text, re.MULTILINE)
        assert [head for head in heads if head in WANTED] == WANTED, name
        number, title = Path(name).stem[:4], text.splitlines()[0].removeprefix("# ")
        assert title.startswith(f"{number} ")
        assert "\n**Status.** Accepted. Managed by the template" in text
        for head in ("Related", "Depends on"):
            assert re.search(rf"^\*\*{head}\.\*\* \S.*\.$", text, re.MULTILINE), name
        assert re.search(r"^\*\*Date\.\*\* 2\d{3}-\d\d-\d\d; ", text, re.MULTILINE), (
            name
        )
        _, benefits, consequences, *_ = re.split(
            "^## (?:Benefits|Consequences|Alternatives)$", text, flags=re.MULTILINE
        )
        assert len(re.findall(r"^- \*[A-Z][a-z ]+\*", benefits, re.MULTILINE)) >= 3, (
            name
        )
        assert table(consequences, "cost"), name
        assert f"| [{number}]({Path(name).name}) | {title[5:]} |" in index
    assert len(re.findall(r"^\| \[\d{4}\]", index, re.MULTILINE)) == len(files)
    skeleton = index.split("```")[1]
    assert re.findall("^## (.+)$", skeleton, re.MULTILINE) == WANTED


def test_the_tools_that_a_record_shows_are_served_as_it_says(
    project: Path, tmp_path: Path
) -> None:
    copied = shutil.copytree(project, tmp_path / "copied")
    text = (copied / ADRS / "0005-tool-interface.md").read_text(encoding="utf-8")
    first, second, asks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    code = (
        HEAD + f"{first}\n\n{second}" + ASKS.format(body=textwrap.indent(asks, "    "))
    )
    (copied / "src/notes_mcp/tools/drafts.py").write_text(code, encoding="utf-8")
    served = {}
    for name in ("delete_draft", "move_drafts", "send_reminders"):
        done = server(copied, "tools", "wire", name)
        assert done.returncode == 0, done.stderr
        served[name] = json.loads(done.stdout)
    (answer,) = re.findall(r"```json\n(.*?)```", text, re.DOTALL)
    assert [*served["delete_draft"]["outputSchema"]["properties"]] == [
        *json.loads(answer)
    ]
    assert [*served["move_drafts"]["inputSchema"]["properties"]] == [
        "draft_ids",
        "folder",
    ]
    assert (
        served["move_drafts"]["inputSchema"]["properties"]["draft_ids"]["maxItems"]
        == 50
    )


UNASKED: dict[str, Answers] = {
    "`Dockerfile`": {"packages": ["container"]},
    "`manifest.json`": {"packages": ["bundle"]},
    "`server.json`": {"packages": ["registry"]},
    "`LICENSE`": {"license": "MIT"},
    "`resources/`": {
        "resources": [{"uri": "notes://help", "name": "Help", "description": "Help."}]
    },
    "docs/consent.md": {"consent": "url"},
}


def test_nothing_is_said_of_what_was_not_answered() -> None:
    def join_texts(answers: Answers) -> str:
        files = rendered(answers)
        texts = []
        for name, text in files.items():
            if name.endswith((".md", ".txt")):
                texts.append(text)
        return "\n".join(texts)

    nothing = join_texts({"license": "none", "packages": []})
    assert [word for word in UNASKED if word in nothing] == []
    for word, with_subject in UNASKED.items():
        assert word in join_texts(with_subject), word


def test_each_test_that_a_record_names_is_in_the_suite() -> None:
    files = rendered({})
    policy_tests = []
    for name, text in files.items():
        if name.startswith("tests/policy/"):
            policy_tests.append(text)
    suite = "".join(policy_tests)
    record_texts = []
    for name, text in files.items():
        if name.startswith(ADRS):
            record_texts.append(text)
    records = "".join(record_texts)
    named = set(re.findall(r"`(test_\w+)`", records))
    assert len(named) >= 9
    for name in named:
        assert re.search(rf"\b{name}( =|\()", suite), name
