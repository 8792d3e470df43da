"""The guide for who has an API, walked: its commands, what they say, and a client before the fake."""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from calling import call, environment, uv_settings
from forked import fork_variables
from support import PYTEST, ROOT, git, python

TEXT = (ROOT / "docs/api.md").read_text(encoding="utf-8")
PROOFS = [*PYTEST, "tests/policy/test_annotations.py", "tests/policy/test_behavior.py"]


def parse_command(beginning: str) -> list[str]:
    """The words behind a command of the guide."""
    (line,) = re.findall(rf"(?m)^{re.escape(beginning)}(.*)$", TEXT)
    return shlex.split(f"{beginning}{line}", comments=True)[1:]


def write_later_document(document: Path) -> None:
    """The next document of the API: a parameter and an operation more, an operation less."""
    printed = yaml.safe_load((ROOT / "examples/documents/parcels.yaml").read_text())
    city = {
        "in": "query",
        "name": "city",
        "description": "Where to.",
        "schema": {"type": "string"},
    }
    printed["paths"]["/parcels"]["get"]["parameters"].append(city)
    del printed["paths"]["/parcels/{parcel_id}"]["delete"]
    done = {"200": {"description": "It is weighed."}}
    weigh = {
        "operationId": "weighParcel",
        "summary": "Weigh a parcel",
        "responses": done,
    }
    present = printed["paths"]["/parcels/{parcel_id}"]["parameters"]
    printed["paths"]["/parcels/{parcel_id}/weigh"] = {
        "parameters": present,
        "post": weigh,
    }
    document.write_text(yaml.safe_dump(printed, sort_keys=False))


def make_server(template: Path, tmp_path: Path) -> Path:
    """Run the guide's first commands, compare their output with the guide, and return the server."""
    shutil.copy(ROOT / "examples/documents/parcels.yaml", tmp_path)
    done = call(tmp_path, *parse_command("copier-fastmcp import parcels.yaml"))
    assert done.returncode == 0, done.stderr
    text = re.sub("(?m)^copier-fastmcp: ", "", done.stderr)
    for printed in re.findall(r"```text\n(.*?)```", TEXT, re.DOTALL)[0].splitlines():
        assert printed in text
    built = call(
        tmp_path, *parse_command("copier-fastmcp new parcels"), "--template", template
    )
    assert built.returncode == 0, built.stderr
    project = tmp_path / "parcels"
    assert "Tool\tBehavior\tHints\tAsks a person\tFrom" in built.stdout
    checklist = (project / "docs/import.md").read_text()
    assert "| 1. Decide | critical | 5 min | 1: `run_insurance` |" in checklist
    (body,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert body in (project / "src/parcels_mcp/tools/update_parcel.py").read_text()
    assert set(re.findall("PARCELS_MCP_[A-Z_]+", TEXT)) <= set(
        re.findall("PARCELS_MCP_[A-Z_]+", (project / "README.md").read_text())
    )
    return project


def test_the_commands_print_what_the_guide_shows(
    template: Path, tmp_path: Path
) -> None:
    make_server(template, tmp_path)


@pytest.mark.nightly
def test_the_guide_is_true(template: Path, tmp_path: Path) -> None:
    project = make_server(template, tmp_path)
    prompt = {**environment(), **uv_settings(project), **fork_variables()}
    for line in [
        "uv run tests/policy/pin.py",
        "git init",
        "git add",
        "git commit -m",
    ]:
        (step,) = re.findall(rf"(?m)^{re.escape(line)}.*", TEXT)
        step = step.replace("uv run", sys.executable)
        subprocess.run(
            ["sh", "-c", step], cwd=project, env=prompt, check=True, capture_output=True
        )
    proven = python(project, *PROOFS)
    assert proven.returncode == 0, proven.stdout
    printed = python(ROOT, "scripts/demo_api.py", str(project))
    assert printed.returncode == 0, printed.stdout + printed.stderr
    assert "the server asks a person" in printed.stdout
    assert '"outcome": "applied"' in printed.stdout
    assert "refused: GET /parcels/" in printed.stdout, "what is deleted is gone"
    write_later_document(tmp_path / "parcels-2.yaml")
    (project / "demo.log").unlink()  # the demo's, not the guide's
    synced = call(
        project,
        *parse_command("copier-fastmcp sync"),
        "--trust",
        **uv_settings(project),
    )
    assert synced.returncode == 1, "a tool is gone"
    assert "wording: list_parcels has the new optional parameter city" in synced.stdout
    assert "removed: DELETE /parcels/{parcel_id} (delete_parcel)" in synced.stdout
    assert "weigh_parcel: is new" in synced.stdout, "the lock is renewed"
    git(project, *parse_command("git merge"))
    tool = "src/parcels_mcp/tools/list_parcels.py"
    assert "city" in (project / tool).read_text()
    assert not (project / "src/parcels_mcp/tools/delete_parcel.py").exists()
