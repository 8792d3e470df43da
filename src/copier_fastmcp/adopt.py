"""`adopt`: the policy for a server that was there before, as one diff that git undoes whole."""

import json
import sys
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from copier_fastmcp_engine.testing.lock import FILE

from .adopting import dependencies, layout
from .adopting.adoption import Adoption, load_adoption, plan_adoption
from .adopting.author_tests import list_affected_tests
from .adopting.declarations import is_declared
from .adopting.edits import format_patch
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
    "each asks the user from now on, also accepts `confirm`, and returns "
    "{confirmed, approved_by, outcome, preview, result} with its own answer in `result`"
)

# How the address of a repository begins that is neither a URL nor a folder.
REMOTE_PREFIXES = ("git@", "gh:", "gl:")

# What clients of a tool see that is registered while the server starts, and not declared.
UNDECLARED = (
    "until they are declared, such tools ask a person before each call, and your tests "
    "that call them may fail"
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
    _require_governable(survey)
    if not dry_run:
        require_clean(root, "so that git can undo what adopt writes")
    rows_only = json_output and dry_run
    floors: list[str] = []
    if not rows_only:
        dependencies.require_recent_fastmcp(root, survey.frameworks)
        floors = _check_floors(root, accepted=raise_floors or dry_run)
    survey = _add_live_tools(survey, live)
    if rows_only:
        _print_rows(survey)
        return 0
    prior_changes = {} if dry_run else list_changes(root)  # what a running server left
    quiet = unattended or json_output or not sys.stdin.isatty()
    if not json_output and not (dry_run and quiet):
        survey.print_survey()
    chosen = answer_questions(_exclude_declared(survey), unattended=quiet)
    if engine is None:
        engine = _choose_engine(root, template, ref, ask=not (quiet or dry_run))
    adoption = plan_adoption(survey, chosen, template, ref, engine)
    if not dry_run:
        _require_unchanged(root, prior_changes)
    plan = AdoptionPlan(survey, adoption, chosen)
    plan.carry_out(dry_run=dry_run, quiet=json_output)
    _print_raised_floors(floors)
    if json_output:
        _print_rows(survey)
    if not dry_run:
        _pin_tools(root, pin=pin, ask=not quiet)
    return 0


def _require_governable(survey: Survey) -> None:
    """Make sure that the policy can govern at least one tool.

    Raises:
        RefusedError: A low-level server lists all of them.
    """
    if all(tool.low_level for tool in survey.list_tools()):
        raise RefusedError(LOW_LEVEL)


def _require_unchanged(root: Path, prior_changes: dict[str, str]) -> None:
    """Make sure that nobody edited a file since the survey.

    Raises:
        RefusedError: The repository has other changes than before.
    """
    if list_changes(root) != prior_changes:
        raise RefusedError(
            "files were changed in the meantime; commit them and do it again"
        )


def _add_live_tools(survey: Survey, command: str | None) -> Survey:
    """Add the tools that only the running server lists, if there is a command that starts it."""
    if command is None:
        return survey
    announce_command(command)
    return compare_with_source(survey, list_tools(command))


def _print_raised_floors(floors: Iterable[str]) -> None:
    for floor in floors:
        print(f"raised: {floor}", file=sys.stderr)


def _print_rows(survey: Survey) -> None:
    print(json.dumps(survey.build_rows(), indent=2, ensure_ascii=False))


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
    project = dependencies.load_pyproject(root).get("project", {})
    has_list = isinstance(project.get("dependencies"), list)
    if not ask or load_adoption(root) or not has_list:
        return "vendored"
    address = find_template(template, ref).source
    is_url = "://" in address and not address.startswith("file:")
    if not is_url and not address.startswith(REMOTE_PREFIXES):
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
    if (root / "uv.lock").is_file() and root / "pyproject.toml" in removal.written:
        print("next: uv lock", file=sys.stderr)
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
    answers = load_adoption(survey.project.root)
    if not answers:
        return survey
    package = layout.get_policy_package(answers["adopted"]["place"])
    undeclared: list[Proposal] = []
    for proposal in survey.proposals:
        if not _has_declaration(proposal.tool, package):
            undeclared.append(proposal)
    return replace(survey, proposals=undeclared)


def _has_declaration(tool: SourceTool, package: str) -> bool:
    """Whether a decorator of the policy already declares the function of a tool."""
    if not tool.function or not tool.home:
        return False
    return is_declared(tool.function, tool.home, package)


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


@dataclass(frozen=True)
class AdoptionPlan:
    """A planned adoption, with the survey and the decisions that it follows from."""

    survey: Survey
    adoption: Adoption
    chosen: list[Proposal]

    def carry_out(self, *, dry_run: bool, quiet: bool) -> None:
        """Write the adoption, or print it as a diff, and print what comes next.

        Args:
            dry_run: Whether nothing is written.
            quiet: Whether nothing is printed.
        """
        root = self.survey.project.root
        added, changed = self._list_planned_files()
        edited = dict(changed)
        for file in self.adoption.edited:
            edited[file.module.path] = file.encode_edits()
        if not dry_run:
            require_reachable(root, [*edited, *added])
            write_files(edited | added)
        elif not quiet:
            self._print_diff(added, changed)
        if quiet:
            return
        if not edited and not added:
            print("adopted already; nothing changed", file=sys.stderr)
            return
        self._print_consequences()
        mood = "would be " if dry_run else ""
        count = f"{format_count(len(edited), 'file')} {mood}changed"
        print(f"{count}, {len(added)} {mood}added; next:", file=sys.stderr)
        for step in dependencies.list_next_steps(root):
            print(f"    {step}", file=sys.stderr)

    def _list_planned_files(self) -> tuple[dict[Path, bytes], dict[Path, bytes]]:
        """The planned files that are new, and those that differ from the ones that are there."""
        added: dict[Path, bytes] = {}
        changed: dict[Path, bytes] = {}
        for name, content in self.adoption.files.items():
            path = self.survey.project.root / name
            if not path.is_file():
                added[path] = content
            elif path.read_bytes() != content:
                changed[path] = content
        return added, changed

    def _print_diff(self, added: Iterable[Path], changed: dict[Path, bytes]) -> None:
        root = self.survey.project.root
        for file in self.adoption.edited:
            name = file.module.path.relative_to(root).as_posix()
            print(file.format_diff(name), end="")
        for path, content in changed.items():
            name = path.relative_to(root).as_posix()
            before = path.read_bytes().decode("utf-8", "replace")
            after = content.decode("utf-8", "replace")
            print(format_patch(name, before, after), end="")
        names = [path.relative_to(root).as_posix() for path in added]
        for name in sorted(names):
            print(f"+++ {name}")

    def _print_consequences(self) -> None:
        """Print what is left to the user, and what the adoption changes for callers and tests."""
        by_hand = self.adoption.by_hand.items()
        print_remaining_work(self.survey, self.chosen, by_hand)
        gated: list[str] = []
        for proposal in self.chosen:
            if proposal.behavior in GATED:
                gated.append(proposal.tool.name)
        if gated:
            print(f"{', '.join(gated)}: {ANSWERS_CHANGE}", file=sys.stderr)
        undeclared = [tool.name for tool in self.survey.left]
        if undeclared:
            print(f"undeclared {', '.join(undeclared)}: {UNDECLARED}", file=sys.stderr)
        _print_affected_tests(
            self.survey.project.root, gated, self.adoption, undeclared=bool(undeclared)
        )


def _print_affected_tests(
    root: Path, gated: list[str], adoption: Adoption, *, undeclared: bool
) -> None:
    """Name the author's tests that may fail from now on; the files of the adoption are none."""
    names = {Path(name).name for name in adoption.files}
    own_prefixes = tuple(adoption.files)
    if ANSWERS.as_posix() not in adoption.files:
        own_prefixes += OUR_TESTS
    affected = list_affected_tests(
        root, gated, vendored="facade.py" in names, undeclared=undeclared
    )
    for test in affected:
        if not test.path.startswith(own_prefixes):
            print(f"check {test.path}:{test.line}: {test.reason}", file=sys.stderr)
