"""What a build of an existing server packs into its wheel or its image, so that an installed server finds its policy."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from ..project.engine_requirement import append_requirement

# Keys of hatch that list folders, and the one that lists patterns.
HATCH_FOLDERS = ("packages", "only-include")
HATCH_PATTERNS = "include"
# The places where every build that names no packages looks for them.
TOP_FOLDERS = (".", "src")
COPY = re.compile(r"(?im)^\s*(?:COPY|ADD)\s+((?:--\S+\s+)*)(.+?)\s+\S+\s*$")
SETUPTOOLS = "setuptools"
HATCHLING = "hatchling"


@dataclass(frozen=True)
class AddedPackages:
    """The Python packages that an adoption adds.

    Attributes:
        place: The folder that they are in, relative to the project; `.` for the project itself.
        names: Their paths in that folder, as `policy` and `engine/pages`.
    """

    place: str
    names: tuple[str, ...]

    @property
    def folders(self) -> list[str]:
        """The outermost folders, relative to the project."""
        above = "" if self.place == "." else f"{self.place}/"
        return [f"{above}{name}" for name in self.names if "/" not in name]

    @property
    def dotted(self) -> list[str]:
        """The full names under which the packages are imported."""
        parts = [part for part in self.place.split("/") if part not in ("", ".")]
        if parts[:1] == ["src"]:
            del parts[0]
        return [".".join([*parts, *name.split("/")]) for name in self.names]


def find_added_packages(
    files: Iterable[str], place: str, folders: Sequence[str]
) -> AddedPackages:
    """Find the Python packages among the files of an adoption.

    Args:
        files: The new files, relative to the project.
        place: The folder that the policy goes in.
        folders: The names of the policy's and of the engine's folder.
    """
    above = "" if place == "." else f"{place}/"
    names: set[str] = set()
    for file in files:
        name = file.removeprefix(above)
        folder, slash, _ = name.rpartition("/")
        is_ours = file.startswith(above) and name.split("/")[0] in folders
        if is_ours and slash and name.endswith(".py"):
            names.add(folder)
    return AddedPackages(place, tuple(sorted(names)))


def pack_packages(text: str, added: AddedPackages) -> tuple[str, str]:
    """Add packages to what a pyproject.toml packs into a wheel, where it names that.

    Args:
        text: The pyproject.toml.
        added: The packages.

    Returns:
        The new text, and what to add by hand, if anything. Everything else keeps its bytes.
    """
    import tomlkit

    document: Any = tomlkit.parse(text)
    system = document.get("build-system", {})
    backend = str(system.get("build-backend", SETUPTOOLS if system else ""))
    tool = document.get("tool", {})
    is_packed = True
    if backend.startswith(HATCHLING):
        is_packed = _pack_by_hatch(tool.get("hatch", {}).get("build", {}), added)
    elif backend.startswith(SETUPTOOLS):
        is_packed = _pack_by_setuptools(tool.get(SETUPTOOLS, {}), added)
    elif backend:
        is_packed = added.place not in TOP_FOLDERS
    if not is_packed:
        names = " and ".join(added.folders)
        return text, f"{backend} has to pack {names}, too: name them in pyproject.toml"
    changed = tomlkit.dumps(document)
    if "\r\n" in text:
        changed = changed.replace("\r\n", "\n").replace("\n", "\r\n")
    return changed, ""


def _pack_by_hatch(build: Any, added: AddedPackages) -> bool:
    """Add folders to the lists of hatch; False where it guesses, and guesses other folders."""
    wheel = build.get("targets", {}).get("wheel", {})
    for key in HATCH_FOLDERS:
        if key in wheel:
            for folder in added.folders:
                if not any(_is_below(folder, listed) for listed in wheel[key]):
                    append_requirement(wheel[key], folder)
            return True
    for table in (wheel, build):
        if HATCH_PATTERNS in table:
            for folder in added.folders:
                if not any(_matches(folder, item) for item in table[HATCH_PATTERNS]):
                    append_requirement(table[HATCH_PATTERNS], f"{folder}/**")
            return True
    return added.place not in TOP_FOLDERS


def _is_below(folder: str, listed: Any) -> bool:
    """Whether a folder is a listed one, or in it."""
    above = str(listed).strip("./")
    return not above or f"{folder}/".startswith(f"{above}/")


def _matches(folder: str, pattern: Any) -> bool:
    """Whether a pattern of hatch has the files of a folder."""
    plain = str(pattern).lstrip("/")
    is_above = _is_below(folder, plain.rstrip("*").rstrip("/"))
    return is_above or fnmatchcase(f"{folder}/__init__.py", plain)


def _pack_by_setuptools(table: Any, added: AddedPackages) -> bool:
    """Add packages to the lists of setuptools; False where it finds them by itself, and refuses several."""
    import tomlkit

    packages = table.get("packages")
    if isinstance(packages, list):
        for name in added.dotted:
            if name not in packages:
                append_requirement(packages, name)
        return True
    if isinstance(packages, Mapping):
        find = packages.get("find", packages)
        if "include" in find:
            _include_names(find["include"], added)
        return True
    if "py-modules" in table:
        listed = tomlkit.array()
        listed.extend(added.dotted)
        listed.multiline(True)
        table["packages"] = listed
        return True
    return added.place != "."


def _include_names(patterns: Any, added: AddedPackages) -> None:
    """Add the outermost packages to the patterns by which setuptools finds packages."""
    for name, dotted in zip(added.names, added.dotted, strict=True):
        is_found = any(fnmatchcase(dotted, str(pattern)) for pattern in patterns)
        if "/" not in name and not is_found:
            append_requirement(patterns, f"{dotted}*")


def list_images_without(root: Path, added: AddedPackages) -> Iterator[str]:
    """The Dockerfiles that copy single files of a server, and none of the packages next to these.

    Args:
        root: The folder of the server.
        added: The packages.
    """
    for path in sorted(root.glob("*Dockerfile*")):
        text = path.read_text("utf-8", "replace").replace("\\\n", " ")
        sources: list[str] = []
        for options, listed in COPY.findall(text):
            if "--from" not in options:
                sources += re.sub(r"[\[\],\"']", " ", listed).split()
        is_copied = all(
            any(_is_below(folder, source) for source in sources)
            for folder in added.folders
        )
        if sources and not is_copied:
            yield path.name
