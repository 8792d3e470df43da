"""`adopt`: the policy for a server that was there before, as one diff that git undoes whole."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from copier_fastmcp_engine.testing.lock import FILE

from .adopting import dependencies, layout
from .adopting.adoption import Adoption, load_adoption, plan_adoption
from .adopting.author_tests import list_affected_tests
from .adopting.declarations import is_declared
from .adopting.live_comparison import announce_command, compare_with_source, list_tools
from .adopting.proposals import Proposal
from .adopting.removal import plan_removal
from .adopting.survey import (
    Survey,
    answer_questions,
    print_remaining_work,
    survey_server,
)
from .checklist import GATED
from .errors import RefusedError, UnableError, format_count
from .project.answers import ANSWERS
from .project.guarded_writes import (
    delete_empty_folders,
    require_clean,
    require_reachable,
    write_files,
)
from .project.origin import find_template
from .project.repository import list_changes
from .sources.registrations import SourceTool

# What clients of a tool see that asks a person from now on.
ANSWERS_CHANGE = (
    "each asks a person from now on, takes `confirm` besides, and answers "
    "{confirmed, approved_by, outcome, preview, result} with its own answer in `result`"
)

# Tests of a server that was adopted before; elsewhere such folders are the author's.
OUR_TESTS = ("tests/policy/", "tests/tools/")

LOW_LEVEL = (
    "this is a low-level server, whose tools adopt cannot govern; `annotate` writes their hints and "
    "`audit` checks them, or port it to FastMCP first"
)


def adopt(
    folder: Annotated[Path, Parameter(name="DIR")] = Path(),
    *,
    dry_run: bool = False,
    unattended: bool = False,
    template: str | None = None,
    ref: str | None = None,
    live: str | None = None,
    pin: bool = False,
    engine: Literal["vendored", "package"] | None = None,
    raise_floors: Annotated[bool, Parameter("--raise")] = False,
    remove: bool = False,
    json_output: Annotated[bool, Parameter("--json")] = False,
) -> int:
    """Bring the policy to a FastMCP server that was there before; its own files stay where they are.

    It reads the source and runs nothing. Each tool gets a decorator that says what it does, the server one
    line that governs it, and the repository policy/, its tests and an answers file, so that `update` works
    from then on. Bodies stay as they are. Nothing is written before the last question is answered.

    Args:
        folder: The server's repository; the current folder if none is named.
        dry_run: Print the report and the diff, and write nothing.
        unattended: Ask nothing; where signals clash, take the cautious behavior, marked for review.
        template: An address of the template, in place of this command's own.
        ref: A version of the template.
        live: A command that starts the server over stdio: run it, and compare what it lists with what was read.
        pin: Write the lock and the tool table at once; this installs the project and imports the server.
        engine: Whether the repository contains the engine, or pyproject.toml depends on it; asked in a terminal
            where others can reach the template, else vendored.
        raise_floors: Accept higher lower bounds of FastMCP and of Python, which are printed without it.
        remove: Take everything of ours out again, and leave your files as they were.
        json_output: Print JSON: a row for each tool.
    """
    if remove:
        return _remove_adoption(folder.resolve(), dry_run=dry_run)
    survey = survey_server(folder)
    root = survey.project.root
    tools = [proposal.tool for proposal in survey.proposals] + survey.left
    if all(tool.low_level for tool in tools):
        raise RefusedError(LOW_LEVEL)
    if not dry_run:
        require_clean(root, "so that git can undo what adopt writes")
    floors: list[str] = []
    if not (json_output and dry_run):
        dependencies.require_recent_fastmcp(root, survey.frameworks)
        floors = _check_floors(root, accepted=raise_floors or dry_run)
    if live is not None:
        announce_command(live)
        survey = compare_with_source(survey, list_tools(live))
    prior_changes = {} if dry_run else list_changes(root)  # what a running server left
    quiet = unattended or json_output or not sys.stdin.isatty()
    if not json_output and not (dry_run and quiet):
        survey.print_survey()
    chosen = (
        []
        if json_output and dry_run
        else answer_questions(_exclude_declared(survey), unattended=quiet)
    )
    if not (json_output and dry_run):
        if engine is None:
            engine = _choose_engine(root, template, ref, ask=not (quiet or dry_run))
        adoption = plan_adoption(survey, chosen, template, ref, engine)
        if not dry_run and list_changes(root) != prior_changes:
            raise RefusedError(
                "files were changed in the meantime; commit them and do it again"
            )
        _write_adoption(survey, adoption, chosen, dry_run=dry_run, say=not json_output)
        for floor in floors:
            print(f"raised: {floor}", file=sys.stderr)
    if json_output:
        print(json.dumps(survey.rows(), indent=2, ensure_ascii=False))
    if not dry_run:
        _pin_tools(root, pin=pin, ask=not quiet)
    return 0


def _choose_engine(
    root: Path, template: str | None, ref: str | None, *, ask: bool
) -> Literal["vendored", "package"]:
    """Choose where the engine is: as a dependency only where others can fetch it.

    Args:
        root: The folder of the server.
        template: The template's address, if it is not this command's own.
        ref: A version of the template.
        ask: Whether there is a user to ask.

    Raises:
        UnableError: The template is not found.
    """
    listed = dependencies.load_pyproject(root).get("project", {}).get("dependencies")
    if not ask or load_adoption(root) or not isinstance(listed, list):
        return "vendored"
    address = find_template(template, ref).source
    is_reachable = "://" in address and not address.startswith("file:")
    is_reachable = is_reachable or address.startswith(("git@", "gh:", "gl:"))
    if not is_reachable:
        return "vendored"
    from .terminal import prompts

    package = f"a dozen files; installing needs git and {address}, and wheels an index"
    vendored = "about 80 files more, with the engine among them; nothing to fetch"
    options = [("package", package, "package"), ("vendored", vendored, "vendored")]
    chosen = prompts.ask_choice("Where is the engine that asks and proves?", options)
    return "package" if chosen == "package" else "vendored"


def _remove_adoption(root: Path, *, dry_run: bool) -> int:
    """Remove an adoption; 1 where something is left to a person."""
    removal = plan_removal(root, load_adoption(root))
    if not dry_run:
        require_clean(root, "so that git can undo the removal")
        write_files(removal.written)
        for path in removal.deleted:
            path.unlink()
        delete_empty_folders(root, removal.deleted)
    verb = "would be " if dry_run else ""
    restored, deleted = len(removal.written), len(removal.deleted)
    print(
        f"{format_count(restored, 'file')} {verb}restored, {deleted} {verb}deleted",
        file=sys.stderr,
    )
    for line in removal.by_hand:
        print(f"by hand {line}", file=sys.stderr)
    return 1 if removal.by_hand else 0


def _check_floors(root: Path, *, accepted: bool) -> list[str]:
    """The lower bounds that are raised; none for a server that was adopted before.

    Raises:
        RefusedError: There are some, and nobody accepted them.
    """
    floors = [] if load_adoption(root) else dependencies.list_raised_floors(root)
    if floors and not accepted:
        raise RefusedError(f"{'; '.join(floors)}: accept that with --raise")
    return floors


def _exclude_declared(survey: Survey) -> Survey:
    """What is left of a server's tools where it was adopted before."""
    if not (answers := load_adoption(survey.project.root)):
        return survey
    package = layout.policy_package(answers["adopted"]["place"])

    def has_declaration(tool: SourceTool) -> bool:
        return bool(
            tool.function
            and tool.home
            and is_declared(tool.function, tool.home, package)
        )

    return replace(
        survey,
        proposals=[
            proposal
            for proposal in survey.proposals
            if not has_declaration(proposal.tool)
        ],
    )


