"""The command `copier-fastmcp` as a person calls it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import forked
from compiled import SITE

WHO = {
    "GIT_AUTHOR_NAME": "t",
    "GIT_AUTHOR_EMAIL": "t@example.com",
    "GIT_COMMITTER_NAME": "t",
    "GIT_COMMITTER_EMAIL": "t@example.com",
}


def interruptible() -> None:
    """A process in the background inherits that SIGINT is ignored; what is started here does not."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def environment(**variables: str) -> dict[str, str]:
    """An environment in which no setting of whoever runs the tests counts."""
    prefixes = (
        "COPIER_",
        "FASTMCP_",
        "PYTEST_",
        "UV_",
        "VIRTUAL_ENV",
        "PYTHONDONTWRITEBYTECODE",
    )
    clean = {}
    for name, value in os.environ.items():
        if not name.startswith(prefixes):
            clean[name] = value
    nowhere = {"XDG_CONFIG_HOME": os.devnull, "NO_COLOR": "1", "COLUMNS": "100"}
    return clean | nowhere | WHO | variables


def call(
    folder: Path, *words: object, stdin: str | None = None, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "copier_fastmcp", *map(str, words)],
        cwd=folder,
        env=environment(**(forked.fork_variables() | environ)),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        check=False,
        timeout=max(600, 60 * int(os.environ.get("FLEET", "2"))),
        preexec_fn=None if sys.platform == "win32" else interruptible,
    )


def fleet(*words: object) -> subprocess.CompletedProcess[str]:
    """Run `fleet` with trust, on a screen wide enough for the paths of any test."""
    return call(Path.cwd(), "fleet", "--trust", *words, COLUMNS="400")


def uv_settings(project: Path) -> dict[str, str]:
    """Return the variables that let `uv run` in a project use the environment of these tests, without a registry."""
    venv = {"UV_PROJECT_ENVIRONMENT": sys.prefix, "UV_NO_SYNC": "1"}
    return venv | {"PYTHONPATH": os.pathsep.join([str(project / "src"), str(SITE)])}


def add(project: Path, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run `add` as somebody who trusts the template."""
    return call(project, "add", "--trust", *words, **uv_settings(project), **environ)
