"""The audit log's file: its mode, a full disk, a torn line, a link, a pipe, a file that cannot be written."""

import contextlib
import io
import json
import os
import signal
import stat
import threading
from collections.abc import Callable
from io import FileIO
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from fastmcp.exceptions import ToolError

from copier_fastmcp_engine import audit_log as trails
from copier_fastmcp_engine.errors import StartError
from engine.tests.engine_support.composing import read_audit_log
from engine.tests.engine_support.targets import (
    SETTINGS,
    make_audit_log,
    make_target_server,
)

with contextlib.suppress(ImportError):  # on Windows there is none
    import fcntl


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The path of the audit log."""
    return tmp_path / "trail.jsonl"


def read_tools(file: Path) -> list[str]:
    """Return the tool of each line, the oldest first."""
    return [line["tool"] for line in read_audit_log(file)]


def test_only_the_owner_can_read_the_file(file: Path) -> None:
    before = os.umask(0)
    try:
        make_audit_log(str(file)).record("")
    finally:
        os.umask(before)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_no_line_is_lost_when_several_writers_fill_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trails, "MOST", 5000)

    def fill(writer: int) -> None:
        audit_log = make_audit_log(str(file))  # as in a process of its own
        for number in range(200):
            audit_log.record("", tool=f"{writer}-{number}")

    expected = []
    threads = []
    for writer in range(4):
        threads.append(threading.Thread(target=fill, args=(writer,)))
        for number in range(200):
            expected.append(f"{writer}-{number}")
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(read_tools(file)) == sorted(expected)
    files = list(file.parent.iterdir())
    assert len(files) > 10
    largest = max(path.stat().st_size for path in files)
    in_flight = len(threads) * 200  # lines written while the file was renamed
    assert largest <= 5000 + in_flight


@pytest.mark.skipif(
    not hasattr(os, "fork"), reason="needs a limit of the size of files"
)
def test_a_line_that_a_full_disk_tore_is_written_again(file: Path) -> None:
    import resource

    trail = make_audit_log(str(file))
    most = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, most[1]))
        trail.record("x" * 64, tool="torn")
        with pytest.raises(
            ToolError, match="nothing is changed while the audit log cannot be"
        ):
            trail.ready()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, most)
        signal.signal(signal.SIGXFSZ, before)
    make_audit_log(str(file)).record("", tool="other")  # another process
    trail.record("", tool="next")
    assert read_tools(file) == ["other", "torn", "next"]


def test_a_line_that_a_killed_process_tore_stands_alone(file: Path) -> None:
    file.write_text('{"event": "wr')
    make_audit_log(str(file)).record("", tool="next")
    torn, whole = file.read_text().splitlines()
    assert torn == '{"event": "wr'
    assert json.loads(whole)["tool"] == "next"


def test_a_start_leaves_the_file_as_it_is(file: Path) -> None:
    file.write_text('{"event": "wr')
    make_audit_log(str(file))
    assert file.read_text() == '{"event": "wr'


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs devices of POSIX")
def test_a_device_is_written_to() -> None:
    trail = make_audit_log(os.devnull)
    trail.record("", tool="next")
    trail.ready()


def test_a_line_that_cannot_be_written_is_logged(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trail = make_audit_log(str(file))
    file.unlink()
    file.mkdir()
    trail.record("", tool="unwritten")
    (message,) = caplog.messages
    assert '"tool": "unwritten"' in message


def test_an_error_without_a_number_has_its_own_reason(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    trail = make_audit_log("stderr")
    stream.close()
    trail.record("")
    with pytest.raises(ToolError, match=r"\(I/O operation on closed file\W*\)"):
        trail.ready()


class Torn(FileIO):
    """A file on a full disk: half of a line is written, then something happens."""

    then: Callable[[], object] = staticmethod(lambda: None)
    keeps = False

    def write(self, data: Any) -> int:
        """Write half of it."""
        written = super().write(data[:20])
        self.then()
        return written

    def truncate(self, size: int | None = None) -> int:
        """Remove the half line unless the file is append-only."""
        if self.keeps:  # as chattr +a has it
            raise PermissionError(1, "Operation not permitted")
        return super().truncate(size)


def tear_next_line(
    monkeypatch: pytest.MonkeyPatch,
    then: Callable[[], object] = lambda: None,
    *,
    keeps: bool = False,
) -> None:
    """Let the next write stop after half a line."""
    kinds: list[type[FileIO]] = [Torn]
    monkeypatch.setattr(Torn, "then", staticmethod(then))
    monkeypatch.setattr(Torn, "keeps", keeps)

    def opened(path: Path, mode: str, *, buffering: int, opener: Any) -> FileIO:
        kind = kinds.pop() if kinds else FileIO
        return kind(path, mode, opener=opener)

    monkeypatch.setattr(trails, "open", opened, raising=False)


class Blocked(FileIO):
    """A file that takes nothing at the moment, as a terminal does that is not read."""

    def write(self, data: Any) -> Any:
        """Write nothing."""
        return None


def test_a_line_that_a_device_does_not_take_waits(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trail = make_audit_log(str(file))

    def opened(path: Path, mode: str, *, buffering: int, opener: Any) -> FileIO:
        return Blocked(path, mode, opener=opener)

    monkeypatch.setattr(trails, "open", opened, raising=False)
    trail.record("", tool="waiting")
    with pytest.raises(ToolError, match="No space left"):
        trail.ready()
    monkeypatch.undo()
    trail.ready()
    assert read_tools(file) == ["waiting"]


def test_a_line_that_another_program_wrote_behind_half_a_line_is_kept(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trail = make_audit_log(str(file))

    def write_behind() -> None:  # without a lock
        with file.open("a") as other:
            other.write("\nother\n")

    tear_next_line(monkeypatch, write_behind)
    trail.record("", tool="torn")
    trail.ready()
    half, other, line = file.read_text().splitlines()
    assert half == '{"event": "write", "'
    assert other == "other"
    assert json.loads(line)["tool"] == "torn"


def test_a_line_that_cannot_be_taken_back_stands_alone(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trail = make_audit_log(str(file))
    tear_next_line(monkeypatch, keeps=True)
    trail.record("", tool="torn")
    trail.record("", tool="next")
    half, *whole = file.read_text().splitlines()
    assert half == '{"event": "write", "'
    assert [json.loads(line)["tool"] for line in whole] == ["torn", "next"]


@pytest.mark.skipif(os.name == "nt", reason="needs locks of files")
def test_no_line_is_appended_to_half_a_line(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trail = make_audit_log(str(file))
    second_log = make_audit_log(str(file))  # as in another process
    writer = threading.Thread(target=lambda: second_log.record("", tool="other"))

    def meanwhile() -> None:
        writer.start()
        writer.join(0.1)

    tear_next_line(monkeypatch, meanwhile)
    trail.record("", tool="torn")
    writer.join()
    trail.ready()
    assert read_tools(file) == ["other", "torn"]


@pytest.mark.skipif(os.name == "nt", reason="needs locks of files")
def test_a_lock_held_by_a_hanging_process_does_not_block(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    trail = make_audit_log(str(file))
    with file.open() as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        trail.record("", tool="next")
    assert read_tools(file) == ["next"]


def test_the_path_does_not_follow_the_working_directory(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trail = make_audit_log(file.name)
    (tmp_path / "away").mkdir()
    monkeypatch.chdir(tmp_path / "away")
    trail.record("", tool="next")
    assert read_tools(file) == ["next"]


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all"
)
def test_a_write_only_file_is_enough(file: Path) -> None:
    file.touch(0o200)
    make_audit_log(str(file)).record("", tool="next")
    file.chmod(0o600)
    assert read_tools(file) == ["next"]


@pytest.mark.parametrize(
    "where", ["{0}/gone/trail.jsonl", "{0}", "~nosuch/x", "{0}/a\0b"]
)
def test_a_trail_that_cannot_be_written_stops_the_start(
    tmp_path: Path, where: str
) -> None:
    with pytest.raises(
        StartError, match=r"^setting audit: .*; name a file that can be written, .*$"
    ):
        make_target_server(
            settings=SETTINGS.model_copy(update={"audit": where.format(tmp_path)})
        )


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs a pipe with a name")
@pytest.mark.parametrize("read", [True, False])
def test_a_named_pipe_is_refused_without_blocking(file: Path, *, read: bool) -> None:
    os.mkfifo(file)
    reader = os.open(file, os.O_RDONLY | os.O_NONBLOCK) if read else None
    with pytest.raises(
        StartError, match=r"^setting audit: .*: Not a file; " if read else "name a file"
    ):
        make_audit_log(str(file))
    if reader is not None:
        os.close(reader)


def test_a_full_file_that_cannot_be_renamed_keeps_growing(
    file: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(trails, "MOST", 300)
    monkeypatch.setattr(
        Path, "rename", Mock(side_effect=PermissionError(13, "Permission denied"))
    )
    trail = make_audit_log(str(file))
    for _ in range(5):
        trail.record("")
    trail.ready()
    make_audit_log(str(file)).record("")  # after a restart
    assert len(read_audit_log(file)) == 6
    assert caplog.text.count("is full and grows on: Permission denied") == 2


def test_a_link_leads_on_to_the_file_when_that_is_full(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trails, "MOST", 300)
    (tmp_path / "real").mkdir()
    file.symlink_to(tmp_path / "real/trail.jsonl")
    trail = make_audit_log(str(file))
    for _ in range(10):
        trail.record("")
    assert file.is_symlink()
    assert len(read_audit_log(tmp_path / "real/trail.jsonl")) == 10
