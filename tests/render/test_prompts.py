"""The prompts, walked in a terminal of 80 columns and 24 lines as a person does."""

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
    name: asked
    for name, asked in yaml.safe_load(
        (ROOT / "copier.yml").read_text(encoding="utf-8")
    ).items()
    if isinstance(asked, dict) and "help" in asked  # what nobody is asked has none
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
    """A person at the prompts of `copier copy`."""

    def __init__(self, template: Path, project: Path) -> None:
        """Start it, and wait for nothing."""
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

    def sees(self, text: str) -> None:
        """Wait until the text is on the screen."""
        self.child.expect_exact(text)

    def asked(self, name: str) -> None:
        """Wait for a question by the first line of its help."""
        self.sees(QUESTIONS[name]["help"].splitlines()[0])

    def types(self, text: str) -> None:
        """Press keys."""
        self.child.send(text)

    def mistakes(self, text: str, message: str) -> None:
        """Type something wrong and read on the redrawn screen what is wrong with it."""
        self.types(CLEAR + text + ENTER)
        self.types(REDRAW)
        self.sees(message)
        self.types(CLEAR)

    def walks(self, answers: dict[str, str]) -> None:
        """Answer every question, by Enter where nothing else is said."""
        more = "y" if answers.keys() & {*REST} else ENTER  # a yes needs no Enter
        asked = {*CUSTOM} if "profile" in answers else set()
        asked |= {*REST} if more == "y" else set()
        for name in QUESTIONS:
            if name not in NOT_ASKED or name in asked:
                self.asked(name)
                self.types(more if name == "more" else answers.get(name, "") + ENTER)
        self.leaves()

    def leaves(self) -> None:
        """Wait for the end, which must be a good one."""
        self.child.expect(pexpect.EOF)
        self.child.close()
        assert self.child.exitstatus == 0, self.child.before


@pytest.fixture
def terminal(template: Path, tmp_path: Path) -> Iterator[Terminal]:
    """A terminal before the first question; the project comes into `tmp_path / "p"`."""
    opened = Terminal(template, tmp_path / "p")
    yield opened
    opened.child.close(force=True)


def test_enter_all_the_way_is_the_default_project(
    terminal: Terminal, project: Path, tmp_path: Path
) -> None:
    terminal.walks({})
    files = sorted(p.relative_to(project) for p in project.rglob("*") if p.is_file())
    assert files == sorted(
        p.relative_to(tmp_path / "p")
        for p in (tmp_path / "p").rglob("*")
        if p.is_file()
    )
    same = filecmp.cmpfiles(project, tmp_path / "p", map(str, files), shallow=False)
    assert same[1:] == ([], [])


