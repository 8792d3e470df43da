"""`metadata`: what each command prints and writes, and what a kill, a full disk and a hostile value leave behind."""

import asyncio
import functools
import json
import random
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pexpect
import pytest
import wire
import yaml
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support import server
from texts import module, served, texts, write

RESTART = "Restart the server for it to take effect."


class Done(NamedTuple):
    """What a command left: its exit code, what it printed, what it complained."""

    code: object
    out: str
    err: str


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A home folder of its own, and a store in memory."""
    for name, value in {"HOME": str(tmp_path), "LAB_TEXTS_DATABASE": ":memory:"}.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def mine(home: Path) -> Path:
    """Where the user's own file is, or would be."""
    return home / ".lab-texts/metadata.yaml"


@pytest.fixture
def main(
    lab: Path, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Done]:
    """The command line, without the second that a process of its own takes to start."""

    def work(*words: str) -> Done:
        monkeypatch.setattr(sys, "argv", ["lab-texts", *words])
        said: object = None
        try:
            module("cli").main()
        except SystemExit as ended:
            said = ended.code
        printed = capsys.readouterr()
        text = f"{said}\n" if isinstance(said, str) else ""
        return Done(1 if text else said or 0, printed.out, printed.err + text)

    return work


@pytest.fixture
def cli(main: Callable[..., Done]) -> Callable[..., Done]:
    """The commands of `metadata`."""
    return functools.partial(main, "metadata")


def comments(text: str) -> list[str]:
    return re.findall(r"(?:^|\s)(#.*)$", text, re.MULTILINE)


# init, path, export, list, show


def test_init_writes_a_private_file_of_examples(
    cli: Callable[..., Done], lab: Path, home: Path, mine: Path
) -> None:
    assert cli("path").out == f"{mine}\n"
    done = cli("init")
    assert done.out == (
        f"{mine} is written. {RESTART}\n"
        "Write no secret into it: every client of the server can read these texts.\n"
    )
    assert stat.S_IMODE(mine.stat().st_mode) == 0o600
    assert stat.S_IMODE(mine.parent.stat().st_mode) == 0o700
    assert texts(served(mine)) == texts(served(None))
    live = re.sub(
        "^# (?=tools|resources|resource_templates| )", "", mine.read_text(), flags=re.MULTILINE
    )
    assert {"tools", "resources", "resource_templates"} < set(yaml.safe_load(live))
    assert texts(served(write(home / "live.yaml", live))) == texts(served(None))
    before = mine.read_bytes()
    again = cli("init")
    assert again.err == f"{mine} is there already; change it with `lab-texts metadata edit`\n"
    assert (again.code, mine.read_bytes()) == (1, before)


