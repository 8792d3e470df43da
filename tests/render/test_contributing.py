"""The programs named in CONTRIBUTING.md exist, and its example commands run."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
# `uvx --from WHAT program ...`, from this environment: what uvx itself does is tested with the wheel.
UVX = '#!/bin/sh\nshift 2; program=$1; shift\nexec {python} -m "$(echo "$program" | tr - _)" "$@"\n'


def test_every_program_that_it_names_is_there() -> None:
    programs = set()
    for block in BLOCKS:
        for line in block.splitlines():
            if line.strip():
                programs.add(line.split()[0])
    programs |= set(re.findall(r"`(?:uv run )?((?:scripts|tests)/[\w./-]+)`", PAGE))
    scripts = {name for name in programs if "/" in name}
    assert {"scripts/test", "scripts/cell"} <= scripts
    missing = []
    for name in scripts:
        is_of_project = name.startswith("tests/policy")
        if not is_of_project and not (ROOT / name).exists():
            missing.append(name)
    assert missing == []
    assert programs - scripts == {"uv", "uvx"}


@pytest.mark.skipif(os.name != "posix", reason="walks the page in a shell")
def test_what_it_has_you_try_runs(template: Path, tmp_path: Path) -> None:
    uvx = tmp_path / "bin/uvx"
    uvx.parent.mkdir()
    uvx.write_text(UVX.format(python=sys.executable))
    uvx.chmod(0o755)
    lines = []
    for line in BLOCKS[1].splitlines():
        if line.startswith("uvx "):
            lines.append(line)
    assert len(lines) == 2
    done = subprocess.run(
        ["bash", "-ec", "\n".join(lines).replace("/tmp/it", str(tmp_path / "it"))],
        cwd=template,
        env=os.environ | {"PATH": f"{uvx.parent}{os.pathsep}{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "it/pyproject.toml").is_file()
    assert "adopt" in done.stdout
