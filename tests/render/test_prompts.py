"""The prompts in a terminal of 80 columns and 24 lines."""

import filecmp
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import forked
import pytest
import yaml
from support import ROOT, Answers, environment

pexpect = pytest.importorskip("pexpect")
QUESTIONS: dict[str, dict[str, Any]] = {
    name: question
    for name, question in yaml.safe_load(
        (ROOT / "copier.yml").read_text(encoding="utf-8")
    ).items()
    if isinstance(question, dict) and "help" in question  # a computed value has none
}
CUSTOM = ["hints", "destructive", "confirm", "confirm_fallback"]
REST = [
    "package_name",
    "license",
    "resources",
    "prompts",
    "consent",
    "engine",
    "search",
    "packages",
]
NOT_ASKED = [*CUSTOM, "api", "api_auth", "privacy_policy", *REST]
COLUMNS = 60  # of the narrowest terminal that is supported
CLEAR = "\x05\x15"  # to the end of the line, then delete to its beginning
REDRAW = "\x0c"
DOWN = "\x1b[B"
ENTER = "\r"


class Terminal:
    """A user at the prompts of `copier copy`."""

    def __init__(self, template: Path, project: Path) -> None:
        """Start `copier copy`."""
        words = ["-m", "copier", "copy", "--skip-tasks", str(template), str(project)]
        calm = {
            "PROMPT_TOOLKIT_NO_CPR": "1",
            "TERM": "xterm",
            "PATH": "/usr/bin:/bin",
            "HOME": str(project.parent),
            **forked.minimal_environment(),
        }
        self.child = pexpect.spawn(
            sys.executable,
            words,
            env=calm,
            encoding="utf-8",
            dimensions=(24, 80),
            timeout=120,
        )

    def wait_for(self, text: str) -> None:
        """Wait until the text is on the screen."""
        self.child.expect_exact(text)

    def wait_for_question(self, name: str) -> None:
        """Wait for a question by the first line of its help."""
        self.wait_for(QUESTIONS[name]["help"].splitlines()[0])

    def press(self, text: str) -> None:
        """Press keys."""
        self.child.send(text)

    def enter_mistake(self, text: str, message: str) -> None:
        """Type an invalid answer and wait for its message on the redrawn screen."""
        self.press(CLEAR + text + ENTER)
        self.press(REDRAW)
        self.wait_for(message)
        self.press(CLEAR)

    def answer_all(self, answers: dict[str, str]) -> None:
        """Answer every question, with Enter by default."""
        answer_of_more = (
            "y" if answers.keys() & {*REST} else ENTER
        )  # a yes needs no Enter
        extra = {*CUSTOM} if "profile" in answers else set()
        extra |= {*REST} if answer_of_more == "y" else set()
        for name in QUESTIONS:
            if name not in NOT_ASKED or name in extra:
                self.wait_for_question(name)
                self.press(
                    answer_of_more if name == "more" else answers.get(name, "") + ENTER
                )
        self.wait_for_end()

    def wait_for_end(self) -> None:
        """Wait for the end, and check the exit code."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        assert self.child.exitstatus == 0, self.child.before


@pytest.fixture
def terminal(template: Path, tmp_path: Path) -> Iterator[Terminal]:
    """A terminal before the first question; the project is rendered to `tmp_path / "p"`."""
    opened = Terminal(template, tmp_path / "p")
    yield opened
    opened.child.close(force=True)


def load_recorded_answers(project: Path) -> Any:
    return yaml.safe_load((project / ".copier-answers.yml").read_text(encoding="utf-8"))


def list_files(folder: Path) -> set[Path]:
    """List every file below a folder by its relative path."""
    paths = set()
    for path in folder.rglob("*"):
        if path.is_file():
            paths.add(path.relative_to(folder))
    return paths


def test_enter_all_the_way_is_the_default_project(
    terminal: Terminal, project: Path, tmp_path: Path
) -> None:
    terminal.answer_all({})
    files = list_files(project)
    assert files == list_files(tmp_path / "p")
    same = filecmp.cmpfiles(project, tmp_path / "p", map(str, files), shallow=False)
    assert same[1:] == ([], [])


def test_a_mistake_is_shown_and_mended(terminal: Terminal, tmp_path: Path) -> None:
    inputs = {
        "domain": ("My Orders", 'write my_orders, not "My Orders"', "orders"),
        "package_name": ("json", 'write json_mcp; "json" hides', "orders_api"),
        "tools": (
            "search_orders, shelve_order",
            'write shelve_order=put; "shelve"',
            "search_orders, get_order, shelve_order=put",
        ),
    }
    for name in QUESTIONS:
        if name in NOT_ASKED and name not in REST:
            continue
        terminal.wait_for_question(name)
        if name == "more":
            terminal.press("y")
            continue
        mistake, message, correction = inputs.get(name, ("", "", ""))
        if mistake:
            terminal.enter_mistake(mistake, message)
            terminal.press(correction)
        terminal.press(ENTER)
    terminal.wait_for_end()
    tools = (tmp_path / "p/src/orders_api/tools").glob("*.py")
    stems = set()
    for path in tools:
        stems.add(path.stem)
    assert stems == {
        "search_orders",
        "get_order",
        "shelve_order",
    }


def test_a_text_after_a_suggestion_is_asked_about(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.wait_for_question("domain")
    terminal.press("orders" + ENTER)
    terminal.press(REDRAW)
    terminal.wait_for("write orders (Ctrl-U clears the line)")
    terminal.press(CLEAR + "orders" + ENTER)
    terminal.wait_for_question("server_name")
    terminal.press(REDRAW)
    terminal.wait_for("orders-mcp")


def test_a_prompt_shows_the_remedy_within_its_80_columns(terminal: Terminal) -> None:
    for name in QUESTIONS:
        if name not in NOT_ASKED:
            terminal.wait_for_question(name)
            if name == "tools":
                break
            terminal.press(ENTER)
    for typed, proposal in (
        ("frobnicate_order", "frobnicate_order=put"),
        ("nc_notes_delete_note", "nc_notes_delete_note=delete"),
        ("Get Order, shelve_order", "get_order"),
    ):
        terminal.enter_mistake(typed, f"'tools': write {proposal}")


def test_tools_are_checked_against_the_profile_at_the_prompt(
    terminal: Terminal,
) -> None:
    for name in QUESTIONS:
        if name not in NOT_ASKED:
            terminal.wait_for_question(name)
            if name == "tools":
                break
            terminal.press(ENTER)
    unasked = "[{name: delete_order, confirm: false}]"
    terminal.enter_mistake(unasked, "delete_order: confirm: false needs a")


def test_a_behavior_that_is_typed_is_taken_whatever_the_name(
    terminal: Terminal, tmp_path: Path
) -> None:
    typed = "check_in_guest=action, mark_as_read=put, shopping_list_delete=delete"
    terminal.answer_all(
        {"tools": CLEAR + typed + ", run_report=read, save_ticket_search=create"}
    )
    tools = set()
    for path in (tmp_path / "p/src/notes_mcp/tools").glob("[!_]*.py"):
        tools.add(path.stem)
    assert tools == {
        "check_in_guest",
        "mark_as_read",
        "shopping_list_delete",
        "run_report",
        "save_ticket_search",
    }


def test_resources_may_be_left_empty(
    terminal: Terminal, project: Path, tmp_path: Path
) -> None:
    """The suggested `[]` deleted is the same as `[]`."""
    terminal.answer_all({"resources": CLEAR})
    recorded = load_recorded_answers(tmp_path / "p")
    assert not recorded.get("resources")
    assert list_files(tmp_path / "p") == list_files(project)


def test_packages_are_picked_with_the_space_bar(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.answer_all({"packages": " " + DOWN * 2 + " "})
    recorded = load_recorded_answers(tmp_path / "p")
    assert recorded["packages"] == ["container", "registry"]
    assert (tmp_path / "p/Dockerfile").exists()
    assert (tmp_path / "p/server.json").exists()
    assert not (tmp_path / "p/manifest.json").exists()


def test_a_custom_profile_asks_four_more(terminal: Terminal, tmp_path: Path) -> None:
    terminal.answer_all(
        {
            "profile": DOWN * 4,
            "hints": DOWN * 2,
            "destructive": DOWN,
            "confirm": DOWN * 2,
            "confirm_fallback": DOWN * 2,
            "tools": CLEAR + "delete_order",
        }
    )
    recorded = load_recorded_answers(tmp_path / "p")
    expected = ["custom", "narrow", "deletes", "writes", "refuse"]
    assert [recorded[name] for name in ["profile", *CUSTOM]] == expected


def test_few_questions_are_asked_and_every_answer_is_kept(
    terminal: Terminal, copies: Callable[[Answers], Path], tmp_path: Path
) -> None:
    """A name that would hide a module gets a package of another name, unasked."""
    terminal.answer_all({"server_name": CLEAR + "json"})
    recorded = load_recorded_answers(tmp_path / "p")
    assert recorded["package_name"] == "json_mcp"
    assert recorded.keys() >= {*REST} - {"search", "prompts"}
    assert "more" not in recorded
    given_answers = {"author": "Ann", "license": "none"}
    recorded = load_recorded_answers(copies(given_answers))
    assert recorded.items() >= given_answers.items()


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_line_fits_a_terminal(name: str) -> None:
    question = QUESTIONS[name]
    first, *continuation = (
        environment().from_string(question["help"]).render().splitlines()
    )
    assert len(first) + 3 <= COLUMNS, "a question begins with an emoji and a space"
    for line in continuation:
        assert len(line) <= COLUMNS
        assert line.startswith("   ")
    for choice in question.get("choices", []):
        assert len(choice) + 3 <= COLUMNS
