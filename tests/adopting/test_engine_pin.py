"""The engine as a dependency of an adopted server: the command changes only its pin."""

import difflib
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from adopting.test_adopt import create_server
from lifecycle import commit, released
from support import ROOT, git

from copier_fastmcp.adopt import _choose_engine
from copier_fastmcp.cli import main
from copier_fastmcp.errors import RefusedError
from copier_fastmcp.project.engine_requirement import ENGINE, pin_engine
from copier_fastmcp.terminal import prompts

PIN = """[project]
dependencies = ["copier-fastmcp-engine==1.2.3"]

[tool.uv.sources]
copier-fastmcp-engine = { git = "https://git.example/t.git", rev = "aaa", subdirectory = "engine" }
"""
LATER = PIN.replace("1.2.3", "1.2.4").replace("aaa", "bbb")
SHORT = '[project]\nname = "x"\ndependencies = ["fastmcp>=4"]\n'
LONG = """[project]
name = "x"
dependencies = [
    "fastmcp>=4",  # the framework
    'httpx',
]

[tool.uv]
dev-dependencies = []

[tool.uv.sources]
httpx = { path = "../httpx" }  # ours

[build-system]
requires = []
"""
FORMS = {"short": SHORT, "long": LONG, "crlf": LONG.replace("\n", "\r\n")}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_only_the_engine_s_lines_change(text: str) -> None:
    pinned = pin_engine(text, PIN)
    moved = pin_engine(pinned, LATER)
    changes = difflib.ndiff(pinned.splitlines(), moved.splitlines())
    added = []
    for line in changes:
        if line.startswith(("+ ", "- ")):
            added.append(line)
    assert len(added) == 4
    for line in added:
        assert "copier-fastmcp-engine" in line
    assert pin_engine(pinned, PIN) == pinned
    assert pin_engine(moved, "") == text


def test_without_a_list_of_dependencies_it_is_refused() -> None:
    with pytest.raises(RefusedError, match="lists no"):
        pin_engine('[tool.poetry.dependencies]\nfastmcp = "^4.1"\n', PIN)


@pytest.mark.parametrize(
    ("address", "offered"),
    [
        ("git+https://git.example/t.git", ["package", "vendored"]),
        (".", []),
        ("file:///home/ann/template", []),
    ],
)
def test_the_package_is_offered_first_where_others_can_fetch_it(
    address: str,
    offered: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "pyproject.toml").write_text(SHORT)
    options: list[str] = []

    def ask_choice(question: str, rows: list[tuple[str, str, str]]) -> str:
        options.extend(name for name, _, _ in rows)
        assert address in rows[0][1]
        return rows[0][2]

    monkeypatch.setattr(prompts, "ask_choice", ask_choice)
    engine = _choose_engine(tmp_path, address, None, ask=True)
    assert options == offered
    assert engine == ("package" if offered else "vendored")
    assert _choose_engine(tmp_path, address, None, ask=False) == "vendored"


def read_pins(project: Path) -> list[str]:
    """Read the engine's requirement and source commit from pyproject.toml."""
    held = tomllib.loads((project / "pyproject.toml").read_text())
    required = []
    for text in held["project"]["dependencies"]:
        if text.startswith(ENGINE):
            required.append(text)
    source = held.get("tool", {}).get("uv", {}).get("sources", {}).get(ENGINE, {})
    return [*required, *([source["rev"]] if source else [])]


def read_author_lines(project: Path) -> list[str]:
    """Read the lines of pyproject.toml that do not mention the engine."""
    lines = (project / "pyproject.toml").read_text().splitlines()
    author_lines = [line for line in lines if ENGINE not in line]
    return [line for line in author_lines if line and line != "[tool.uv.sources]"]


WORDS = ["update", "--here", "--unpinned", "--unattended", "--trust"]


def adopt_with(engine: str, template: Path, folder: Path) -> Path:
    """Adopt and commit a server with a vendored or packaged engine."""
    project = create_server(folder)
    place = ["--template", str(template), "--ref", "v99.0.0", "--engine", engine]
    assert main(["adopt", str(project), "--unattended", "--raise", *place]) == 0
    commit(project)
    return project


def release_next(template: Path, folder: Path) -> Path:
    """Create a template with the next release, v99.1.0."""
    edit = ("engine/src/copier_fastmcp_engine/errors.py", "", "\n# later\n")
    return released(template, folder, "v99.1.0", edit)


def test_an_update_moves_the_pin(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = adopt_with("package", template, tmp_path / "it")
    monkeypatch.chdir(project)
    first, before = read_pins(project), read_author_lines(project)
    later = release_next(template, tmp_path / "later")
    assert main([*WORDS, "--ref", "v99.1.0", "--template", str(later)]) == 0
    second = read_pins(project)
    assert second[1] == git(later, "rev-parse", "v99.1.0").strip() != first[1]
    assert read_author_lines(project) == before


@pytest.mark.nightly  # the lines that change are those of the tests above
def test_an_update_switches_both_ways_and_plain_copier_does_not(
    template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = adopt_with("vendored", template, tmp_path / "it")
    vendored = (project / "pyproject.toml").read_bytes()
    monkeypatch.chdir(project)
    assert main([*WORDS, "--ref", "v99.0.0", "--data", "engine=package"]) == 0
    assert read_pins(project)[1] == git(template, "rev-parse", "v99.0.0").strip()
    assert not (project / "engine").exists()
    commit(project)

    copier = [sys.executable, "-m", "copier", "update", "--defaults", "--trust"]
    refused = subprocess.run(
        [*copier, "--vcs-ref=v99.0.0", "--data=engine=vendored"],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode
    assert "engine: package stays" in refused.stderr
    git(project, "reset", "--hard", "--quiet")

    assert main([*WORDS, "--ref", "v99.0.0", "--data", "engine=vendored"]) == 0
    assert (project / "engine/facade.py").is_file()
    assert read_pins(project) == []
    assert (project / "pyproject.toml").read_bytes() == vendored
