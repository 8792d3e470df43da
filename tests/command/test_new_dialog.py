"""`new` as a person in a terminal meets it."""

import json
import re
import shutil
import sys
from pathlib import Path

import forked
import pytest
import yaml
from calling import call, environment, interruptible
from support import ROOT, nightly_but

from copier_fastmcp.scaffolding.installation import format_steps
from copier_fastmcp.scaffolding.tool_preview import (
    NARROW,
    find_created_record,
    strip_record,
)
from copier_fastmcp.terminal.prompts import choose_help
from copier_fastmcp.terminal.text_tables import print_table

TERMINAL = pytest.mark.skipif(
    sys.platform == "win32", reason="needs a terminal of POSIX"
)
DOWN, ENTER, LEAVE, BACK = "\x1b[B", "\r", "\x03", "\x1b"
FIRST = "Where do the tools come from?"
ABOUT, TOOLS = (
    "What is the server about? (a plural noun)",
    "Tools, separated by commas:",
)
NAME, PROFILE, RIGHT = (
    "Command that starts the server:",
    "Which profile?",
    "Is this right?",
)
INSTALL = "Install it"
ERASE = "\x15"


def terminal(
    folder: Path,
    template: Path,
    steps: list[tuple[str, str]],
    columns: int = 80,
    words: tuple[str, ...] = (),
    **environ: str,
) -> tuple[int, str]:
    """Walk `new`, or what `words` say, in a terminal; its exit code and all that was on the screen."""
    arguments = list(words) or ["new", "mine", "--template", str(template)]
    pexpect = pytest.importorskip("pexpect")
    calm = environment(PROMPT_TOOLKIT_NO_CPR="1", TERM="xterm")
    calm |= forked.fork_variables() | environ
    calm.pop("COLUMNS")
    child = pexpect.spawn(
        sys.executable,
        ["-P", "-m", "copier_fastmcp", *arguments],
        cwd=folder,
        env=calm,
        preexec_fn=interruptible,
        encoding="utf-8",
        dimensions=(50, columns),
        timeout=120,
    )
    screen = ""
    for question, keys in steps:
        for part in question.split(
            "|"
        ):  # what was asked is written again when it is answered
            child.expect_exact(part)
            screen += child.before + part
        child.send(keys)
    child.expect(pexpect.EOF)
    screen += child.before
    child.close()
    return child.exitstatus, screen


WALK = [
    (FIRST, ENTER),
    (ABOUT, "Big Orders" + ENTER),  # over what is there in gray
    ("write big_orders|" + ABOUT, ERASE + "orders" + ENTER),
    (TOOLS, "?" + ENTER),
    ("anything else|" + TOOLS, "search_orders, shelve_order" + ENTER),
    ("shelve_order=put|" + TOOLS, ENTER),
    (NAME, BACK),
    (TOOLS, BACK),
    (ABOUT, ENTER),
    (TOOLS, ENTER),
    (NAME, ENTER),
    (PROFILE, ENTER),
    (RIGHT, DOWN + ENTER),
    ("Which tool?", DOWN + ENTER),
    ("What should change in shelve_order?", DOWN * 4 + ENTER),
    ("Before it runs:", DOWN + ENTER),
    ("yes (said)|" + RIGHT, DOWN * 2 + ENTER),
    ("Its name", "create_order=import" + ENTER),
    ("is not a behavior|Its name", ERASE + "import_order=create" + ENTER),
    (RIGHT, ENTER),
    ("2 files differ|that differ?", DOWN * 2 + ENTER),
    ("-Mine.|that differ?", BACK),
    (RIGHT, ENTER),
    ("that differ?", ENTER),
    (INSTALL, "n"),
]
SCREEN = """\
                            read-   destruc-   idem-    Asks a
 Tool            Behavior   only    tive       potent   person   From
 --------------------------------------------------------------------
 search_orders   read       yes     no         yes      no       its name
 shelve_order    put        no      yes        yes      no       you
"""


