"""The engine of a project: the same bytes as in the template, or a dependency; and the switch between the two."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from lifecycle import ENGINE, SRC, bytes_of, commit, released, start, update
from programs import run_fetched, uv
from support import PYTEST, ROOT, answers, git, pin, python, rendered

MANIFEST = "tests/policy/engine.json"
FOLDERS = ("src/notes_mcp/engine/", "tests/policy/copier_fastmcp_suite/")
SCRIPT = ROOT / "scripts/engine-manifest"


def manifest_script(engine: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run scripts/engine-manifest for an engine."""
    command = [sys.executable, str(SCRIPT), "--engine", str(engine), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    """A copy of the engine."""
    ignored = shutil.ignore_patterns("__pycache__", ".venv")
    return Path(shutil.copytree(ROOT / "engine", tmp_path / "engine", ignore=ignored))


def test_the_manifest_is_current() -> None:
    done = manifest_script(ROOT / "engine", "--check")
    assert done.returncode == 0, done.stderr


def test_the_version_changes_whenever_a_file_does(engine: Path) -> None:
    before = json.loads((engine / "manifest.json").read_text())["version"]
    (engine / "src/copier_fastmcp_engine/errors.py").write_text("# changed\n")
    stale = manifest_script(engine, "--check")
    assert (stale.returncode, stale.stderr.count("\n")) == (1, 1)
    assert "engine/manifest.json is stale" in stale.stderr
    assert manifest_script(engine).returncode == 0
    after = json.loads((engine / "manifest.json").read_text())["version"]
    assert after != before
    assert f'version = "{after}"' in (engine / "pyproject.toml").read_text()
    assert manifest_script(engine, "--check").returncode == 0


def test_the_command_pins_the_version(engine: Path) -> None:
    command_file = engine.parent / "pyproject.toml"
    command_file.write_text('dependencies = ["copier-fastmcp-engine==0.0.9"]\n')
    stale = manifest_script(engine, "--check")
    assert (stale.returncode, stale.stderr.count("\n")) == (1, 1)
    assert "pyproject.toml does not pin engine" in stale.stderr
    assert manifest_script(engine).returncode == 0
    assert manifest_script(engine, "--check").returncode == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"x = '{{ 7 * 7 }}'\n", "{{ would be read by Jinja"),
        (b"x = '{# gone #}'\n", "{# would be read by Jinja"),
        (b"x = 1\r\n", "a carriage return would be lost"),
        (b"x = '\xe9'\n", "not UTF-8"),
    ],
)
def test_a_file_that_could_not_be_copied_is_named(
    engine: Path, content: bytes, message: str
) -> None:
    (engine / "src/copier_fastmcp_engine/new.py").write_bytes(content)
    for words in ([], ["--check"]):
        done = manifest_script(engine, *words)
        assert done.returncode == 1
        assert done.stderr.startswith(f"new.py: {message}")


@pytest.mark.parametrize("name", ["notes", "consent", "orders"])
def test_a_rendered_engine_is_its_source(name: str) -> None:
    example_answers = answers(name)
    files = rendered(example_answers)
    recorded = json.loads(files[MANIFEST])["files"]
    package = next(path.split("/")[1] for path in files if path.startswith("src/"))
    folder = f"src/{package}/engine/"
    engine_files = set()
    for path in files:
        if path.startswith((folder, FOLDERS[1])):
            engine_files.add(path)
    assert set(recorded) == engine_files
    for path, digest in recorded.items():
        inner = path.removeprefix(folder).replace(FOLDERS[1], "testing/")
        assert files[path].encode() == (ROOT / ENGINE / inner).read_bytes(), path
        assert hashlib.sha256(files[path].encode()).hexdigest() == digest, path


def test_one_file_of_code_names_the_engine() -> None:
    for mode in ("vendored", "package"):
        files = rendered({"engine": mode})
        names = re.compile(
            r"(from|import) (copier_fastmcp_engine|\.+engine|notes_mcp\.engine)\b"
        )
        project_files = {}
        for n, text in files.items():
            if not n.startswith(FOLDERS):
                project_files[n] = text
        naming_files = set()
        for n, text in project_files.items():
            if n.endswith(".py") and names.search(text):
                naming_files.add(n)
        assert {name for name in naming_files if name.startswith("src/")} == {
            SRC + "policy/__init__.py"
        }


