"""A project over its years: started from one release, changed by its owner, updated to another."""

import hashlib
import shutil
from pathlib import Path

import copier
from support import Answers, git, render

TOOLS = ["search_notes", "get_note", "create_note", "delete_note"]
SRC = "src/notes_mcp/"
TEMPLATE = "template/src/{{package_name}}/"
Edit = tuple[str, str, str]


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
    copier.run_update(
        project, data=answers, defaults=True, overwrite=True, unsafe=True, quiet=True, vcs_ref=tag
    )
    commit(project, tag)


def changed(project: Path) -> set[str]:
    """What git sees."""
    lines = git(project, "status", "--porcelain", "--untracked-files=all").splitlines()
    return {line[3:] for line in lines}


def bytes_of(project: Path) -> dict[str, str]:
    """The hash of every file but git's own, caches and data."""
    return {
        str(path.relative_to(project)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(project.rglob("*"))
        if path.is_file()
        and not {".git", ".data", "__pycache__"} & {*path.relative_to(project).parts}
    }


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
    git(to, "commit", "--quiet", f"--message={tag}")
    git(to, "tag", tag)
    return to
