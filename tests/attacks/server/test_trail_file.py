"""The file of an audit trail: whose it is, when it is full, torn, a link, a pipe, or cannot be written."""

import json
import os
import signal
import stat
import threading
from pathlib import Path
from unittest.mock import Mock

import pytest
from attacks.gate.attacked import SETTINGS, serving
from attacks.server.composing import lines
from fastmcp.exceptions import ToolError
from notes_mcp.policy import trail as trails
from notes_mcp.policy.errors import StartError
from notes_mcp.policy.trail import Trail


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Where the trail is."""
    return tmp_path / "trail.jsonl"


def test_the_file_is_its_owners_alone(file: Path) -> None:
    before = os.umask(0)
    try:
        Trail(str(file)).record("")
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_nothing_is_lost_when_several_fill_it(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trails, "MOST", 5000)
    made = [
        Trail(str(file)) for _ in range(4)
    ]  # as in four processes: they share nothing but the file

    def fill(which: int) -> None:
        for number in range(200):
            made[which].record("", tool=f"{which}-{number}")

    threads = [threading.Thread(target=fill, args=(which,)) for which in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    written = [each["tool"] for each in lines(file)]
    assert sorted(written) == sorted(f"{which}-{n}" for which in range(4) for n in range(200))
    files = list(file.parent.iterdir())
    assert len(files) > 10
    assert (
        max(each.stat().st_size for each in files) <= 5000 + len(made) * 200
    )  # lines that were on their way


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs a limit of the size of files")
def test_a_line_that_a_full_disk_tore_is_written_again(file: Path) -> None:
    import resource

    trail, most = Trail(str(file)), resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, most[1]))
        trail.record("x" * 64, tool="torn")
        with pytest.raises(ToolError, match="nothing is changed while the audit trail cannot be"):
            trail.ready()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
        signal.signal(signal.SIGXFSZ, before)
    Trail(str(file)).record("", tool="other")  # another process
    trail.record("", tool="next")
    assert [line["tool"] for line in lines(file)] == ["other", "torn", "next"]


def test_a_line_that_a_killed_process_tore_stands_alone(file: Path) -> None:
    file.write_text('{"event": "wr')
    Trail(str(file)).record("", tool="next")
    torn, whole = file.read_text().splitlines()
    assert (torn, json.loads(whole)["tool"]) == ('{"event": "wr', "next")


@pytest.mark.parametrize("where", ["{0}/gone/trail.jsonl", "{0}", "~nosuch/x", "{0}/a\0b"])
def test_a_trail_that_cannot_be_written_stops_the_start(tmp_path: Path, where: str) -> None:
    with pytest.raises(
        StartError, match=r"^setting audit: .*; name a file that can be written, .*$"
    ):
        serving(settings=SETTINGS.model_copy(update={"audit": where.format(tmp_path)}))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
@pytest.mark.parametrize("read", [True, False])
def test_a_pipe_holds_up_nobody(file: Path, *, read: bool) -> None:
    os.mkfifo(file)
    reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK) if read else None
    with pytest.raises(
        StartError, match=r"^setting audit: .*: Not a file; " if read else "name a file"
    ):
        Trail(str(file))
    if reader is not None:
        os.close(reader)


def test_a_full_file_that_cannot_be_renamed_grows_on(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(trails, "MOST", 300)
    monkeypatch.setattr(Path, "rename", Mock(side_effect=PermissionError(13, "Permission denied")))
    trail = Trail(str(file))
    for _ in range(5):
        trail.record("")
    trail.ready()
    Trail(str(file)).record("")  # after a restart
    assert len(lines(file)) == 6
    assert caplog.text.count("is full and grows on: Permission denied") == 2


def test_a_link_leads_on_to_the_file_when_that_is_full(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trails, "MOST", 300)
    (tmp_path / "real").mkdir()
    file.symlink_to(tmp_path / "real/trail.jsonl")
    trail = Trail(str(file))
    for _ in range(10):
        trail.record("")
    assert file.is_symlink()
    assert len(lines(tmp_path / "real/trail.jsonl")) == 10
