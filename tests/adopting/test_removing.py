"""`adopt --remove` removes everything that adoption added and restores the author's bytes."""

from pathlib import Path

import pytest
from adopting.samples import ORDINARY
from adopting.test_adopt import create_server
from lifecycle import commit, released, uncommitted
from support import git

from copier_fastmcp.cli import main

TIGHT = ORDINARY.replace(
    "from fastmcp import FastMCP\n\nmcp", "from fastmcp import FastMCP\nmcp"
)
CRLF = ORDINARY.replace("\n", "\r\n")
BARE = "from fastmcp import FastMCP\nmcp = FastMCP('x')\n@mcp.tool\ndef get_it() -> int:\n    return 1\n"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ORDINARY, id="plain", marks=pytest.mark.nightly),
        pytest.param(TIGHT, id="tight", marks=pytest.mark.nightly),
        pytest.param(CRLF, id="crlf"),
        pytest.param(BARE, id="bare"),
    ],
)
def test_its_author_has_the_bytes_from_before(
    text: str, tmp_path: Path, template: Path
) -> None:
    folder = create_server(tmp_path / "it")
    (folder / "server.py").write_bytes(text.encode())
    commit(folder)
    before = git(folder, "rev-parse", "HEAD^{tree}")
    words = ["--unattended", "--raise", "--template", str(template), "--ref", "v99.0.0"]
    assert main(["adopt", str(folder), *words]) == 0
    commit(folder)
    assert main(["adopt", str(folder), "--remove"]) == 0
    assert not (folder / "policy").exists()
    assert not (folder / "tests").exists()
    commit(folder)
    assert git(folder, "rev-parse", "HEAD^{tree}") == before


def test_later_edits_stay_and_what_was_filled_in_is_named(
    tmp_path: Path, template: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it")
    words = ["--unattended", "--raise", "--template", str(template), "--ref", "v99.0.0"]
    assert main(["adopt", str(folder), *words]) == 0
    path = folder / "server.py"
    path.write_text(path.read_text() + "\n# mine\n")
    probe = folder / "tests/tools/test_get_note.py"
    probe.write_text(
        '"""Yours: the proof of get_note."""\n\n\nasync def arrange(backend):\n    return {}\n'
    )
    commit(folder)
    assert main(["adopt", str(folder), "--remove"]) == 1
    assert path.read_text() == ORDINARY + "\n# mine\n"
    assert probe.exists()
    assert "tests/tools/test_get_note.py" in capsys.readouterr().err


def test_after_an_update_and_edits_of_pyproject_only_ours_goes(
    tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = create_server(tmp_path / "it")
    before = (folder / "pyproject.toml").read_text()
    words = ["--unattended", "--raise", "--template", str(template), "--ref", "v99.0.0"]
    assert main(["adopt", str(folder), "--engine", "package", *words]) == 0
    commit(folder)
    path = folder / "pyproject.toml"
    path.write_text(path.read_text().replace("line-length = 88", "line-length = 99"))
    commit(folder)
    later = released(template, tmp_path / "later", "v99.1.0", ("LICENSE", "", "\n"))
    monkeypatch.chdir(folder)
    to = ["--ref", "v99.1.0", "--template", str(later)]
    update = ["update", "--here", "--unpinned", "--unattended", "--trust"]
    assert main([*update, *to]) == 0
    commit(folder)
    assert main(["adopt", ".", "--remove"]) == 0
    assert path.read_text() == before.replace("line-length = 88", "line-length = 99")
    assert not (folder / "tests").exists()
    assert (folder / "server.py").read_text() == ORDINARY


def test_where_nothing_was_adopted_it_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = create_server(tmp_path / "it")
    assert main(["adopt", str(folder), "--remove"]) == 1
    assert "nothing to remove" in capsys.readouterr().err
    assert uncommitted(folder) == set()
