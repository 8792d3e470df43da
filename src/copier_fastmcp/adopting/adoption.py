"""Plan an adoption in memory: edits of the author's files, and new files."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import RefusedError
from ..project import copier_process, origin
from ..project.answers import ANSWERS, guess_domain, read_answers
from ..project.engine_requirement import ENGINE_PIN, pin_engine
from ..project.template_version import find_recordable_version
from . import dependencies, layout, skeletons, todo
from .declarations import WORD, add_declaration, add_policy_import
from .edits import Edited
from .proposals import Proposal
from .server_factory import write_server_factory
from .survey import Survey
from .wheel_contents import find_added_packages, list_images_without, pack_packages


@dataclass
class Adoption:
    """Everything that an adoption writes.

    Attributes:
        edited: The author's files, with what is added to them.
        files: New files, by their path in the project.
        by_hand: What is left to the user, by tool.
    """

    edited: list[Edited] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    by_hand: dict[str, str] = field(default_factory=dict)


def load_adoption(root: Path) -> dict[str, Any]:
    """Load the answers of an adopted server; empty if it was not adopted.

    Raises:
        RefusedError: The answers are those of a project from the template.
    """
    answers = read_answers(root / ANSWERS) if (root / ANSWERS).is_file() else {}
    if answers and not answers.get("adopted"):
        raise RefusedError(
            f"{ANSWERS} is here: this project came from a template; `update` it"
        )
    return answers


def plan_adoption(
    survey: Survey,
    chosen: list[Proposal],
    template: str | None,
    ref: str | None,
    engine: str = "vendored",
) -> Adoption:
    """Plan the files that the adoption of a server writes.

    Raises:
        RefusedError: A file is in the way, or the project came from a template.
        UnableError: The template cannot be reached.
    """
    root = survey.project.root
    answers = load_adoption(root)
    servers = layout.find_servers(survey)
    adoption = Adoption(by_hand=dict(survey.list_reasons()))
    if not servers:
        adoption.by_hand["(the server)"] = "call policy.govern(mcp) where it is made"
    place = (
        answers["adopted"]["place"] if answers else layout.choose_place(survey, servers)
    )
    package = layout.policy_package(place)
    adoption.edited = _plan_edits(chosen, servers, package)
    if len({(server.module.name, server.held) for server in servers}) > 1:
        first = layout.find_entry_point(servers) or "one of them"
        adoption.by_hand["(the tests)"] = (
            f"{len(servers)} servers are made; tests/policy proves {first}"
        )
    if not answers:
        adoption.files = _render_files(survey, servers, place, template, ref, engine)
        text, by_hand = dependencies.add_dependencies(root)
        adoption.by_hand |= {"(dependencies)": by_hand} if by_hand else {}
        if needed := adoption.files.get(ENGINE_PIN):
            project_file = root / "pyproject.toml"
            present = text or (
                project_file.read_text("utf-8") if project_file.is_file() else ""
            )
            text = pin_engine(present, needed.decode())
        text = _pack_packages(adoption, root, place, text)
        if text is not None:
            adoption.files["pyproject.toml"] = text.encode()
    _add_probes(adoption, chosen, root)
    if not answers and not (root / todo.FILE).exists():
        adoption.files[todo.FILE] = todo.list_phases(survey, chosen).encode()
    if not (root / "tests/tools/backend.py").exists():
        text = skeletons.BACKEND + write_server_factory(survey, servers)
        adoption.files["tests/tools/backend.py"] = text.encode()
    return adoption


def _pack_packages(
    adoption: Adoption, root: Path, place: str, text: str | None
) -> str | None:
    """The text of pyproject.toml with what a wheel has to contain; None where the file stays as it is."""
    folders = (WORD, layout.choose_engine_name(root / place))
    added = find_added_packages(adoption.files, place, folders)
    for name in list_images_without(root, added):
        folder_names = " and ".join(added.folders)
        adoption.by_hand[f"({name})"] = f"copy {folder_names}, too"
    path = root / "pyproject.toml"
    if text is None and not path.is_file():
        return None
    present = path.read_bytes().decode() if text is None else text
    packed, by_hand = pack_packages(present, added)
    if by_hand:
        adoption.by_hand["(the wheel)"] = by_hand
    return packed if packed != present else text


def _plan_edits(
    chosen: Iterable[Proposal], servers: Iterable[layout.Server], package: str
) -> list[Edited]:
    """The author's files with a decorator for each tool, and a line that governs each server."""
    edits: dict[Path, Edited] = {}
    for proposal in chosen:
        add_declaration(proposal, edits, package)
    for server in servers:
        edited = edits.setdefault(server.module.path, Edited(server.module))
        word = add_policy_import(edited, package)
        if f"{word}.govern({server.held})" not in server.module.text:
            edited.insert_below(server.statement, f"{word}.govern({server.held})")
    return [edited for edited in edits.values() if edited.edits]


