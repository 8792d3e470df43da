"""The dialog of `new`: from names, a document or answers to a table that is looked at before anything is written."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ..errors import BackError, RefusedError
from ..project.answers import guess_domain
from ..tables import load_tables
from ..terminal import prompts
from ..tools_answer import list_meanings, parse_entries, shorten_entries
from .destination import is_project
from .tool_edits import add_tool, change_tool
from .tool_preview import (
    HINTS,
    find_created_record,
    find_name_mistake,
    list_signatures,
    print_preview,
)

USUAL = "title, content"  # the fields of a record that nobody named
SERVER = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
DOMAIN = re.compile(r"[a-z][a-z0-9_]{0,31}")
WAYS = [
    ("names", "you type them; they work at once, on an embedded store", "names"),
    ("a document", "an OpenAPI document of an API that you have", "document"),
    ("answers", "an answers file, as `import` writes it", "answers"),
]
PROFILES = [
    ("explicit", "all four hints; asks a person before deletes", "explicit"),
    (
        "end-state",
        "few hints, idempotent by end state; asks if a tool says so",
        "end-state",
    ),
    (
        "narrow",
        "few hints, overwriting is destructive; asks if a tool says so",
        "narrow",
    ),
    (
        "confirm-all",
        "all four hints; previews and asks before every write",
        "confirm-all",
    ),
]
VERDICTS = [
    ("Yes, go on", "", "write"),
    ("Change a tool", "", "change"),
    ("Add a tool", "", "add"),
    ("Explain it", "what the behaviors and the hints mean", "explain"),
    ("Go back", "", "back"),
]


def _server(name: str) -> str:
    if SERVER.fullmatch(name) and len(name) <= 40:
        return ""
    made = "-".join(re.findall(r"[a-z0-9]+", name.lower()))[:40].strip("-")
    mend = made if SERVER.fullmatch(made) else "notes-mcp"
    return f"{name!r} is not a good name for a command; write {mend}"


def _domain(name: str) -> str:
    if DOMAIN.fullmatch(name):
        return ""
    made = "_".join(re.findall(r"[a-z0-9]+", name.lower()))[:32].strip("_")
    return f"{name!r} is not a good name; write {made if DOMAIN.fullmatch(made) else 'notes'}"


def _file(text: str) -> str:
    there = Path(text).expanduser().is_file()
    return (
        ""
        if there
        else f"{text!r} is not a file; write its whole name, as in openapi.yaml"
    )


def explain() -> None:
    """What each behavior means, with the first words that say it, and what each hint."""
    verbs = load_tables()["verbs"]
    for name, meaning, _ in list_meanings():
        prompts.print_line(f"{meaning}; as in {', '.join(verbs[name])}", f"  {name:12}")
    for name, meaning in HINTS.items():
        prompts.print_line(meaning, f"  {name:12}")


class Dialog:
    """What has been answered so far.

    Attributes:
        known: What the command line said, and the file that it named.
        source: Makes answers from a file; it may ask more.
        check: Renders answers in a folder, which it returns; RefusedError says what is wrong with them.
        last: The questions behind the table; BackError returns to it.
        destination: The folder that was named; None is one with the server's name.
        given: What the command line alone said, which is not asked.
    """

    def __init__(
        self,
        known: dict[str, Any],
        source: Callable[[Path], dict[str, Any]],
        check: Callable[[dict[str, Any]], Path],
        last: Callable[[dict[str, Any]], None],
        destination: Path | None,
        given: dict[str, Any],
    ) -> None:
        """Begin with what is known."""
        self.answers, self.given = dict(known), given
        self.source, self.check, self.last = source, check, last
        self.destination = destination
        self.way = "given" if known.get("tools") else ""
        self.file = ""

    def ask(self) -> dict[str, Any]:
        """Everything, until they say that the table is right.

        Raises:
            BackError: They went back from the first question.
            KeyboardInterrupt: They left.
        """
        prompts.print_line(
            "Nothing is written before you have seen every tool and said yes.", ""
        )
        steps = (
            []
            if self.way == "given"
            else [self.begin, self.domain, self.names, self.fields, self.read]
        )
        steps += [] if "server_name" in self.given else [self.name]
        steps += [] if "profile" in self.given else [self.profile]
        prompts.run_steps([*steps, self.review, lambda: self.last(self.answers)])
        return self.answers

    def begin(self) -> None:
        """Where the tools come from."""
        way = prompts.ask_choice(
            "Where do the tools come from?", WAYS, self.way or "names"
        )
        if way != self.way:  # what the other way said holds no more
            self.answers, self.file = self._kept() | self.given, ""
        self.way = way

    def _kept(self) -> dict[str, Any]:
        return {key: self.answers[key] for key in ("profile",) if key in self.answers}

    def read(self) -> bool:
        """The answers of a file."""
        if self.way == "names":
            return False
        while True:
            found = prompts.ask_text("Which file?", self.file, _file)
            if found == self.file and not prompts.ask_yes_no(
                "Read it again?", default=False
            ):
                return True
            try:
                read = self.source(Path(found).expanduser())
                if self.way == "answers":
                    self.check(read)
            except (RefusedError, BackError) as error:
                if isinstance(error, RefusedError):
                    prompts.print_mistake(error)
                continue
            self.answers, self.file = self._kept() | read | self.given, found
            return True

    def domain(self) -> bool:
        """What names are about."""
        if self.way != "names" or "domain" in self.given:
            return False
        usual = guess_domain(self.destination).get("domain", "notes")
        known = self.answers.get("domain", "")
        found = prompts.ask_text(
            "What is it about, as a plural noun?", known, _domain, usual=usual
        )
        if found != self.answers.get("domain"):
            for key in ("server_name", "package_name"):
                self.answers.pop(key, None)
        self.answers["domain"] = found
        return True

    def names(self) -> bool:
        """The tools by their names; what was changed of one before stays."""
        if self.way != "names":
            return False
        domain = str(self.answers["domain"])
        one = domain.removesuffix("s")
        before = {
            tool["name"]: tool for tool in parse_entries(self.answers.get("tools"))
        }
        shown = ", ".join(
            tool["name"] + (f"={tool['behavior']}" if "behavior" in tool else "")
            for tool in before.values()
        )
        prompts.print_line(
            "The first word says what a tool does. For another word say it, as in"
        )
        prompts.print_line("shelve_note=put. A question mark explains the behaviors.")
        while True:
            example = f"search_{domain}, get_{one}, create_{one}, delete_{one}"
            said = prompts.ask_text(
                "Tools, with commas between:",
                shown,
                lambda text: "" if text == "?" else find_name_mistake(text),
                usual=example,
            )
            if said != "?":
                break
            explain()
        kept = [
            {
                key: value
                for key, value in before.get(tool["name"], {}).items()
                if key != "behavior"
            }
            | tool
            for tool in parse_entries(said)
        ]
        self.answers["tools"] = shorten_entries(kept)
        return True

    def fields(self) -> bool:
        """The fields of the record that a tool creates, with the types that follow from what is typed."""
        record = find_created_record(self.answers.get("tools"))
        if self.way != "names" or not record:
            return False
        known = (self.answers.get("fields") or {}).get(record, "")
        prompts.print_line(
            "Types are guessed by the names of fields, or written, as in"
        )
        prompts.print_line("title, url, tags (list), read (yes/no), state (new|old)")
        while True:
            found = prompts.ask_text(
                f"The fields of one {record.replace('_', ' ')}:", known, usual=USUAL
            )
            self.answers.pop("fields", None)
            if found == USUAL:
                return True
            known = found
            try:
                prompts.print_line("Copier renders it in a temporary folder ...")
                project = self.check(self.answers | {"fields": {record: found}})
            except RefusedError as error:
                prompts.print_mistake(error)
                continue
            self.answers["fields"] = {record: found}
            for line in list_signatures(project):
                prompts.print_line(line)
            return True

    def name(self) -> None:
        """The name of the server, which is that of its folder where none was named."""
        if "server_name" not in self.answers:
            self.answers = guess_domain(self.destination) | self.answers
        domain = str(self.answers.get("domain", "notes")).replace("_", "-")
        known, usual = self.answers.get("server_name", ""), f"{domain}-mcp"

        def wrong(name: str) -> str:
            taken = self.destination is None and is_project(Path(name))
            return _server(name) or (
                f"{name} is a project already; write another name" if taken else ""
            )

        found = prompts.ask_text(
            "The command that starts it:", known, wrong, usual=usual
        )
        if found != self.answers.get("server_name"):
            self.answers["server_name"] = found
            if "package_name" not in self.given:
                self.answers.pop("package_name", None)

    def profile(self) -> None:
        """How careful it is."""
        if self.answers.get("profile") == "custom":
            return
        known = self.answers.get("profile", "explicit")
        self.answers["profile"] = prompts.ask_choice(
            "How careful is it?", PROFILES, known
        )

    def review(self) -> None:
        """The whole table, until it is right."""
        while True:
            print_preview(self.answers)
            api = any("http" in one for one in parse_entries(self.answers.get("tools")))
            listed = [one for one in VERDICTS if one[2] != "add" or not api]
            verdict = prompts.ask_choice(
                "Is this right? Nothing has been written yet.", listed
            )
            try:
                if verdict == "back":
                    raise BackError
                if verdict == "write":
                    prompts.print_line("Copier renders it in a temporary folder ...")
                    self.check(self.answers)
                    return
            except RefusedError as error:
                prompts.print_mistake(error)
                continue
            if verdict == "explain":
                explain()
                continue
            tools = parse_entries(self.answers.get("tools"))
            try:
                (change_tool if verdict == "change" else add_tool)(tools, self.answers)
            except BackError:
                continue
            self.answers["tools"] = shorten_entries(tools)
