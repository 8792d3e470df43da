"""`add`: a new tool, by the template's own rules.

It extends the answers, and Copier writes the files at the recorded version, in a worktree. The author's tree gets
them at the end, after the last question is answered.
"""

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from copier_fastmcp_engine.testing.lock import FILE as LOCK

from .errors import BackError, RefusedError, format_count, print_message
from .project import copier_process
from .project.answers import ANSWERS, read_recorded_answers
from .project.guarded_writes import require_clean, write_files
from .project.pinned_tools import load_pinned_tools
from .project.pinning import PIN, TABLE
from .project.repository import PLAIN_DIFF, git
from .project.tool_files import find_tool_file
from .tools_answer import get_tool_name, list_tools, parse_entries, shorten_entries
from .updates.checkouts import put_into_tree
from .updates.tool_changes import change_tools, deliver, inside_worktree
from .updates.worktrees import Worktree

Behavior = Literal[
    "read", "create", "ensure", "append", "update", "put", "delete", "action"
]

STOPPED = 130
REQUEST = re.compile(r'\bapi\(\)\.send\(\s*"(\w+)",\s*f?"([^"]*)"')


def find_request(text: str) -> str:
    """Return the method and the path of the request that a tool file sends; nothing where it sends none."""
    request = REQUEST.search(text)
    if request is None:
        return ""
    path = re.sub(r"quoted\((\w+)\)", r"\1", request[2])
    return f"{request[1]} {path}"


def parse_parameter(text: str) -> dict[str, Any]:
    """Parse a parameter written as `name:type:description`; `name?` is optional, the default type is str.

    Raises:
        RefusedError: The parameter has no name.
    """
    name, _, remainder = text.partition(":")
    type_name, _, description = remainder.partition(":")
    if not name.rstrip("?"):
        raise RefusedError(
            f"--param {text!r} has no name; write it as note_id:int:The ID."
        )
    parameter: dict[str, Any] = {
        "name": name.rstrip("?").strip(),
        "type": type_name.strip() or "str",
    }
    if description.strip():
        parameter["description"] = description.strip()
    if name.endswith("?"):
        parameter["required"] = False
    return parameter


def _find_rendered_file(fresh: Path, name: str) -> Path:
    """Return the file of a tool in a rendered project.

    Raises:
        RefusedError: There is none, or several: the name was not a single name.
    """
    files = list(fresh.glob(f"src/*/tools/**/{name}.py"))
    if len(files) != 1:
        raise RefusedError(
            f"{name!r} is not the name of one tool; write it as archive_note"
        )
    return files[0].relative_to(fresh)


def _format_facts(pinned: Mapping[str, Any]) -> str:
    """Return the hints and the gate of a tool, in one line."""
    words = []
    for hint, value in pinned["hints"].items():
        words.append(f"{hint}={str(value).lower()}")
    hints = " ".join(words) or "no hints"
    gate = "asks a person first" if pinned["gated"] else "asks nobody"
    return f"{hints}; {gate}"


