"""Which template the command takes for its own, by how it was installed."""

import json
from dataclasses import dataclass, field
from email.message import Message
from pathlib import Path

import pytest

from copier_fastmcp.errors import UnableError
from copier_fastmcp.project import copier_process, origin
from copier_fastmcp.project.origin import Template, find_template, is_own

ADDRESS = "https://code.example.org/us/copier-fastmcp"


@dataclass
class Installed:
    """What importlib.metadata tells of an installed package."""

    direct_url: dict[str, object] | None = None
    repository: str = f"{ADDRESS}.git"
    version: str = "1.2.3"
    metadata: Message = field(default_factory=Message)

    def __post_init__(self) -> None:
        """Write the address where a package has it."""
        self.metadata["Project-URL"] = "Documentation, https://example.com/docs"
        self.metadata["Project-URL"] = f"Repository, {self.repository}"

    def read_text(self, name: str) -> str | None:
        """A file of its metadata."""
        assert name == "direct_url.json"
        return json.dumps(self.direct_url) if self.direct_url is not None else None


def install(monkeypatch: pytest.MonkeyPatch, package: Installed) -> None:
    monkeypatch.setattr(origin, "distribution", lambda name: package)


def git_at(address: str) -> Installed:
    return Installed(
        {"url": address, "vcs_info": {"vcs": "git", "commit_id": "c0ffee"}}
    )


@pytest.mark.parametrize(
    ("package", "template"),
    [
        (git_at(ADDRESS), Template(f"git+{ADDRESS}", "c0ffee")),
        (git_at(f"{ADDRESS}.git"), Template(f"{ADDRESS}.git", "c0ffee")),
        (
            git_at("ssh://git@x.example.org/a"),
            Template("git+ssh://git@x.example.org/a", "c0ffee"),
        ),
        (git_at("file:///srv/the%20template"), Template("/srv/the template", "c0ffee")),
        (Installed(), Template(f"{ADDRESS}.git", "v1.2.3")),
        (Installed(repository=ADDRESS), Template(f"git+{ADDRESS}", "v1.2.3")),
        (
            Installed(
                {"url": "file:///tmp/x-1.2.3-py3-none-any.whl", "archive_info": {}}
            ),
            Template(f"{ADDRESS}.git", "v1.2.3"),
        ),
    ],
    ids=["git", "dot-git", "ssh", "git-of-a-folder", "index", "address", "wheel"],
)
def test_it_is_where_the_package_came_from(
    package: Installed, template: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, package)
    assert find_template() == template
    assert find_template(ref="v9") == Template(template.source, "v9")
    assert find_template("/", "v9") == Template("/", "v9")
    assert find_template("/") == Template("/", "HEAD")


@pytest.mark.parametrize(
    "editable", [{}, {"editable": True}], ids=["built", "editable"]
)
def test_a_checkout_is_taken_at_head(
    editable: dict[str, bool], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout = tmp_path / "the template"
    checkout.mkdir()
    install(monkeypatch, Installed({"url": checkout.as_uri(), "dir_info": editable}))
    with pytest.raises(
        UnableError, match=r"has no copier.yml; name the template with --template"
    ):
        find_template()
    (checkout / "copier.yml").touch()
    assert find_template() == Template(str(checkout), "HEAD")


@pytest.mark.parametrize(
    "address", ["", "https://example.com/OWNER/copier-fastmcp.git"]
)
def test_a_placeholder_is_no_address(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, Installed(repository=address))
    with pytest.raises(
        UnableError, match="names no repository of its template; name the template"
    ):
        find_template()
    assert not is_own(address)


@pytest.mark.parametrize(
    ("address", "same"),
    [
        (ADDRESS, True),
        (f"{ADDRESS}/", True),
        (f"{ADDRESS}.git", True),
        (f"git+{ADDRESS}", True),
        (f"git+{ADDRESS}.git", True),
        (f"{ADDRESS}-evil", False),
        (f"{ADDRESS}/../other", False),
        (f"file://{ADDRESS}", False),
        ("/us/copier-fastmcp", False),
        ("", False),
    ],
)
def test_an_address_in_other_words_is_the_same(
    address: str, same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(monkeypatch, git_at(ADDRESS))
    assert is_own(address) is same


def test_a_folder_by_another_name_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "copier.yml").touch()
    install(monkeypatch, Installed({"url": tmp_path.as_uri(), "dir_info": {}}))
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    assert is_own(str(link))
    assert is_own(f"{tmp_path}/")
    assert is_own(tmp_path.as_uri())
    assert is_own(f"file:///{tmp_path}")
    assert not is_own(str(tmp_path.parent))


def test_an_error_of_copiers_without_a_word_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(self: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("copier._template.Template.tasks", property(fails))
    with pytest.raises(
        UnableError, match="the template /nowhere: RuntimeError; name another"
    ):
        copier_process.describe_template_code("/nowhere", "v1.0.0", None)


def test_a_folder_is_named_as_seen_from_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fork").mkdir()
    monkeypatch.chdir(tmp_path / "fork")
    assert (
        find_template("../fork")
        == find_template(".")
        == Template(str((tmp_path / "fork").resolve()), "HEAD")
    )
    assert find_template("gh:ann/fork", "v1") == Template("gh:ann/fork", "v1")
    with pytest.raises(
        UnableError, match=r"--template \.\./nowhere is not a folder; name a checkout"
    ):
        find_template("../nowhere")
