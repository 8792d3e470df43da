"""Adoption records a template version only if an update can find it."""

from pathlib import Path

import pytest
from lifecycle import commit
from support import git

from copier_fastmcp.errors import RefusedError, UnableError
from copier_fastmcp.project.origin import Template
from copier_fastmcp.project.template_version import find_recordable_version


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    folder = tmp_path / "template"
    folder.mkdir()
    (folder / "copier.yml").write_text("a: 1\n")
    git(folder, "init", "--quiet", "--initial-branch=main")
    commit(folder)
    return folder


def read_head(folder: Path) -> str:
    return git(folder, "rev-parse", "HEAD").strip()


def edit_file(folder: Path) -> None:
    (folder / "copier.yml").write_text("a: 2\n")


def test_a_clean_checkout_is_recorded_as_it_is(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    template = Template(str(checkout), "HEAD")
    assert find_recordable_version(template) == template
    assert capsys.readouterr().err == ""


def test_uncommitted_work_is_left_out_with_a_warning(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    edit_file(checkout)
    assert find_recordable_version(Template(str(checkout), "HEAD")).ref == read_head(
        checkout
    )
    assert "warning: " in capsys.readouterr().err


def test_a_commit_that_no_branch_reaches_becomes_the_nearest_that_one_does(
    checkout: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reached = read_head(checkout)
    git(checkout, "checkout", "--quiet", "--detach")
    edit_file(checkout)
    commit(checkout)
    assert find_recordable_version(Template(str(checkout), "HEAD")).ref == reached
    assert f"{reached[:12]} is used and recorded" in capsys.readouterr().err


def test_where_no_branch_reaches_any_commit_it_is_refused(checkout: Path) -> None:
    git(checkout, "checkout", "--quiet", "--detach")
    git(checkout, "branch", "--quiet", "-D", "main")
    with pytest.raises(RefusedError, match="make a branch there first"):
        find_recordable_version(Template(str(checkout), "HEAD"))


def test_a_version_that_is_not_there_is_named(checkout: Path) -> None:
    with pytest.raises(UnableError, match=r"has no commit v9\.9"):
        find_recordable_version(Template(str(checkout), "v9.9"))


def test_an_address_is_not_looked_at() -> None:
    template = Template("git+https://example.com/it.git", "v1")
    assert find_recordable_version(template) == template
