"""The commands of the guide "You have a server", and the audit step of the workflow, on an ordinary server."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import forked
import pytest
import yaml
from adopting.samples import ORDINARY
from adopting.test_adopt import create_server
from lifecycle import commit, uncommitted
from support import ROOT, git

GUIDE = (ROOT / "docs/your-server.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL)
UVX = '#!/bin/sh\nshift 2\nexec "$@"\n'
UV = '#!/bin/sh\n[ "$1" = sync ] && exit 0\nshift\nexec {python} "$@"\n'
RUN = """
if __name__ == "__main__":
    mcp.run()
"""


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """Shell variables that make uv and uvx run the programs of this environment."""
    programs = tmp_path / "bin"
    programs.mkdir()
    interpreter_folder = Path(sys.executable).parent
    for name, text in {"uvx": UVX, "uv": UV.format(python=sys.executable)}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    identity = {}
    for role in ("AUTHOR", "COMMITTER"):
        for what in ("NAME", "EMAIL"):
            identity[f"GIT_{role}_{what}"] = "t@example.com"
    return {
        **os.environ,
        **identity,
        **forked.fork_variables(),
        "PATH": f"{programs}{os.pathsep}{interpreter_folder}{os.pathsep}{os.environ['PATH']}",
    }


def run(
    text: str, folder: Path, variables: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-e", "-c", text],
        cwd=folder,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.skipif(os.name != "posix", reason="walks the guide in a shell")
def test_the_guide_can_be_walked(
    template: Path, tmp_path: Path, shell: dict[str, str]
) -> None:
    folder = create_server(tmp_path / "it", ORDINARY)
    against, audit, annotate, adopt = BLOCKS
    process = run(
        against.replace("uvx my-server@latest", "python server.py"), folder, shell
    )
    assert (process.returncode, process.stdout.split(", ")[-1]) == (
        0,
        "no changes\n",
    ), process.stderr
    process = run(audit, folder, shell)
    assert process.returncode == 0, process.stdout + process.stderr
    assert "save_note" in (folder / "known.json").read_text()
    commit(folder)
    process = run(annotate, folder, shell)
    assert process.returncode == 0, process.stderr
    assert (
        '-@mcp.tool(annotations={"readOnlyHint": True})  # wrong: it saves'
        in process.stdout
    )
    text = adopt.replace("adopt --", f"adopt --template {template} --ref v99.0.0 --")
    process = run(text, folder, shell)
    assert process.returncode == 0, process.stdout + process.stderr
    assert " passed" in process.stdout
    assert uncommitted(folder) == set()
    last_audit = run(
        'uvx --from "$T" copier-fastmcp audit --server "python server.py" --level error',
        folder,
        shell,
    )
    assert (last_audit.returncode, last_audit.stdout) == (0, last_audit.stdout), (
        last_audit.stdout
    )
    for undo in re.findall(r"before the commit `(.*?)`", GUIDE):
        git(folder, "reset", "--quiet", "--soft", "HEAD~1")
        git(folder, "reset", "--quiet")
        assert run(undo, folder, shell).returncode == 0
        assert uncommitted(folder) == set()


@pytest.mark.skipif(os.name != "posix", reason="runs the step in a shell")
def test_the_audit_of_a_workflow_and_of_pre_commit_run(
    tmp_path: Path, shell: dict[str, str]
) -> None:
    folder = create_server(tmp_path / "it", ORDINARY)
    flow = yaml.safe_load(
        (ROOT / ".github/workflows/audit-server.yml").read_text("utf-8")
    )
    step = flow["jobs"]["audit"]["steps"][-1]
    inputs = {
        "COMMAND": "it",
        "SERVER": f"{sys.executable} server.py",
        "LEVEL": "error",
    }
    files = {"BASELINE": "", "SNAPSHOT": "tools.json", "AGAINST": ""}
    assert step["env"].keys() == inputs.keys() | files.keys()
    first = run(step["run"], folder, shell | inputs | files)
    assert first.returncode == 1
    assert "save_note" in first.stdout
    assert (folder / "tools.json").is_file()
    files = {"BASELINE": "", "SNAPSHOT": "", "AGAINST": "tools.json"}
    (folder / "tools.json").write_text(
        json.dumps([{"name": "gone_note"}]), encoding="utf-8"
    )
    compared = run(step["run"], folder, shell | inputs | files)
    assert (compared.returncode, "gone_note: BREAKING: is gone" in compared.stdout) == (
        1,
        True,
    )
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    printed_blocks = []
    for block in re.findall(r"```yaml\n(.*?)```", GUIDE, re.DOTALL):
        printed_blocks.append(yaml.safe_load(block))
    (use,) = printed_blocks[1]["repos"][0]["hooks"]
    assert use["id"] == hook["id"]
    assert (
        printed_blocks[0]["jobs"]["audit"]["with"].keys()
        <= flow[True]["workflow_call"]["inputs"].keys()
    )
    (folder / "known.json").write_text("[]")
    words = [*hook["entry"].split(), *use["args"]]
    done = subprocess.run(
        words,
        cwd=folder,
        env=shell,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert (done.returncode, "save_note" in done.stdout) == (1, True), done.stderr
