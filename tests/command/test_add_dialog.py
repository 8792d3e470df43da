"""`add` in a terminal: every question, every way to leave."""

import sys
from collections.abc import Sequence
from pathlib import Path

import forked
import pytest
from calling import environment, interruptible, uv_settings
from lifecycle import SRC, bytes_of, uncommitted
from support import nightly_but

TERMINAL = pytest.mark.skipif(
    sys.platform == "win32", reason="needs a terminal of POSIX"
)
DOWN, ENTER, LEAVE, BACK = "\x1b[B", "\r", "\x03", "\x1b"
WALK: list[tuple[str, str | None]] = [
    ("Name, with a verb first:", "archive note"),
    ("'archive note' is not a valid name; e.g. archive_note", None),
    ("Name, with a verb first:", "\x15get_note"),
    ("'get_note' is another tool; write another name", None),
    ("Name, with a verb first:", "\x15archive_note"),
    ("What it does:", ""),
    ("Title:", BACK),
    ("What it does:", ""),
    ("Title:", ""),
    ("Description, for models", "Put a note away."),
    ("Name of a parameter", "note id"),
    ("'note id' is not a valid name; e.g. note_id", None),
    ("Name of a parameter", "\x15note_id"),
    ("Its type:", DOWN),
    ("Its description:", "The ID: a number."),
    ("Is it required?", "y"),
    ("Name of a parameter", ""),
    ("Before it runs:", DOWN + DOWN),
    (
        "The question, e.g.",
        "Archive note {{note_id}}?".replace("{{", "{").replace("}}", "}"),
    ),
    ("Why its hints are right", ""),
    ("Write it?", "y"),
]


def terminal(
    project: Path, steps: Sequence[tuple[str, str | None]], *, leave: bool = False
) -> tuple[int, str]:
    """Walk `add` in a terminal; its exit code and all that was on the screen."""
    pexpect = pytest.importorskip("pexpect")
    calm = environment(**uv_settings(project), PROMPT_TOOLKIT_NO_CPR="1", TERM="xterm")
    calm |= forked.fork_variables()
    child = pexpect.spawn(
        sys.executable,
        ["-P", "-m", "copier_fastmcp", "add", "--trust"],
        cwd=project,
        env=calm,
        preexec_fn=interruptible,
        encoding="utf-8",
        dimensions=(40, 100),
        timeout=120,
    )
    screen = ""
    for number, (question, keys) in enumerate(steps):
        child.expect_exact(question)
        screen += child.before
        if leave and number == len(steps) - 1:
            child.send(LEAVE)
        elif (
            keys is not None
        ):  # else it is a mistake, told before the question comes again
            alone = question in ("Is it required?", "Write it?") or keys == BACK
            child.send(keys if alone else keys + ENTER)
    child.expect(pexpect.EOF)
    screen += child.before
    child.close()
    return child.exitstatus, screen


@TERMINAL
def test_in_a_terminal(mine: Path) -> None:
    code, screen = terminal(mine, WALK)
    assert code == 0, screen
    assert "replaces or assigns: same input, same end state" in screen, (
        "each behavior says what it means"
    )
    assert "destructiveHint=true" in screen
    text = (mine / SRC / "tools/archive_note.py").read_text()
    assert 'confirm="Archive note {note_id}?"' in text
    assert '"""Put a note away."""' in text
    assert "note_id: Annotated[int" in text
    assert 'description="The ID: a number."' in text
    pinned = (mine / "annotations.lock.json").read_text()
    assert '"archive_note"' in pinned


@TERMINAL
@pytest.mark.parametrize("at", nightly_but([18], [1, 6, 11, 18, len(WALK)]))
def test_leaving_writes_nothing(mine: Path, at: int) -> None:
    before = bytes_of(mine)
    code, screen = terminal(mine, WALK[:at], leave=True)
    assert code == 130, screen
    assert "nothing was written" in screen
    assert uncommitted(mine) == set()
    assert bytes_of(mine) == before


@TERMINAL
@pytest.mark.nightly
def test_saying_no_writes_nothing(mine: Path) -> None:
    code, _ = terminal(mine, [*WALK[:-1], ("Write it?", "n")])
    assert code == 130
    assert uncommitted(mine) == set()
