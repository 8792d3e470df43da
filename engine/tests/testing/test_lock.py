"""What an author reads of a changed lock, before the first release and after it."""

import json
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from copier_fastmcp_engine.testing import lock, pin
from copier_fastmcp_engine.testing.rules import Tool

SUMMARY = "changed since the scaffold: "


def make_tool(name: str, *parameters: str, read_only: bool = False) -> Tool:
    """Return a tool that takes these parameters, all of them required."""
    properties = {parameter: {"type": "string"} for parameter in parameters}
    schema = {"type": "object", "properties": properties, "required": [*parameters]}
    hints = {"readOnlyHint": read_only}
    return Tool({"name": name, "inputSchema": schema, "annotations": hints})


def lock_of(*tools: Tool, released: bool = False) -> lock.Lock:
    return lock.build_lock(tools, {"fastmcp": "4.1.2"}, released=released)


def test_nothing_breaks_before_the_first_release() -> None:
    scaffold = lock_of(make_tool("get_note", "note_id"), make_tool("drop_note", "x"))
    running = lock_of(make_tool("get_note", "title"), make_tool("add_note", "y", "z"))
    assert lock.report_differences(scaffold, running) == [
        f"{SUMMARY}1 new (add_note), 1 gone (drop_note), 1 changed (get_note); {lock.UNRELEASED}"
    ]


def test_a_relaxed_hint_is_listed_before_the_first_release() -> None:
    scaffold = lock_of(make_tool("get_note"))
    running = lock_of(make_tool("get_note", read_only=True))
    assert lock.report_differences(scaffold, running)[1:] == [
        "get_note: RELAXED: readOnlyHint false -> true"
    ]


def test_many_tools_are_summarized_in_a_line() -> None:
    scaffold = lock_of(*(make_tool(f"get_{n}") for n in range(9)))
    running = lock_of(*(make_tool(f"get_{n}", "x") for n in range(9)))
    (line,) = lock.report_differences(scaffold, running)
    assert line.startswith(f"{SUMMARY}9 changed (get_0, get_1, ")
    assert "and 3 more" in line


def test_everything_is_listed_after_a_release() -> None:
    released = lock_of(make_tool("get_note", "note_id"), released=True)
    running = lock_of(make_tool("get_note", "note_id", "title"))
    assert lock.report_differences(released, running) == lock.format_differences(
        released, running
    )
    assert "BREAKING" in "".join(lock.format_differences(released, running))


def test_a_lock_without_the_field_is_not_released(tmp_path: Path) -> None:
    path = tmp_path / lock.FILE
    path.write_text(json.dumps({"versions": {}, "tools": {}}))
    assert lock.load_lock(path)["released"] is False
    path.write_text(lock.format_lock(lock_of(released=True)))
    assert lock.load_lock(path)["released"] is True


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A project whose server has one tool, as its `parameters` say."""
    project = SimpleNamespace(
        root=tmp_path,
        is_existing=False,
        parameters=["note_id"],
        create_server=list,
    )

    def collect(project: Any, *_: object) -> pin.Pins:
        pinned = lock_of(
            make_tool("get_note", *project.parameters),
            released=pin.is_released(project),
        )
        return pin.Pins([], pinned, "")

    monkeypatch.setattr(pin, "collect", collect)
    monkeypatch.setattr(pin, "load_tables", lambda _: {})
    (tmp_path / "docs").mkdir()
    return project


def read_released(project: Any) -> bool:
    return bool(lock.load_lock(project.root / lock.FILE)["released"])


def test_pinning_lists_what_breaks_once_it_is_released(project: Any) -> None:
    pin.pin(project)
    project.parameters = ["title"]
    assert "BREAKING" not in pin.pin(project)
    assert not read_released(project)
    assert "released: " in pin.pin(project, ["--released"])
    project.parameters = ["note_id"]
    assert "BREAKING" in pin.pin(project)
    assert read_released(project)


def test_a_version_tag_releases(project: Any) -> None:
    def git(*words: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", *words],
            cwd=project.root,
            check=True,
            capture_output=True,
        )

    git("init")
    pin.pin(project)
    git("add", ".")
    git("commit", "-m", "Start")
    git("tag", "draft")
    pin.pin(project)
    assert not read_released(project)
    git("tag", "v0.1.0")
    pin.pin(project)
    assert read_released(project)


def test_an_adopted_server_is_released_at_once(project: Any) -> None:
    project.is_existing = True
    pin.pin(project)
    assert read_released(project)


def test_other_words_are_refused(project: Any) -> None:
    with pytest.raises(ValueError, match="takes nothing, --first or --released"):
        pin.pin(project, ["--release"])
