"""What a kill and a full disk leave behind, and `metadata edit`: a whole file, the new one or the old."""

import io
import random
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import forked
import pexpect
import pytest
import wire
import yaml
from listening import PATIENCE
from support import server
from texts import LAID_OUT, RESTART, Cli, environ, module, served, texts, write

LOOP = """
import itertools
from lab_texts.engine.metadata.commands import MetadataCommands
from lab_texts.engine.project import Project
from lab_texts.policy import POLICY
commands = MetadataCommands(Project(POLICY))
print("ready", flush=True)
for n in itertools.count():
    commands.set_("get_meter", "description", f"{n % 10}" * 1900)
"""


@pytest.mark.nightly
def test_a_killed_set_leaves_a_whole_file(lab: Path, home: Path, mine: Path) -> None:
    dice = random.Random(3)
    for _ in range(3):
        process = subprocess.Popen(
            forked.python(["-c", LOOP]), env=environ(lab, home), stdout=subprocess.PIPE
        )
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.stdout.readline()
        time.sleep(dice.random() / 4)
        process.kill()
        process.communicate()
        description = yaml.safe_load(mine.read_text())["tools"]["get_meter"][
            "description"
        ]
        assert len(description) == 1900
        assert len(set(description)) == 1
    assert texts(served(mine))["tools"]["get_meter"]["description"] == description


EIGHT = """
import sys
from lab_texts.engine.metadata.commands import MetadataCommands
from lab_texts.engine.project import Project
from lab_texts.policy import POLICY
commands = MetadataCommands(Project(POLICY))
texts = commands._texts()
commands._texts = lambda: texts
print("ready", flush=True)
sys.stdin.readline()
commands.set_(*sys.argv[1:])
"""


