"""`annotate` writes hints and titles and no other byte, and a second run writes nothing."""

import ast
import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from adopting.samples import ORDINARY, SDK1, SDK2, STYLES

from copier_fastmcp.cli import main


def create_project(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=folder, check=True, capture_output=True, text=True
    )
    return done.stdout


def commit(folder: Path) -> None:
    git(folder, "add", "--all")
    git(
        folder,
        "-c",
        "user.name=a",
        "-c",
        "user.email=a@b",
        "commit",
        "--quiet",
        "-m",
        "It",
    )


def unparse_functions(text: str) -> list[str]:
    """Every function without its decorators, which `annotate` must not change."""
    nodes = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef)]
    for node in nodes:
        node.decorator_list = []
    return [ast.unparse(node) for node in nodes]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_annotations_are_written_and_once(tmp_path: Path, end: str) -> None:
    before = ORDINARY.replace("\n", end)
    folder = create_project(tmp_path, **{"server.py": before})
    assert main(["annotate", str(folder), "--unattended"]) == 0
    after = (folder / "server.py").read_bytes().decode()
    assert unparse_functions(after) == unparse_functions(before)
    changed = []
    for line in git(folder, "diff", "-U0").splitlines():
        if re.match(r"[-+]\s*\S", line):
            changed.append(line)
    for changed_line in changed:
        assert (
            "tool" in changed_line
            or "annotations" in changed_line
            or changed_line[:3] in ("---", "+++")
        )
    assert (
        '@mcp.tool(annotations={"readOnlyHint": False, "title": "Save Note", "destructiveHint": True, '
        '"idempotentHint": True})  # wrong: it saves' + end in after
    )
    assert "\r" not in after.replace(end, "")
    commit(folder)
    assert main(["annotate", str(folder), "--unattended"]) == 0
    assert git(folder, "status", "--porcelain") == ""


SPREAD = {
    "in parentheses": '@mcp.tool(\n    description=(\n        "Get "\n        "it."\n    )\n)',
    "with a comment": '@mcp.tool(\n    description=(\n        "Get it."  # (so)\n    )  # (it)\n)',
    "on a line": '@mcp.tool(name="get_it", description=("Get it."))',
    "with a comma": '@mcp.tool(\n    description=(\n        "Get it."\n    ),\n)',
}


@pytest.mark.parametrize("decorator", SPREAD.values(), ids=SPREAD)
def test_a_value_in_parentheses_keeps_them(decorator: str, tmp_path: Path) -> None:
    text = f'from fastmcp import FastMCP\n\nmcp = FastMCP("it")\n\n\n{decorator}\ndef get_it() -> str:\n    return ""\n'
    folder = create_project(tmp_path, **{"server.py": text})
    assert main(["annotate", str(folder), "--unattended"]) == 0
    calls = []
    for node in ast.parse((folder / "server.py").read_text()).body:
        if isinstance(node, ast.FunctionDef):
            calls.append(node.decorator_list[0])
    (call,) = calls
    assert isinstance(call, ast.Call)
    assert call.keywords[-1].arg == "annotations"


def test_each_framework_takes_hints_in_its_own_form(tmp_path: Path) -> None:
    folder = create_project(tmp_path, **{"one.py": SDK1, "two.py": SDK2})
    assert main(["annotate", str(folder), "--unattended"]) == 0
    first, second = ((folder / name).read_text() for name in ("one.py", "two.py"))
    assert "from mcp.types import ToolAnnotations\n" in first
    assert (
        '@mcp.tool(annotations=ToolAnnotations(title="List Things", readOnlyHint=True, '
        in first
    )
    assert (
        'ToolAnnotations(read_only_hint=True, title="List Things", destructive_hint='
        in second
    )


def test_what_it_cannot_write_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **STYLES)
    assert main(["annotate", str(folder), "--unattended"]) == 1
    stderr = capsys.readouterr().err
    assert "by hand put_price: writes registers it" in stderr
    assert "review orders_get_order (src/shop/orders.py:9), taken for delete" in stderr


def test_a_dry_run_prints_the_diff_and_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **{"server.py": ORDINARY})
    assert main(["annotate", str(folder), "--dry-run", "--unattended"]) == 0
    patch = capsys.readouterr().out
    assert git(folder, "status", "--porcelain") == ""
    subprocess.run(
        ["git", "apply", "-"], input=patch, cwd=folder, check=True, text=True
    )
    assert main(["annotate", str(folder), "--dry-run", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {tuple(row) for row in rows} == {
        ("tool", "file", "line", "behavior", "evidence", "asked", "not_adoptable")
    }


def test_uncommitted_work_is_not_touched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_project(tmp_path, **{"server.py": ORDINARY})
    (folder / "server.py").write_text(ORDINARY + "# mine\n")
    assert main(["annotate", str(folder), "--unattended"]) == 1
    assert "commit server.py first" in capsys.readouterr().err
    assert (folder / "server.py").read_text() == ORDINARY + "# mine\n"
    shutil.rmtree(folder / ".git")
    assert main(["annotate", str(folder), "--unattended"]) == 1
    assert "run `git init` and commit first, so that git" in capsys.readouterr().err
