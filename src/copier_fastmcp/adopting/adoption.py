"""Plan an adoption in memory: edits of the author's files, and new files."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, NoReturn

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
from .wheel_contents import (
    TOP_FOLDERS,
    find_added_packages,
    list_images_without,
    pack_packages,
)

BACKEND_FILE = "tests/tools/backend.py"
LONGEST_DESCRIPTION = 300
MOST_OBSTACLES = 3  # in one message
SHARED_NAMES = "another adopted server may install too: move the server into a package before you publish it"


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
    path = root / ANSWERS
    if not path.is_file():
        return {}
    answers = read_answers(path)
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
    if answers:
        place = answers["adopted"]["place"]
    else:
        place = layout.choose_place(survey, servers)
    adoption.edited = _plan_edits(chosen, servers, layout.get_policy_package(place))
    held_names: set[tuple[str, str]] = set()
    for server in servers:
        held_names.add((server.module.name, server.held))
    if len(held_names) > 1:
        proved = layout.find_entry_point(servers) or "one of them"
        adoption.by_hand["(the tests)"] = (
            f"{len(servers)} servers are made; tests/policy proves {proved}"
        )
    if not answers:
        adoption.files = _render_files(survey, servers, place, template, ref, engine)
        _add_settings(adoption, root, place)
    _add_probes(adoption, chosen, root)
    if not answers and not (root / todo.FILE).exists():
        adoption.files[todo.FILE] = todo.list_phases(survey, chosen).encode()
    if not (root / BACKEND_FILE).exists():
        text = skeletons.BACKEND + write_server_factory(survey, servers)
        adoption.files[BACKEND_FILE] = text.encode()
    return adoption


def _add_settings(adoption: Adoption, root: Path, place: str) -> None:
    """Add pyproject.toml with the dependencies of the policy and what a wheel has to contain, if it changes."""
    text, by_hand = dependencies.add_dependencies(root)
    if by_hand:
        adoption.by_hand["(dependencies)"] = by_hand
    pin = adoption.files.get(ENGINE_PIN)
    if pin:
        path = root / "pyproject.toml"
        if not text:
            text = path.read_text("utf-8") if path.is_file() else ""
        text = pin_engine(text, pin.decode())
    text = _pack_packages(adoption, root, place, text)
    if text is not None:
        adoption.files["pyproject.toml"] = text.encode()


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
    if not by_hand and packed != present and place in TOP_FOLDERS:
        names = " and ".join(added.folders)
        by_hand = f"it installs {names} by these names, which {SHARED_NAMES}"
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
        line = f"{word}.govern({server.held})"
        if line not in server.module.text:
            edited.insert_below(server.statement, line)
    return list(filter(attrgetter("edits"), edits.values()))


def _add_probes(adoption: Adoption, chosen: Iterable[Proposal], root: Path) -> None:
    """Add a proof skeleton for each tool without one."""
    for proposal in chosen:
        name = f"tests/tools/test_{proposal.tool.name}.py"
        reason = skeletons.explain_unusable_name(proposal)
        if reason:
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
    project_name = str(project.get("name", root.name)).lower()
    name = re.sub("[^a-z0-9]+", "-", project_name).strip("-")
    adopted = {"place": place, "serves": layout.find_entry_point(servers)}
    folder_name = layout.choose_engine_name(root / place)
    if folder_name != layout.ENGINE_NAMES[0]:
        adopted["engine"] = folder_name
    description = str(project.get("description") or f"The server {name}.")
    answers = {
        "_src_path": version.source,
        "_commit": version.ref,
        "adopted": adopted,
        "server_name": name,
        "package_name": name.replace("-", "_"),
        "description": description[:LONGEST_DESCRIPTION],
        "tools": [],
        "backend": "none",
        "license": "none",
        "engine": engine,
    }
    answers |= guess_domain(Path(_guess_subject(name)))
    files: dict[str, bytes] = {}
    with copier_process.render_project(answers) as fresh:
        for path in fresh.rglob("*"):
            if path.is_file():
                files[path.relative_to(fresh).as_posix()] = path.read_bytes()
    _require_free_names(root, place, files)
    return files


def _require_free_names(root: Path, place: str, names: Iterable[str]) -> None:
    """Make sure that no file of the author has the name of a folder or a file of ours.

    Raises:
        RefusedError: One has.
    """
    for folder in (f"{place}/{WORD}", "tests/policy", "docs/adr/policy"):
        path = root / folder
        if path.exists():
            _refuse_obstacles([path.relative_to(root).as_posix()])
    obstacles = [name for name in sorted(names) if (root / name).exists()]
    if obstacles:
        _refuse_obstacles(obstacles)
    module_name = f"{place}/{WORD}.py"
    if (root / module_name).exists():
        raise RefusedError(
            f"{module_name}: has the name of the policy's folder; rename it"
        )


def _refuse_obstacles(names: list[str]) -> NoReturn:
    listed = ", ".join(names[:MOST_OBSTACLES])
    raise RefusedError(f"{listed}: in the way of the policy; move or rename it")


def _guess_subject(name: str) -> str:
    """The subject in a server's name, as `tickets` in mcp-server-tickets; else the whole name."""
    words = name.split("-")
    subject: list[str] = []
    for word in words:
        if word not in ("mcp", "server", "fastmcp"):
            subject.append(word)
    return "-".join(subject) or name