def test_the_file_of_the_environment_is_the_one_worked_on(
    cli: Callable[..., Done], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LAB_TEXTS_METADATA", "~/other/texts.yaml")
    assert cli("path").out == f"{home}/other/texts.yaml\n"
    assert cli("set", "get_meter", "title", "T").code == 0
    assert (home / "other/texts.yaml").exists()
    monkeypatch.setenv("LAB_TEXTS_METADATA", "none")
    assert cli("path").err == "the setting metadata is none: there is no file of your own\n"
    monkeypatch.setenv("LAB_TEXTS_METADATA", "")
    assert cli("path").out == f"{home}/.lab-texts/metadata.yaml\n"


def test_export_holds_every_text_and_reads_back_unchanged(
    cli: Callable[..., Done], lab: Path, home: Path
) -> None:
    packaged = lab / "src/lab_texts/metadata.yaml"
    before = packaged.read_text()
    try:
        packaged.write_text(
            "resources: {lab://help: {use_when: You are new.}}\n"
            "tools: {get_meter: {title: 'yes'}, create_meter: {enabled: false}}"
        )
        exported = cli("export").out
        data = yaml.safe_load(exported)
        assert texts(served(write(home / "all.yaml", exported))) == texts(served(None))
    finally:
        packaged.write_text(before)
    assert {name: set(of) for name, of in data["tools"].items()} == {
        "list_resources": {"title", "description"},
        "get_meter": {"title", "description", "arguments"},
        "create_meter": {"title", "description", "arguments", "enabled"},
        "delete_meter": {"title", "description", "arguments"},
    }
    assert set(data["tools"]["delete_meter"]["arguments"]) == {"meter_id", "confirm"}
    assert data["resources"]["lab://help"]["description"] == "How to measure."
    assert set(data["resource_templates"]) == {"lab://meters/{meter_id}"}


def test_list_and_show_name_the_file_that_says_it(
    cli: Callable[..., Done], lab: Path, mine: Path
) -> None:
    assert cli("list").out == "nothing is overridden\n"
    write(mine, "tools: {get_meter: {title: T, arguments: {unit: {description: U}}}}\n")
    told = "title: 'T'", "arguments.unit.description: 'U'"
    lines = [f"  tools.get_meter.{line}\n" for line in told]
    assert cli("list").out == f"{mine}:\n" + "".join(lines)
    assert cli("show", "get_meter").out == f"{mine}:\n" + "".join(f"  {line}\n" for line in told)
    assert cli("show", "create_meter").err == "nothing overrides 'create_meter'\n"


# set and unset

LAID_OUT = """\
# mine
version: 1   # keep

tools:
  # about the meter
  get_meter:
      title: Old   # why old

      # about its words
      description: >-
        Folded
        words.
  # about another
  "create_meter": {title: New one}   # flow
# about resources
resources:
  lab://help:
    name: 'Help'
    use_when: |
      You are new.

# the end
"""


def test_set_and_unset_keep_comments_and_order(cli: Callable[..., Done], mine: Path) -> None:
    """Each change moves the lines that it is about, and no other."""
    write(mine, LAID_OUT)
    assert (
        cli("set", "get_meter", "title", "Read: a meter").out == f"{mine} is written. {RESTART}\n"
    )
    changed = LAID_OUT.replace("title: Old ", 'title: "Read: a meter" ')
    assert mine.read_text() == changed
    cli("set", "get_meter", "arguments.unit", "A unit.")
    added = '        words.\n      arguments:\n        unit:\n          description: "A unit."\n'
    changed = changed.replace("        words.\n", added)
    assert mine.read_text() == changed
    cli("set", "create_meter", "description", "D")
    changed = changed.replace("{title: New one}", '{description: "D", title: New one}')
    assert mine.read_text() == changed
    cli("set", "lab://help", "use_when", "Always.")
    changed = changed.replace("use_when: |\n      You are new.\n\n", 'use_when: "Always."\n')
    assert mine.read_text().replace("\n\n# the end", "\n# the end") == changed
    cli("set", "lab://meters/{meter_id}", "name", "One")
    changed = mine.read_text()
    assert changed.endswith('resource_templates:\n  "lab://meters/{meter_id}":\n    name: "One"\n')
    assert comments(changed) == comments(LAID_OUT)
    for words in (
        ["create_meter", "title"],
        ["get_meter", "arguments.unit"],
        ["get_meter", "title"],
    ):
        assert cli("unset", *words).code == 0
    assert yaml.safe_load(mine.read_text())["tools"] == {
        "get_meter": {"description": "Folded words."},
        "create_meter": {"description": "D"},
    }
    assert comments(mine.read_text()) == [c for c in comments(LAID_OUT) if c != "# why old"]
    cli("unset", "get_meter")
    cli("unset", "create_meter", "description")
    assert "# about another" in mine.read_text()
    assert stat.S_IMODE(mine.stat().st_mode) == 0o600


def test_a_text_may_begin_as_an_option_does(cli: Callable[..., Done], mine: Path) -> None:
    assert cli("set", "get_meter", "description", "--fast\n- or slow").code == 0
    assert (
        yaml.safe_load(mine.read_text())["tools"]["get_meter"]["description"] == "--fast\n- or slow"
    )
    assert "Usage: lab-texts metadata set" in cli("set", "--help").out


@pytest.mark.parametrize(
    "text",
    ["", "# only comments\n", "null\n", "{}\n", "version: 1", "---\n# begun\n", "tools: {}\n"],
)
def test_set_works_on_any_beginning(cli: Callable[..., Done], mine: Path, text: str) -> None:
    write(mine, text)
    done = cli("set", "get_meter", "title", "T")
    if done.code:
        assert done.err.startswith(f"lab-texts: {mine}:2:6: ")
        assert mine.read_text() == text == "null\n"
    else:
        assert yaml.safe_load(mine.read_text())["tools"] == {"get_meter": {"title": "T"}}
        assert comments(mine.read_text()) == comments(text)


def test_set_begins_a_file_of_its_own(cli: Callable[..., Done], lab: Path, mine: Path) -> None:
    assert cli("set", "get_meter", "title", "Größe: 1").code == 0
    assert texts(served(mine))["tools"]["get_meter"]["title"] == "Größe: 1"
    assert cli("set", "get_meter", "description", "").code == 0
    assert texts(served(mine))["tools"]["get_meter"]["description"] is None
    assert cli("set", "create_meter", "enabled", "false").code == 0
    assert cli("set", "get_meter", "icons", "https://a.de/1.png https://a.de/2.png").code == 0
    found = texts(served(mine))["tools"]
    assert found["get_meter"]["icons"] == ["https://a.de/1.png", "https://a.de/2.png"]
    assert "create_meter" not in found
    assert cli("set", "get_meter", "icons", "https://a.de/3.png").code == 0
    assert cli("unset", "create_meter").code == 0
    assert "create_meter" in texts(served(mine))["tools"]


def test_windows_line_ends_stay(cli: Callable[..., Done], mine: Path) -> None:
    write(mine, "tools:\r\n  get_meter:\r\n    title: A\r\n# end\r\n")
    cli("set", "get_meter", "description", "B")
    text = b'tools:\r\n  get_meter:\r\n    title: A\r\n    description: "B"\r\n# end\r\n'
    assert mine.read_bytes() == text


REFUSED = {
    "unknown name": (
        ["set", "get_metre", "title", "T"],
        "nothing is called 'get_metre'; did you mean get_meter?",
    ),
    "unknown field": (
        ["set", "get_meter", "title_", "T"],
        "{mine}: tools.get_meter.title_: Unknown field 'title_', did you mean 'title'?",
    ),
    "unknown argument": (
        ["set", "get_meter", "arguments.units", "T"],
        "{mine}: Tool 'get_meter' has no argument 'units'; did you mean unit?",
    ),
    "hint": (
        ["set", "get_meter", "readOnlyHint", "false"],
        "{mine}: tools.get_meter.readOnlyHint: overrides change words, never hints; change the tool itself",
    ),
    "bidi": (
        ["set", "get_meter", "title", "\u202eevil"],
        "{mine}:4: U+202E is a hidden character; take it out",
    ),
    "NUL": (
        ["set", "get_meter", "title", "a\0b"],
        "{mine}: tools.get_meter.title: Text should have no U+0000 (got a�b)",
    ),
    "half a character": (
        ["set", "get_meter", "title", "\udcff"],
        "{mine}:4: U+DCFF is a hidden character; take it out",
    ),
    "no boolean": (
        ["set", "get_meter", "enabled", "maybe"],
        "{mine}: tools.get_meter.enabled: Input should be a valid boolean (got maybe)",
    ),
    "empty title": (
        ["set", "get_meter", "title", ""],
        "{mine}: tools.get_meter.title: String should match pattern '^.+$' (got )",
    ),
    "too long": (
        ["set", "get_meter", "description", "a" * 2001],
        f"{{mine}}: tools.get_meter.description: String should have at most 2000 characters (got {'a' * 79}…)",
    ),
    "nothing to take out": (
        ["unset", "get_meter", "description"],
        "{mine} says nothing about get_meter.description",
    ),
    "nobody to take out": (["unset", "create_meter"], "{mine} says nothing about create_meter"),
}


@pytest.mark.parametrize(("words", "line"), REFUSED.values(), ids=REFUSED)
def test_a_refused_change_leaves_the_file(
    cli: Callable[..., Done], mine: Path, words: list[str], line: str
) -> None:
    text = b"version: 1\ntools:\n  get_meter:\n    title: A\n"
    write(mine, text)
    done = cli(*words)
    assert done.err.removeprefix("lab-texts: ") == line.replace("{mine}", str(mine)) + "\n"
    assert (done.code, mine.read_bytes()) == (1, text)
    assert [path.name for path in mine.parent.iterdir()] == ["metadata.yaml"]


def test_a_file_as_large_as_can_be_does_not_grow(cli: Callable[..., Done], mine: Path) -> None:
    text = b"#" * 65_530 + b"\n"
    write(mine, text)
    assert cli("set", "get_meter", "title", "A").code == 1
    assert mine.read_bytes() == text


def test_a_link_stays_a_link(cli: Callable[..., Done], home: Path, mine: Path) -> None:
    target = write(home / "dotfiles/texts.yaml", "version: 1\n")
    mine.parent.mkdir()
    mine.symlink_to(target)
    assert cli("set", "get_meter", "title", "A").code == 0
    assert mine.is_symlink()
    assert "title" in target.read_text()


names = st.sampled_from(["get_meter", "create_meter", "list_resources"])
fields = st.sampled_from(["title", "description", "arguments.unit"])
words = st.text("aé :#-{}[],'\"\\%&*!|>@`?=~\n", min_size=1, max_size=12).filter(str.strip)
layouts = st.dictionaries(
    names,
    st.fixed_dictionaries(
        {"title": words.map(lambda t: t.replace("\n", " "))}, optional={"description": words}
    ),
    max_size=3,
)


@settings(max_examples=120, deadline=None, suppress_health_check=[*HealthCheck])
@given(
    data=layouts,
    flow=st.sampled_from([False, None, True]),
    indent=st.sampled_from([2, 4]),
    name=names,
    field=fields,
    value=words | st.none(),
    spots=st.lists(st.integers(0, 30), max_size=4),
)
def test_a_change_of_any_file_is_that_change_or_refused(
    cli: Callable[..., Done],
    mine: Path,
    data: dict[str, Any],
    flow: bool | None,
    indent: int,
    name: str,
    field: str,
    value: str | None,
    spots: list[int],
) -> None:
    """Whatever the layout: what the file says is what was asked for, and every comment line stays."""
    written = {"version": 1, "tools": data}
    lines = yaml.safe_dump(written, default_flow_style=flow, indent=indent, allow_unicode=True)
    split = lines.splitlines()
    for n, spot in enumerate(spots):
        split.insert(spot % (len(split) + 1), f"# comment {n}")
    text = "\n".join(split) + "\n"
    try:
        commented = yaml.safe_load(text) == written
    except yaml.YAMLError:
        commented = False
    text = text if commented else lines
    write(mine, text)
    done = cli("set", name, field, value) if value is not None else cli("unset", name, field)
    if done.code:
        assert mine.read_text() == text
        assert done.err.count("\n") == 1
        return
    said: Any = written["tools"]
    where = [name, "arguments", "unit", "description"] if "." in field else [name, field]
    for key in where[:-1]:
        said = said.setdefault(key, {})
    if value is None:
        del said[where[-1]]
    else:
        said[where[-1]] = value
    pruned = module("policy.metadata_cli")._pruned
    assert pruned(yaml.safe_load(mine.read_text())) == pruned(written)
    whole = re.compile("^# comment .$", re.MULTILINE)
    if field != "description":  # a comment inside of what is taken out goes with it
        assert whole.findall(mine.read_text()) == whole.findall(text)


# Whole or old, whatever happens

LOOP = """
import itertools
from lab_texts.policy import metadata_cli
print("ready", flush=True)
for n in itertools.count():
    metadata_cli.set_("get_meter", "description", f"{n % 10}" * 1900)
"""


def environ(lab: Path, home: Path) -> dict[str, str]:
    return wire.environ(lab, home) | {"LAB_TEXTS_DATABASE": ":memory:", "NO_COLOR": "1"}


def test_a_killed_set_leaves_a_whole_file(lab: Path, home: Path, mine: Path) -> None:
    dice = random.Random(3)
    for _ in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", LOOP], env=environ(lab, home), stdout=subprocess.PIPE
        )
        assert process.stdout
        assert process.stdout.readline() == b"ready\n"
        process.stdout.readline()
        time.sleep(dice.random() / 4)
        process.kill()
        process.communicate()
        said = yaml.safe_load(mine.read_text())["tools"]["get_meter"]["description"]
        assert len(said) == 1900
        assert len(set(said)) == 1
    assert texts(served(mine))["tools"]["get_meter"]["description"] == said


