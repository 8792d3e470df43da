"""Which template this command belongs to: the one that lies, or lay, around its own source."""

import json
import re
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ..errors import UnableError

PACKAGE = "copier-fastmcp"
FIX = "name the template with --template"
PLACEHOLDER = "example.com"


@dataclass(frozen=True)
class Template:
    """A template as Copier takes it: an address, and a tag, branch or commit."""

    source: str
    ref: str


def _distribution() -> Distribution:
    try:
        return distribution(PACKAGE)
    except PackageNotFoundError as error:
        raise UnableError(f"{PACKAGE} runs without being installed; {FIX}") from error


def get_installed_version() -> str:
    """The version of this command.

    Raises:
        UnableError: It is not installed.
    """
    return _distribution().version


def find_template(template: str | None = None, ref: str | None = None) -> Template:
    """The template of this command.

    Where it was installed from decides (PEP 610): a checkout is taken at HEAD, a repository at the
    commit that was installed. A wheel does not hold the template, so for one from an index, or from
    a file, it is the repository that the package names, at the tag of this version.

    Args:
        template: An address, or a folder as seen from here, to take instead.
        ref: A tag, branch or commit to take instead.

    Raises:
        UnableError: Nothing says where the template is, or `template` is not there; the message says how to name it.
    """
    if template and ":" not in template:  # Copier would look for it from another folder
        folder = Path(template).expanduser()
        if not folder.is_dir():
            problem = f"--template {template} is not a folder"
            raise UnableError(
                f"{problem}; name a checkout of the template, or a repository's address"
            )
        return Template(str(folder.resolve()), ref or "HEAD")
    if template:
        return Template(template, ref or "HEAD")
    package = _distribution()
    record = json.loads(package.read_text("direct_url.json") or "{}")
    address = record.get("url", "")
    if "dir_info" in record:
        checkout = Path(_parse_file_address(address))
        if not (checkout / "copier.yml").is_file():
            raise UnableError(
                f"{PACKAGE} came from {checkout}, which has no copier.yml; {FIX}"
            )
        return Template(str(checkout), ref or "HEAD")
    if "vcs_info" in record:
        return Template(_as_git(address), ref or record["vcs_info"]["commit_id"])
    repository = _repository(package)
    if urlsplit(repository).hostname in (None, PLACEHOLDER):
        raise UnableError(
            f"this build of {PACKAGE} names no repository of its template; {FIX}"
        )
    return Template(_as_git(repository), ref or f"v{package.version}")


def _repository(package: Distribution) -> str:
    """The address behind `[project.urls] Repository`."""
    urls = [url.partition(",") for url in package.metadata.get_all("Project-URL") or ()]
    return next(
        (url.strip() for name, _, url in urls if name.lower() == "repository"), ""
    )


def _as_git(address: str) -> str:
    """An address that Copier takes for a git repository."""
    if address.startswith("file:"):
        return _parse_file_address(address)
    return (
        address
        if address.endswith(".git") or "://" not in address
        else f"git+{address}"
    )


def _parse_file_address(address: str) -> str:
    """The path in a `file:` address."""
    # Python 3.14 takes what follows two slashes for a host, and refuses it
    return url2pathname("/" + urlsplit(address).path.lstrip("/"))


def is_own(source: str) -> bool:
    """Whether an address is that of this command's own template."""
    try:
        return _plain(find_template().source) == _plain(source)
    except UnableError:
        return False


def _plain(address: str) -> str:
    """An address without what does not tell two repositories apart."""
    address = re.sub(r"\.git$", "", re.sub(r"^git\+", "", address).rstrip("/"))
    if address.startswith("file:"):
        address = _parse_file_address(address)
    return address if ":" in address else str(Path(address).expanduser().resolve())
