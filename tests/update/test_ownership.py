"""Who owns what holds, file by file: what an owner did to it x how the template came by again.

The template is cloned at tags v1 and v2 (and v3); v2 changes a policy file and the stub of every tool, so that a
cell can tell an update that arrived from one that did not. The matrix is printed: pytest -s -k survival
"""

from collections.abc import Callable
from pathlib import Path

import copier
import pytest
import yaml
from lifecycle import SRC, TOOLS, bytes_of, commit, start, update
from support import answers, clone_template, git, nightly_but, render

STUB = "template/src/{{package_name}}/tools/{% yield tool from specs %}{{ tool.file }}.py{% endyield %}.jinja"
POLICY = "template/src/{{package_name}}/cli.py.jinja"


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template with three releases: v2 and v3 each change a policy file and the stub of new tools."""
    repository = clone_template(tmp_path_factory.mktemp("releases"), tag="v1.0.0")
    for number in (2, 3):
        for name in (POLICY, STUB):
            path = repository / name
            path.write_text(path.read_text() + f"\n# release {number}\n")
        git(repository, "commit", "--quiet", "--all", f"--message=v{number}")
        git(repository, "tag", f"v{number}.0.0")
    with (repository / POLICY).open("a") as file:
        file.write("\n# release 3.1\n")
    git(repository, "commit", "--quiet", "--all", "--message=v3.1")
    git(repository, "tag", "v3.1.0")
    return repository


def recopy(project: Path, tag: str) -> None:
    """`copier recopy` at a release."""
    copier.run_recopy(
        project,
        defaults=True,
        overwrite=True,
        unsafe=True,
        quiet=True,
        vcs_ref=tag,
        skip_tasks=True,
    )
    commit(project, "recopy")


def update_twice(project: Path) -> None:
    """The same update two times."""
    update(project, "v2.0.0")
    update(project, "v2.0.0")


WAYS: dict[str, Callable[[Path], None]] = {
    "update": lambda project: update(project, "v2.0.0"),
    "update twice": update_twice,
    "recopy": lambda project: recopy(project, "v2.0.0"),
    "across two releases": lambda project: update(project, "v3.0.0"),
}


def edit(path: str) -> Callable[[Path], None]:
    """An owner who adds a line to a file."""

    def work(project: Path) -> None:
        with (project / path).open("a") as file:
            file.write("\n# mine\n")

    return work


def delete(project: Path) -> None:
    """An owner who deletes a tool."""
    (project / SRC / "tools/create_note.py").unlink()
    (project / "tests/tools/test_create_note.py").unlink()


def rename(project: Path) -> None:
    """An owner who gives a tool another file."""
    (project / SRC / "tools/search_notes.py").rename(
        project / SRC / "tools/find_them.py"
    )


def write_tool(project: Path) -> None:
    """An owner who writes a tool the answers never knew."""
    (project / SRC / "tools/my_own.py").write_text("# all mine\n")


def drop(project: Path) -> None:
    """An owner who takes a tool out of the answers."""
    answers = project / ".copier-answers.yml"
    data = yaml.safe_load(answers.read_text())
    data["tools"] = [tool for tool in data["tools"] if tool != "delete_note"]
    answers.write_text(yaml.safe_dump(data, sort_keys=False))


# what was done -> (how, the file that shows it, what becomes of that file; on recopy)
CELLS: dict[str, tuple[Callable[[Path], None], str, str, str]] = {
    "edited tool": (
        edit(SRC + "tools/get_note.py"),
        SRC + "tools/get_note.py",
        "kept",
        "kept",
    ),
    "deleted tool": (delete, SRC + "tools/create_note.py", "absent", "created"),
    "renamed tool": (rename, SRC + "tools/find_them.py", "kept", "kept"),
    "hand-added tool": (write_tool, SRC + "tools/my_own.py", "kept", "kept"),
    "removed from answers": (drop, SRC + "tools/delete_note.py", "kept", "kept"),
    "edited backend": (edit(SRC + "backend.py"), SRC + "backend.py", "kept", "kept"),
    "edited settings": (edit(SRC + "settings.py"), SRC + "settings.py", "kept", "kept"),
    "edited extend": (edit(SRC + "extend.py"), SRC + "extend.py", "kept", "kept"),
    "edited metadata": (
        edit(SRC + "metadata.yaml"),
        SRC + "metadata.yaml",
        "kept",
        "kept",
    ),
    "edited lock": (
        edit("annotations.lock.json"),
        "annotations.lock.json",
        "kept",
        "kept",
    ),
    "edited tool table": (edit("docs/tools.md"), "docs/tools.md", "kept", "kept"),
    "edited changelog": (edit("CHANGELOG.md"), "CHANGELOG.md", "kept", "kept"),
    "edited conftest": (edit("tests/conftest.py"), "tests/conftest.py", "kept", "kept"),
    "edited pyproject": (
        edit("pyproject.toml"),
        "pyproject.toml",
        "kept",
        "overwritten",
    ),
    "edited README": (edit("README.md"), "README.md", "kept", "overwritten"),
    "edited guide": (edit("AGENTS.md"), "AGENTS.md", "kept", "overwritten"),
    "edited policy": (
        edit(SRC + "server.py"),
        SRC + "server.py",
        "kept",
        "overwritten",
    ),
    "untouched policy": (lambda _: None, SRC + "cli.py", "forward", "forward"),
}


def find_owned_files(names: dict[str, str]) -> set[str]:
    """Find the files of a project that are its owner's."""
    single = {
        SRC + name
        for name in ("backend.py", "settings.py", "extend.py", "metadata.yaml")
    }
    single |= {"tests/conftest.py", "annotations.lock.json", "docs/tools.md"}
    single.add("CHANGELOG.md")
    folders = (SRC + "tools/", SRC + "resources/", "tests/tools/")
    return {name for name in names if name.startswith(folders) or name in single}