def _pin_tools(root: Path, *, pin: bool, ask: bool) -> None:
    """Write lock and table where that is wanted; else the command for it is named."""
    from .project import pinning

    if (root / FILE).exists():
        return
    if ask and not pin:
        import questionary

        print("To pin the tools, the project is installed and your server imported.")
        pin = bool(questionary.confirm(f"Write {FILE} now?").unsafe_ask())
    if not pin:
        return
    print(f"uv run {pinning.PIN.as_posix()}", file=sys.stderr)
    try:
        pinning.pin(root)
    except UnableError as error:
        print(f"not pinned: {error}", file=sys.stderr)


def _write_adoption(
    survey: Survey,
    adoption: Adoption,
    chosen: list[Proposal],
    *,
    dry_run: bool,
    say: bool,
) -> None:
    root = survey.project.root
    new: dict[Path, bytes] = {}
    for name, held in adoption.files.items():
        if _differs(root / name, held):
            new[root / name] = held
    written = {edited.module.path: edited.encoded() for edited in adoption.edited}
    if dry_run and say:
        for edited in adoption.edited:
            print(edited.diff(edited.module.path.relative_to(root).as_posix()), end="")
        for name in sorted(path.relative_to(root).as_posix() for path in new):
            print(f"+++ {name}")
    if not dry_run:
        require_reachable(root, [*written, *new])
        write_files(written | new)
    if not say:
        return
    if not written and not new:
        print("adopted already; nothing changed", file=sys.stderr)
        return
    print_remaining_work(survey, chosen, adoption.by_hand.items())
    gated = [proposal.tool.name for proposal in chosen if proposal.behavior in GATED]
    if gated:
        print(f"{', '.join(gated)}: {ANSWERS_CHANGE}", file=sys.stderr)
    _print_affected_tests(root, gated, adoption)
    verb = "would be changed" if dry_run else "changed"
    count = f"{format_count(len(written), 'file')} {verb}"
    print(
        f"{count}, {len(new)} {verb.replace('changed', 'added')}; next:",
        file=sys.stderr,
    )
    steps = (
        "uv sync",
        "uv run tests/policy/pin.py",
        "uv run tests/policy/check.py",
        "git diff",
    )
    for step in steps:
        print(f"    {step}", file=sys.stderr)


def _print_affected_tests(root: Path, gated: list[str], adoption: Adoption) -> None:
    """Name the author's tests that may fail from now on; the files of the adoption are none."""
    vendored = any(Path(name).name == "facade.py" for name in adoption.files)
    is_first = ANSWERS.as_posix() in adoption.files
    ours = tuple(adoption.files) + (() if is_first else OUR_TESTS)
    for test in list_affected_tests(root, gated, vendored=vendored):
        if not test.path.startswith(ours):
            print(f"check {test.path}:{test.line}: {test.reason}", file=sys.stderr)


def _differs(path: Path, held: bytes) -> bool:
    return not path.is_file() or path.read_bytes() != held
