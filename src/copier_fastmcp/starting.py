"""The dialog of `new`: from names, a document or answers to a table that is looked at before anything is written."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import prompts
from .errors import RefusedError, one_line
from .listing import behavior_of, entries, plain
from .printing import table
from .reviewing import HEADS, rows, wrong_names
from .tables import tables

SERVER = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
DOMAIN = re.compile(r"[a-z][a-z0-9_]{0,31}")
PROFILES = (
    ("explicit     all four hints; asks a person before deletes", "explicit"),
    ("end-state    few hints, idempotent by end state; never asks", "end-state"),
    ("narrow       few hints, overwriting is destructive; never asks", "narrow"),
    ("confirm-all  all four hints; previews and asks before every write", "confirm-all"),
)


def meanings() -> list[tuple[str, str]]:
    """Each behavior with what it means, in a sentence."""
    return [(f"{name:7} {row['meaning']}", name) for name, row in tables()["behaviors"].items()]


def _server(name: str) -> str:
    if SERVER.fullmatch(name) and len(name) <= 40:
        return ""
    made = "-".join(re.findall(r"[a-z0-9]+", name.lower()))[:40].strip("-")
    return f"{name!r} is not a good name for a command; write {made if SERVER.fullmatch(made) else 'notes-mcp'}"


def _domain(name: str) -> str:
    if DOMAIN.fullmatch(name):
        return ""
    made = "_".join(re.findall(r"[a-z0-9]+", name.lower()))[:32].strip("_")
    return f"{name!r} is not a good name; write {made if DOMAIN.fullmatch(made) else 'notes'}"


def _file(text: str) -> str:
    path = Path(text).expanduser()
    return (
        ""
        if path.is_file()
        else f"{text!r} is not a file; write its whole name, as in openapi.yaml"
    )


class Dialog:
    """What has been answered so far. `source` makes answers from a file; it may ask more."""

    def __init__(self, known: dict[str, Any], source: Callable[[Path], dict[str, Any]]) -> None:
        """Begin with what the command line said."""
        self.answers, self.source = dict(known), source
        self.way = "given" if known.get("tools") else ""

    def ask(self) -> dict[str, Any]:
        """Everything, until they say that the table is right.

        Raises:
            KeyboardInterrupt: They left.
        """
        steps = [self.name, self.profile, self.review]
        if self.way != "given":
            steps = [self.begin, *steps]
        try:
            prompts.walk(steps)
        except prompts.BackError as error:
            raise KeyboardInterrupt from error
        return self.answers

    def begin(self) -> None:
        """Where the tools come from, and which they are."""
        self.way = prompts.choose(
            "Where do the tools come from?",
            [
                ("names       you type them; they work at once, on an embedded store", "names"),
                ("a document  an OpenAPI document of an API that you have", "file"),
                ("answers     an answers file, as `import` writes it", "file"),
            ],
            self.way or "names",
        )
        if self.way == "names":
            self._names()
            return
        while True:
            path = Path(prompts.text("Which file?", check=_file)).expanduser()
            try:
                self.answers |= self.source(path)
                return
            except RefusedError as error:
                print(f"  ! {one_line(error)}")

    def _names(self) -> None:
        domain = self.answers.get("domain", "notes")
        self.answers["domain"] = prompts.text(
            "What is it about, as a plural noun?", domain, _domain
        )
        one = self.answers["domain"].removesuffix("s")
        example = f"search_{self.answers['domain']}, get_{one}, create_{one}, delete_{one}"
        known = ", ".join(
            one["name"] + (f"={one['behavior']}" if "behavior" in one else "")
            for one in entries(self.answers.get("tools"))
        )
        print("The first word says what a tool does. For another word say it: archive_note=put.")
        said = prompts.text("Tools, with commas between:", known or example, wrong_names)
        self.answers["tools"] = plain(entries(said))

    def name(self) -> None:
        """The name of the server."""
        known = (
            self.answers.get("server_name")
            or f"{self.answers.get('domain', 'notes').replace('_', '-')}-mcp"
        )
        found = prompts.text("The command that starts it:", known, _server)
        if found != self.answers.get("server_name"):
            self.answers |= {"server_name": found, "package_name": found.replace("-", "_")}

    def profile(self) -> None:
        """How careful it is."""
        if self.answers.get("profile") == "custom":
            return
        known = self.answers.get("profile", "explicit")
        self.answers["profile"] = prompts.choose("How careful is it?", PROFILES, known)

    def review(self) -> None:
        """The whole table, until it is right."""
        while True:
            print()
            table(HEADS, rows(self.answers))
            verdict = prompts.choose(
                "Is this right? Nothing has been written yet.",
                [
                    ("Yes, write it", "write"),
                    ("Change a tool", "change"),
                    ("Explain the behaviors", "explain"),
                    ("Go back", "back"),
                ],
            )
            if verdict == "write":
                return
            if verdict == "back":
                raise prompts.BackError
            if verdict == "explain":
                for words, _ in meanings():
                    print(f"  {words}")
                continue
            try:
                self._change()
            except prompts.BackError:
                continue

    def _change(self) -> None:
        tools = entries(self.answers.get("tools"))
        names = [(str(one["name"]), at) for at, one in enumerate(tools)]
        at = prompts.choose("Which tool?", names) if len(names) > 1 else 0
        tool = tools[at]
        what = prompts.choose(
            f"What of {tool['name']}?",
            [
                ("its behavior", "behavior"),
                ("its title", "title"),
                ("its description", "description"),
                ("whether a person is asked", "confirm"),
                ("leave the tool out", "out"),
            ],
        )
        if what == "behavior":
            known = behavior_of(tool)
            tool["behavior"] = prompts.choose("What does it do?", meanings(), known)
            for key in ("destructive", "idempotent"):
                tool.pop(key, None)
            if tool["behavior"] != known and tool.get("http"):
                tool["why"] = f"{tool['http'].partition('?')[0]}: said in the dialog (your choice)."
        elif what == "confirm":
            gate = prompts.choose(
                "Before it runs:",
                [
                    ("as the profile says", "policy"),
                    ("a person is asked", True),
                    ("a person is asked in your words", "own"),
                ],
            )
            tool.pop("confirm", None)
            if gate is True:
                tool["confirm"] = True
            elif gate == "own":
                tool["confirm"] = prompts.text(
                    "The question, as in Archive note {note_id}?", check=_some
                )
        elif what == "out":
            if len(tools) == 1:
                print("  ! it is the only tool; a server needs one")
                return
            del tools[at]
        else:
            tool[what] = prompts.text(f"Its {what}:", str(tool.get(what, "")), _some)
        self.answers["tools"] = plain(tools)


def _some(text: str) -> str:
    return "" if text else "it is empty; write something, or Esc"
