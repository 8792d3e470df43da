"""The command as it is installed: from a checkout, from a repository, from a wheel."""

import json
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
from pathlib import Path

import pytest
from calling import environment
from programs import run_fetched, uv
from support import ROOT, clone_template, git

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))[
    "project"
]
VERSION = f"copier-fastmcp {PROJECT['version']}\n"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of this repository as it stands; the last tests edit it."""
    return clone_template(
        tmp_path_factory.mktemp("installed") / "the checkout", tag="v1.0.0"
    )


def uvx(source: object, *words: str) -> str:
    """What `uvx --from SOURCE copier-fastmcp` prints."""
    clean = environment(UV_PYTHON=sys.executable)
    line = [uv(), "tool", "run", "--quiet", "--from", source, "copier-fastmcp", *words]
    return run_fetched(*map(str, line), folder=Path("/"), codes=(0,), **clean).stdout


@pytest.fixture(scope="module")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the checkout, as it would be published."""
    out = tmp_path_factory.mktemp("wheel")
    run_fetched(uv(), "build", "--quiet", "--wheel", "--out-dir", out, folder=checkout)
    (built,) = out.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def program(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command of that wheel in an environment of its own, on the libraries of these tests."""
    venv = tmp_path_factory.mktemp("venv") / "venv"
    line = [uv(), "venv", "--quiet", "--python", sys.executable, str(venv)]
    subprocess.run(line, check=True)
    python = venv / "bin/python"
    line = [
        uv(),
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--offline",
        "--python",
        str(python),
    ]
    subprocess.run([*line, str(wheel)], check=True)
    (site,) = venv.glob("lib/python*/site-packages")
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return venv / "bin/copier-fastmcp"


def run(program: Path, *words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(program), *words],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_says_where_its_template_is_or_that_it_does_not_know(
    program: Path, tmp_path: Path
) -> None:
    done = run(program, "--version", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"{VERSION}this build of copier-fastmcp names no repository of its template; "
        "name the template with --template\n"
    )
    metadata = next(
        program.parents[1].glob("lib/*/*/copier_fastmcp-*.dist-info/METADATA")
    )
    text = metadata.read_text(encoding="utf-8")
    metadata.write_text(
        text.replace("https://example.com/OWNER", "https://code.example.org/us")
    )
    named = run(program, "--version", folder=tmp_path).stdout
    assert (
        named
        == f"{VERSION}template https://code.example.org/us/copier-fastmcp.git at v0.1.0\n"
    )
    metadata.write_text(text)


@pytest.mark.nightly
def test_the_demo_calls_the_tools_of_two_servers(
    checkout: Path, tmp_path: Path
) -> None:
    clean = environment(UV_PYTHON=sys.executable, UV_PROJECT_ENVIRONMENT=".venv")
    line = [str(checkout / "scripts/demo"), str(tmp_path / "notes-mcp")]
    printed = run_fetched(*line, folder=checkout, codes=(0,), **clean).stdout
    assert printed.count("the server asks a person: ") == 2
    assert printed.count('"outcome": "applied"') == 2
    assert (tmp_path / "notes-mcp/src/notes_mcp/server.py").is_file()
    assert (tmp_path / "parcels-mcp/src/parcels_mcp/server.py").is_file()


def test_the_wheel_does_what_the_checkout_does(
    program: Path, mine: Path, tmp_path: Path
) -> None:
    page = run(program, "--help", folder=tmp_path)
    assert (page.returncode, page.stderr) == (0, "")
    assert page.stdout.startswith("Usage: copier-fastmcp VERB")
    assert run(program, "explain", "name-valid", folder=tmp_path).returncode == 0
    assert run(program, "drift", folder=mine).returncode == 0


@pytest.mark.nightly
def test_every_verb_of_the_wheel_works(program: Path, mine: Path) -> None:
    (mine / "scripts/check").write_text("")
    git(mine, "commit", "--quiet", "--all", "--message=mine")
    assert run(program, "drift", folder=mine).stdout.startswith(
        "scripts/check: edited\n"
    )
    assert run(program, "restore", folder=mine).returncode == 0
    assert run(program, "audit", folder=mine).stdout == "2 tools checked, 0 findings\n"
    lock = json.loads((mine / "annotations.lock.json").read_text())
    exported = json.loads(run(program, "export", "openai", folder=mine).stdout)
    assert exported["tools"].keys() == lock["tools"].keys()
    served = f"{sys.executable} -m notes_mcp run"
    variables = {"PYTHONPATH": str(mine / "src"), "NOTES_MCP_DATABASE": ":memory:"}
    done = subprocess.run(
        [str(program), "audit", "--server", served],
        env=environment(**variables, NOTES_MCP_METADATA="none"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "2 tools checked, 0 findings\n"), (
        done.stderr
    )


def test_from_a_repository_it_is_the_template_at_that_commit(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD").strip()
    address = checkout.as_uri()
    assert (
        uvx(f"git+{address}", "--version")
        == f"{VERSION}template {checkout} at {commit}\n"
    )


def test_from_a_checkout_it_is_the_template_at_head(checkout: Path) -> None:
    assert uvx(checkout, "--version") == f"{VERSION}template {checkout} at HEAD\n"


@pytest.mark.nightly
def test_an_installed_tool_starts(checkout: Path, tmp_path: Path) -> None:
    places = {
        "UV_TOOL_DIR": str(tmp_path / "tools"),
        "UV_TOOL_BIN_DIR": str(tmp_path / "bin"),
    }
    line = [
        uv(),
        "tool",
        "install",
        "--quiet",
        "--python",
        sys.executable,
        str(checkout),
    ]
    run_fetched(*line, folder=tmp_path, codes=(0,), **environment(**places))
    done = run(tmp_path / "bin/copier-fastmcp", "--version", folder=tmp_path)
    assert done.stdout == f"{VERSION}template {checkout} at HEAD\n"


@pytest.mark.nightly
@pytest.mark.parametrize("committed", [False, True], ids=["edited", "committed"])
def test_uvx_runs_what_was_edited(committed: bool, checkout: Path) -> None:
    """Without cache-keys uvx keeps the build of a version, whatever was edited since."""
    path = checkout / "src/copier_fastmcp/cli.py"
    text = path.read_text(encoding="utf-8")
    purpose = re.search('"drift": "(.*)"', text)
    assert purpose
    assert purpose[1] in uvx(checkout, "--help")
    changed = f"Edited, {committed}."
    path.write_text(text.replace(purpose[1], changed), encoding="utf-8")
    if committed:  # with the time of the file before it, so that only the commit tells
        git(checkout, "commit", "--quiet", "--all", "--message=edited")
        os.utime(path, (0, 0))
    assert changed in uvx(checkout, "--help")