def test_a_package_pins_the_commit_of_the_template(
    repository: Path, tmp_path: Path
) -> None:
    project = start(repository, tmp_path / "p", engine="package")
    assert not (project / SRC / "engine").exists()
    assert not (project / MANIFEST).exists()
    text = (project / "pyproject.toml").read_text()
    about = tomllib.loads(text)
    version = json.loads((ROOT / "engine/manifest.json").read_text())["version"]
    assert f"copier-fastmcp-engine=={version}" in about["project"]["dependencies"]
    assert about["tool"]["uv"]["sources"]["copier-fastmcp-engine"] == {
        "git": f"file://{repository}",
        "rev": git(repository, "rev-parse", "HEAD").strip(),
        "subdirectory": "engine",
    }
    released(
        repository, repository, "v2.0.0", ("template/AGENTS.md.jinja", "", "\nTwo.\n")
    )
    update(project, "v2.0.0")
    assert (
        git(repository, "rev-parse", "v2.0.0").strip()
        in (project / "pyproject.toml").read_text()
    )


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        (
            "gh:ann/template",
            '{ git = "https://github.com/ann/template", rev = "HASH", ',
        ),
        (
            "gl:ann/template",
            '{ git = "https://gitlab.com/ann/template", rev = "HASH", ',
        ),
        (
            "git+https://example.com/t.git",
            '{ git = "https://example.com/t.git", rev = "HASH", ',
        ),
        (
            "git@example.com:ann/t.git",
            '{ git = "ssh://git@example.com/ann/t.git", rev = "HASH", ',
        ),
        ("/home/ann/template", '{ git = "file:///home/ann/template", rev = "HASH", '),
        ("C:\\ann\\template", '{ git = "file:///C:/ann/template", rev = "HASH", '),
    ],
)
def test_every_form_of_an_address_is_written_out(address: str, expected: str) -> None:
    from support import macro

    source = macro("engine", "source", address, {"vcs_ref_hash": "HASH"})
    assert source == expected + 'subdirectory = "engine" }'


def test_a_folder_without_git_is_said_to_be_of_this_machine() -> None:
    from support import macro

    source = macro("engine", "source", "/home/ann/template", {"vcs_ref_hash": None})
    assert source.startswith(
        '{ path = "/home/ann/template/engine" } # valid on this machine only'
    )


def authors_files(project: Path) -> dict[str, str]:
    """The digest of each file that is an author's, the lock and the tool table among them."""
    names = ("tools/", "backend.py", "settings.py", "extend.py", "metadata.yaml")
    prefixes = tuple(SRC + name for name in names)
    other_prefixes = (
        "tests/tools/",
        "tests/conftest.py",
        "annotations.lock.json",
        "docs/tools.md",
    )
    digests = bytes_of(project).items()
    kept_digests = {}
    for name, digest in digests:
        if name.startswith(prefixes + other_prefixes):
            kept_digests[name] = digest
    return kept_digests


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_switch_keeps_what_is_an_authors(repository: Path, tmp_path: Path) -> None:
    """Both ways: no file of an author's changes, nothing of the engine is left, and the guard is asked."""
    project = start(repository, tmp_path / "p")
    pin(project)
    with (project / SRC / "tools/get_note.py").open("a") as file:
        file.write("\n# mine\n")
    commit(project)
    compiled = project / SRC / "engine/__pycache__/errors.cpython-311.pyc"
    compiled.parent.mkdir(exist_ok=True)
    compiled.write_bytes(b"compiled")
    author_digests, whole = authors_files(project), bytes_of(project)
    update(project, "v1.0.0", {"engine": "package"})
    assert authors_files(project) == author_digests
    assert not (project / SRC / "engine").exists(), (
        "Python would import it as an empty package"
    )
    assert not (project / "tests/policy/copier_fastmcp_suite").exists()
    update(project, "v1.0.0", {"engine": "vendored"})
    after = bytes_of(project)
    assert {n for n in whole | after if whole.get(n) != after.get(n)} <= {
        ".copier-answers.yml"
    }


@pytest.mark.nightly
def test_a_project_that_depends_on_the_engine_works(
    repository: Path, tmp_path: Path
) -> None:
    """With real git and uv: the same lock in both modes, a suite that passes, a command that runs, a wheel."""
    project = start(repository, tmp_path / "p")
    pin(project)
    commit(project)
    lock = (project / "annotations.lock.json").read_bytes()
    update(project, "v1.0.0", {"engine": "package"})
    run_fetched(uv(), "sync", "--quiet", folder=project)
    interpreter = project / (
        ".venv/Scripts/python.exe" if sys.platform == "win32" else ".venv/bin/python"
    )
    for words in (["tests/policy/pin.py"], [*PYTEST]):
        done = subprocess.run(
            [interpreter, *words],
            cwd=project,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert (project / "annotations.lock.json").read_bytes() == lock
    run_fetched(uv(), "run", "--no-sync", "notes-mcp", "tools", "list", folder=project)
    run_fetched(uv(), "build", "--quiet", "--wheel", folder=project)
    commit(project)
    update(project, "v1.0.0", {"engine": "vendored"})
    assert python(project, *PYTEST).returncode == 0
    assert (project / "annotations.lock.json").read_bytes() == lock
