"""`adopt`: the policy for a server that was there before, as one diff that git undoes whole."""

import ast
import json
import re
import shutil
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from . import copying, layout, origin, phases
from .annotate import told
from .answers import ANSWERS, read
from .declaring import WORD, declare, imported
from .editing import Edited
from .errors import RefusedError, UnableError
from .living import compared
from .lock import FILE
from .proposing import Proposal
from .registering import registered
from .repository import changed, git
from .survey import Survey, answered, survey

PROBE = '''"""Yours: the proof of {name}."""

unprobed = "it was adopted, and nobody has arranged data for it yet"

# To prove it, say in tests/tools/backend.py where its data is, delete the line above, and write:
#
# async def arrange(backend):
#     return {arguments}
'''
BACKEND = '''"""Yours: the data that the tools change, for the probes in this folder."""

from typing import Any


class Backend:
    """What a probe's arrange() gets, and what the suite looks at before and after each call."""

    async def snapshot(self) -> dict[str, Any]:
        """All data that the tools may change, as plain JSON."""
        raise NotImplementedError("tests/tools/backend.py: where is the data?")


def connect(settings: object) -> Backend:
    """Fresh, empty data for one case."""
    return Backend()
'''
# What clients of a tool see that asks a person from now on.
ANSWERS_CHANGE = (
    "each asks a person from now on, takes `confirm` besides, and answers "
    "{confirmed, approved_by, outcome, preview, result} with its own answer in `result`"
)
UNNAMED = "its name is known when it runs; write tests/tools/test_NAME.py for each"
SAMPLES = {"str": "a", "int": 1, "float": 1.0, "bool": False}


@dataclass
class Adoption:
    """Everything that an adoption writes."""

    edited: list[Edited] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    by_hand: dict[str, str] = field(default_factory=dict)