@pytest.mark.parametrize("event", ["tempfile.mkstemp", "os.rename"])
def test_a_set_killed_at_the_worst_moment_leaves_the_old_file(
    lab: Path, home: Path, mine: Path, event: str
) -> None:
    """Python tells of each step before it takes it: the process kills itself there."""
    write(mine, LAID_OUT)
    code = f"""
import os, signal, sys
from lab_texts.policy import metadata_cli
sys.addaudithook(lambda name, of: name == {event!r} and os.kill(os.getpid(), signal.SIGKILL))
metadata_cli.set_("get_meter", "title", "New")
"""
    done = subprocess.run([sys.executable, "-c", code], env=environ(lab, home), check=False)
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
    cli: Callable[..., Done], small_disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(small_disk / "texts.yaml", LAID_OUT)
    with pytest.raises(OSError, match="No space"):
        (small_disk / "filler").write_bytes(b"x" * 2**20)
    monkeypatch.setenv("LAB_TEXTS_METADATA", str(path))
    done = cli("set", "get_meter", "title", "New")
    assert done.err == f"lab-texts: {path}: No space left on device; nothing was changed\n"
    assert path.read_text() == LAID_OUT
    assert {found.name for found in small_disk.iterdir()} == {"texts.yaml", "filler"}


# edit


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
    cli: Callable[..., Done], home: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(mine, LAID_OUT)
    add = "path.write_text(path.read_text().replace('title: Old', 'title: New'))"
    monkeypatch.setenv("VISUAL", editor(home, add))
    monkeypatch.setenv("EDITOR", "false")
    assert cli("edit").out == f"{mine} is written. {RESTART}\n"
    assert mine.read_text() == LAID_OUT.replace("title: Old", "title: New")
    monkeypatch.delenv("VISUAL")
    assert cli("edit").err == f"false failed; {mine} stays as it was\n"


