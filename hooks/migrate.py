"""What a release's `_migrations` may do to a project: repair its answers before, create what is new after.

A policy change needs no migration. A release that renames a question, or whose policy needs a new file of the
owner's, adds an entry in copier.yml (docs/policy-owners.md shows them); Copier runs it once, in the project.
    before: migrate.py rename OLD NEW       a question has another name
    before: migrate.py answer NAME VALUE    an answer that the release refuses is replaced (by YAML); another is kept
    after:  migrate.py create TEMPLATE PATH...   a file of the owner's that policy needs from now on
"""

import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import yaml

ANSWERS = Path(".copier-answers.yml")
RELEASE = Path(__file__).parent.parent
REFUSED = re.compile(r"(?:Validation error for question|Invalid choice for) '(\w+)'")


def rename(answers: dict[str, Any], old: str, new: str) -> dict[str, Any]:
    """The answers with one question under its new name; an answer already there is kept."""
    renamed = {}
    for name, value in answers.items():
        if name != old:
            renamed[name] = value
        elif new not in answers:
            renamed[new] = value
    return renamed


def answer(answers: dict[str, Any], name: str, value: str) -> dict[str, Any]:
    """The answers with one of them replaced by a YAML text, if the release refuses what is there."""
    if not _refuses(answers, name):
        return answers
    return {**answers, name: yaml.safe_load(value)}


def _refuses(answers: dict[str, Any], name: str) -> bool:
    """Whether the release refuses an answer; what it says of others does not count."""
    data = dict(answers)
    while name in data:
        with tempfile.TemporaryDirectory() as folder:
            try:
                _copy(str(RELEASE), data, Path(folder), pretend=True)
            except ValueError as error:
                match = REFUSED.search(str(error))
                if match is None or match[1] == name:
                    return match is not None
                del data[match[1]]
            else:
                return False
    return False


def _copy(
    template: str, answers: dict[str, Any], folder: Path, *, pretend: bool = False
) -> None:
    import copier

    data = {name: value for name, value in answers.items() if not name.startswith("_")}
    options: dict[str, Any] = {"defaults": True, "skip_tasks": True, "quiet": True}
    copier.run_copy(
        template, folder, data=data, vcs_ref="HEAD", pretend=pretend, **options
    )


def create(answers: dict[str, Any], template: str, *paths: str) -> list[str]:
    """Create files that the template now has and this project lacks; never overwrite one.

    Returns:
        The paths that were created.
    """
    created = []
    with tempfile.TemporaryDirectory() as folder:
        _copy(template, answers, Path(folder))
        for path in paths:
            if not Path(path).exists():
                Path(path).parent.mkdir(parents=True, exist_ok=True)
                Path(path).write_bytes((Path(folder) / path).read_bytes())
                created.append(path)
    return created


def main(step: str, *words: str) -> None:
    """Do one step in the project that Copier runs this in."""
    before = ANSWERS.read_text(encoding="utf-8")
    answers = yaml.safe_load(before)
    if step == "create":
        print("created", *create(answers, *words) or ["nothing"])
        return
    repaired = {"rename": rename, "answer": answer}[step](answers, *words)
    if repaired == answers:
        return
    text = ""
    for line in before.splitlines(keepends=True):
        if line.startswith("#"):
            text += line
    text += yaml.safe_dump(repaired, sort_keys=False, allow_unicode=True)
    ANSWERS.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
