"""The life of a project: rendered from one release, changed by its owner, updated to another."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import copier
import forked
import yaml
from support import PYTEST, Answers, git, pack_objects, python, render

TOOLS = ["search_notes", "get_note", "create_note", "delete_note"]
SRC = "src/notes_mcp/"
TEMPLATE = "template/src/{{package_name}}/"
ENGINE = "engine/src/copier_fastmcp_engine/"
ANSWERS = ".copier-answers.yml"
Edit = tuple[str, str, str]
TEAM = "team:\n  type: str\n  default: ''\n  help: Who is asked\n\n"
AGENTS = "template/AGENTS.md.jinja"
MIGRATIONS = "_migrations: # the guard is the last: it sees the answers that the others repaired\n"
NEW_QUESTION: list[Edit] = [
    ("copier.yml", "license:\n  <<", TEAM + "license:\n  <<"),
    (AGENTS, "", "{% if team %}\nAsk {{ team }}.\n{% endif %}"),
]


def commit(project: Path, message: str = "mine") -> None:
    """Commit everything an owner did."""
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--allow-empty", f"--message={message}")


def start(template: Path, to: Path, tag: str = "v1.0.0", **answers: object) -> Path:
    """A project under git from one release."""
    project = render(template, to, {"tools": TOOLS, **answers}, vcs_ref=tag)
    git(project, "init", "--quiet")
    commit(project, "start")
    return project


def update(project: Path, tag: str, answers: Answers | None = None) -> None:
    """Bring a release to a project, as `copier update --defaults` does, and commit it."""
    before = dict(os.environ)
    os.environ |= forked.fork_variables()  # the guard starts Copier twice
    try:
        copier.run_update(
            project,
            data=answers,
            defaults=True,
            overwrite=True,
            unsafe=True,
            quiet=True,
            vcs_ref=tag,
        )
    finally:
        os.environ.clear()
        os.environ.update(before)
    commit(project, tag)


def uncommitted(project: Path) -> set[str]:
    """List the uncommitted files."""
    lines = git(project, "status", "--porcelain", "--untracked-files=all").splitlines()
    return {line[3:] for line in lines}


def list_own_changes(project: Path) -> set[str]:
    """List the uncommitted files other than the decision records of the policy."""
    names = set()
    for name in uncommitted(project):
        if not name.startswith("docs/adr/policy/"):
            names.add(name)
    return names


def bytes_of(project: Path) -> dict[str, str]:
    """Return the hash of every file except git's own, caches and data."""
    ignored = {".git", ".data", "__pycache__"}
    digests = {}
    for path in sorted(project.rglob("*")):
        name = path.relative_to(project)
        if path.is_file() and not ignored.intersection(name.parts):
            digests[str(name)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return digests


def released(template: Path, to: Path, tag: str, *edits: Edit, **files: str) -> Path:
    """A copy of a template repository with one more release: texts replaced in files (path, old, new).

    An empty old text adds the new one at the end; an empty new file name and text deletes the file.
    """
    if template != to:
        shutil.copytree(template, to)
    for name, old, new in edits:
        path = to / name
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        assert old in text, f"{name} has no {old!r}"
        path.write_text(text.replace(old, new) if old else text + new, encoding="utf-8")
    git(to, "add", "--all")
    if git(to, "diff", "--cached", "--name-only", "--", "engine"):
        write_manifest(to)
        git(to, "add", "--all")
    git(to, "commit", "--quiet", f"--message={tag}")
    git(to, "tag", tag)
    pack_objects(to)
    return to


def write_manifest(template: Path) -> None:
    """Regenerate the engine's manifest, as every release does."""
    script = template / "scripts/engine-manifest"
    subprocess.run([sys.executable, script], cwd=template, check=True)


def load_answers(project: Path) -> Answers:
    """Load the answers of a project."""
    answers: Answers = yaml.safe_load((project / ANSWERS).read_text(encoding="utf-8"))
    return answers


def find_changes(project: Path, before: dict[str, str]) -> set[str]:
    """Find the files that were changed, added or removed."""
    after = bytes_of(project)
    return {name for name in before | after if before.get(name) != after.get(name)}


def run_suite(project: Path, *words: str) -> str:
    """Run the project's own annotation suite without starting its server over stdio, which takes most of the time."""
    file = "tests/policy/test_annotations.py"
    started = f"--deselect={file}::test_stdio_serves_the_same_tools"
    return python(project, *PYTEST, file, started, *words).stdout


def migration(version: str, stage: str, *words: str) -> Edit:
    """An entry of `_migrations`, as the guide writes it."""
    script = "{{ _copier_conf.src_path }}/hooks/migrate.py"
    command = json.dumps(["{{ _copier_python }}", script, *words])
    entry = f"  - version: {version}\n    when: \"{{{{ _stage == '{stage}' }}}}\"\n    command: {command}\n"
    return ("copier.yml", MIGRATIONS, MIGRATIONS + entry)


def rename_author(repository: Path, version: str) -> Path:
    """A release in which `author` is called `maintainer`."""
    edits = []
    for path in (repository / "template").rglob("*.jinja"):
        name = path.relative_to(repository).as_posix()
        text = path.read_text(encoding="utf-8")
        for old, new in (
            ("if author", "if maintainer"),
            ("(author", "(maintainer"),
            ("{ author", "{ maintainer"),
        ):
            if old in text:
                edits.append((name, old, new))
    text = (repository / "copier.yml").read_text()
    start, end = text.index("author:\n  type"), text.index("license:\n  <<")
    question = text[start:end]
    new = (
        question.replace("author:", "maintainer:")
        .replace("before.author", "before.maintainer")
        .replace("if author", "if maintainer")
        .replace(", author)", ", maintainer)")
    )
    return released(
        repository,
        repository,
        version,
        ("copier.yml", question, new),
        migration(version, "before", "rename", "author", "maintainer"),
        *edits,
    )


def move_module(repository: Path) -> list[Edit]:
    """Return the edits that rename engine/texts.py to engine/hygiene.py."""
    folder = repository / ENGINE
    (folder / "texts.py").rename(folder / "hygiene.py")
    edits = []
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(repository).as_posix()
        text = path.read_text(encoding="utf-8")
        for dots in (".", ".."):
            if f"from {dots}texts import" in text:
                edits.append(
                    (name, f"from {dots}texts import", f"from {dots}hygiene import")
                )
    return edits
