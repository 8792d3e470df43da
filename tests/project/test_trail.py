"""The audit trail holds what it promises, also under load; where things lie is said."""

import asyncio
import re
import sys
from pathlib import Path

import pytest
from support import python, server

from benchmarks import load


@pytest.mark.skipif(sys.platform != "linux", reason="the load test reads /proc")
def test_under_load_no_call_fails_and_no_write_is_lost(project: Path) -> None:
    with load.serving(project, audit=True) as served:
        asyncio.run(load.flood(served, clients=20, seconds=1.5))
        assert (served.errors, served.lost(), served.unrecorded()) == ([], [], 0)
        assert len(served.deleted) >= 20


@pytest.mark.parametrize(
    ("where", "place"),
    [
        ("redis://ann:secret@host:1/2", "redis://host:1/2"),
        ("rediss://:secret@host", "rediss://host"),
        ("postgresql://h/db?user=u&password=secret", "postgresql://h/db"),
        ("postgresql://h/db?password=secr@et", "postgresql:"),
        ("redis://:se?cr@et@h", "redis:"),
        ("redis://:se/cr@et@h", "redis://h"),
        ("memory", "memory"),
        ("a.db", "{here}/a.db"),
    ],
)
def test_where_something_lies_is_said_without_a_password(
    project: Path, where: str, place: str
) -> None:
    code = f"from notes_mcp.engine.places import describe_place; print(describe_place({where!r}))"
    done = python(project, "-c", code)
    assert done.stdout.strip() == place.format(here=project), done.stderr


@pytest.mark.parametrize(
    ("where", "message"),
    [
        (
            "stdout",
            "setting audit: over stdio, stdout carries the protocol; use stderr or a file",
        ),
        (
            "/dev",
            "setting audit: /dev: Is a directory; name a file that can be written, ",
        ),
    ],
)
def test_a_trail_that_has_no_place_is_one_line(
    project: Path, where: str, message: str
) -> None:
    done = server(project, "run", NOTES_MCP_AUDIT=where)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(f"notes-mcp: {re.escape(message)}.*\n", done.stderr), (
        done.stderr
    )