def strip_escapes(screen: str) -> str:
    """Return the text of a screen without escape sequences, on one line."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen)
    return " ".join(re.sub("[\u2500\u2501]+", "-", text).split())


@TERMINAL
@pytest.mark.parametrize("columns", nightly_but([80], [80, 200]))
def test_forward_and_back_in_a_terminal(
    template: Path, tmp_path: Path, columns: int
) -> None:
    (tmp_path / "mine").mkdir()
    for name in ("README.md", "LICENSE"):
        (tmp_path / "mine" / name).write_text("Mine.\n")
    code, screen = terminal(tmp_path, template, WALK, columns)
    assert code == 0, screen
    plain = strip_escapes(screen)
    assert "! 'Big Orders' is not a valid name; write big_orders" in plain, (
        "a mistake stands whole, with its fix"
    )
    assert "! 'shelve' is no known verb; write shelve_order=put" in plain
    assert "replaces or assigns: same input, same end state" in plain, (
        "each behavior says what it means"
    )
    assert " ".join(re.sub("-+\n", "-\n", SCREEN).split()) in plain, (
        "a line for each tool"
    )
    assert "uv run orders-mcp run" in plain
    tools = tmp_path / "mine/src/orders_mcp/tools"
    assert "@put(" in (tools / "shelve_order.py").read_text()
    assert "confirm=True" in (tools / "shelve_order.py").read_text()
    assert "@create(" in (tools / "import_order.py").read_text()
    assert (tmp_path / "mine/README.md").read_text() == "Mine.\n"
    widest = max(
        len(line) for line in re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).splitlines()
    )
    assert widest <= 200


@TERMINAL
@pytest.mark.nightly
def test_the_fields_of_a_record_are_asked_and_shown(
    template: Path, tmp_path: Path
) -> None:
    steps = [
        (FIRST, ENTER),
        (ABOUT, "reading" + ENTER),
        (TOOLS, "add_article, get_article, add_tag, import_articles=create" + ENTER),
        ("Fields of article:", "title, tags (colour)" + ENTER),
        ("is unknown|Fields of article:", ERASE + "title, tags, read" + ENTER),
        ("add_article(title: str, tags: list[str], read: bool)|" + NAME, ENTER),
        (PROFILE, ENTER),
        (RIGHT, ENTER),
        (INSTALL, "n"),
    ]
    code, screen = terminal(tmp_path, template, steps, 200)
    assert code == 0, screen
    answers = yaml.safe_load((tmp_path / "mine/.copier-answers.yml").read_text())
    assert answers["fields"] == {"article": "title, tags, read"}
    assert {"name": "add_tag", "behavior": "append"} in answers["tools"]
    assert "import_articles(" not in screen, "an outline has no fields yet"
    tool = (tmp_path / "mine/src/reading_mcp/tools/add_article.py").read_text()
    assert "tags: Annotated[list[str]" in tool


def test_the_keys_of_a_question_fit_into_its_line() -> None:
    question = "Is this right? Nothing is written yet."
    assert choose_help(question, 80) == "(Esc: back, Ctrl-C: leave)"
    assert choose_help(question, 60) == "(Esc: back)"
    assert choose_help(question, 40) == ""


def test_the_next_steps_fit_into_a_narrow_terminal() -> None:
    steps = [("uv run notes-mcp run", "serve over stdio"), ("uv run pytest", "test")]
    wide = ["uv run notes-mcp run  # serve over stdio", "uv run pytest         # test"]
    assert format_steps(steps, None) == format_steps(steps, 42) == wide
    assert format_steps(steps, 41)[:2] == ["# serve over stdio", "uv run notes-mcp run"]


def test_the_heads_of_a_narrow_table_are_whole(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    row = [["get_note", "read", "yes", "no", "yes", "no", "its name"]]
    monkeypatch.setenv("COLUMNS", "40")
    print_table(NARROW, row)
    narrow = capsys.readouterr().out
    assert "read-only: yes, destructive: no" in narrow.replace("\n  ", " ")
    monkeypatch.setenv("COLUMNS", "100")
    print_table(NARROW, row)
    assert "destruc-" in capsys.readouterr().out


def test_fields_may_name_their_record() -> None:
    assert strip_record("article: title, url", "article") == "title, url"
    assert strip_record("title, url", "article") == "title, url"
    assert strip_record("tag: name", "article") == "tag: name"


def test_the_record_is_that_of_the_first_creating_tool() -> None:
    assert find_created_record("get_note, create_order, add_article") == "order"
    assert find_created_record("get_note, ping") == ""


@TERMINAL
@pytest.mark.parametrize(
    "steps", nightly_but(["25"], ["1", "6", "13", "20", "24", "25"])
)
def test_leaving_leaves_nothing(template: Path, tmp_path: Path, steps: str) -> None:
    at, place = int(steps), tmp_path / "mine"
    place.mkdir()
    for name in ("README.md", "LICENSE"):
        (place / name).write_text("Mine.\n")
    code, screen = terminal(
        tmp_path, template, [*WALK[: at - 1], (WALK[at - 1][0], LEAVE)]
    )
    assert code == 130, screen
    assert "nothing was written" in screen
    assert sorted(path.name for path in place.iterdir()) == ["LICENSE", "README.md"]


@TERMINAL
def test_leaving_while_it_is_installed_leaves_nothing(
    template: Path, tmp_path: Path
) -> None:
    """Of a uv that takes long; one that fails is said, and the files stay."""
    uv = tmp_path / "bin/uv"
    uv.parent.mkdir()
    uv.write_text("#!/bin/sh\nmkdir .venv && touch uv.lock\nsleep 60\n")
    uv.chmod(0o755)
    words: tuple[str, ...] = (
        "new",
        "mine",
        "--tools",
        "get_note",
        "--server-name",
        "notes-mcp",
    )
    words += ("--profile", "explicit", "--template", str(template))
    # A signal from the terminal reaches the process that was started there, not one that was forked for it.
    path, forks = f"{uv.parent}:/usr/bin:/bin", ""
    steps = [(RIGHT, ENTER), (INSTALL, "y"), ("installs it", ""), ("...", LEAVE)]
    code, screen = terminal(
        tmp_path, template, steps, words=words, PATH=path, FORKS=forks
    )
    assert code == 130, screen
    assert "nothing was written" in screen
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]
    uv.write_text("#!/bin/sh\necho 'error: no space left' >&2\nexit 2\n")
    code, screen = terminal(
        tmp_path, template, steps[:2], words=words, PATH=path, FORKS=forks
    )
    assert code == 2, screen
    assert (
        "uv sync: error: no space left; the files of mine are written"
        in strip_escapes(screen)
    )
    assert "uv sync && uv run tests/policy/pin.py" in screen
    assert (tmp_path / "mine/pyproject.toml").is_file()


@TERMINAL
def test_from_a_document_in_a_terminal(template: Path, tmp_path: Path) -> None:
    """What says too little is asked, a row can still be changed, and names after it are names alone."""
    shutil.copy(ROOT / "examples/documents/parcels.yaml", tmp_path)
    (tmp_path / "bad.yml").write_text("tools: [get_note=reed]\n")
    document = [
        ("Which file?", "parcels.yaml" + ENTER),
        ("POST /parcels/{parcel_id}/insurance|What does it do?", "\x1b[A" * 2 + ENTER),
        (NAME, BACK),
        ("Which file?", ENTER),
        ("Read it again?", "n"),
        (NAME, ENTER),
    ]
    walk = [
        (FIRST, DOWN * 2 + ENTER),
        ("Which file?", "none.yaml" + ENTER),
        ("is not a file|Which file?", ERASE + "bad.yml" + ENTER),
        ('"reed"|Which file?', BACK),
        (FIRST, "\x1b[A" + ENTER),
        *document,
        (PROFILE, ENTER),
        ("your choice|" + RIGHT, DOWN + ENTER),
        ("Which tool?", ENTER),
        ("What should change in list_parcels?", ENTER),
        ("Its name", ERASE + "browse_parcels" + ENTER),
        ("browse_parcels|" + RIGHT, ENTER),
        (INSTALL, "n"),
    ]
    code, screen = terminal(tmp_path, template, walk)
    assert code == 0, screen
    assert "two signals" in strip_escapes(screen)
    tools = tmp_path / "mine/src/parcels_mcp/tools"
    assert "@put(" in (tools / "set_insurance.py").read_text()
    assert "@read(" in (tools / "browse_parcels.py").read_text()


@TERMINAL
def test_many_operations_are_chosen_from(template: Path, tmp_path: Path) -> None:
    paths = {}
    for n in range(50):
        paths[f"/a{n}"] = {"get": {"tags": ["even" if n % 2 == 0 else "odd"]}}
    about = {"openapi": "3.1.0", "info": {"title": "Many"}, "paths": paths}
    (tmp_path / "many.json").write_text(json.dumps(about))
    walk = [("Which tags?", DOWN + " " + ENTER), ("Which operations?", " " + ENTER)]
    words = ("import", "many.json", "--out", "many.yml")
    code, screen = terminal(tmp_path, template, walk, words=words)
    assert code == 0, screen
    tools = yaml.safe_load((tmp_path / "many.yml").read_text())["tools"]
    operations = []
    for tool in tools:
        operations.append(tool["http"])
    assert operations == [f"GET /a{n}" for n in range(3, 50, 2)]
    second = call(tmp_path, "import", "many.json", "--out", "many.yml", "--unattended")
    assert "nothing has changed" in second.stderr, "the choice is remembered"
