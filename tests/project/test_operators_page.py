"""docs/operators.md, walked on the default server: every block of it runs, in its order."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import forked
import pytest
from support import ROOT

PAGE = (ROOT / "docs/operators.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
UV = """#!/bin/sh
shift; program=$1; shift
[ "$program" = notes-mcp ] && exec {python} -P -m notes_mcp "$@"
exec {python} {bin}/"$program" "$@"
"""


@pytest.mark.skipif(os.name != "posix", reason="walks the page in a shell")
def test_an_operator_can_walk_it(project: Path, tmp_path: Path, port: str) -> None:
    bin_folder = Path(sys.executable).parent
    uv = tmp_path / "bin/uv"
    uv.parent.mkdir()
    uv.write_text(UV.format(python=shlex.join(forked.python([])), bin=bin_folder))
    uv.chmod(0o755)
    commands = "\necho '#####'\n".join(BLOCKS).replace("8765", port)
    script = f"set -eu; trap 'kill $(jobs -p) 2>/dev/null || true' EXIT\n{commands}\necho 'the end'"
    environ = os.environ | {
        "PATH": f"{uv.parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(project / "src"),
        "HOME": str(tmp_path),
        "NO_COLOR": "1",
        "COLUMNS": "200",
    }
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    started, listed, log, stopped = done.stdout.split("#####")
    assert json.loads(started) == {"status": "ok"}
    everything, readonly = listed.split("Tools (")[1:]
    assert "delete_note" in everything
    assert "delete_note" not in readonly
    assert "search_notes" in readonly
    line = json.loads(log.strip().splitlines()[0])
    assert (line["tool"], line["outcome"]) == ("create_note", "applied")
    assert "Milk" not in log
    assert '"event": "tool_call"' in log
    assert "the end" in stopped