def adopt(
    folder: Annotated[Path, Parameter(name="DIR")] = Path(),
    *,
    dry_run: bool = False,
    unattended: bool = False,
    template: str | None = None,
    ref: str | None = None,
    live: str | None = None,
    pin: bool = False,
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
        json_output: Print JSON: a row for each tool.
    """
    seen = survey(folder)
    root = seen.project.root
    if not dry_run:
        _clean(root)
    if live is not None:
        seen = compared(seen, live)
    quiet = unattended or json_output or not sys.stdin.isatty()
    if not json_output and not (dry_run and quiet):
        seen.show()
    chosen = [] if json_output and dry_run else answered(seen, unattended=quiet)
    if not (json_output and dry_run):
        layout.recent(root, seen.frameworks)
        _write(
            seen,
            adoption(seen, chosen, template, ref),
            chosen,
            dry_run=dry_run,
            say=not json_output,
        )
    if json_output:
        print(json.dumps(seen.rows(), indent=2, ensure_ascii=False))
    if not dry_run:
        _pinned(root, pin=pin, ask=not quiet)
    return 0


def _pinned(root: Path, *, pin: bool, ask: bool) -> None:
    """Write lock and table where that is wanted; else the command for it is named."""
    from . import pinning

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


def _clean(root: Path) -> None:
    """Make sure that git can undo all of it.

    Raises:
        RefusedError: There are uncommitted changes, or this is not a git repository.
        UnableError: Git is not there.
    """
    try:
        held = changed(root)
    except UnableError as error:
        if shutil.which("git") is None:
            raise
        raise RefusedError(
            f"{error}; adopt writes in a git repository, which can undo it"
        ) from error
    if held:
        names = ", ".join(sorted(held)[:3])
        raise RefusedError(
            f"commit {names}{' ...' * (len(held) > 3)} first, so that git can undo it"
        )


def adoption(
    seen: Survey, chosen: list[Proposal], template: str | None, ref: str | None
) -> Adoption:
    """What adopting a server writes, all of it in memory.

    Raises:
        RefusedError: A file is in the way, or the project came from a template.
        UnableError: The template cannot be reached.
    """
    root = seen.project.root
    known = read(root / ANSWERS) if (root / ANSWERS).is_file() else None
    if known is not None and not known.get("adopted"):
        raise RefusedError(f"{ANSWERS} is here: this project came from a template; `update` it")
    servers = layout.made(seen)
    made = Adoption(by_hand=dict(seen.reasons()))
    if not servers:
        made.by_hand["(the server)"] = "call policy.govern(mcp) where it is made"
    where = known["adopted"]["place"] if known else layout.place(seen, servers)
    package = layout.package(where)
    edits: dict[Path, Edited] = {}
    for proposal in chosen:
        declare(proposal, edits, package)
    for server in servers:
        edited = edits.setdefault(server.module.path, Edited(server.module))
        word = imported(edited, package)
        if f"{word}.govern({server.held})" not in server.module.text:
            edited.below(server.statement, f"{word}.govern({server.held})")
    made.edited = [edited for edited in edits.values() if edited.edits]
    for edited in edits.values():
        edited.imports = edited.imports if edited.edits else []
    if known is None:
        made.files = _rendered(seen, servers, where, template, ref)
        text, by_hand = layout.depends(root)
        made.by_hand |= {"(dependencies)": by_hand} if by_hand else {}
        if text is not None:
            made.files["pyproject.toml"] = text.encode()
    for proposal in chosen:
        name = f"tests/tools/test_{proposal.found.name}.py"
        if not proposal.found.exact and re.search("^_|__|_$", proposal.found.name):
            made.by_hand[proposal.found.name] = UNNAMED
        elif not (root / name).exists():
            made.files[name] = _probe(proposal).encode()
    if known is None and not (root / phases.FILE).exists():
        made.files[phases.FILE] = phases.phases(seen, chosen).encode()
    if not (root / "tests/tools/backend.py").exists():
        made.files["tests/tools/backend.py"] = (BACKEND + registered(seen, servers)).encode()
    return made


def _rendered(
    seen: Survey, servers: list[layout.Made], where: str, template: str | None, ref: str | None
) -> dict[str, bytes]:
    """The files of the template for an adopted server."""
    root = seen.project.root
    project = layout.described(root).get("project", {})
    own = origin.own(template, ref)
    serves = next((server.serves for server in servers if server.serves), "")
    name = re.sub("[^a-z0-9]+", "-", str(project.get("name", root.name)).lower()).strip("-")
    known = {
        "_src_path": own.source,
        "_commit": own.ref,
        "adopted": {"place": where, "serves": serves},
        "server_name": name,
        "package_name": name.replace("-", "_"),
        "description": str(project.get("description") or f"The server {name}.")[:300],
        "tools": [],
        "backend": "none",
        "license": "none",
    }
    with copying.rendered(known) as fresh:
        files = {
            path.relative_to(fresh).as_posix(): path.read_bytes()
            for path in fresh.rglob("*")
            if path.is_file()
        }
    if held := sorted(name for name in files if (root / name).exists()):
        raise RefusedError(f"{', '.join(held[:3])}: in the way of the policy; move or rename it")
    if (root / where / f"{WORD}.py").exists():
        raise RefusedError(f"{where}/{WORD}.py: has the name of the policy's folder; rename it")
    return files


def _probe(proposal: Proposal) -> str:
    """The skeleton of a tool's proof, with the arguments that can be guessed."""
    function = proposal.found.function
    arguments: dict[str, Any] = {}
    for argument in (*function.args.args, *function.args.kwonlyargs) if function else ():
        text = ast.unparse(argument.annotation) if argument.annotation else "str"
        kind = next((one for one in SAMPLES if re.search(rf"\b{one}\b", text)), None)
        if argument.arg not in ("self", "cls", "ctx", "context") and "Context" not in text and kind:
            arguments[argument.arg] = SAMPLES[kind]
    return PROBE.format(name=proposal.found.name, arguments=arguments)


def _write(
    seen: Survey, made: Adoption, chosen: list[Proposal], *, dry_run: bool, say: bool
) -> None:
    root = seen.project.root
    new = {name: held for name, held in made.files.items() if _differs(root / name, held)}
    written = {edited.module.path: edited.encoded() for edited in made.edited}
    if dry_run and say:
        for edited in made.edited:
            print(edited.diff(edited.module.path.relative_to(root).as_posix()), end="")
        for name in sorted(new):
            print(f"+++ {name}")
    if not dry_run:
        try:
            for path, held in written.items():
                path.write_bytes(held)
            for name, held in new.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(held)
        except BaseException:  # also Ctrl-C: the tree was clean, so this takes nothing of yours
            git(root, "restore", "--source=HEAD", "--staged", "--worktree", ".")
            git(root, "clean", "-fdq", ".")
            raise
    if not say:
        return
    if not written and not new:
        print("adopted already; nothing changed", file=sys.stderr)
        return
    told(seen, chosen, made.by_hand)
    if gated := [each.found.name for each in chosen if each.behavior in phases.GATED]:
        print(f"{', '.join(gated)}: {ANSWERS_CHANGE}", file=sys.stderr)
    verb = "would be changed" if dry_run else "changed"
    count = f"{len(written)} file{'s' * (len(written) != 1)} {verb}"
    print(f"{count}, {len(new)} {verb.replace('changed', 'added')}; next:", file=sys.stderr)
    steps = ("uv sync", "uv run tests/policy/pin.py", "uv run tests/policy/check.py", "git diff")
    print("\n".join(f"    {step}" for step in steps), file=sys.stderr)


def _differs(path: Path, held: bytes) -> bool:
    return not path.is_file() or path.read_bytes() != held
