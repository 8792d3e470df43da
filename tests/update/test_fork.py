"""A policy owner's fork: upstream's next release is merged into it without a conflict, and its tags are the newest."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from lifecycle import ENGINE, TEMPLATE, Edit, load_answers, released
from support import git, render

from copier_fastmcp.project.ownership import list_files

TABLES = "src/copier_fastmcp/tables.json"
CI = "template/.github/workflows/ci.yml.jinja"
LICENSE = "template/{% if license != 'none' %}LICENSE{% endif %}.jinja"
PROJECT = "template/pyproject.toml.jinja"
WORDS = '"text": "Names are short.", "source": "our house", "fix": "shorten it"'
FINER = '{"behavior": "read", "tools": ["get_note"], "hint": "open_world", "value": false, "why": "It is ours."}'
CONFIRM = '"explicit": {"hints": "explicit", "destructive": "deletes_and_overwrites", "confirm": '
HOUSE: dict[str, Edit] = {
    "license": (LICENSE, "", "\nExample Corp, internal use.\n"),
    "readme": (
        "template/README.md.jinja",
        "",
        "\n## At Example Corp\n\nAsk in #mcp.\n",
    ),
    "ci": (CI, "", "      - name: House check\n        run: echo house\n"),
    "dependency": (
        PROJECT,
        '    "anyio>=4",\n',
        '    "anyio>=4",\n    "aiofiles>=24",\n',
    ),
    "lint": ("template/config/ruff.toml", "", '"../src/*/house.py" = ["S101"]\n'),
    "rule": (
        TABLES,
        '    "name-valid": {',
        f'    "name-short": {{"profiles": ["policy"], {WORDS}}},\n    "name-valid": {{',
    ),
    "finer rule": (TABLES, '"finer": [\n', f'"finer": [\n    {FINER}\n'),
    "profile": (TABLES, CONFIRM + '"deletes"', CONFIRM + '"writes"'),
    "module": (TEMPLATE + "policy/house.py", "", '"""Example Corp\'s own."""\n'),
}
UPSTREAM: list[Edit] = [
    (PROJECT, '"fastmcp>=4.1,<5"', '"fastmcp>=4.1.2,<5"'),
    (CI, "name: ci\n", "name: ci\n# upstream's release 2\n"),
    (ENGINE + "errors.py", "", "\n# upstream's release 2\n"),
    ("template/AGENTS.md.jinja", "", "\nUpstream's release 2.\n"),
    (
        TABLES,
        '    "hints-known": {',
        f'    "name-upstream": {{"profiles": ["policy"], {WORDS}}},\n    "hints-known": {{',
    ),
]


@pytest.fixture
def fork(repository: Path, tmp_path: Path) -> Path:
    """A clone of upstream's v1 with nine typical edits, each a commit, released as v1.0.0+house.1."""
    checkout = tmp_path / "fork"
    git(tmp_path, "clone", "--quiet", str(repository), str(checkout))
    for name, (path, old, new) in HOUSE.items():
        file = checkout / path
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        assert old in text, name
        file.write_text(
            text.replace(old, new, 1) if old else text + new, encoding="utf-8"
        )
        git(checkout, "add", "--all")
        git(checkout, "commit", "--quiet", f"--message={name}")
    git(checkout, "tag", "v1.0.0+house.1")
    return checkout


def test_upstreams_next_release_is_merged(
    repository: Path, fork: Path, tmp_path: Path
) -> None:
    edits = [edit for edit in UPSTREAM if edit[1] in (repository / edit[0]).read_text()]
    assert edits == UPSTREAM
    upstream = released(repository, repository, "v2.0.0", *edits)
    first = render(fork, tmp_path / "first", {"tools": "get_note"})
    assert load_answers(first)["_commit"] == "v1.0.0+house.1", (
        "the fork's own tag is newer than upstream's"
    )
    git(fork, "fetch", "--quiet", "--tags", str(upstream))
    assert "CONFLICT" not in git(fork, "merge", "--no-edit", "v2.0.0")
    git(fork, "tag", "v2.0.0+house.1")
    project = render(fork, tmp_path / "p", {"tools": "get_note"})
    assert load_answers(project)["_commit"] == "v2.0.0+house.1"
    expected = {
        "LICENSE": "Example Corp, internal use.",
        "README.md": "## At Example Corp",
        ".github/workflows/ci.yml": "House check",
        "pyproject.toml": "aiofiles>=24",
        "config/ruff.toml": "house.py",
        "src/notes_mcp/policy/house.py": "Example Corp",
        "src/notes_mcp/engine/errors.py": "upstream's release 2",
        "AGENTS.md": "Upstream's release 2.",
    }
    for name, text in expected.items():
        assert text in (project / name).read_text(encoding="utf-8"), name
    assert "fastmcp>=4.1.2,<5" in (project / "pyproject.toml").read_text()
    merged = (fork / TABLES).read_text(encoding="utf-8")
    for text in ("name-short", "name-upstream", FINER, CONFIRM + '"writes"'):
        assert text in merged


ADDITIONS = {
    "LICENSE": "Example Corp, internal use. \N{COPYRIGHT SIGN} 2026\n",
    "README.md": "## At Example Corp\n\nAsk in #mcp.\n",
    "ci.yml": "name: house\non: workflow_call\njobs: {}\n",
    "dependencies.txt": "# for every server\naiofiles>=24\nexample-audit[all]>=1; python_version > '3.11'\n",
    "ruff.toml": 'extend = "ruff.toml"\n\n[lint]\nextend-select = ["T20"]\n',
    "test_house.py": '"""The house\'s rules."""\n\n\ndef test_house() -> None:\n    assert True\n',
}


def test_additions_of_an_organization_need_no_edit_of_upstreams_files(
    repository: Path, tmp_path: Path
) -> None:
    fork = tmp_path / "fork"
    git(tmp_path, "clone", "--quiet", str(repository), str(fork))
    plain = render(fork, tmp_path / "plain", {"tools": "get_note"})
    (fork / "house").mkdir()
    for name, text in ADDITIONS.items():
        (fork / "house" / name).write_text(text, encoding="utf-8")
    git(fork, "add", "--all")
    git(fork, "commit", "--quiet", "--message=Add what is ours")
    git(fork, "tag", "v1.0.0+house.1")
    project = render(fork, tmp_path / "project", {"tools": "get_note"})
    added = list_files(project) - list_files(plain)
    assert added == {
        ".github/workflows/house.yml",
        "config/house.toml",
        "tests/policy/test_house.py",
    }
    assert (project / "LICENSE").read_text(encoding="utf-8") == ADDITIONS["LICENSE"]
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert ADDITIONS["README.md"] in readme
    workflow = yaml.safe_load((project / ".github/workflows/ci.yml").read_text())
    assert workflow["jobs"]["house"] == {"uses": "./.github/workflows/house.yml"}
    dependencies = tomllib.loads((project / "pyproject.toml").read_text())["project"]
    assert "aiofiles>=24" in dependencies["dependencies"]
    assert (
        "example-audit[all]>=1; python_version > '3.11'" in dependencies["dependencies"]
    )
    (project / "src/notes_mcp/printing.py").write_text('"""Print."""\n\nprint(1)\n')
    checked = subprocess.run(
        [sys.executable, "-m", "ruff", "check", "src"],
        cwd=project,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.stdout.count("T201") == 1, checked.stdout
    assert "Found 1 error" in checked.stdout, "the template's own rules still count"