def test_edit_begins_a_file(
    cli: Callable[..., Done], home: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", editor(home, "assert 'No secret' in path.read_text()"))
    assert cli("edit").code == 0
    assert stat.S_IMODE(mine.stat().st_mode) == 0o600


def test_edit_without_any_editor_names_both_variables(lab: Path, home: Path) -> None:
    bare = {"VISUAL": "", "EDITOR": "", "PATH": str(home)}
    done = server(lab, "metadata", "edit", HOME=str(home), **bare)
    assert done.stderr == "no editor is known: set VISUAL or EDITOR, e.g. EDITOR=nano\n"


def test_edit_keeps_the_old_file_when_the_new_one_is_invalid(
    cli: Callable[..., Done], home: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(mine, LAID_OUT)
    monkeypatch.setenv("VISUAL", editor(home, "path.write_text('tools: {zz: {}}')"))
    done = cli("edit")
    assert done.out == f"{mine}: Unknown tool: zz; `lab-texts metadata export` has them all\n"
    found = re.fullmatch(f"{mine} stays as it was; your text is in (.*)\n", done.err)
    assert found
    assert Path(found[1]).read_text() == "tools: {zz: {}}"
    assert stat.S_IMODE(Path(found[1]).parent.stat().st_mode) == 0o700
    shutil.rmtree(Path(found[1]).parent)
    assert mine.read_text() == LAID_OUT


def test_edit_does_not_undo_what_was_changed_meanwhile(
    cli: Callable[..., Done], home: Path, mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(mine, LAID_OUT)
    other = f"pathlib.Path({str(mine)!r}).write_text('version: 1')"
    monkeypatch.setenv("VISUAL", editor(home, other))
    assert cli("edit").err.startswith(f"{mine} was changed meanwhile; your text is in ")
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
        timeout=60,
    )
    terminal.expect_exact("version 9 is unknown; write version: 1, or update this server")
    terminal.expect_exact("Open it again? [Y/n] ")
    terminal.sendline("")
    terminal.expect_exact("metadata.yaml is written")
    terminal.expect(pexpect.EOF)
    terminal.close()
    assert terminal.exitstatus == 0
    assert mine.read_text() == "version: 1"


# validate, tokens, proxy


def test_validate_checks_without_running_a_server(cli: Callable[..., Done], mine: Path) -> None:
    assert cli("validate") == (0, f"{mine} is not there, so it overrides nothing\n", "")
    write(mine, "tools: {get_meter: {title: T}}")
    assert cli("validate") == (0, f"{mine} is valid\n", "")
    write(mine, "tools: {zz: {title: T}, yy: {title: T}}")
    lines = [
        f"{mine}: Unknown tool: {n}; `lab-texts metadata export` has them all\n"
        for n in ("zz", "yy")
    ]
    assert cli("validate") == (1, "".join(lines), "")
    write(mine, "strict: false\ntools: {zz: {title: T}, yy: {title: T}}")
    assert cli("validate") == (0, "".join(lines), "")
    write(mine, "tools: [")
    assert cli("validate").err.startswith(f"lab-texts: {mine}:2:1: not YAML")


def test_validate_asks_a_server_that_runs(
    cli: Callable[..., Done], lab: Path, home: Path, mine: Path
) -> None:
    """Over HTTP and stdio; its own overrides are in force, the tool that they take away included."""
    text = "tools: {get_meter: {title: T, arguments: {unit: {description: U}}}, create_meter: {enabled: false}}\n"
    write(mine, text + "resources: {lab://help: {name: N}}\n")
    with wire.http(lab, home) as url:
        assert cli("validate", "--url", url).out == f"{mine} is valid\n"
        write(mine, "tools: {zz: {}}")
        assert cli("validate", "--url", url).out.startswith(f"{mine}: Unknown tool: zz; ")
        write(mine, "tools: {get_meter: {arguments: {zz: {}}}}")
        assert cli("validate", "--url", url).out.startswith(
            f"{mine}: Tool 'get_meter' has no argument 'zz'"
        )
    write(mine, text)
    command = shlex.join(wire.command(lab, "run"))
    asked = server(lab, "metadata", "validate", "--server", command, HOME=str(home))
    assert asked.stdout == f"{mine} is valid\n"
    gone = cli("validate", "--url", url)
    assert gone.err.startswith(f"lab-texts: {url} does not answer: ")
    assert (gone.code, gone.err.count("\n")) == (1, 1)


def test_tokens_before_and_after(cli: Callable[..., Done], mine: Path) -> None:
    text = "x" * 400
    write(
        mine, f'tools: {{get_meter: {{description: "{text}"}}, create_meter: {{enabled: false}}}}'
    )
    rows = [line.split() for line in cli("tokens").out.splitlines()]
    found = {row[2]: (int(row[0]), int(row[1])) for row in rows[:-1]}
    assert set(found) == {"get_meter", "create_meter", "delete_meter", "list_resources", "total"}
    before, after = found["get_meter"]
    assert 90 < after - before < 100
    assert found["create_meter"][1] == 0
    assert found["total"] == tuple(
        sum(of[n] for name, of in found.items() if name != "total") for n in (0, 1)
    )
    assert " ".join(rows[-1]).startswith("An estimate: a token for 4 bytes")


@pytest.mark.parametrize("era", wire.ERAS)
def test_a_proxy_passes_the_overridden_texts_through(
    lab: Path, home: Path, mine: Path, era: str
) -> None:
    write(
        mine,
        "tools: {get_meter: {title: Through, description: Words.}, create_meter: {enabled: false}}\n"
        "resources: {lab://help: {name: Aid}}\nresource_templates:\n  lab://meters/{meter_id}:\n"
        "    description: One.\n",
    )

    async def facts(client: Client[Any]) -> Any:
        async with client:
            listed: list[Any] = [
                await client.list_tools(),
                await client.list_resources(),
                await client.list_resource_templates(),
            ]
            plain = [[i.model_dump(exclude_none=True) for i in items] for items in listed]
            answer = await client.call_tool("list_resources")
            read = [item.model_dump() for item in await client.read_resource("lab://help")]
            return json.loads(json.dumps([plain, answer.structured_content, read], default=str))

    with wire.http(lab, home) as url:
        program, *words = wire.command(lab, "run", "--proxy", url)
        behind = StdioTransport(program, words, env=environ(lab, home), keep_alive=False)
        direct = asyncio.run(facts(Client(url, mode=era)))
        assert asyncio.run(facts(Client(behind, mode=era))) == direct
    assert "Through" in str(direct)
    assert "Aid" in str(direct)


def test_a_proxy_is_for_stdio_and_http_addresses(main: Callable[..., Done]) -> None:
    assert main("run", "--proxy", "evil.py").err == (
        "--proxy evil.py: no http or https address; e.g. http://127.0.0.1:8000/mcp\n"
    )
    for more in (["--http"], ["--metadata", "x"], ["--read-only"]):
        assert main("run", "--proxy", "http://127.0.0.1:9/mcp", *more) == (
            1,
            "",
            "--proxy is a bridge from stdio; --http, --read-only, --metadata go to the server\n",
        )


def test_run_does_not_import_the_commands(lab: Path, home: Path) -> None:
    code = textwrap.dedent("""
        import sys
        from lab_texts.cli import main
        sys.argv = ["lab-texts", "run"]
        try:
            main()
        finally:
            print([m for m in ("metadata_cli", "policy_cli") if f"lab_texts.policy.{m}" in sys.modules], file=sys.stderr)
    """)
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environ(lab, home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.splitlines()[-1] == "[]"
