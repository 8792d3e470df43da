"""Third-party programs from a package registry; without a registry their tests are skipped."""

import os
import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from support import ROOT

UNREACHABLE = r"ENOTFOUND|ETIMEDOUT|ECONN\w+|EAI_AGAIN|E40[134]|Failed to (fetch|download)|dns error|client error"


def run(
    *words: str | Path, folder: Path, **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a program in a folder, in an environment without a Python path."""
    clean = {
        k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")
    }
    return subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=clean | environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def run_fetched(
    *words: str | Path, folder: Path, codes: tuple[int, ...] = (0,), **environ: str
) -> subprocess.CompletedProcess[str]:
    """Run a program that needs a registry; skip with its message if there is none, else require one of `codes`."""
    try:
        done = run(*words, folder=folder, **environ)
        if done.returncode and re.search(UNREACHABLE, done.stdout + done.stderr):
            done = run(*words, folder=folder, **environ)  # registries have bad moments
    except FileNotFoundError:
        pytest.skip(f"{words[0]} is not installed")
    output = done.stdout + done.stderr
    if done.returncode and (failure := re.search(f".*({UNREACHABLE}).*", output)):
        pytest.skip(f"{words[0]}: {failure[0]}")
    assert done.returncode in codes, output[-4000:]
    return done


@cache
def uv() -> str:
    """The uv that scripts/_uv finds."""
    done = subprocess.run(
        [ROOT / "scripts/_uv"], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def npx(package: str, program: str) -> list[str]:
    """The words that run a program of an npm package on a Node that is new enough."""
    return ["npx", "--yes", "-p", "node@22", "-p", package, program]
