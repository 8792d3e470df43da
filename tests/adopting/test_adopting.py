"""The user interface of `adopt`: dialog, comparison with the running server, lock file and remaining work."""

import ast
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from adopting.samples import ORDINARY
from adopting.test_adopt import create_server
from adopting.test_guide import UV
from calling import environment, interruptible, uv_settings
from lifecycle import commit, uncommitted
from support import git, python

from copier_fastmcp.adopting.skeletons import write_probe
from copier_fastmcp.cli import main

TERMINAL = pytest.mark.skipif(
    sys.platform == "win32", reason="needs a terminal of POSIX"
)
MORE = ORDINARY.replace(
    'if __name__ == "__main__":',
    'for word in ("one", "two"):\n    mcp.tool(lambda: 1, name=f"get_{word}")\nhide = mcp.__getattribute__("tool")\nhide(lambda: 1, name="hidden")\n\n\nif __name__ == "__main__":',
)
# A package in src/, whose command registers the tools, with settings of its own.
SPLIT = {
    "pyproject.toml": """[project]
name = "shop-mcp"
version = "1"
requires-python = ">=3.11"
dependencies = ["fastmcp>=3"]

[tool.pytest.ini_options]
addopts = "-q --strict-markers"
testpaths = ["tests"]
pythonpath = ["src"]
filterwarnings = ["error"]

[tool.ruff]
line-length = 60
lint.select = ["ALL"]
""",
    "src/shop/__init__.py": "",
    "src/shop/server.py": """from fastmcp import FastMCP

mcp = FastMCP("shop")
""",
    "src/shop/orders.py": '''import os

from .server import mcp

ORDERS: dict[str, int] = {}


@mcp.tool
def count_orders() -> int:
    """Count the orders."""
    return len(ORDERS)


if os.environ.get("SHOP_ADMIN"):

    @mcp.tool
    def wipe_orders() -> None:
        """Wipe all orders."""
        ORDERS.clear()
''',
    "src/shop/cli.py": '''from .server import mcp


def register(app):
    @app.tool
    def cancel_order(sku: str) -> bool:
        """Cancel an order."""
        from .orders import ORDERS

        return ORDERS.pop(sku, None) is not None


def main() -> None:
    from . import orders as orders

    register(mcp)
    mcp.run()
''',
    "tests/test_shop.py": """from shop.orders import count_orders


def test_it():
    assert count_orders() == 0
""",
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
}