def _add_probes(adoption: Adoption, chosen: Iterable[Proposal], root: Path) -> None:
    """Add a proof skeleton for each tool without one."""
    for proposal in chosen:
        name = f"tests/tools/test_{proposal.tool.name}.py"
        if reason := skeletons.explain_unusable_name(proposal):
            adoption.by_hand[proposal.tool.name] = reason
        elif not (root / name).exists():
            adoption.files[name] = skeletons.write_probe(proposal).encode()
    if not (root / "tests/tools").exists():
        _separate_names(adoption, root)


def _separate_names(adoption: Adoption, root: Path) -> None:
    """Keep the author's tests collectable where a file of ours has the name of one of theirs.

    Outside of packages, pytest imports both under the same name. A package `tools` below tests/ separates them,
    unless it would hide a package `tools` of the author's: then the author names the file.
    """
    author_tests = {path.name: path for path in root.rglob("test_*.py")}
    folder = "tests/tools/"
    clashing: list[str] = []
    for name in adoption.files:
        if name.startswith(folder) and Path(name).name in author_tests:
            clashing.append(name)
    if not clashing:
        return
    is_hidden = not (root / "tests/__init__.py").exists() and _has_tools_package(root)
    if not is_hidden:
        adoption.files[f"{folder}__init__.py"] = skeletons.PACKAGE.encode()
        return
    for name in clashing:
        del adoption.files[name]
        author_file = author_tests[Path(name).name].relative_to(root).as_posix()
        adoption.by_hand[name] = (
            f"{author_file} has the same name; rename that, then write this proof"
        )


def _has_tools_package(root: Path) -> bool:
    """Whether Python may import `tools` from the author's folders."""
    for folder in (root, root / "src", root / "tests"):
        if (folder / "tools.py").exists() or (folder / "tools").is_dir():
            return True
    return False


def _render_files(
    survey: Survey,
    servers: list[layout.Server],
    place: str,
    template: str | None,
    ref: str | None,
    engine: str,
) -> dict[str, bytes]:
    """Render the template's files for an adopted server."""
    root = survey.project.root
    project = dependencies.load_pyproject(root).get("project", {})
    version = find_recordable_version(origin.find_template(template, ref))
    entry_point = layout.find_entry_point(servers)
    name = re.sub("[^a-z0-9]+", "-", str(project.get("name", root.name)).lower()).strip(
        "-"
    )
    adopted = {"place": place, "serves": entry_point}
    folder_name = layout.choose_engine_name(root / place)
    if folder_name != layout.ENGINE_NAMES[0]:
        adopted["engine"] = folder_name
    answers = {
        "_src_path": version.source,
        "_commit": version.ref,
        "adopted": adopted,
        "server_name": name,
        "package_name": name.replace("-", "_"),
        "description": str(project.get("description") or f"The server {name}.")[:300],
        "tools": [],
        "backend": "none",
        "license": "none",
        "engine": engine,
    } | guess_domain(Path(_guess_subject(name)))
    with copier_process.render_project(answers) as fresh:
        files: dict[str, bytes] = {}
        for path in fresh.rglob("*"):
            if path.is_file():
                files[path.relative_to(fresh).as_posix()] = path.read_bytes()
    for folder in (f"{place}/{WORD}", "tests/policy", "docs/adr/policy"):
        if (root / folder).exists():
            name = (root / folder).relative_to(root).as_posix()
            raise RefusedError(f"{name}: in the way of the policy; move or rename it")
    obstacles = [name for name in sorted(files) if (root / name).exists()]
    if obstacles:
        raise RefusedError(
            f"{', '.join(obstacles[:3])}: in the way of the policy; move or rename it"
        )
    if (root / place / f"{WORD}.py").exists():
        raise RefusedError(
            f"{place}/{WORD}.py: has the name of the policy's folder; rename it"
        )
    return files


def _guess_subject(name: str) -> str:
    """The subject in a server's name, as `tickets` in mcp-server-tickets; else the whole name."""
    words = name.split("-")
    subject = [word for word in words if word not in ("mcp", "server", "fastmcp")]
    return "-".join(subject) or name
