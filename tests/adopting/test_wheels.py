"""A wheel of an adopted server contains its policy, whatever its build names."""

import tomllib
from pathlib import Path

import pytest
from adopting.test_adopt import create_server
from adopting.test_layouts import MADE, TOOL
from lifecycle import commit

from copier_fastmcp.adopting.wheel_contents import (
    AddedPackages,
    find_added_packages,
    list_images_without,
    pack_packages,
)
from copier_fastmcp.cli import main

FLAT = AddedPackages(".", ("engine", "engine/pages", "policy"))
INSIDE = AddedPackages("src/notes", ("engine", "engine/pages", "policy"))
HATCH = '[build-system]\nbuild-backend = "hatchling.build"\n'
SETUPTOOLS = '[build-system]\nbuild-backend = "setuptools.build_meta"\n'
OTHER = '[build-system]\nbuild-backend = "flit_core.buildapi"\n'
# The build of a server, the packages of ours, and what it names afterwards.
NAMED = {
    "packages of setuptools": (
        f'{SETUPTOOLS}[tool.setuptools]\npy-modules = ["server"]\npackages = ["src"]\n',
        FLAT,
        ["src", "engine", "engine.pages", "policy"],
    ),
    "packages of setuptools in a package": (
        f'{SETUPTOOLS}[tool.setuptools]\npackages = ["notes"]\n',
        INSIDE,
        ["notes", "notes.engine", "notes.engine.pages", "notes.policy"],
    ),
    "modules of setuptools": (
        f'{SETUPTOOLS}[tool.setuptools]\npy-modules = ["server"]\n',
        FLAT,
        ["engine", "engine.pages", "policy"],
    ),
    "patterns of setuptools": (
        f'{SETUPTOOLS}[tool.setuptools.packages.find]\ninclude = ["notes*"]\n',
        FLAT,
        ["notes*", "engine*", "policy*"],
    ),
    "folders of hatch": (
        f'{HATCH}[tool.hatch.build.targets.wheel]\npackages = ["server", "clients"]\n',
        FLAT,
        ["server", "clients", "engine", "policy"],
    ),
    "patterns of hatch": (
        f'{HATCH}[tool.hatch.build.targets.wheel]\ninclude = ["/server.py"]\n',
        FLAT,
        ["/server.py", "engine/**", "policy/**"],
    ),
}
COVERED = {
    "a package of hatch": (
        f'{HATCH}[tool.hatch.build.targets.wheel]\npackages = ["src/notes"]\n',
        INSIDE,
    ),
    "patterns of setuptools": (
        f'{SETUPTOOLS}[tool.setuptools.packages.find]\ninclude = ["notes*"]\n',
        INSIDE,
    ),
    "all that setuptools finds": (
        f'{SETUPTOOLS}[tool.setuptools.packages.find]\nwhere = ["src"]\n',
        INSIDE,
    ),
    "a package that is guessed": (HATCH, INSIDE),
    "no build": ('[project]\nname = "it"\n', FLAT),
}
GUESSED = {"hatch": HATCH, "setuptools": SETUPTOOLS, "another build": OTHER}


def list_named(text: str) -> list[str]:
    """List what a build names, whatever the key."""
    table = tomllib.loads(text)["tool"]
    for name in ("setuptools", "packages", "find", "hatch", "build", "targets"):
        table = table.get(name, table) if isinstance(table, dict) else table
    if isinstance(table, dict):
        table = table.get("wheel", table)
        table = table.get("packages", table.get("include"))
    assert isinstance(table, list)
    return table


@pytest.mark.parametrize(("text", "added", "names"), NAMED.values(), ids=NAMED)
def test_a_build_that_names_packages_names_ours(
    text: str, added: AddedPackages, names: list[str]
) -> None:
    packed, by_hand = pack_packages(text, added)
    assert by_hand == ""
    assert list_named(packed) == names
    assert pack_packages(packed, added) == (packed, "")


@pytest.mark.parametrize(("text", "added"), COVERED.values(), ids=COVERED)
def test_a_build_that_packs_ours_already_keeps_its_bytes(
    text: str, added: AddedPackages
) -> None:
    assert pack_packages(text, added) == (text, "")


@pytest.mark.parametrize("text", GUESSED.values(), ids=GUESSED)
def test_a_build_that_guesses_is_left_to_a_person(text: str) -> None:
    packed, by_hand = pack_packages(text, FLAT)
    assert packed == text
    assert "engine and policy" in by_hand


def test_the_packages_are_those_of_the_files() -> None:
    files = ["policy/__init__.py", "engine/pages/routes.py", "tests/policy/check.py"]
    added = find_added_packages(files, ".", ("policy", "engine"))
    assert added.names == ("engine/pages", "policy")


IMAGES = {
    "single files": ("COPY server.py pyproject.toml ./\n", True),
    "single files in a list": ('COPY ["server.py", "/app/"]\n', True),
    "files on two lines": ("COPY server.py \\\n  cli.py ./\n", True),
    "everything": ("COPY . /app\n", False),
    "each folder": ("COPY server.py ./\nCOPY --chown=a policy/ engine/ ./\n", False),
    "another stage": ("COPY --from=build /app /app\n", False),
    "nothing": ("RUN pip install it\n", False),
}


@pytest.mark.parametrize(("text", "is_named"), IMAGES.values(), ids=IMAGES)
def test_an_image_that_copies_single_files_is_named(
    text: str, is_named: bool, tmp_path: Path
) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM python\n{text}")
    names = list(list_images_without(tmp_path, FLAT))
    assert names == (["Dockerfile"] if is_named else [])


def test_an_image_that_copies_the_package_is_complete(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("COPY pyproject.toml ./\nCOPY src ./src\n")
    assert not list(list_images_without(tmp_path, INSIDE))


FLAT_BUILD = """
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"

[tool.setuptools]
py-modules = ["server"]
"""


def test_an_adoption_packs_its_policy_and_a_removal_unpacks_it(
    template: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = f'[project]\nname = "it"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["fastmcp>=4.1"]\n{FLAT_BUILD}'
    files = {"server.py": MADE + TOOL, "pyproject.toml": project}
    folder = create_server(tmp_path / "it", **files)
    words = ["adopt", str(folder), "--unattended", "--template", str(template)]
    assert main([*words, "--ref", "v99.0.0"]) == 0
    advice = "by hand (the wheel): it installs engine and policy by these names, which "
    assert advice in capsys.readouterr().err
    settings = tomllib.loads((folder / "pyproject.toml").read_text())
    packages = settings["tool"]["setuptools"]["packages"]
    assert {"policy", "engine", "engine.confirmation"} <= set(packages)
    for package in packages:
        assert (folder / package.replace(".", "/")).is_dir(), package
    (folder / "uv.lock").touch()
    commit(folder)
    assert main(["adopt", str(folder), "--remove"]) == 0
    assert (folder / "pyproject.toml").read_text() == project
    assert "next: uv lock\n" in capsys.readouterr().err
