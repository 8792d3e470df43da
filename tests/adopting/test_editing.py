"""Adoption adds code where the owner's linter expects it."""

import subprocess
import sys
from pathlib import Path

import pytest

from copier_fastmcp.adopting.edits import Edited
from copier_fastmcp.sources.modules import Project

IMPORT = "from shop import policy"
DOC = '"""It."""\n\n'
FILES = {
    "before those below it": "import os\n\nfrom fastmcp import FastMCP\n\nfrom shop.api import a\n\nx = 1\n",
    "behind those above it": "from fastmcp import FastMCP\n\nfrom shop import api\n\nx = 1\n",
    "after a plain import": "import fastmcp\n\nimport shop.api\nfrom shop.api import a\n\nx = 1\n",
    "in front of relative ones": "from fastmcp import FastMCP\n\nfrom .api import a\n\nx = 1\n",
    "behind other people's": "from fastmcp import FastMCP\n\nx = 1\n",
    "alone": f"{DOC}x = 1\n",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_an_import_keeps_the_imports_sorted(
    text: str, newline: str, tmp_path: Path
) -> None:
    path = tmp_path / "shop/server.py"
    path.parent.mkdir()
    (path.parent / "__init__.py").touch()
    (path.parent / "api.py").touch()
    path.write_bytes(text.replace("\n", newline).encode())
    edited = Edited(Project(tmp_path).modules["shop.server"])
    edited.add_import(IMPORT)
    path.write_bytes(edited.encode_edits())
    assert "policy" in edited.text
    words = ["ruff", "check", "--isolated", "--no-cache", "--select", "I001", str(path)]
    done = subprocess.run(
        [sys.executable, "-m", *words], cwd=tmp_path, capture_output=True
    )
    assert done.returncode == 0, (edited.text, done.stdout)