def repository(folder: Path, files: dict[str, str]) -> Path:
    """A git repository with a server of several files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A `uv` that runs the programs of this environment."""
    programs = tmp_path / "bin"
    programs.mkdir()
    text = UV.format(python=sys.executable).replace(
        "\nshift\n", '\nshift\n[ "$1" = --quiet ] && shift\n'
    )
    (programs / "uv").write_text(text)
    (programs / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")


@TERMINAL
@pytest.mark.parametrize("leave", [True, False])
def test_in_a_terminal(leave: bool, tmp_path: Path, template: Path) -> None:
    pexpect = pytest.importorskip("pexpect")
    folder = create_server(tmp_path / "it")
    words = ["adopt", "--raise", "--template", str(template), "--ref", "v99.0.0"]
    child = pexpect.spawn(
        sys.executable,
        ["-P", "-m", "copier_fastmcp", *words],
        cwd=folder,
        env=environment(
            **uv_settings(folder), PROMPT_TOOLKIT_NO_CPR="1", TERM="xterm", COLUMNS="80"
        ),
        preexec_fn=interruptible,
        encoding="utf-8",
        dimensions=(40, 80),
        timeout=120,
    )
    child.expect_exact("What does read_next do?")
    screen = child.before
    lines = re.sub("\x1b\\[[0-9;?]*[a-zA-Z]", "", screen).splitlines()
    rows = []
    for row in lines:
        if "│" in row or "┃" in row:
            rows.append(row)
    assert max(map(len, rows)) <= 80
    assert any("delete_note" in line for line in rows), "a name is not broken"
    assert "8 tools, 1 question" in screen
    assert uncommitted(folder) == set(), "nothing is written before the last answer"
    child.send(
        "\x03" if leave else "\x1b[B\r"
    )  # the second choice is what its name says
    if not leave:
        child.expect_exact("Write annotations.lock.json now?")
        child.send("n")
    child.expect(pexpect.EOF)
    child.close()
    assert (child.exitstatus == 0) is not leave
    assert (uncommitted(folder) == set()) is leave
    if not leave:
        text = (folder / "server.py").read_text()
        assert "# review" not in text
        assert '@policy.read(title="Read Next")' in text
        assert not (folder / "annotations.lock.json").exists()


def test_the_lock_is_written_where_it_is_asked_for(
    uv: None,
    tmp_path: Path,
    template: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder = repository(tmp_path / "it", SPLIT)
    words = ["adopt", str(folder), "--unattended", "--raise", "--pin"]
    assert main([*words, "--template", str(template), "--ref", "v99.0.0"]) == 0
    assert "uv run tests/policy/pin.py" in capfd.readouterr().err
    tools = json.loads((folder / "annotations.lock.json").read_text())["tools"]
    assert tools.keys() == {"count_orders", "cancel_order"}, (
        "those that its command registers"
    )
    assert "Cancel Order" in (folder / "docs/tools.md").read_text()
    backend = (folder / "tests/tools/backend.py").read_text()
    assert "    import shop.orders  # registers its tools\n" in backend
    assert "    register(mcp)\n    return mcp\n" in backend
    commit(folder)
    for words in (["tests/policy/check.py"], ["-m", "pytest"]):
        done = python(folder, *words, "-p", "no:cacheprovider", PYTHONPATH="")
        assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout, "its author's suite, with its author's settings"
    monkeypatch.chdir(folder)
    assert main(["add", "archive_order=put", "--why", "It sets a flag."]) == 0
    new = {"annotations.lock.json", "docs/tools.md", "src/shop/archive_order.py"}
    assert uncommitted(folder) == new | {
        "src/shop/server.py",
        "tests/tools/test_archive_order.py",
    }
    assert "put" in capfd.readouterr().out
    text = (folder / "src/shop/archive_order.py").read_text()
    assert "write its body in src/shop/archive_order.py" in text
    done = python(
        folder, "tests/policy/check.py", "-p", "no:cacheprovider", PYTHONPATH=""
    )
    assert done.returncode == 0, done.stdout + done.stderr
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "-m", "more")
    for name in ("archive_order", "count_orders"):
        assert main(["add", f"{name}=put", "--why", "It sets a flag."]) == 1
        assert f"{name} is a tool of src/shop/" in capfd.readouterr().err
    settings = SPLIT["pyproject.toml"].partition("[tool.pytest")[2]
    assert settings.rstrip() in (folder / "pyproject.toml").read_text()
    assert (folder / "src/shop/policy/ruff.toml").exists()


@pytest.mark.nightly
def test_what_cannot_be_pinned_is_told_in_a_line(
    tmp_path: Path, template: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it", "import nowhere\n" + ORDINARY)
    words = ["adopt", str(folder), "--unattended", "--raise", "--pin"]
    assert main([*words, "--template", str(template), "--ref", "v99.0.0"]) == 0
    messages = capsys.readouterr().err.splitlines()
    assert sum("not pinned: " in line and "nowhere" in line for line in messages) == 1
    assert (folder / "policy").is_dir()


def test_a_running_server_is_compared_with_its_source(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it", MORE)
    words = ["adopt", str(folder), "--dry-run", "--json"]
    command = f"{sys.executable} {folder / 'server.py'}"
    assert main([*words, "--live", command]) == 0
    output = capsys.readouterr()
    assert output.err.splitlines()[0] == f"--live runs the server's code: {command}"
    assert "it lists 11 tools, 1 not found in the source" in output.err
    rows = {row["tool"]: row for row in json.loads(output.out)}
    agreed = create_server(tmp_path / "same")
    assert (
        main(
            [
                "adopt",
                str(agreed),
                "--dry-run",
                "--json",
                "--live",
                f"{sys.executable} {agreed / 'server.py'}",
            ]
        )
        == 0
    )
    assert "it lists 8 tools, the same that its source shows" in capsys.readouterr().err
    keys = {"tool", "file", "line", "behavior", "evidence", "asked", "not_adoptable"}
    for row in rows.values():
        assert row.keys() == keys
    assert rows["hidden"]["not_adoptable"].startswith(
        "only the running server shows it"
    )
    assert main([*words, "--live", f"{sys.executable} -c pass"]) == 2
    assert capsys.readouterr().out == ""
    assert uncommitted(folder) == set()


def test_what_is_left_to_do_is_a_table_of_phases(
    tmp_path: Path, template: Path
) -> None:
    folder = create_server(tmp_path / "it", MORE)
    words = [
        "adopt",
        str(folder),
        "--unattended",
        "--raise",
        "--template",
        str(template),
        "--ref",
        "v99.0.0",
    ]
    assert main(words) == 0
    text = (folder / "docs/adoption.md").read_text()
    rows = []
    for line in text.splitlines():
        if line.startswith(("| 1", "| 2", "| 3")):
            rows.append(line.split(" | "))
    assert [row[0] for row in rows] == [
        "| 1. Decide",
        "| 2. Declare",
        "| 3. Prove what asks a person",
    ]
    assert [row[1] for row in rows] == ["critical", "critical", "high"]
    assert [row[2] for row in rows] == ["5 min", "5 min", "20 min"]
    assert rows[0][3] == "1: `read_next`"
    assert rows[2][3] == "1: `delete_note`"
    for row in rows:
        assert row[4].startswith("clients "), "a reason for the order"
    assert "About 2 h in all" in text, "105 minutes, in half hours rounded up"
    (folder / "docs/adoption.md").unlink()
    commit(folder)
    assert main(words[:4]) == 0
    assert uncommitted(folder) == set(), "who is done deletes it"


@pytest.mark.parametrize("text", ["def f(:", "x = 1"])
def test_a_refusal_writes_nothing_to_stdout(
    text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it", text)
    assert main(["adopt", str(folder), "--dry-run", "--json"]) == 1
    output = capsys.readouterr()
    assert (output.out, len(output.err.splitlines())) == ("", 1)


def test_without_git_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    monkeypatch.setenv("PATH", str(tmp_path))
    for verb in ("adopt", "annotate"):
        assert main([verb, str(folder), "--unattended"]) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert "git" in line
    assert before == {
        path: path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def test_the_sample_of_a_choice_is_one_of_it() -> None:
    text = "def rate(id: int, stars: Literal[5, 4], how: Optional[Literal['a b']], x: Literal[A.B]): ..."
    tool = SimpleNamespace(name="rate", function=ast.parse(text).body[0])
    probe = write_probe(cast("Any", SimpleNamespace(tool=tool)))
    assert "return {'id': 1, 'stars': 5, 'how': 'a b'}" in probe
