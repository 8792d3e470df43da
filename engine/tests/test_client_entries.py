"""`connect`: the entry in each client's file, and the entries that it keeps."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from copier_fastmcp_engine.client_entries import (
    ClientFile,
    Entry,
    build_entry,
    connect_claude_code,
    connect_file,
    find_client_file,
)
from copier_fastmcp_engine.errors import StartError
from engine.tests.engine_support.servers import make_policy

ENTRY = Entry("notes-mcp", "/bin/uv", ["--directory", "/p", "run", "notes-mcp", "run"])
OTHER = {"command": "npx", "args": ["somebody-elses"]}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package in the `src` of a project, which is no project yet."""
    folder = tmp_path / "project/src/notes_mcp"
    folder.mkdir(parents=True)
    (folder / "__init__.py").touch()
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.delitem(sys.modules, "notes_mcp", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    return folder


def test_a_project_is_started_by_its_folder(package: Path) -> None:
    project = package.parents[1]
    (project / "pyproject.toml").touch()
    entry = build_entry(make_policy(), "", ["NOTES_MCP_READ_ONLY=true"])
    assert entry.to_json() == {
        "command": "/bin/uv",
        "args": ["--directory", str(project), "run", "notes-mcp", "run"],
        "env": {"NOTES_MCP_READ_ONLY": "true"},
    }


def test_a_package_is_started_by_its_program(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert build_entry(make_policy(), "mine", []).to_json() == {
        "command": "/bin/notes-mcp",
        "args": ["run"],
    }
    cached = "/home/u/.cache/uv/archive-v0/abc/bin/notes-mcp"
    monkeypatch.setattr(
        shutil,
        "which",
        lambda name: cached if name == "notes-mcp" else "/bin/uvx",
    )
    assert build_entry(make_policy(), "", []).to_json() == {
        "command": "/bin/uvx",
        "args": ["notes-mcp", "run"],
    }


def test_a_setting_without_a_value_is_refused(package: Path) -> None:
    with pytest.raises(StartError, match="--env A: write NAME=VALUE, as in NOTES_MCP_"):
        build_entry(make_policy(), "", ["A"])


@pytest.mark.parametrize(
    ("client", "platform", "path", "section"),
    [
        (
            "claude-desktop",
            "darwin",
            "Library/Application Support/Claude/claude_desktop_config.json",
            "mcpServers",
        ),
        (
            "claude-desktop",
            "linux",
            ".config/Claude/claude_desktop_config.json",
            "mcpServers",
        ),
        (
            "claude-desktop",
            "win32",
            "AppData/Roaming/Claude/claude_desktop_config.json",
            "mcpServers",
        ),
        ("cursor", "linux", ".cursor/mcp.json", "mcpServers"),
        ("vscode", "linux", ".config/Code/User/mcp.json", "servers"),
    ],
)
def test_each_client_has_its_file(
    client: str,
    platform: str,
    path: str,
    section: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("APPDATA", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    file = find_client_file(client, tmp_path, platform)
    assert (file.path, file.section) == (tmp_path / path, section)


def test_an_entry_is_added_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps({"theme": "dark", "servers": {"other": OTHER}}))
    path.chmod(0o600)
    file = ClientFile(path, "servers", {"type": "stdio"})
    before = path.read_bytes()
    assert "would get" in connect_file(ENTRY, file, dry_run=True)
    assert path.read_bytes() == before
    assert "is added" in connect_file(ENTRY, file, dry_run=False)
    assert json.loads(path.read_text()) == {
        "theme": "dark",
        "servers": {
            "other": OTHER,
            "notes-mcp": {"type": "stdio", **ENTRY.to_json()},
        },
    }
    assert path.stat().st_mode & 0o777 == 0o600
    assert [*tmp_path.iterdir()] == [path]
    assert "already" in connect_file(ENTRY, file, dry_run=False)


def test_a_file_is_made_where_the_client_is_installed_only(tmp_path: Path) -> None:
    file = ClientFile(tmp_path / "Claude/config.json")
    with pytest.raises(StartError, match="the client is not installed"):
        connect_file(ENTRY, file, dry_run=False)
    file.path.parent.mkdir()
    connect_file(ENTRY, file, dry_run=False)
    assert json.loads(file.path.read_text())["mcpServers"].keys() == {"notes-mcp"}


def test_our_own_entry_is_renewed(tmp_path: Path) -> None:
    file = ClientFile(tmp_path / "mcp.json")
    connect_file(ENTRY, file, dry_run=False)
    changed = Entry("notes-mcp", "/opt/uv", ENTRY.arguments, {"A": "1"})
    assert "is changed" in connect_file(changed, file, dry_run=False)
    entry = json.loads(file.path.read_text())["mcpServers"]["notes-mcp"]
    assert entry == changed.to_json()


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"mcpServers": {"notes-mcp": OTHER}}),
        json.dumps({"mcpServers": {"notes-mcp": {"url": "https://example.com"}}}),
        "{ // a comment\n}",
        "[]",
        '{"mcpServers": []}',
    ],
)
def test_the_entry_of_another_and_other_files_stay(tmp_path: Path, text: str) -> None:
    file = ClientFile(tmp_path / "mcp.json")
    file.path.write_text(text)
    with pytest.raises(StartError, match=r"another server called|not plain JSON"):
        connect_file(ENTRY, file, dry_run=False)
    assert file.path.read_text() == text


def test_claude_code_adds_the_entry_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = "claude mcp add --scope user notes-mcp -- /bin/uv --directory /p run notes-mcp run"
    assert connect_claude_code(ENTRY, dry_run=True) == command
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StartError, match="claude is not on PATH; where it is, run"):
        connect_claude_code(ENTRY, dry_run=False)
    program = tmp_path / "claude"
    program.write_text(
        "#!/bin/sh\necho 'MCP server notes-mcp already exists' >&2\nexit 1\n"
    )
    program.chmod(0o755)
    with pytest.raises(StartError, match="already exists"):
        connect_claude_code(ENTRY, dry_run=False)
    program.write_text('#!/bin/sh\necho "$@" > "${0%/*}/said"\n')
    assert "is added" in connect_claude_code(ENTRY, dry_run=False)
    assert (tmp_path / "said").read_text() == command.removeprefix("claude ") + "\n"
