"""Programs that the tests start arrive whole in the process that forks them, or end (tests/forked.py)."""

import marshal
import os
import socket
import sys
from pathlib import Path

import forked
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks programs")


def test_a_long_command_line_arrives_whole(tmp_path: Path) -> None:
    words = ["-c", "import sys; print(len(sys.argv[1]))", "é" * 300_000]
    done = forked.run(words, tmp_path, os.environ, 60)
    assert done is not None
    assert (done.returncode, done.stdout) == (0, "300000\n"), done.stderr


def test_a_program_whose_starter_is_gone_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "_exit", sys.exit)
    half = marshal.dumps({"words": ["-c", "pass"]}, 4)[:-8]
    starter, program = socket.socketpair()
    with open(os.devnull) as stream, program:
        with starter:
            socket.send_fds(starter, [half], [stream.fileno()] * 3)
        with pytest.raises(SystemExit):
            forked._receive(program)
