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
    strip_copier_keys,
)
from .project.origin import Template, find_template
from .scaffolding.destination import require_usable
from .scaffolding.installation import Plan, settle_plan, write_server
from .scaffolding.tool_preview import find_name_mistake
from .tools_answer import parse_entries, shorten_entries

Render = Callable[[Mapping[str, Any]], Path]


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
    """Make a server: from names of tools, from an OpenAPI document, or from an answers file.

    In a terminal it asks, explains each behavior, and shows every tool with its hints before anything is
    written; Esc goes back, Ctrl-C leaves nothing behind. Unattended it takes what the options say.

    Args:
        dest: The folder to make; by default one with the server's name.
        from_: An OpenAPI document, or an answers file as `import` writes it.
        tools: Names with commas between, as in "search_notes, get_note, shelve_note=put".
        domain: What it is about, as a plural noun; by default what the folder's name says.
        server_name: The command that starts it, as in notes-mcp; by default it is named after the domain.
        profile: How careful it is.
        data: Any other answer of the template, as license=MIT. Repeat it for more.
        tag: Of a document, only operations with such a tag. Repeat it for more.
        path: Of a document, only such paths.
        method: Of a document, only such methods.
        operation: Of a document, only such operationIds or operations.
        conflicts: What happens to files that are there and differ: keep yours, or replace them.
        install: Run uv sync and pin the tools afterwards, without asking.
        unattended: Ask nothing.
        template: The template's address, where it is not the one of this command.
        ref: A version of the template.
        json_output: Print JSON, and ask nothing.

    Raises:
        RefusedError: The answers, the document or the destination cannot be used; nothing was written.
        UnableError: Copier or uv fails.
    """
    origin = find_template(template, ref)
    asking = not (unattended or json_output)
    if asking and not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise RefusedError(
            "there is no terminal to ask in; say --unattended with --tools or --from"
        )
    if dest:
        require_usable(dest)
    globs = {"tag": tag, "path": path, "method": method, "operation": operation}
    more = parse_data_options(data)
    given = more | _options(tools, domain, server_name, profile)
    notes = ImportNotes()
    plan = Plan(dest, conflicts, asking, install, json_output)
    try:
        with open_renderer(origin, more, notes) as render:
            known = (
                load_source(from_, globs, notes, asking=asking) | given
                if from_
                else given
            )
            if "server_name" not in known and (known.get("tools") or not asking):
                known = guess_domain(dest) | known
            known = complete_address(known, asking=asking)
            if not asking:
                if not known.get("tools"):
                    raise RefusedError(
                        'no tool is named; say --tools "search_notes, get_note", or --from FILE'
                    )
                settle_plan(plan, render(known))
            else:
                from .scaffolding.dialog import Dialog

                if from_:
                    render(known)
                ask = Dialog(
                    known,
                    lambda file: complete_address(
                        load_source(file, globs, notes, asking=True) | given,
                        asking=True,
                    ),
                    render,
                    lambda answers: settle_plan(plan, render(answers)),
                    dest,
                    given,
                ).ask
                try:
                    known = ask()
                except BackError as error:
                    raise KeyboardInterrupt from error
            return write_server(plan, known, render(known))
    except KeyboardInterrupt:
        print_message("nothing was written")
        return 130


def _options(
    tools: str | None, domain: str | None, server_name: str | None, profile: str | None
) -> dict[str, Any]:
    """The answers that have options of their own.

    Raises:
        RefusedError: A name is not one.
    """
    named = {"domain": domain, "server_name": server_name, "profile": profile}
    found: dict[str, Any] = {key: value for key, value in named.items() if value}
    if tools:
        if wrong := find_name_mistake(tools):
            raise RefusedError(f"--tools: {wrong}")
        found["tools"] = shorten_entries(parse_entries(tools))
    return found


@contextmanager
def open_renderer(
    origin: Template, asked: Mapping[str, Any], notes: ImportNotes | None = None
) -> Iterator[Render]:
    """Render answers in a folder that goes away; the same answers again cost nothing.

    `asked` are answers whose names somebody typed: one that the template does not know is refused. `notes` are
    those of an import, for its page.
    """
    with ExitStack() as stack:
        held: list[tuple[dict[str, Any], Path]] = []

        def render(known: Mapping[str, Any]) -> Path:
            if held and held[0][0] == known:
                return held[0][1]
            stack.close()
            held.clear()
            full = {**known, "_src_path": origin.source, "_commit": origin.ref}
            project = stack.enter_context(copier_process.render_project(full))
            kept = read_answers(project / ANSWERS)
            if lost := [name for name in asked if name not in kept]:
                names = ", ".join(name for name in kept if not name.startswith("_"))
                raise RefusedError(
                    f"--data {lost[0]}: is not asked here; the answers are {names}"
                )
            said = notes or ImportNotes()
            if left := page(kept, said.lines):
                (project / FILE).write_text(left, encoding="utf-8", newline="\n")
            if said.record:
                (project / RECORD).write_text(
                    said.record, encoding="utf-8", newline="\n"
                )
            held.append((deepcopy(dict(known)), project))
            return project

        yield render


def complete_address(known: dict[str, Any], *, asking: bool) -> dict[str, Any]:
    """Answers for an API with its address, which some documents do not have.

    Without somebody to ask, the address is left to the setting of the server that is made.
    """
    if known.get("backend") != "http" or known.get("api"):
        return known
    if not asking:
        package = str(known.get("package_name", "")).upper()
        print_message(
            f"the document names no address of the API; set {package}_API where the server runs"
        )
        return known
    from .terminal.prompts import ask_text

    wrong = (
        "write a whole address without user and query, as in https://api.example.com/v1"
    )
    form = re.compile(r"https?://[A-Za-z0-9.-]+(:[0-9]{1,5})?(/[A-Za-z0-9._~@-]+)*/?")
    said = ask_text(
        "The address of the API:", "", lambda one: "" if form.fullmatch(one) else wrong
    )
    return {**known, "api": said.rstrip("/")}


def load_source(
    file: Path,
    globs: Mapping[str, list[str] | None],
    notes: ImportNotes,
    *,
    asking: bool,
) -> dict[str, Any]:
    """The answers in a file: an answers file, or an OpenAPI document read as `import` does.

    `notes` receives what an import has to say besides, and what a later one merges with.

    Raises:
        RefusedError: It is neither.
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
    beside = sidecar(file)
    notes.record = beside.read_text(encoding="utf-8") if beside.is_file() else ""
    return strip_copier_keys(load_answers(file))
