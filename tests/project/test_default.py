"""The project that Enter all the way through makes."""

import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from programs import run_fetched, uv
from support import check, rendered

ENGINE_FOLDERS = ("src/notes_mcp/engine/", "tests/policy/copier_fastmcp_suite/")
MOST_FILES = 60  # that a new owner has to look at
MOST_DEPENDENCIES = 16  # 14 when this was written, and 15 % more


@pytest.fixture(scope="module")
def files() -> set[str]:
    """Every file of the default project."""
    return set(rendered({}))


def test_the_default_project_passes_its_own_gate(project: Path) -> None:
    assert check(project) == {}


def test_the_gate_without_uv_says_what_is_missing(tmp_path: Path) -> None:
    script = tmp_path / "scripts/check"
    script.parent.mkdir()
    script.write_text(rendered({})["scripts/check"])
    done = subprocess.run(
        [sys.executable, "-I", script],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr == "uv is not on PATH; install uv, or set UV to its place\n"


def test_the_project_is_small(files: set[str]) -> None:
    outside = set()
    for name in files:
        if not name.startswith(ENGINE_FOLDERS):
            outside.add(name)
    assert len(outside) <= MOST_FILES


def test_it_depends_on_little() -> None:
    project = tomllib.loads(rendered({})["pyproject.toml"])["project"]
    assert len(project["dependencies"]) <= MOST_DEPENDENCIES


def test_no_release_renders_what_pinning_writes(files: set[str]) -> None:
    assert not {"annotations.lock.json", "docs/tools.md"} & files


def names_in(wheel: Path) -> Iterable[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_holds_the_package_and_nothing_else(
    project: Path, tmp_path: Path
) -> None:
    run_fetched(
        uv(), "build", "--quiet", "--wheel", "--out-dir", str(tmp_path), folder=project
    )
    (wheel,) = tmp_path.glob("*.whl")
    held = {n for n in names_in(wheel) if ".dist-info/" not in n and n[-1] != "/"}
    package = project / "src/notes_mcp"
    sources = set()
    for p in package.rglob("*"):
        if p.is_file():
            sources.add(p.relative_to(project / "src").as_posix())
    assert held == {name for name in sources if "__pycache__" not in name}
    for name in held:
        assert "rules" not in name, name
        assert "lock" not in name, name
        assert "test" not in name, name