@pytest.fixture(scope="module", params=nightly_but(["update"], WAYS))
def lived(
    request: pytest.FixtureRequest,
    releases: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[str, Path, dict[str, str], dict[str, str]]:
    """A project to which all of it was done, then one way: its bytes before and after."""
    project = start(releases, tmp_path_factory.mktemp("lived") / "my notes ☃")
    for how, *_ in CELLS.values():
        how(project)
    commit(project)
    before = bytes_of(project)
    WAYS[request.param](project)
    return request.param, project, before, bytes_of(project)


@pytest.mark.parametrize("done", CELLS)
def test_survival_matrix(
    lived: tuple[str, Path, dict[str, str], dict[str, str]], done: str
) -> None:
    operation, project, before, after = lived
    _, path, expected, on_recopy = CELLS[done]
    if path not in after:
        became = "absent"
    elif path not in before:
        became = "created"
    elif after[path] == before[path]:
        became = "kept"
    else:
        became = (
            "forward" if "# release" in (project / path).read_text() else "overwritten"
        )
    print(f"{done} x {operation}: {became}")
    assert became == (on_recopy if operation == "recopy" else expected)


def test_no_byte_of_an_owner_changes(
    lived: tuple[str, Path, dict[str, str], dict[str, str]],
) -> None:
    _, project, before, after = lived
    mine = find_owned_files(before)
    assert {name: after.get(name) for name in mine} == {
        name: before[name] for name in mine
    }
    for name in after:
        assert not name.endswith((".rej", ".orig")), name
        assert b"<<<<<<< " not in (project / name).read_bytes(), name


def test_a_tool_added_to_the_answers_gets_its_files_and_touches_no_other(
    releases: Path, tmp_path: Path
) -> None:
    project = start(releases, tmp_path / "p")
    before = bytes_of(project)
    update(project, "v1.0.0", {"tools": [*TOOLS, "archive_note"]})
    after = bytes_of(project)
    assert set(after) - set(before) == {
        SRC + "tools/archive_note.py",
        "tests/tools/test_archive_note.py",
    }
    assert {n for n in before if before[n] != after[n]} == {".copier-answers.yml"}


@pytest.mark.nightly
@pytest.mark.parametrize(
    "form", nightly_but(["mappings"], ["list", "typed", "mappings"])
)
def test_adding_works_whatever_the_form_of_the_answers(
    releases: Path, tmp_path: Path, form: str
) -> None:
    old: object = ", ".join(TOOLS) if form == "typed" else TOOLS
    new: object = [*TOOLS, "archive_note"]
    if form == "typed":
        new = ", ".join([*TOOLS, "archive_note"])
    elif form == "mappings":
        old = [{"name": name, "module": "notes"} for name in TOOLS]
        new = [*old, {"name": "archive_note", "module": "notes"}]
    project = start(releases, tmp_path / "p", tools=old)
    before = bytes_of(project)
    update(project, "v2.0.0", {"tools": new})
    added = set(bytes_of(project)) - set(before)
    place = SRC + ("tools/notes/" if form == "mappings" else "tools/")
    assert added == {place + "archive_note.py", "tests/tools/test_archive_note.py"}
    assert "# release 2" in (project / place / "archive_note.py").read_text()


@pytest.mark.parametrize("tag", nightly_but(["v1.0.0"], ["v1.0.0", "v2.0.0"]))
def test_convergence(releases: Path, tmp_path: Path, tag: str) -> None:
    """An untouched project after an update equals a fresh render, the stubs of its old tools aside."""
    project = start(releases, tmp_path / "p", tag)
    update(project, "v3.0.0")
    fresh = render(releases, tmp_path / "fresh", {"tools": TOOLS}, vcs_ref="v3.0.0")
    expected = bytes_of(fresh)
    stubs = set()
    for name in expected:
        if name.startswith(SRC + "tools/") and "__init__" not in name:
            stubs.add(name)
    differing = bytes_of(project)
    assert set(differing) == set(expected)
    assert {n for n in expected if expected[n] != differing[n]} <= stubs


@pytest.mark.nightly
@pytest.mark.parametrize("name", nightly_but({"unusual"}))
def test_convergence_of_every_example(
    releases: Path, tmp_path: Path, name: str
) -> None:
    """A release that changes policy and no stub: after it, an untouched project is a fresh render."""
    example_answers = answers(name)
    project = render(releases, tmp_path / "p", example_answers, vcs_ref="v3.0.0")
    git(project, "init", "--quiet")
    commit(project, "start")
    before = bytes_of(project)
    update(project, "v3.1.0")
    assert bytes_of(project) != before
    fresh = render(releases, tmp_path / "fresh", example_answers, vcs_ref="v3.1.0")
    assert bytes_of(project) == bytes_of(fresh)


def test_a_release_without_a_policy_change_changes_the_commit_alone(
    releases: Path, tmp_path: Path
) -> None:
    project = start(releases, tmp_path / "p", "v3.0.0")
    git(releases, "tag", "--force", "v3.0.1", "v3.0.0")
    before = bytes_of(project)
    update(project, "v3.0.1")
    after = bytes_of(project)
    assert {n for n in after if after[n] != before.get(n)} <= {".copier-answers.yml"}


def test_a_stricter_validator_stops_an_update_instead_of_dropping_the_tools(
    releases: Path, tmp_path: Path
) -> None:
    project = start(releases, tmp_path / "p")
    before = bytes_of(project)
    strict = tmp_path / "strict"
    git(tmp_path, "clone", "--quiet", str(releases), str(strict))
    path = strict / "copier.yml"
    text = path.read_text()
    old = "{{ v.tool_errors(tools, policy.confirm, _every_error is defined) }}"
    assert old in text
    new = "{% if 'delete_note' in tools %}delete_note is refused now{% endif %}"
    path.write_text(text.replace(old, old + new))
    git(strict, "commit", "--quiet", "--all", "--message=strict")
    git(strict, "tag", "v4.0.0")
    answers = project / ".copier-answers.yml"
    answers.write_text(answers.read_text().replace(str(releases), str(strict)))
    commit(project)
    before = bytes_of(project)
    with pytest.raises(ValueError, match="delete_note is refused now"):
        update(project, "v4.0.0")
    assert bytes_of(project) == before


def test_update_without_trust_is_refused_by_copier_and_changes_nothing(
    releases: Path, tmp_path: Path
) -> None:
    project = start(releases, tmp_path / "p")
    before = bytes_of(project)
    with pytest.raises(copier.errors.UnsafeTemplateError):
        copier.run_update(
            project, defaults=True, overwrite=True, quiet=True, vcs_ref="v2.0.0"
        )
    assert bytes_of(project) == before