def test_a_mistake_is_shown_and_mended(terminal: Terminal, tmp_path: Path) -> None:
    typed = {
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
        terminal.asked(name)
        if name == "more":
            terminal.types("y")
            continue
        wrong, message, right = typed.get(name, ("", "", ""))
        if wrong:
            terminal.mistakes(wrong, message)
            terminal.types(right)
        terminal.types(ENTER)
    terminal.leaves()
    tools = (tmp_path / "p/src/orders_api/tools").glob("*.py")
    assert {path.stem for path in tools} == {
        "search_orders",
        "get_order",
        "shelve_order",
    }


def test_a_text_after_a_suggestion_is_asked_about(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.asked("domain")
    terminal.types("orders" + ENTER)
    terminal.types(REDRAW)
    terminal.sees("write orders (Ctrl-U clears the line)")
    terminal.types(CLEAR + "orders" + ENTER)
    terminal.asked("server_name")
    terminal.types(REDRAW)
    terminal.sees("orders-mcp")


def test_a_prompt_shows_the_remedy_within_its_80_columns(terminal: Terminal) -> None:
    for name in QUESTIONS:
        if name not in NOT_ASKED:
            terminal.asked(name)
            if name == "tools":
                break
            terminal.types(ENTER)
    for typed, proposal in (
        ("frobnicate_order", "frobnicate_order=put"),
        ("nc_notes_delete_note", "nc_notes_delete_note=delete"),
        ("Get Order, shelve_order", "get_order"),
    ):
        terminal.mistakes(typed, f"'tools': write {proposal}")


def test_tools_are_checked_against_the_profile_at_the_prompt(
    terminal: Terminal,
) -> None:
    for name in QUESTIONS:
        if name not in NOT_ASKED:
            terminal.asked(name)
            if name == "tools":
                break
            terminal.types(ENTER)
    unasked = "[{name: delete_order, confirm: false}]"
    terminal.mistakes(unasked, "delete_order: confirm: false needs a")


def test_a_behavior_that_is_typed_is_taken_whatever_the_name(
    terminal: Terminal, tmp_path: Path
) -> None:
    typed = "check_in_guest=action, mark_as_read=put, shopping_list_delete=delete"
    terminal.walks(
        {"tools": CLEAR + typed + ", run_report=read, save_ticket_search=create"}
    )
    tools = {
        path.stem for path in (tmp_path / "p/src/notes_mcp/tools").glob("[!_]*.py")
    }
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
    terminal.walks({"resources": CLEAR})
    kept = yaml.safe_load(
        (tmp_path / "p/.copier-answers.yml").read_text(encoding="utf-8")
    )
    assert not kept.get("resources")
    files = {p.relative_to(project) for p in project.rglob("*") if p.is_file()}
    made = {
        p.relative_to(tmp_path / "p")
        for p in (tmp_path / "p").rglob("*")
        if p.is_file()
    }
    assert made == files


def test_packages_are_picked_with_the_space_bar(
    terminal: Terminal, tmp_path: Path
) -> None:
    terminal.walks({"packages": " " + DOWN * 2 + " "})
    kept = yaml.safe_load(
        (tmp_path / "p/.copier-answers.yml").read_text(encoding="utf-8")
    )
    assert kept["packages"] == ["container", "registry"]
    assert (tmp_path / "p/Dockerfile").exists()
    assert (tmp_path / "p/server.json").exists()
    assert not (tmp_path / "p/manifest.json").exists()


def test_a_custom_profile_asks_four_more(terminal: Terminal, tmp_path: Path) -> None:
    terminal.walks(
        {
            "profile": DOWN * 4,
            "hints": DOWN * 2,
            "destructive": DOWN,
            "confirm": DOWN * 2,
            "confirm_fallback": DOWN * 2,
            "tools": CLEAR + "delete_order",
        }
    )
    kept = yaml.safe_load(
        (tmp_path / "p/.copier-answers.yml").read_text(encoding="utf-8")
    )
    expected = ["custom", "narrow", "deletes", "writes", "refuse"]
    assert [kept[name] for name in ["profile", *CUSTOM]] == expected


def test_few_questions_are_asked_and_every_answer_is_kept(
    terminal: Terminal, copies: Callable[[Answers], Path], tmp_path: Path
) -> None:
    """A name that would hide a module gets a package of another name, unasked."""
    terminal.walks({"server_name": CLEAR + "json"})
    kept = yaml.safe_load(
        (tmp_path / "p/.copier-answers.yml").read_text(encoding="utf-8")
    )
    assert kept["package_name"] == "json_mcp"
    assert kept.keys() >= {*REST} - {"search", "prompts"}
    assert "more" not in kept
    given = {"author": "Ann", "license": "none"}
    kept = yaml.safe_load(
        (copies(given) / ".copier-answers.yml").read_text(encoding="utf-8")
    )
    assert kept.items() >= given.items()


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_line_fits_a_terminal(name: str) -> None:
    asked = QUESTIONS[name]
    first, *more = environment().from_string(asked["help"]).render().splitlines()
    assert len(first) + 3 <= COLUMNS, "a question begins with an emoji and a space"
    assert all(len(line) <= COLUMNS and line.startswith("   ") for line in more)
    for choice in asked.get("choices", []):
        assert len(choice) + 3 <= COLUMNS
