"""Adoption does not change which of the author's tests `pytest` collects."""

import subprocess
import sys
from pathlib import Path

import pytest
from adopting.test_adopt import create_server
from adopting.test_layouts import MADE, TOOL, bare, plan_files

from copier_fastmcp.adopting.author_tests import list_affected_tests
from copier_fastmcp.cli import main

__all__ = ["bare"]
CONFTEST = "MARK = 1\n"
USES = "from conftest import MARK\n\n\ndef test_it():\n    assert MARK\n"
PLAIN = "def test_it():\n    pass\n"
LAYOUTS = {
    "no test of our names": {"tests/test_all.py": PLAIN},
    "a test of the same name": {"tests/test_get_it.py": PLAIN},
    "the same name and a conftest that is imported": {
        "tests/conftest.py": CONFTEST,
        "tests/test_get_it.py": PLAIN,
        "tests/unit/test_more.py": USES,
    },
    "the same name in packages": {
        "tests/__init__.py": "",
        "tests/test_get_it.py": PLAIN,
        "tests/unit/__init__.py": "",
        "tests/unit/test_get_it.py": PLAIN,
    },
    "a package that is called tools": {
        "tools/__init__.py": "NAME = 'get'\n",
        "tests/test_get_it.py": f"from tools import NAME\n\n\n{PLAIN}",
        "tests/unit/test_more.py": f"from tools import NAME\n\n\n{PLAIN}",
    },
}


def collect_tests(folder: Path) -> list[str]:
    """List what `pytest` collects in a folder, including errors."""
    words = ["-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, *words, "--rootdir=.", "tests"],
        cwd=folder,
        env={"PYTHONPATH": str(folder), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    collected_tests = []
    for line in done.stdout.splitlines():
        if ":" in line:
            collected_tests.append(line)
    return sorted(collected_tests)


@pytest.mark.parametrize("files", LAYOUTS.values(), ids=LAYOUTS)
def test_the_author_s_tests_are_collected_as_before(
    bare: None, files: dict[str, str], tmp_path: Path
) -> None:
    adoption = plan_files(tmp_path, **{"server.py": MADE + TOOL, **files})
    before = collect_tests(tmp_path)
    assert before
    for name in adoption.files:
        assert "conftest" not in name
    for name, held in adoption.files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(held)
    assert collect_tests(tmp_path) == before


SEARCHING = {
    "rglob": "for path in Path(PACKAGE).rglob('*.py'):\n        path.read_text()",
    "glob": "glob.glob('src/**/*.py', recursive=True)",
    "os.walk": "for place, _, names in os.walk(PACKAGE):\n        print(names)",
    "pkgutil": "for found in pkgutil.walk_packages(package.__path__):\n        print(found)",
}
HARMLESS = {
    "its own folder": "list(tmp_path.rglob('*.py'))",
    "other files": "list(Path(PACKAGE).glob('*.json'))",
    "a tree": "list(ast.walk(TREE))",
    "a name that is near": "assert 'delete_notes' in NAMES",
}


def write_test(folder: Path, body: str) -> None:
    """Write a test of the author's."""
    path = folder / "tests/tools/test_source.py"
    path.parent.mkdir(parents=True)
    path.write_text(f"def test_it():\n    {body}\n")


@pytest.mark.parametrize("body", SEARCHING.values(), ids=SEARCHING)
def test_a_test_that_searches_source_files_is_found(body: str, tmp_path: Path) -> None:
    write_test(tmp_path, body)
    (test,) = list_affected_tests(tmp_path, [], vendored=True)
    assert (test.path, test.line) == ("tests/tools/test_source.py", 2)
    assert "--engine package" in test.reason


@pytest.mark.parametrize("body", HARMLESS.values(), ids=HARMLESS)
def test_a_test_that_sees_nothing_of_the_adoption_is_not_named(
    body: str, tmp_path: Path
) -> None:
    write_test(tmp_path, body)
    assert not list(list_affected_tests(tmp_path, ["delete_note"], vendored=True))


def test_the_plan_names_the_tests_that_may_fail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it")
    write_test(folder, "client.call_tool('delete_note', {})\n    glob.glob('**/*.py')")
    assert main(["adopt", str(folder), "--dry-run", "--unattended"]) == 0
    stderr = capsys.readouterr().err
    assert "check tests/tools/test_source.py:3: searches source files" in stderr
    assert "check tests/tools/test_source.py:2: names delete_note" in stderr


LOOP = "\n\nfor found in load():\n    mcp.tool(found)\n"


def test_the_plan_says_that_undeclared_tools_ask(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it", MADE + TOOL + LOOP)
    assert main(["adopt", str(folder), "--dry-run", "--unattended"]) == 0
    (line,) = [
        line
        for line in capsys.readouterr().err.splitlines()
        if line.startswith("undeclared")
    ]
    assert "found" in line


def test_the_plan_names_the_tests_that_call_undeclared_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it", MADE + TOOL + LOOP)
    write_test(folder, "client.call_tool(name, {})")
    assert main(["adopt", str(folder), "--dry-run", "--unattended"]) == 0
    assert "check tests/tools/test_source.py:2: calls tools" in capsys.readouterr().err


def test_without_undeclared_tools_a_call_of_others_is_not_named(
    tmp_path: Path,
) -> None:
    write_test(tmp_path, "client.call_tool(name, {})")
    assert not list(list_affected_tests(tmp_path, [], vendored=True))
