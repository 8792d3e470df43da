"""The project that Enter all the way through makes."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
from programs import fetched, uv
from support import ROOT, check, git, rendered

MOST = 300  # lines of one file
HANDWRITTEN = ("src", "macros", "template", "tests", "scripts", "benchmarks")


@pytest.fixture(scope="module")
def files() -> dict[str, int]:
    """Every file of the default project with its number of lines."""
    return {name: len(text.splitlines()) for name, text in rendered({}).items()}


def python_lines(files: dict[str, int], folder: str = "") -> int:
    named = (
        lines for name, lines in files.items() if name.startswith(folder) and name[-3:] == ".py"
    )
    return sum(named)


def test_the_default_project_passes_its_own_gate(project: Path) -> None:
    assert check(project) == {}


def test_the_project_is_small(files: dict[str, int]) -> None:
    assert len(files) <= 77
    assert python_lines(files) <= 5420  # and scripts/check, which has no suffix
    assert python_lines(files, "src/notes_mcp/policy/") <= 2916
    assert python_lines(files, "tests/policy/") <= 1627


def test_no_release_renders_what_pinning_writes(files: dict[str, int]) -> None:
    assert not {"annotations.lock.json", "docs/tools.md"} & files.keys()


def test_the_template_is_small() -> None:
    assert len((ROOT / "copier.yml").read_text(encoding="utf-8").splitlines()) <= 190
    macros = [path.read_text("utf-8").splitlines() for path in (ROOT / "macros").glob("*.jinja")]
    assert sum(map(len, macros)) <= 1_190
    assert [line for lines in macros for line in lines if len(line) > 120] == []


def test_no_file_is_long() -> None:
    listed = git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z", *HANDWRITTEN)
    named = [name for name in listed.split("\0") if name and not name.endswith(".tsv")]  # tables
    paths = [path for name in named if (path := ROOT / name).is_file()]
    sizes = {str(path.relative_to(ROOT)): lines_of(path) for path in paths}
    assert {name: lines for name, lines in sizes.items() if lines > MOST} == {}


def lines_of(path: Path) -> int:
    return len(path.read_bytes().splitlines())


def names_in(wheel: Path) -> Iterable[str]:
    with zipfile.ZipFile(wheel) as archive:
        return archive.namelist()


def test_the_wheel_holds_the_package_and_nothing_else(project: Path, tmp_path: Path) -> None:
    fetched(uv(), "build", "--quiet", "--wheel", "--out-dir", str(tmp_path), folder=project)
    (wheel,) = tmp_path.glob("*.whl")
    held = {n for n in names_in(wheel) if ".dist-info/" not in n and n[-1] != "/"}
    package = project / "src/notes_mcp"
    kept = {p.relative_to(project / "src").as_posix() for p in package.rglob("*") if p.is_file()}
    assert held == {name for name in kept if "__pycache__" not in name}
    assert not {name for name in held if "rules" in name or "lock" in name or "test" in name}
