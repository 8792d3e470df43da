"""Adoption does not change which of the author's tests `pytest` collects."""

import subprocess
import sys
from pathlib import Path

import pytest
from adopting.test_layouts import MADE, TOOL, bare, plan_files

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
