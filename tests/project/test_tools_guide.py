"""Every example of "What a tool can do" is written into a server, and its suite, types and lint pass."""

import re
from pathlib import Path

import pytest
from support import PYTEST, ROOT, pin, python, render, server

GUIDE = (ROOT / "docs/tools-guide.md").read_text(encoding="utf-8")
FILE = re.compile(r"`((?:src|tests)/[\w/]+\.py)`:\n\n```python\n(.*?)```", re.DOTALL)
ANSWERS = {
    "domain": "orders",
    "tools": "search_orders, get_order, create_order, delete_order",
}


def replace_function(text: str, function: str) -> str:
    """Return a module in which one of its top-level functions is another one."""
    (name,) = re.findall(r"^def (\w+)", function)
    start = text.index(f"def {name}(")
    body, separator, remainder = text[start:].partition("\n\n\n")
    assert body
    return text[:start] + function + (separator and f"\n\n{remainder}")


def add_function(text: str, code: str) -> str:
    """Return a module with one more function and its import."""
    import_line, separator, function = code.partition("\n\n\n")
    assert separator
    assert "if TYPE_CHECKING" in text
    imports, others = text.split("if TYPE_CHECKING", 1)
    return f"{imports}{import_line}\n\nif TYPE_CHECKING{others}\n\n{function}"


def write_examples(project: Path) -> list[str]:
    """Write the examples of the guide into a project, and return their paths."""
    paths = []
    for name, code in FILE.findall(GUIDE):
        path = project / name
        text = code
        if code.startswith("def "):
            text = replace_function(path.read_text(encoding="utf-8"), code)
        elif path.name == "extend.py":
            text = add_function(path.read_text(encoding="utf-8"), code)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        paths.append(name)
    decorator = 'why="Cancelling again changes nothing."'
    scoped = project / "src/orders_mcp/tools/cancel_order.py"
    code = scoped.read_text(encoding="utf-8")
    assert decorator in code
    scopes = 'scopes=["orders:write"]'
    assert scopes in GUIDE
    scoped.write_text(
        code.replace(decorator, f"{decorator}, {scopes}"), encoding="utf-8"
    )
    return paths


@pytest.mark.nightly
def test_every_example_runs_through_the_suite(template: Path, tmp_path: Path) -> None:
    project = render(template, tmp_path / "orders", ANSWERS)
    blocks = re.findall("```python\n", GUIDE)
    assert len(write_examples(project)) == len(blocks)
    pin(project)
    for words in (
        ["ruff", "format", "--check", "."],
        ["ruff", "check", "."],
        ["mypy", "--config-file", "config/mypy.ini"],
    ):
        checked = python(project, "-m", *words)
        assert checked.returncode == 0, checked.stdout
    tested = python(project, *PYTEST)
    assert tested.returncode == 0, tested.stdout
    assert "skipped" not in tested.stdout
    worked = server(project, "work", ORDERS_MCP_DATABASE=str(tmp_path / "data.db"))
    assert worked.returncode == 0, worked.stderr