def add(
    name: str | None = None,
    *,
    from_: Annotated[Path | None, Parameter("--from")] = None,
    behavior: Behavior | None = None,
    title: str | None = None,
    description: str | None = None,
    param: list[str] | None = None,
    module: str | None = None,
    confirm: str | None = None,
    http: str | None = None,
    why: str | None = None,
    branch: str | None = None,
    trust: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Add a tool to the server in this folder: files, answers, lock and tool table, all or nothing.

    Without a name it asks for everything in the terminal, and shows the file before it is written.
    The files are those that the template makes at the version that the project records; lock and
    table are pinned by the project's own tests/policy/pin.py. They are made in a temporary worktree
    and then written into your working tree; a file with uncommitted changes is refused by name.
    With --from it adds all tools of an answers file that the server lacks, on a branch.

    Args:
        name: Its name, the verb first; `archive_note=put` says its behavior as well.
        from_: An answers file, as `import` writes it: every tool of it that the server lacks.
        behavior: What it does, where the verb does not say so.
        title: What people read; else from the name.
        description: What models read; else from the title.
        param: A parameter as `note_id:int:The ID.`; `note_id?` is optional. Repeat it for more.
        module: The sub-package of tools/ that it goes in.
        confirm: The question before it runs, as in "Archive note {note_id}?".
        http: The request that it sends, as in "POST /notes/{note_id}/archive"; by default it is guessed.
        why: One sentence that justifies its hints.
        branch: With --from, the branch's name; by default add-tools.
        trust: Let the template run its tasks and migrations, with your rights.
        json_output: Print JSON.

    Raises:
        RefusedError: The tool is not possible as described, or a file has uncommitted changes.
        UnableError: Copier, git or the new server fails; nothing has changed.
    """
    answers = read_recorded_answers()
    name, _, verb = (name or "").partition("=")  # archive_note=put, as in the answers
    options: dict[str, Any] = {
        "name": name,
        "behavior": behavior or verb,
        "title": title,
        "description": description,
        "params": [parse_parameter(text) for text in param or []],
        "module": module,
        "confirm": confirm,
        "http": http,
        "why": why,
    }
    tool = {key: value for key, value in options.items() if value}
    if from_:
        if tool:
            raise RefusedError(
                "--from names the tools; leave the name and the other options out"
            )
        return _add_from(
            from_, branch or "add-tools", trust=trust, json_output=json_output
        )
    if branch:
        raise RefusedError(
            "--branch goes with --from; one tool goes into the working tree"
        )
    is_asking = not name
    if is_asking and not sys.stdin.isatty():
        raise RefusedError(
            "there is no terminal to ask in; say it: add NAME [--behavior ...]"
        )
    if is_asking and json_output:
        raise RefusedError(
            "--json asks no questions; say it: add NAME [--behavior ...]"
        )
    require_clean(Path(), "since add changes it", [ANSWERS.as_posix(), LOCK, TABLE])
    try:
        with inside_worktree() as worktree:
            if is_asking:
                source, version = answers["_src_path"], answers["_commit"]
                # A template without trust is refused before the first question
                copier_process.require_trust(source, version, version, trust=trust)
                tool = _ask_tool(answers)
            make = _add_to_adopted if answers.get("adopted") else _add_to_generated
            added = make(
                worktree,
                answers,
                tool,
                trust=trust,
                is_asking=is_asking,
                show=not json_output,
            )
            pinned = load_pinned_tools().get(tool["name"]) if PIN.is_file() else None
            staged = ("diff", "--cached", *PLAIN_DIFF)
            diff = git(Path(), *staged, "--", TABLE)
            # The entry of the lock is a hundred lines; the table shows what it means
            diff += git(Path(), *staged, "--stat", "--", LOCK)
            put_into_tree(worktree, list(added.files))
    except KeyboardInterrupt:
        print_message("nothing was written")
        return STOPPED
    if json_output:
        row = {
            "tool": tool["name"],
            "file": added.place,
            "changed": sorted(added.files),
        }
        print(json.dumps({**row, "pinned": pinned}, indent=2, ensure_ascii=False))
    else:
        _print_report(tool["name"], added.place, pinned, diff)
    if added.remark:
        print_message(added.remark)
    return 0


@dataclass(frozen=True)
class Added:
    """A tool in a worktree: its file, all files of the change, and what the user should know."""

    place: str
    files: dict[str, str]
    remark: str = ""


def _add_to_generated(
    worktree: Worktree,
    answers: Mapping[str, Any],
    tool: Mapping[str, Any],
    *,
    trust: bool,
    is_asking: bool,
    show: bool,
) -> Added:
    """Add a tool to a generated server: Copier writes its files.

    Raises:
        RefusedError: There is such a tool or file, or nobody trusts the template's code.
    """
    if by_hand := find_tool_file(tool["name"]):
        problem = f"{tool['name']} is a tool of {by_hand.as_posix()}"
        raise RefusedError(f"{problem}; choose another name")
    tools = [*list_tools(answers.get("tools")), *shorten_entries([dict(tool)])]
    with copier_process.render_project({**answers, "tools": tools}) as fresh:
        place = _find_rendered_file(fresh, tool["name"])
        text = (fresh / place).read_text(encoding="utf-8")
    if place.exists() or (worktree.checkout / place).exists():
        raise RefusedError(f"{place.as_posix()} is there; choose another name")
    source, version = answers["_src_path"], answers["_commit"]
    copier_process.require_trust(source, version, version, trust=trust)
    _show_file(place, text, is_asking=is_asking, show=show)
    files = change_tools(worktree, answers, tools, trust=trust)
    request = find_request(text)
    if answers.get("backend") != "http" or "http" in tool or not request:
        return Added(place.as_posix(), files)
    guess = f"the request {request} is a guess, since --http did not say it"
    return Added(place.as_posix(), files, f"{guess}; see {place.as_posix()}")


def _add_to_adopted(
    worktree: Worktree,
    answers: Mapping[str, Any],
    tool: Mapping[str, Any],
    *,
    trust: bool,
    is_asking: bool,
    show: bool,
) -> Added:
    """Add a tool to a server with a layout of its own; no code of the template runs."""
    from .adopting.new_tool import plan_new_tool

    place, contents, by_hand = plan_new_tool(answers, tool, _find_rendered_file)
    _show_file(
        place, contents[place.resolve()].decode(), is_asking=is_asking, show=show
    )

    def edit() -> None:
        write_files(contents)

    files = change_tools(worktree, answers, None, trust=trust, edit=edit)
    return Added(place.as_posix(), files, by_hand)


def _show_file(place: Path, text: str, *, is_asking: bool, show: bool) -> None:
    """Show a tool's file, and ask whether to write it.

    Raises:
        KeyboardInterrupt: The user does not want it.
    """
    if show:
        print(f"{place.as_posix()}\n\n{text}")
    if is_asking and not _confirm():
        raise KeyboardInterrupt


def _add_from(file: Path, branch: str, *, trust: bool, json_output: bool) -> int:
    """Add the tools of an answers file that the server lacks, on a branch.

    Raises:
        RefusedError: The file has no tool that the server lacks, or the server was adopted.
    """
    from .openapi.merging import load_answers

    tools = parse_entries(load_answers(file).get("tools"))
    with inside_worktree() as worktree:
        answers = read_recorded_answers()
        if answers.get("adopted"):
            raise RefusedError(
                "an adopted server has its own layout; add its tools one by one"
            )
        before = list_tools(answers.get("tools"))
        present = {get_tool_name(tool) for tool in before}
        missing = [tool for tool in tools if get_tool_name(tool) not in present]
        if not missing:
            raise RefusedError(f"--from {file}: has no tool that this server lacks")
        files = change_tools(
            worktree, answers, [*before, *shorten_entries(missing)], trust=trust
        )
        names = [get_tool_name(tool) for tool in missing]
        place = deliver(
            worktree, branch, f"Add {format_count(len(names), 'tool')}", here=False
        )
    if json_output:
        row = {"tools": names, "changed": sorted(files), "branch": branch}
        print(json.dumps(row, indent=2, ensure_ascii=False))
        return 0
    for name in names:
        print(f"{name}: added")
    print(place)
    return 0


def _ask_tool(answers: Mapping[str, Any]) -> dict[str, Any]:
    from .terminal.tool_questions import ask_tool

    try:
        return ask_tool(
            [str(tool.get("name")) for tool in parse_entries(answers.get("tools"))]
        )
    except BackError as error:
        raise KeyboardInterrupt from error


def _confirm() -> bool:
    from .terminal.tool_questions import confirm_write

    try:
        return confirm_write()
    except BackError:
        return False


def _print_report(
    name: str, place: str, pinned: Mapping[str, Any] | None, diff: str
) -> None:
    """Print what is new; what no pinning script wrote cannot be shown."""
    if pinned is None:
        print(f"{PIN.as_posix()} is not here, so {LOCK} does not hold {name} yet")
    else:
        print(diff)
        print(_format_facts(pinned))
    print(f"{place} is yours now, as is its test in tests/tools; then `git add -A`")
