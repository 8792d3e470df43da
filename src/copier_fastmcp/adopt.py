"""`adopt`: the policy for a server that was there before, as one diff that git undoes whole."""

import json
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from .adopting import dependencies, layout, phased, skeletons
from .adopting.declaring import WORD, declare, declared, imported
from .adopting.editing import Edited
from .adopting.living import compared
from .adopting.proposing import Proposal
from .adopting.registering import registered
from .adopting.survey import Survey, answered, survey, tell_what_is_left
from .creating import placing
from .errors import RefusedError, UnableError, counted
from .lock import FILE
from .parsing.saying import SourceTool
from .phases import GATED
from .project import copying, origin
from .project.answers import ANSWERS, read
from .project.repository import changed
from .project.undoable import clean, reachable, write

# What clients of a tool see that asks a person from now on.
ANSWERS_CHANGE = (
    "each asks a person from now on, takes `confirm` besides, and answers "
    "{confirmed, approved_by, outcome, preview, result} with its own answer in `result`"
)


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
        clean(root, "so that git can undo what adopt writes")
    if not (json_output and dry_run):
        dependencies.recent(root, seen.frameworks)
    if live is not None:
        seen = compared(seen, live)
    beside = {} if dry_run else changed(root)  # what a running server left
    quiet = unattended or json_output or not sys.stdin.isatty()
    if not json_output and not (dry_run and quiet):
        seen.show()
    chosen = [] if json_output and dry_run else answered(_undeclared(seen), unattended=quiet)
    if not (json_output and dry_run):
        made = adoption(seen, chosen, template, ref)
        if not dry_run and changed(root) != beside:
            raise RefusedError("files were changed in the meantime; commit them and do it again")
        _write(seen, made, chosen, dry_run=dry_run, say=not json_output)
    if json_output:
        print(json.dumps(seen.rows(), indent=2, ensure_ascii=False))
    if not dry_run:
        _pinned(root, pin=pin, ask=not quiet)
    return 0


def _undeclared(seen: Survey) -> Survey:
    """What is left of a server's tools where it was adopted before."""
    if not (known := _known(seen.project.root)):
        return seen
    package = layout.package(known["adopted"]["place"])

    def says(found: SourceTool) -> bool:
        return bool(found.function and found.home and declared(found.function, found.home, package))

    return replace(seen, proposals=[one for one in seen.proposals if not says(one.tool)])


def _known(root: Path) -> dict[str, Any]:
    """The answers of a server that was adopted before; RefusedError: those of a project from a template."""
    known = read(root / ANSWERS) if (root / ANSWERS).is_file() else {}
    if known and not known.get("adopted"):
        raise RefusedError(f"{ANSWERS} is here: this project came from a template; `update` it")
    return known


def _pinned(root: Path, *, pin: bool, ask: bool) -> None:
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


def adoption(
    seen: Survey, chosen: list[Proposal], template: str | None, ref: str | None
) -> Adoption:
    """What adopting a server writes, all of it in memory.

    Raises:
        RefusedError: A file is in the way, or the project came from a template.
        UnableError: The template cannot be reached.
    """
    root = seen.project.root
    known = _known(root)
    servers = layout.servers(seen)
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
    if len({(server.module.name, server.held) for server in servers}) > 1:
        first = next((server.serves for server in servers if server.serves), "one of them")
        made.by_hand["(the tests)"] = (
            f"{len(servers)} servers are made; tests/policy proves {first}"
        )
    made.edited = [edited for edited in edits.values() if edited.edits]
    for edited in edits.values():
        edited.imports = edited.imports if edited.edits else []
    if not known:
        made.files = _rendered(seen, servers, where, template, ref)
        text, by_hand = dependencies.depends(root)
        made.by_hand |= {"(dependencies)": by_hand} if by_hand else {}
        if text is not None:
            made.files["pyproject.toml"] = text.encode()
    for proposal in chosen:
        name = f"tests/tools/test_{proposal.tool.name}.py"
        if why := skeletons.named(proposal):
            made.by_hand[proposal.tool.name] = why
        elif not (root / name).exists():
            made.files[name] = skeletons.probe(proposal).encode()
    if not (root / "tests/tools").exists() and _twins(root, made.files):
        made.files["tests/tools/conftest.py"] = skeletons.APART.encode()
    if not known and not (root / phased.FILE).exists():
        made.files[phased.FILE] = phased.phases(seen, chosen).encode()
    if not (root / "tests/tools/backend.py").exists():
        text = skeletons.BACKEND + registered(seen, servers)
        made.files["tests/tools/backend.py"] = text.encode()
    return made


def _twins(root: Path, files: Iterable[str]) -> bool:
    """Whether the author has a test of the name of one of ours; pytest would confuse the two."""
    own = {Path(name).name for name in files if name.startswith("tests/tools/")}
    return any(path.name in own for path in root.rglob("test_*.py"))


def _rendered(
    seen: Survey, servers: list[layout.Server], where: str, template: str | None, ref: str | None
) -> dict[str, bytes]:
    """The files of the template for an adopted server."""
    root = seen.project.root
    project = dependencies.described(root).get("project", {})
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
    } | placing.about(Path(_subject(name)))
    with copying.rendered(known) as fresh:
        files = {
            path.relative_to(fresh).as_posix(): path.read_bytes()
            for path in fresh.rglob("*")
            if path.is_file()
        }
    for folder in (f"{where}/{WORD}", "tests/policy", "docs/adr/policy"):
        if (root / folder).exists():
            name = (root / folder).relative_to(root).as_posix()
            raise RefusedError(f"{name}: in the way of the policy; move or rename it")
    if held := sorted(name for name in files if (root / name).exists()):
        raise RefusedError(f"{', '.join(held[:3])}: in the way of the policy; move or rename it")
    if (root / where / f"{WORD}.py").exists():
        raise RefusedError(f"{where}/{WORD}.py: has the name of the policy's folder; rename it")
    return files


def _subject(name: str) -> str:
    """What a server is about, by its name: tickets of mcp-server-tickets; all of it where nothing is left."""
    words = [word for word in name.split("-") if word not in ("mcp", "server", "fastmcp")]
    return "-".join(words) or name


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
        reachable(root, [*written, *(root / name for name in new)])
        write(written | {root / name: held for name, held in new.items()})
    if not say:
        return
    if not written and not new:
        print("adopted already; nothing changed", file=sys.stderr)
        return
    tell_what_is_left(seen, chosen, made.by_hand)
    if gated := [each.tool.name for each in chosen if each.behavior in GATED]:
        print(f"{', '.join(gated)}: {ANSWERS_CHANGE}", file=sys.stderr)
    verb = "would be changed" if dry_run else "changed"
    count = f"{counted(len(written), 'file')} {verb}"
    print(f"{count}, {len(new)} {verb.replace('changed', 'added')}; next:", file=sys.stderr)
    steps = ("uv sync", "uv run tests/policy/pin.py", "uv run tests/policy/check.py", "git diff")
    print("\n".join(f"    {step}" for step in steps), file=sys.stderr)


def _differs(path: Path, held: bytes) -> bool:
    return not path.is_file() or path.read_bytes() != held
