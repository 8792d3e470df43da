"""The guide for who has an API, walked: its commands, what they say, and a client before the fake."""

import re
import shutil
import sys
from pathlib import Path

from calling import call
from support import PYTEST, ROOT, pin, python

TEXT = (ROOT / "docs/api.md").read_text(encoding="utf-8")
PROOFS = [*PYTEST, "tests/policy/test_annotations.py", "tests/policy/test_behavior.py"]


def commands(beginning: str) -> list[str]:
    """The words behind a command of the guide."""
    (line,) = re.findall(rf"(?m)^{re.escape(beginning)}(.*)$", TEXT)
    return f"{beginning}{line}".split()[1:]


def test_the_guide_is_true(template: Path, tmp_path: Path) -> None:
    shutil.copy(ROOT / "examples/documents/parcels.yaml", tmp_path)
    done = call(tmp_path, *commands("copier-fastmcp import parcels.yaml"))
    assert done.returncode == 0, done.stderr
    said = re.sub("(?m)^copier-fastmcp: ", "", done.stderr)
    for shown in re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)[0].splitlines():
        assert shown in said
    made = call(tmp_path, *commands("copier-fastmcp new parcels"), "--template", template)
    assert made.returncode == 0, made.stderr
    project = tmp_path / "parcels"
    (body,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert body in (project / "src/parcels_mcp/tools/update_parcel.py").read_text()
    assert set(re.findall("PARCELS_MCP_[A-Z_]+", TEXT)) <= set(
        re.findall("PARCELS_MCP_[A-Z_]+", (project / "README.md").read_text())
    )
    pin(project)
    proven = python(project, *PROOFS)
    assert proven.returncode == 0, proven.stdout
    shown = python(ROOT, "scripts/demo_api.py", str(project))
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "the server asks a person" in shown.stdout
    assert '"outcome": "applied"' in shown.stdout
    assert "refused: GET /parcels/" in shown.stdout, "what is deleted is gone"
    assert sys.executable
