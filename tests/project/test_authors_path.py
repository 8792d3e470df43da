"""The path in docs/authors.md, walked: the tool that it shows, what the suite then says, and the mend."""

import re
from pathlib import Path

from support import PYTEST, ROOT, pin, python, render

TEXT = (ROOT / "docs/authors.md").read_text(encoding="utf-8")
TOOLS = "search_orders, get_order, create_order, delete_order"
PROOFS = [*PYTEST, "tests/policy/test_annotations.py", "tests/policy/test_behavior.py"]


def test_the_guide_for_authors_is_true(template: Path, tmp_path: Path) -> None:
    project = render(template, tmp_path, {"domain": "orders", "tools": TOOLS})
    pin(project)
    tool, probe = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    (project / "src/orders_mcp/tools/shelve_order.py").write_text(tool)
    first = python(project, *PROOFS)
    rows = re.findall(r"^\| `([^`]+)` \|", TEXT, re.MULTILINE)
    assert len(rows) == 4
    assert [row for row in rows if row not in first.stdout] == []
    assert "5 failed" in first.stdout
    (project / "tests/tools/test_shelve_order.py").write_text(probe)
    assert "shelve_order: is new\n" in pin(project)
    mended = python(project, *PROOFS)
    assert mended.returncode == 0, mended.stdout
    for words in (["format", "--check"], ["check"]):
        done = python(project, "-m", "ruff", *words, "--no-cache", ".")
        assert done.returncode == 0, done.stdout
