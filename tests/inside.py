"""Runs the tests of tests/attacks inside a rendered server, in a process of its own."""

import os
from pathlib import Path

from support import ROOT, python

ATTACKS = ROOT / "tests/attacks"


def environment(project: Path) -> dict[str, str]:
    """The variables with which a process imports the project's package and `attacks`, and no plugin it need not."""
    return {
        "PYTHONPATH": os.pathsep.join(map(str, (project / "src", ROOT / "tests"))),
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }


def attack(project: Path, *rows: str, **environ: str) -> str:
    """Attack a rendered server.

    Args:
        project: The rendered project; its package has the name that the attacks import.
        rows: Files below tests/attacks, each alone or with `::` and a test or row.
        environ: More environment variables, settings of the server among them.

    Returns:
        Nothing when every row holds, else pytest's output, which names each row that fails.
    """
    words = ["-m", "pytest", "-c", str(ATTACKS / "pytest.ini"), "--rootdir", str(ATTACKS)]
    done = python(
        project,
        *words,
        *(str(ATTACKS / row) for row in rows),
        **environment(project) | environ,
    )
    return "" if done.returncode == 0 else done.stdout + done.stderr
