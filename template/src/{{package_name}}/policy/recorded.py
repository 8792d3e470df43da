"""The template that this project came from, at the version it recorded: rendered anew, compared, asked for more.

Managed by the template. Copier is a development dependency; it runs as its own process.
"""

import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from .registry import StartError

ANSWERS = Path(".copier-answers.yml")
SECONDS = 300
# Yours, and what you share with the template (its `_skip_if_exists`; docs/adr/policy): no policy.
NOT_POLICY = re.compile(
    r"src/[^/]+/((tools|resources)/.+|(backend|settings|extend)\.py|metadata\.yaml)"
    r"|tests/(tools/.+|conftest\.py)|annotations\.lock\.json|docs/tools\.md|\.copier-answers\.yml"
    r"|pyproject\.toml|README\.md|\.gitignore|LICENSE|server\.json|manifest\.json|\.github/CODEOWNERS"
)


def answers() -> dict[str, Any]:
    """What this project answered the template, with `_src_path` and `_commit`.

    Raises:
        StartError: There are no answers here, or they do not say for certain where they came from.
    """
    try:
        found = yaml.safe_load(ANSWERS.read_text(encoding="utf-8"))
        found = {**found, "_src_path": str(found["_src_path"]), "_commit": str(found["_commit"])}
    except FileNotFoundError:
        raise StartError(f"{ANSWERS} is not in {Path.cwd()}; run this in the project") from None
    except (yaml.YAMLError, ValueError, TypeError, KeyError) as error:
        why = f"{ANSWERS} names no template and version ({type(error).__name__})"
        raise StartError(f"{why}; restore it from git") from None
    source = found["_src_path"]
    if ":" not in source and not Path(source).expanduser().is_absolute():
        why = f"{ANSWERS}: _src_path {source} is relative, so it could be any folder"
        raise StartError(f"{why}; write the template's whole path or address")
    return found


def copier(data: dict[str, Any], *words: str) -> None:
    """Run Copier with these answers, and without questions.

    Raises:
        StartError: It is not installed, did not end in time, or refused; its own last line says why.
    """
    calm = {"GIT_SSH_COMMAND": "ssh -oBatchMode=yes"} | os.environ | {"GIT_TERMINAL_PROMPT": "0"}
    with tempfile.TemporaryDirectory() as folder:
        said = Path(folder) / "data.yml"
        said.write_text(yaml.safe_dump(data, allow_unicode=True), encoding="utf-8")
        options = ["--quiet", "--defaults", "--data-file", str(said)]
        command = [sys.executable, "-m", "copier", words[0], *options, *words[1:]]
        try:
            done = subprocess.run(
                command, env=calm, capture_output=True, text=True, check=False, timeout=SECONDS
            )
        except subprocess.TimeoutExpired:
            raise StartError(f"Copier did not end within {SECONDS} seconds") from None
    if done.returncode:
        text = (done.stdout + done.stderr).strip() or f"Copier: exit code {done.returncode}"
        _, refused, why = text.rpartition("ValueError: Validation error for question ")
        why = why.partition(": ")[2]  # behind the question's name
        if "No module named copier" in text:
            text = "Copier is not installed; `uv sync` brings the development dependencies"
        raise StartError(" ".join(why.split()) if refused else text.splitlines()[-1].strip())


@contextmanager
def rendered(of: dict[str, Any]) -> Iterator[Path]:
    """A fresh render of answers at the version they name, in a folder that goes away.

    Raises:
        StartError: The template or the version cannot be reached, or the answers are refused.
    """
    kept = {name: value for name, value in of.items() if not name.startswith("_")}
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        source = (of["_commit"], of["_src_path"])
        copier(kept, "copy", "--skip-tasks", "--vcs-ref", *source, str(project))
        yield project


def drift(fresh: Path, project: Path) -> dict[str, str]:
    """Each policy file of a fresh render that the project has otherwise: "edited" or "missing"."""
    found = {}
    for path in sorted(fresh.rglob("*")):
        name = path.relative_to(fresh).as_posix()
        if not path.is_file() or NOT_POLICY.fullmatch(name):
            continue
        mine = project / name
        if not mine.is_file():
            found[name] = "missing"
        elif mine.read_bytes().replace(b"\r\n", b"\n") != path.read_bytes():
            found[name] = "edited"
    return found
