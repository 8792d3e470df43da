"""`new`: a server from names, from an OpenAPI document, or from answers.

Everything is asked, checked and rendered in a folder that goes away before anything is written to the
destination, so leaving at any point leaves nothing.
"""

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from .errors import BackError, RefusedError, print_message
from .openapi.merging import load_answers, sidecar
from .openapi.phased import FILE, RECORD, ImportNotes, page
from .project import copier_process
from .project.answers import (
    ANSWERS,
    guess_domain,
    parse_data_options,
    read_answers,
    require_questions,
    strip_copier_keys,
)
from .project.origin import Template, find_template
from .project.template_version import find_recordable_version
from .scaffolding.destination import require_usable
from .scaffolding.installation import Plan, settle_plan, write_server
from .scaffolding.tool_preview import find_name_mistake
from .tools_answer import parse_entries, shorten_entries

Render = Callable[[Mapping[str, Any]], Path]
ADDRESS = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~@-]+)*/?")


def new(
    dest: Path | None = None,
    *,
    from_: Annotated[Path | None, Parameter("--from")] = None,
    tools: str | None = None,
    domain: str | None = None,
    server_name: str | None = None,
    profile: Literal["explicit", "end-state", "narrow", "confirm-all"] | None = None,
    data: list[str] | None = None,
    tag: list[str] | None = None,
    path: list[str] | None = None,
    method: list[str] | None = None,
    operation: list[str] | None = None,
    conflicts: Literal["keep", "replace"] | None = None,
    install: bool = False,
    unattended: bool = False,
    template: str | None = None,
    ref: str | None = None,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Create a server from names of tools, an OpenAPI document, or an answers file.

    In a terminal, a dialog explains each behavior and shows every tool with its hints before anything is
    written; Esc goes back, Ctrl-C leaves nothing behind. With --unattended, only the options count.

    Args:
        dest: The folder to create; by default one with the server's name.
        from_: An OpenAPI document, or an answers file as `import` writes it.
        tools: Names separated by commas, as in "search_notes, get_note, shelve_note=put".
        domain: What it is about, a plural noun; by default the name of the folder.
        server_name: The command that starts it, as in notes-mcp; by default from the domain.
        profile: The hints of the tools, and which tools ask.
        data: Any other answer of the template, as license=MIT. Repeat it for more.
        tag: Only operations of the document with this tag. Repeat it for more.
        path: Only these paths of the document.
        method: Only these methods of the document.
        operation: Only these operations of the document, or their operationIds.
        conflicts: For existing files that differ: keep them, or replace them.
        install: Run uv sync and pin the tools afterwards.
        unattended: Ask nothing.
        template: The address of another template.
        ref: A version of the template.
        json_output: Print JSON, and ask nothing.

    Raises:
        RefusedError: The answers, the document or the destination cannot be used; nothing was written.
        UnableError: Copier or uv fails.
    """
    origin = find_recordable_version(find_template(template, ref))
    asking = not (unattended or json_output)
    if asking and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RefusedError("not a terminal; use --unattended with --tools or --from")
    if dest:
        require_usable(dest)
    globs = {"tag": tag, "path": path, "method": method, "operation": operation}
    data_answers = parse_data_options(data)
    options = data_answers | _collect_options(tools, domain, server_name, profile)
    notes = ImportNotes()
    plan = Plan(dest, conflicts, asking, install, json_output)

    def load(file: Path) -> dict[str, Any]:
        answers = load_source(file, globs, notes, asking=asking)
        return answers | options

    try:
        with open_renderer(origin, data_answers, notes) as render:
            answers = load(from_) if from_ else options
            if "server_name" not in answers and (answers.get("tools") or not asking):
                answers = guess_domain(dest) | answers
            answers = complete_address(answers, asking=asking)
            if asking:
                if from_:
                    render(answers)
                answers = _run_dialog(plan, answers, options, load, render)
            elif answers.get("tools"):
                settle_plan(plan, render(answers))
            else:
                raise RefusedError(
                    'no tool is named; use --tools "search_notes, get_note", or --from FILE'
                )
            return write_server(plan, answers, render(answers))
    except KeyboardInterrupt:
        print_message("nothing was written")
        return 130


def _run_dialog(
    plan: Plan,
    answers: dict[str, Any],
    options: dict[str, Any],
    load: Callable[[Path], dict[str, Any]],
    render: Render,
) -> dict[str, Any]:
    """Ask for everything that is missing, and return the answers.

    Args:
        plan: The decisions about the server, which the dialog makes.
        answers: The answers of the command line, and of the file that it names.
        options: The answers of the command line, which are not asked.
        load: Loads answers from a file.
        render: Renders answers.

    Raises:
        KeyboardInterrupt: The user left, or went back from the first question.
    """
    from .scaffolding.dialog import Dialog

    dialog = Dialog(
        answers,
        lambda file: complete_address(load(file), asking=True),
        render,
        lambda reviewed: settle_plan(plan, render(reviewed)),
        plan.dest,
        options,
    )
    try:
        return dialog.ask()
    except BackError as error:
        raise KeyboardInterrupt from error


def _collect_options(
    tools: str | None, domain: str | None, server_name: str | None, profile: str | None
) -> dict[str, Any]:
    """Return the answers that have their own options.

    Raises:
        RefusedError: A name is not valid.
    """
    values = {"domain": domain, "server_name": server_name, "profile": profile}
    answers: dict[str, Any] = {key: value for key, value in values.items() if value}
    if tools:
        mistake = find_name_mistake(tools)
        if mistake:
            raise RefusedError(f"--tools: {mistake}")
        answers["tools"] = shorten_entries(parse_entries(tools))
    return answers


class _Renderer:
    """Renders answers into a temporary folder; the same answers again are not rendered twice.

    Attributes:
        origin: The template.
        typed: Answers whose names the user typed.
        notes: The notes of an import.
        stack: Removes the folder.
    """

    def __init__(
        self,
        origin: Template,
        typed: Mapping[str, Any],
        notes: ImportNotes,
        stack: ExitStack,
    ) -> None:
        self.origin = origin
        self.typed = typed
        self.notes = notes
        self.stack = stack
        self._answers: dict[str, Any] | None = None
        self._project = Path()

    def render(self, answers: Mapping[str, Any]) -> Path:
        """Return the folder of the rendered project.

        Raises:
            RefusedError: The template refuses an answer, or has no question for a typed one.
        """
        if self._answers == answers:
            return self._project
        self.stack.close()
        self._answers = None
        full = dict(answers)
        full["_src_path"] = self.origin.source
        full["_commit"] = self.origin.ref
        project = self.stack.enter_context(copier_process.render_project(full))
        recorded = read_answers(project / ANSWERS)
        require_questions(self.typed, recorded)
        remaining = page(recorded, self.notes.lines)
        if remaining:
            (project / FILE).write_text(remaining, encoding="utf-8", newline="\n")
        if self.notes.record:
            (project / RECORD).write_text(
                self.notes.record, encoding="utf-8", newline="\n"
            )
        self._answers = deepcopy(dict(answers))
        self._project = project
        return project


@contextmanager
def open_renderer(
    origin: Template, typed: Mapping[str, Any], notes: ImportNotes | None = None
) -> Iterator[Render]:
    """Provide a function that renders answers in a temporary folder.

    Args:
        origin: The template.
        asked: Answers whose names the user typed; a name without a question is refused.
        notes: The notes of an import, for its page.
    """
    with ExitStack() as stack:
        yield _Renderer(origin, typed, notes or ImportNotes(), stack).render


def _find_address_mistake(address: str) -> str:
    if ADDRESS.fullmatch(address):
        return ""
    return "write an address without user and query, e.g. https://api.example.com/v1"


def complete_address(answers: dict[str, Any], *, asking: bool) -> dict[str, Any]:
    """Return answers for an API with its address, which some documents do not have.

    Args:
        answers: The answers.
        asking: Whether there is a user to ask; otherwise the address is left to the new server's setting.
    """
    if answers.get("backend") != "http" or answers.get("api"):
        return answers
    if not asking:
        package = str(answers.get("package_name", "")).upper()
        print_message(
            f"the document has no address of the API; set {package}_API where the server runs"
        )
        return answers
    from .terminal.prompts import ask_text

    address = ask_text("Address of the API:", "", _find_address_mistake)
    return {**answers, "api": address.rstrip("/")}


def load_source(
    file: Path,
    globs: Mapping[str, list[str] | None],
    notes: ImportNotes,
    *,
    asking: bool,
) -> dict[str, Any]:
    """Return the answers in a file: an answers file, or an OpenAPI document as `import` reads it.

    Args:
        file: The file.
        globs: The operations that are selected from a document.
        notes: Receives the notes of an import, and its record for a later merge.
        asking: Whether there is a user to ask.

    Raises:
        RefusedError: The file is neither.
    """
    from .openapi.converting import from_document
    from .openapi.reading import load

    root = load(file)
    if "openapi" in root or "swagger" in root:
        return from_document(file, globs, notes, asking=asking)
    if "tools" not in root:
        raise RefusedError(
            f"{file} is neither an OpenAPI document nor an answers file with tools"
        )
    notes.lines.clear()
    notes.record = ""
    record = sidecar(file)
    if record.is_file():
        notes.record = record.read_text(encoding="utf-8")
    return strip_copier_keys(load_answers(file))