def test_eight_changes_at_once_are_all_kept(lab: Path, home: Path, mine: Path) -> None:
    """Commands in processes of their own, let go in the same moment."""
    write(mine, LAID_OUT)
    fields = ["title", "description", "arguments.meter_id", "arguments.unit"]
    changes = [["get_meter", field, f"T {n}"] for n, field in enumerate(fields)]
    changes += [
        ["create_meter", "description", "T 4"],
        ["delete_meter", "title", "T 5"],
    ]
    changes += [["lab://meters", "name", "T 6"], ["lab://help", "description", "T 7"]]
    ends = []
    for words in changes:
        ends.append(
            subprocess.Popen(
                forked.python(["-c", EIGHT, *words]),
                env=environ(lab, home),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
        )
    for end in ends:
        assert end.stdout
        assert end.stdout.readline() == b"ready\n"
    for end in ends:
        assert end.stdin
        end.stdin.close()
    assert [end.wait(PATIENCE) for end in ends] == [0] * 8
    text = mine.read_text()
    assert [value for *_, value in changes if value not in text] == []
    assert [path.name for path in mine.parent.iterdir()] == ["metadata.yaml"]


def test_a_change_by_another_program_is_not_undone(
    cli: Cli, lab: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that takes no lock: an editor that saves after the file was read."""
    write(mine, LAID_OUT)
    cli_module = module("engine.metadata.commands")
    write_value = cli_module.write_value

    def slow(*words: Any) -> Any:
        mine.write_text("version: 1\n")
        return write_value(*words)

    monkeypatch.setattr(cli_module, "write_value", slow)
    done = cli("set", "get_meter", "title", "New")
    assert (
        done.err
        == f"lab-texts: {mine} was changed in the meantime; nothing was changed\n"
    )
    assert (done.code, mine.read_text()) == (1, "version: 1\n")


def test_a_loop_of_links_is_one_line(cli: Cli, mine: Path) -> None:
    mine.parent.mkdir()
    mine.symlink_to(mine)
    for words in (
        ["init"],
        ["set", "get_meter", "title", "T"],
        ["edit"],
        ["list"],
        ["validate"],
    ):
        done = cli(*words)
        assert re.fullmatch(f"lab-texts: {mine} cannot be read: .*\n", done.err), words
        assert done.code == 1


@pytest.mark.parametrize("event", ["tempfile.mkstemp", "os.rename"])
def test_a_set_killed_at_the_worst_moment_leaves_the_old_file(
    lab: Path, home: Path, mine: Path, event: str
) -> None:
    """Python tells of each step before it takes it: the process kills itself there."""
    write(mine, LAID_OUT)
    code = f"""
import os, signal, sys
from lab_texts.engine.metadata.commands import MetadataCommands
from lab_texts.engine.project import Project
from lab_texts.policy import POLICY
commands = MetadataCommands(Project(POLICY))
sys.addaudithook(lambda name, arguments: name == {event!r} and os.kill(os.getpid(), signal.SIGKILL))
commands.set_("get_meter", "title", "New")
"""
    done = subprocess.run(
        forked.python(["-c", code]), env=environ(lab, home), check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert mine.read_text() == LAID_OUT


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if (
        not shutil.which("mount")
        or subprocess.run(words, capture_output=True, check=False).returncode
    ):
        pytest.skip("mounting a small file system takes rights that this user has not")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_leaves_the_old_file(
    cli: Cli, small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(small_disk / "texts.yaml", LAID_OUT)
    with pytest.raises(OSError, match="No space"):
        (small_disk / "filler").write_bytes(b"x" * 2**20)
    monkeypatch.setenv("LAB_TEXTS_METADATA", str(path))
    done = cli("set", "get_meter", "title", "New")
    assert (
        done.err == f"lab-texts: {path}: No space left on device; nothing was changed\n"
    )
    assert path.read_text() == LAID_OUT
    assert {path.name for path in small_disk.iterdir()} == {"texts.yaml", "filler"}


def editor(home: Path, *edits: str) -> str:
    """A program that edits as told, a step each time that it is opened."""
    script = home / "editor.py"
    script.write_text(
        f"import pathlib, sys\ncount = pathlib.Path({str(home / 'count')!r})\n"
        "n = int(count.read_text()) if count.exists() else 0\ncount.write_text(str(n + 1))\n"
        f"path, edits = pathlib.Path(sys.argv[-1]), {list(edits)!r}\n"
        "exec(edits[n])\n"
    )
    return f"{shlex.quote(sys.executable)} {shlex.quote(str(script))}"


def test_edit_opens_the_editor_and_saves_what_is_valid(
    cli: Cli, home: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(mine, LAID_OUT)
    add = "path.write_text(path.read_text().replace('title: Old', 'title: New'))"
    monkeypatch.setenv("VISUAL", editor(home, add))
    monkeypatch.setenv("EDITOR", "false")
    assert cli("edit").out == f"{mine} is saved. {RESTART}\n"
    assert mine.read_text() == LAID_OUT.replace("title: Old", "title: New")
    monkeypatch.delenv("VISUAL")
    done = cli("edit")
    assert done.out.startswith("the editor 'false', of VISUAL or EDITOR: Command")
    assert done.err.startswith(f"{mine} is unchanged; your text is in ")


def test_edit_begins_a_file(
    cli: Cli, home: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv(
        "EDITOR", editor(home, "assert 'Keep secrets out' in path.read_text()")
    )
    assert cli("edit").code == 0
    assert stat.S_IMODE(mine.stat().st_mode) == 0o600


def test_edit_without_any_editor_names_both_variables(lab: Path, home: Path) -> None:
    bare = {"VISUAL": "", "EDITOR": "", "PATH": str(home)}
    done = server(lab, "metadata", "edit", HOME=str(home), **bare)
    line = "the editor 'vi', of VISUAL or EDITOR: [Errno 2] No such file or directory: 'vi'\n"
    assert (done.returncode, done.stdout) == (1, line)


@pytest.mark.parametrize("named", ["no-such-editor --wait", "'", " "])
def test_edit_with_an_editor_that_is_not_there_is_one_line(
    cli: Cli, home: Path, mine: Path, monkeypatch: pytest.MonkeyPatch, named: str
) -> None:
    monkeypatch.setenv("VISUAL", named)
    done = cli("edit")
    assert done.out.startswith(f"the editor {named!r}, of VISUAL or EDITOR: ")
    assert done.err.startswith(f"{mine} is unchanged; your text is in ")
    assert (done.code, done.out.count("\n"), mine.exists()) == (1, 1, False)


def test_edit_keeps_the_old_file_when_the_new_one_is_invalid(
    cli: Cli, home: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(mine, LAID_OUT)
    monkeypatch.setenv("VISUAL", editor(home, "path.write_text('tools: {zz: {}}')"))
    done = cli("edit")
    assert (
        done.out
        == f"{mine}: Unknown tool: zz; `lab-texts metadata export` lists them all\n"
    )
    match = re.fullmatch(f"{mine} is unchanged; your text is in (.*)\n", done.err)
    assert match
    assert Path(match[1]).read_text() == "tools: {zz: {}}"
    assert stat.S_IMODE(Path(match[1]).parent.stat().st_mode) == 0o700
    shutil.rmtree(Path(match[1]).parent)
    assert mine.read_text() == LAID_OUT


class Terminal(io.StringIO):
    """A terminal at which Ctrl-D is pressed."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def test_ctrl_d_is_a_no(
    cli: Cli, home: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor(home, "path.write_text('version: 9')"))
    monkeypatch.setattr("sys.stdin", Terminal())
    done = cli("edit")
    assert done.out.endswith("Open it again? [Y/n] ")
    match = re.fullmatch(f"{mine} is unchanged; your text is in (.*)\n", done.err)
    assert match
    assert Path(match[1]).read_text() == "version: 9"
    shutil.rmtree(Path(match[1]).parent)


def test_edit_does_not_undo_what_was_changed_meanwhile(
    cli: Cli, home: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(mine, LAID_OUT)
    statement = f"pathlib.Path({str(mine)!r}).write_text('version: 1')"
    monkeypatch.setenv("VISUAL", editor(home, statement))
    assert cli("edit").err.startswith(
        f"{mine} was changed in the meantime; your text is in "
    )
    assert mine.read_text() == "version: 1"


def test_edit_offers_to_open_it_again(lab: Path, home: Path, mine: Path) -> None:
    write(mine, LAID_OUT)
    edits = ["path.write_text('version: 9')", "path.write_text('version: 1')"]
    program, *words = wire.command(lab, "metadata", "edit")
    spawn: Any = pexpect.spawn
    terminal = spawn(
        program,
        words,
        env=environ(lab, home) | {"VISUAL": editor(home, *edits)},
        encoding="utf-8",
        timeout=PATIENCE,
    )
    terminal.expect_exact(
        "version 9 is not supported; write `version: 1` or update this server"
    )
    terminal.expect_exact("Open it again? [Y/n] ")
    terminal.sendline("")
    terminal.expect_exact("metadata.yaml is saved")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert mine.read_text() == "version: 1"
