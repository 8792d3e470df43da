"""`try`, then `update --merge`: what a live API shows reaches the files of a real server."""

from pathlib import Path

import pytest
from calling import call, uv_settings
from command.test_import_changes import parcels
from command.test_sync import TOOLS, replace, write_document
from command.test_try import Api, serving
from lifecycle import commit
from support import clone_template, git, pin

pytestmark = pytest.mark.nightly


def test_findings_reach_the_files_of_a_server(tmp_path: Path) -> None:
    template = clone_template(tmp_path / "template", tag="v1.0.0")
    paths = parcels()
    schema = {"type": "object", "properties": {"weight": {"type": "integer"}}}
    content = {"application/json": {"schema": schema}}
    responses = {"200": {"description": "", "content": content}}
    paths["/parcels/{parcel_id}"]["get"]["responses"] = responses
    document = write_document(tmp_path / "parcels.json", paths)
    words = ("--from", document, "--unattended", "--template", template)
    done = call(tmp_path, "new", tmp_path / "p", *words)
    assert done.returncode == 0, done.stderr
    project = tmp_path / "p"
    replace(project, "get_parcel", '"""Get one."""', '"""Mine."""')
    pin(project)
    git(project, "init", "--quiet")
    commit(project, "start")
    answers = {"GET /parcels": [{"id": "p1"}], "GET /parcels/p1": {"weight": "3 kg"}}
    with serving(Api(answers)) as api:
        tried = call(project, "try", "--send", PARCELS_MCP_API=api.address)
    assert tried.returncode == 1, tried.stderr
    assert "weight is documented as int, str was received" in tried.stdout
    merging = ("--merge", "--from", "answers.try.yml", "--trust")
    done = call(project, "update", *merging, **uv_settings(project))
    assert done.returncode in (0, 1), done.stdout + done.stderr
    (branch,) = git(project, "branch", "--list", "template-*").split()
    git(project, "merge", "--quiet", branch)
    merged = (project / TOOLS / "get_parcel.py").read_text()
    assert "weight: str" in merged
    assert '"""Mine."""' in merged
    assert f"api: {api.address}" in (project / ".copier-answers.yml").read_text()
    second = call(project, "try", "--dry-run")
    assert second.returncode == 0, second.stderr
