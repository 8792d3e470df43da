"""Steps of `fleet` by themselves, in repositories without a server."""

from pathlib import Path

from lifecycle import commit
from support import git

from copier_fastmcp.updating.branches import begun, pick_up
from copier_fastmcp.updating.checkouts import Release, Result, _finish, _moved


def test_a_server_that_was_never_pinned(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "tests/policy").mkdir(parents=True)
    pin = tmp_path / "tests/policy/pin.py"
    pin.write_text("raise SystemExit('the server does not start')\n")
    commit(tmp_path)
    start = git(tmp_path, "rev-parse", "HEAD").strip()
    result = Result(str(tmp_path), "failed")
    _finish(tmp_path, Release(None, None, False, pin=True), result, start)
    assert result.tools[0].startswith("not pinned: tests/policy/pin.py: the server does not start")
    pin.write_text("open('annotations.lock.json', 'w').write('{}')\n")
    _finish(tmp_path, Release(None, None, False, pin=True), result, start)
    assert result.tools == ["pinned for the first time: there was no lock to compare with"]
    assert git(tmp_path, "diff", "--cached", "--name-only").split()[0] == "annotations.lock.json"


def test_what_a_killed_update_to_another_address_left(tmp_path: Path) -> None:
    """The commit that records the address is on the owner's branch then; it goes, and an owner's own stays."""
    git(tmp_path, "init", "--quiet")
    file = tmp_path / ".copier-answers.yml"
    file.write_text("_src_path: /old\n")
    commit(tmp_path)
    start, branch = (
        git(tmp_path, "rev-parse", *words).strip() for words in (["HEAD"], ["--abbrev-ref", "HEAD"])
    )
    for _ in range(2):
        begun(tmp_path).write_text(f"{branch} {start}")
        _moved(tmp_path, "/new")
        (tmp_path / "half.txt").write_text("half\n")
        pick_up(tmp_path)
        assert git(tmp_path, "rev-parse", branch).strip() == start
        assert file.read_text() == "_src_path: /old\n"
        assert git(tmp_path, "status", "--porcelain") == ""
        assert not begun(tmp_path).exists()
    begun(tmp_path).write_text(f"{branch} {start}")
    (tmp_path / "mine.txt").write_text("mine\n")
    commit(tmp_path)
    pick_up(tmp_path)
    assert (tmp_path / "mine.txt").exists()
