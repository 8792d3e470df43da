"""The dialog of `new`: from names, a document or answers to a table that the user reviews before anything is written."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import BackError, RefusedError
from ..project.answers import guess_domain
from ..tables import load_tables
from ..terminal import prompts
from ..tools_answer import (
    infer_behavior,
    list_meanings,
    parse_entries,
    shorten_entries,
)
from ..words import singular
from .destination import is_project
from .tool_edits import add_tool, change_tool
from .tool_preview import (
    HINTS,
    add_behaviors,
    find_created_record,
    find_name_mistake,
    list_behaviors,
    list_signatures,
    print_preview,
    strip_record,
)

USUAL = "title, content"  # the fields of a record that nobody named
SERVER = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
DOMAIN = re.compile(r"[a-z][a-z0-9_]{0,31}")
LONGEST_SERVER = 40
LONGEST_DOMAIN = 32
# Tools that the command line names need no questions about their source.
COMMAND_LINE = "command line"
SOURCES = [
    ("names", "typed here; the tools work at once, on an embedded store", "names"),
    ("a document", "an OpenAPI document of an existing API", "document"),
    ("answers", "an answers file, e.g. from `import`", "answers"),
]
PROFILES = [
    ("explicit", "all four hints; asks before deletes", "explicit"),
    (
        "end-state",
        "hints of the end state; asks where declared",
        "end-state",
    ),
    (
        "narrow",
        "hints that differ; asks where declared",
        "narrow",
    ),
    (
        "confirm-all",
        "all four hints; asks before every write",
        "confirm-all",
    ),
]
VERDICTS = [
    ("Yes, continue", "", "write"),
    ("Change a tool", "", "change"),
    ("Add a tool", "", "add"),
    ("Explain", "the behaviors and the hints", "explain"),
    ("Go back", "", "back"),
]


def _find_server_mistake(name: str) -> str:
    if SERVER.fullmatch(name) and len(name) <= LONGEST_SERVER:
        return ""
    words = re.findall(r"[a-z0-9]+", name.lower())
    suggestion = "-".join(words)[:LONGEST_SERVER].strip("-")
    if not SERVER.fullmatch(suggestion):
        suggestion = "notes-mcp"
    return f"{name!r} is not a valid name of a command; write {suggestion}"


def _find_domain_mistake(name: str) -> str:
    if DOMAIN.fullmatch(name):
        return ""
    words = re.findall(r"[a-z0-9]+", name.lower())
    suggestion = "_".join(words)[:LONGEST_DOMAIN].strip("_")
    if not DOMAIN.fullmatch(suggestion):
        suggestion = "notes"
    return f"{name!r} is not a valid name; write {suggestion}"


def _find_file_mistake(text: str) -> str:
    if Path(text).expanduser().is_file():
        return ""
    return f"{text!r} is not a file; write its path, e.g. openapi.yaml"


def explain() -> None:
    """Print the meaning of each behavior, with the first words that imply it, and of each hint."""
    verbs = load_tables()["verbs"]
    for name, meaning, _ in list_meanings():
        prompts.print_line(f"{meaning}; as in {', '.join(verbs[name])}", f"  {name:12}")
    for name, meaning in HINTS.items():
        prompts.print_line(meaning, f"  {name:12}")


class Dialog:
    """The questions of `new`, and the answers so far.

    Attributes:
        answers: The answers so far.
        options: The answers of the command line, which are not asked.
        load_source: Loads answers from a file; it may ask further questions.
        check: Renders answers into a folder, which it returns; its RefusedError describes what is wrong with them.
        ask_last: The questions after the table; BackError returns to it.
        destination: The folder that was named; without one, the server's name is the folder.
        source: Where the tools come from: names, document, answers, or the command line.
        file: The file that was read.
    """

    def __init__(
        self,
        answers: dict[str, Any],
        source: Callable[[Path], dict[str, Any]],
        check: Callable[[dict[str, Any]], Path],
        last: Callable[[dict[str, Any]], None],
        destination: Path | None,
        options: dict[str, Any],
    ) -> None:
        """Begin with the answers of the command line and of the file that it names."""
        self.answers = dict(answers)
        self.options = options
        self.load_source = source
        self.check = check
        self.ask_last = last
        self.destination = destination
        self.source = COMMAND_LINE if answers.get("tools") else ""
        self.file = ""

    def ask(self) -> dict[str, Any]:
        """Ask until the user accepts the table, and return the answers.

        Raises:
            BackError: The user went back from the first question.
            KeyboardInterrupt: The user left.
        """
        prompts.print_line(
            "Nothing is written until you accept the table of tools.", ""
        )
        steps: list[Callable[[], object]] = []
        if self.source != COMMAND_LINE:
            steps += [
                self.ask_source,
                self.ask_domain,
                self.ask_names,
                self.ask_fields,
                self.ask_file,
            ]
        if "server_name" not in self.options:
            steps.append(self.ask_server_name)
        if "profile" not in self.options:
            steps.append(self.ask_profile)
        steps += [self.review, lambda: self.ask_last(self.answers)]
        prompts.run_steps(steps)
        return self.answers

    def ask_source(self) -> None:
        """Ask where the tools come from."""
        question = "Where do the tools come from?"
        source = prompts.ask_choice(question, SOURCES, self.source or "names")
        if source != self.source:
            # Answers of the other source no longer apply.
            self.answers = self._reset_answers() | self.options
            self.file = ""
        self.source = source

    def _reset_answers(self) -> dict[str, Any]:
        """Return the answers that do not depend on the source of the tools."""
        if "profile" in self.answers:
            return {"profile": self.answers["profile"]}
        return {}

    def ask_file(self) -> bool:
        """Ask for a file, and load its answers."""
        if self.source == "names":
            return False
        while True:
            file = prompts.ask_text("Which file?", self.file, _find_file_mistake)
            if file == self.file and not prompts.ask_yes_no(
                "Read it again?", default=False
            ):
                return True
            try:
                answers = self.load_source(Path(file).expanduser())
                if self.source == "answers":
                    self.check(answers)
            except (RefusedError, BackError) as error:
                if isinstance(error, RefusedError):
                    prompts.print_mistake(error)
                continue
            self.answers = self._reset_answers() | answers | self.options
            self.file = file
            return True

    def ask_domain(self) -> bool:
        """Ask for the subject of the server."""
        if self.source != "names" or "domain" in self.options:
            return False
        usual = guess_domain(self.destination).get("domain", "notes")
        previous = self.answers.get("domain", "")
        domain = prompts.ask_text(
            "What is the server about? (a plural noun)",
            previous,
            _find_domain_mistake,
            usual=usual,
        )
        if domain != self.answers.get("domain"):
            for name in ("server_name", "package_name"):
                self.answers.pop(name, None)
        self.answers["domain"] = domain
        return True

    def ask_names(self) -> bool:
        """Ask for the names of the tools; earlier changes of a tool are kept."""
        if self.source != "names":
            return False
        domain = str(self.answers["domain"])
        previous: dict[str, dict[str, Any]] = {}
        words = []
        for tool in parse_entries(self.answers.get("tools")):
            previous[tool["name"]] = tool
            behavior = f"={tool['behavior']}" if "behavior" in tool else ""
            words.append(tool["name"] + behavior)
        prompts.print_line("The first word of a name is a verb, as in get_note.")
        prompts.print_line(
            "For another verb, add a behavior: shelve_note=put. Enter ? for a list."
        )
        tools = []
        for tool in parse_entries(self._ask_tool_names(domain, ", ".join(words))):
            merged = dict(previous.get(tool["name"], {}))
            merged.pop("behavior", None)
            merged.update(tool)
            tools.append(merged)
        self.answers["tools"] = shorten_entries(tools)
        return True

    def _ask_tool_names(self, domain: str, default: str) -> str:
        record = singular(domain)
        example = f"search_{domain}, get_{record}, create_{record}, delete_{record}"

        def find_mistake(text: str) -> str:
            return "" if text == "?" else find_name_mistake(text)

        while True:
            text = prompts.ask_text(
                "Tools, separated by commas:",
                default,
                find_mistake,
                usual=example,
                correct=add_behaviors,
            )
            if text != "?":
                return text
            explain()

    def ask_fields(self) -> bool:
        """Ask for the fields of the record that a tool creates, and show the inferred types."""
        record = find_created_record(self.answers.get("tools"))
        if self.source != "names" or not record:
            return False
        fields = (self.answers.get("fields") or {}).get(record, "")
        question = f"Fields of {record.replace('_', ' ')}:"
        prompts.print_line("A type follows from the name of a field, or is written:")
        prompts.print_line("title, url, tags (list), read (yes/no), state (new|old)")
        while True:
            fields = strip_record(
                prompts.ask_text(question, fields, usual=USUAL), record
            )
            self.answers.pop("fields", None)
            if fields == USUAL:
                return True
            answer = {record: fields}
            try:
                prompts.print_line("Copier renders it into a temporary folder ...")
                project = self.check(self.answers | {"fields": answer})
            except RefusedError as error:
                prompts.print_mistake(error)
                continue
            self.answers["fields"] = answer
            self._declare_additions(list_behaviors(project))
            for line in list_signatures(project):
                prompts.print_line(line)
            return True

    def _declare_additions(self, behaviors: Mapping[str, str]) -> None:
        """Declare tools that add to a list of a record, as `add_tag_to_article` does, so that the table shows it."""
        tools = parse_entries(self.answers.get("tools"))
        for tool in tools:
            if (
                behaviors.get(tool["name"]) == "append"
                and infer_behavior(tool) == "create"
            ):
                tool["behavior"] = "append"
        self.answers["tools"] = shorten_entries(tools)

    def ask_server_name(self) -> None:
        """Ask for the name of the server, by default that of its folder."""
        if "server_name" not in self.answers:
            self.answers = guess_domain(self.destination) | self.answers
        domain = str(self.answers.get("domain", "notes")).replace("_", "-")

        def find_mistake(name: str) -> str:
            mistake = _find_server_mistake(name)
            if mistake:
                return mistake
            if self.destination is None and is_project(Path(name)):
                return f"{name} is a project already; write another name"
            return ""

        name = prompts.ask_text(
            "Command that starts the server:",
            self.answers.get("server_name", ""),
            find_mistake,
            usual=f"{domain}-mcp",
        )
        if name != self.answers.get("server_name"):
            self.answers["server_name"] = name
            if "package_name" not in self.options:
                self.answers.pop("package_name", None)

    def ask_profile(self) -> None:
        """Ask how careful the server is."""
        if self.answers.get("profile") == "custom":
            return
        previous = self.answers.get("profile", "explicit")
        profile = prompts.ask_choice("Which profile?", PROFILES, previous)
        self.answers["profile"] = profile

    def review(self) -> None:
        """Show the table and change it until the user accepts it.

        Raises:
            BackError: The user went back.
        """
        question = "Is this right? Nothing is written yet."
        while True:
            print_preview(self.answers)
            verdict = prompts.ask_choice(question, self._list_verdicts())
            if verdict == "back":
                raise BackError
            if verdict == "explain":
                explain()
            elif verdict != "write":
                self._edit(verdict)
            elif self._is_accepted():
                return

    def _list_verdicts(self) -> list[tuple[str, str, str]]:
        """Return the options of the review; a tool of an API cannot be added by its name."""
        tools = parse_entries(self.answers.get("tools"))
        has_requests = any("http" in tool for tool in tools)
        if not has_requests:
            return VERDICTS
        return [option for option in VERDICTS if option[2] != "add"]

    def _is_accepted(self) -> bool:
        """Render the answers, and print why they are refused."""
        prompts.print_line("Copier renders it into a temporary folder ...")
        try:
            self.check(self.answers)
        except RefusedError as error:
            prompts.print_mistake(error)
            return False
        return True

    def _edit(self, verdict: str) -> None:
        tools = parse_entries(self.answers.get("tools"))
        try:
            if verdict == "change":
                change_tool(tools, self.answers)
            else:
                add_tool(tools, self.answers)
        except BackError:
            return
        self.answers["tools"] = shorten_entries(tools)
