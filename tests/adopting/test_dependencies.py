"""Dependencies are read from every place of declaration; a lower bound is raised only with consent."""

import shlex
import subprocess
from pathlib import Path

import pytest
from adopting.samples import ORDINARY
from adopting.test_adopt import create_server
from lifecycle import commit, uncommitted

from copier_fastmcp.adopting.dependencies import (
    list_next_steps,
    read_script_dependencies,
)
from copier_fastmcp.cli import main

POETRY = '[tool.poetry.dependencies]\npython = "^3.11"\nfastmcp = "{}"\n'
SCRIPT = '# /// script\n# requires-python = ">=3.11"\n# dependencies = [\n#     "fastmcp<4",\n# ]\n# ///\n'
OLD = {
    "Poetry": (
        {"pyproject.toml": POETRY.format("^2.3")},
        "pyproject.toml asks for fastmcp>=2.3,<3",
    ),
    "Poetry, one version": (
        {"pyproject.toml": POETRY.format("3.1")},
        "asks for fastmcp==3.1",
    ),
    "a requirement with a hash": (
        {
            "pyproject.toml": "",
            "requirements.txt": "fastmcp[auth]==3.1 --hash=sha256:ab\n",
        },
        "requirements.txt asks for fastmcp[auth]==3.1",
    ),
    "a requirement on two lines": (
        {
            "pyproject.toml": "",
            "requirements.txt": "fastmcp==3.1 \\\n    --hash=sha256:ab\n",
        },
        "requirements.txt asks for fastmcp==3.1",
    ),
    "an extra": (
        {
            "pyproject.toml": '[project]\nname = "it"\ndependencies = []\n'
            '[project.optional-dependencies]\nmcp = ["fastmcp>=3.1,<4"]\n'
        },
        "pyproject.toml asks for fastmcp>=3.1,<4",
    ),
    "a group": (
        {
            "pyproject.toml": '[project]\nname = "it"\ndependencies = []\n'
            '[dependency-groups]\ndev = [{include-group = "more"}, "fastmcp<4"]\n'
        },
        "pyproject.toml asks for fastmcp<4",
    ),
    "a script": ({"pyproject.toml": "", "run.py": SCRIPT}, "run.py asks for fastmcp<4"),
}


@pytest.mark.parametrize(("files", "line"), OLD.values(), ids=OLD)
def test_an_older_fastmcp_is_refused_wherever_it_is_declared(
    files: dict[str, str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it", **files)
    assert main(["adopt", str(folder), "--unattended"]) == 1
    assert line in capsys.readouterr().err


def test_a_bound_of_poetry_that_allows_4_1_is_not_refused(
    tmp_path: Path, template: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it", **{"pyproject.toml": POETRY.format("^4.0")})
    words = [
        "--unattended",
        "--dry-run",
        "--template",
        str(template),
        "--ref",
        "v99.0.0",
    ]
    assert main(["adopt", str(folder), *words]) == 0
    assert "[tool.poetry.dependencies] of pyproject.toml" in capsys.readouterr().err


PEP_723 = SCRIPT.replace("fastmcp<4", "fastmcp>=4.1")
PIN, CHECK = "tests/policy/pin.py", "tests/policy/check.py"
# The files of a project without a list of dependencies in [project], and the commands that run its suite.
PROJECTS = {
    "Poetry": (
        {"pyproject.toml": POETRY.format("^4.1")},
        [
            "poetry add",
            "poetry add --group dev",
            f"poetry run python {PIN}",
            f"poetry run python {CHECK}",
        ],
    ),
    "a script": (
        {"pyproject.toml": "", "server.py": f"{PEP_723}{ORDINARY}"},
        [
            "uv add --script server.py",
            f"uv run --no-project --with-requirements server.py {PIN}",
            f"uv run --no-project --with-requirements server.py --with pytest {CHECK}",
        ],
    ),
    "requirements": (
        {"pyproject.toml": "", "requirements.txt": "fastmcp>=4.1\n"},
        [
            f"uv run --no-project --with-requirements requirements.txt {PIN}",
            f"uv run --no-project --with-requirements requirements.txt --with pytest {CHECK}",
        ],
    ),
    "a setup script": (
        {"pyproject.toml": "", "setup.py": "import setuptools\nsetuptools.setup()\n"},
        [
            f"uv run --no-project --with-editable . {PIN}",
            f"uv run --no-project --with-editable . --with pytest {CHECK}",
        ],
    ),
    "a list": (
        {"pyproject.toml": '[project]\nname = "it"\ndependencies = ["fastmcp"]\n'},
        ["uv sync", f"uv run {PIN}", f"uv run {CHECK}"],
    ),
}


@pytest.mark.parametrize(("files", "commands"), PROJECTS.values(), ids=PROJECTS)
def test_the_next_steps_are_those_of_the_project_s_own_tool(
    files: dict[str, str], commands: list[str], tmp_path: Path
) -> None:
    folder = create_server(tmp_path / "it", **files)
    steps = list_next_steps(folder)
    assert steps[-1] == "git diff"
    for step, command in zip(steps, commands, strict=False):
        assert step.startswith(command)
    assert len(steps) == len(commands) + 1


@pytest.mark.nightly
def test_the_next_steps_of_a_script_succeed(tmp_path: Path, template: Path) -> None:
    files, _ = PROJECTS["a script"]
    folder = create_server(tmp_path / "it", **files)
    (folder / "pyproject.toml").unlink()
    commit(folder)
    words = ["--unattended", "--template", str(template), "--ref", "v99.0.0"]
    assert main(["adopt", str(folder), *words]) == 0
    for step in list_next_steps(folder):
        done = subprocess.run(
            shlex.split(step), cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr


def test_a_bound_is_raised_only_when_that_is_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it")
    assert main(["adopt", str(folder), "--unattended"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        "fastmcp>=3 becomes fastmcp>=4.1,<5; requires-python >=3.10 becomes >=3.11"
        in line
    )
    assert "--raise" in line
    assert uncommitted(folder) == set()


def test_a_comment_that_is_no_block_declares_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("# /// script\nimport os\n")
    (tmp_path / "b.py").write_text(SCRIPT)
    assert read_script_dependencies(tmp_path / "a.py") == []
    assert read_script_dependencies(tmp_path / "b.py") == ["fastmcp<4"]
