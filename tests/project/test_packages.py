"""What a server is published as: wheel, sdist, bundle, registry entry, container; each opened, most of them run."""

import asyncio
import json
import os
import re
import shutil
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from programs import npx, run, run_fetched, uv
from support import answers, macro, nightly_but, python, render, rendered

MCPB = npx("@anthropic-ai/mcpb@2.1.2", "mcpb")
SECRETS = (".env", "notes.db", ".venv/pyvenv.cfg")


PACKAGES = {"packages": ["container", "bundle", "registry"]}
FILES = {
    "container": {"Dockerfile", ".dockerignore"},
    "bundle": {"manifest.json", ".mcpbignore", "tests/policy/test_packages.py"},
    "registry": {"server.json", "tests/policy/test_packages.py"},
}


@pytest.mark.parametrize(
    "packages", [[], *([name] for name in FILES), [*FILES]], ids=str
)
def test_a_project_has_the_packaging_files_that_were_asked_for(
    packages: list[str],
) -> None:
    paths = rendered({"packages": packages}).keys() & set().union(*FILES.values())
    assert paths == set().union(*(FILES[name] for name in packages))


@pytest.fixture(scope="module")
def packaged(template: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The default project with every package."""
    return render(template, tmp_path_factory.mktemp("packaged") / "notes", PACKAGES)


@pytest.fixture(scope="module")
def mine(packaged: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy with what must never be handed on."""
    mine = tmp_path_factory.mktemp("packages") / "notes"
    shutil.copytree(
        packaged, mine, ignore=shutil.ignore_patterns(".*cache", "__pycache__")
    )
    for name in SECRETS:
        (mine / name).parent.mkdir(exist_ok=True)
        (mine / name).write_text("secret")
    return mine


@pytest.fixture(scope="module")
def built(mine: Path) -> Path:
    """The folder with the built wheel and sdist."""
    run_fetched(uv(), "build", "--quiet", folder=mine)
    return mine / "dist"


def tools(command: str, *words: str) -> set[str]:
    """The tools that a server started by this command lists."""
    entry = {
        "command": command,
        "args": list(words),
        "env": {"NOTES_MCP_DATABASE": ":memory:"},
    }

    async def names() -> set[str]:
        async with Client({"mcpServers": {"it": entry}}) as client:
            return {tool.name for tool in await client.list_tools()}

    return asyncio.run(names())


@pytest.mark.parametrize("text", ["short", "x" * 300, "a word " * 40, "ä" * 99 + " b"])
def test_a_registry_takes_any_description(text: str) -> None:
    short = macro("document", "short", text)
    assert 0 < len(short) <= 100
    assert short == text or (short.endswith("…") and text.startswith(short[:-1]))


def test_versions_that_differ_are_named(packaged: Path, tmp_path: Path) -> None:
    mine = shutil.copytree(
        packaged, tmp_path / "mine", ignore=shutil.ignore_patterns(".*cache")
    )
    for name, old, new in [
        ("pyproject.toml", 'version = "0.1.0"', 'version = "0.2.0"'),
        ("manifest.json", '"version": "0.1.0"', '"version": "0.2.0"'),
        ("README.md", "mcp-name: com.example", "mcp-name: org.example"),
    ]:
        text = (mine / name).read_text(encoding="utf-8")
        assert old in text
        (mine / name).write_text(text.replace(old, new), encoding="utf-8")
    words = ["-m", "pytest", "-p", "no:cacheprovider", "tests/policy/test_packages.py"]
    output = python(mine, *words).stdout
    assert (
        "pyproject.toml has version 0.2.0, server.json has 0.1.0, server.json packages"
        in output
    )
    assert "README.md lacks the line <!-- mcp-name: com.example/notes-mcp -->" in output
    assert "(package-versions-equal)" in output
    assert "(registry-name-in-readme)" in output
    assert "2 failed" in output


def test_wheel_and_sdist_hold_what_they_should(built: Path, mine: Path) -> None:
    wheel = zipfile.ZipFile(next(built.glob("*.whl")))
    packed = []
    for name in wheel.namelist():
        if not name.endswith("/"):
            packed.append(name)
    inside = {name for name in packed if ".dist-info/" not in name}
    sources = set()
    for p in mine.glob("src/**/*.*"):
        sources.add(p.relative_to(mine / "src").as_posix())
    assert inside == sources
    about = wheel.read("notes_mcp-0.1.0.dist-info/METADATA").decode()
    assert "mcp-name: com.example/notes-mcp" in about
    assert "License-File: LICENSE" in about
    with tarfile.open(next(built.glob("*.tar.gz"))) as sdist:
        names = {name.partition("/")[2] for name in sdist.getnames()}
    assert {"tests/policy/test_behavior.py", "pyproject.toml"} <= names
    assert not names & set(SECRETS)


def test_the_wheel_serves(built: Path, tmp_path: Path) -> None:
    """The wheel's files are enough, next to the dependencies of these tests."""
    zipfile.ZipFile(next(built.glob("*.whl"))).extractall(tmp_path / "src")
    program = "from notes_mcp.cli import main; main()"
    assert python(tmp_path, "-c", program, "--version").stdout == "0.1.0\n"
    listed = python(tmp_path, "-c", program, "tools", "list", "--json")
    assert (listed.returncode, len(json.loads(listed.stdout))) == (0, 9)


@pytest.mark.nightly
def test_the_wheel_alone_serves(built: Path, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    run_fetched(uv(), "venv", "--quiet", empty, folder=tmp_path)
    folder = empty / ("Scripts" if os.name == "nt" else "bin")
    wheel = next(built.glob("*.whl"))
    run_fetched(
        uv(),
        "pip",
        "install",
        "--quiet",
        "--python",
        folder / "python",
        wheel,
        folder=tmp_path,
    )
    program = folder / "notes-mcp"
    about = "import asyncio, sys\nfrom fastmcp import Client\nfrom notes_mcp.server import create_server\n"
    script = "async def main():\n async with Client(create_server()) as c: print(c.server_info.version)\n"
    result = run(
        folder / "python", "-c", f"{about}{script}asyncio.run(main())", folder=tmp_path
    )
    assert result.stdout == "0.1.0\n", result.stderr
    assert run(program, "--version", folder=tmp_path).stdout == "0.1.0\n"
    assert len(tools(str(program), "run")) == 9
    listed = run(program, "tools", "list", "--json", folder=tmp_path)
    assert (listed.returncode, len(json.loads(listed.stdout))) == (0, 9)


@pytest.mark.nightly
def test_the_bundle_is_valid_small_and_serves(mine: Path, tmp_path: Path) -> None:
    run_fetched(*MCPB, "validate", mine / "manifest.json", folder=tmp_path)
    run_fetched(*MCPB, "pack", mine, tmp_path / "notes.mcpb", folder=tmp_path)
    with zipfile.ZipFile(tmp_path / "notes.mcpb") as bundle:
        names = bundle.namelist()
        bundle.extractall(tmp_path / "bundle")
    top = {"LICENSE", "README.md", "manifest.json", "pyproject.toml"}
    outside = set()
    for name in names:
        if not name.startswith("src/notes_mcp/"):
            outside.add(name)
    assert outside == top
    start = json.loads((tmp_path / "bundle/manifest.json").read_text())["server"][
        "mcp_config"
    ]
    folder = str(tmp_path / "bundle")
    words = [word.replace("${__dirname}", folder) for word in start["args"]]
    assert start["command"] == "uv"
    run_fetched(uv(), "sync", "--quiet", "--no-dev", folder=tmp_path / "bundle")
    assert len(tools(uv(), *words)) == 9


def wrong_entry(entry: dict[str, Any]) -> list[str]:
    """What the MCP registry would refuse (its schema of 2025-12-11, said in our own words)."""
    version = r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?"
    checks = {
        "name": re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"])
        and 3 <= len(entry["name"]) <= 200,
        "description": 1 <= len(entry["description"]) <= 100,
        "version": re.fullmatch(version, entry["version"]),
        "keys": entry.keys()
        == {"$schema", "name", "description", "version", "packages"},
    }
    keys = [
        "registryType",
        "identifier",
        "version",
        "runtimeHint",
        "transport",
        "packageArguments",
    ]
    keys += ["environmentVariables"]
    for package in entry["packages"]:
        checks |= {
            "package keys": sorted(package) == sorted(keys),
            "package kind": package["registryType"] == "pypi"
            and package["runtimeHint"] == "uvx",
            "package version": package["version"] == entry["version"],
            "transport": package["transport"] == {"type": "stdio"},
            "arguments": all(
                argument["type"] == "positional" and isinstance(argument["value"], str)
                for argument in package["packageArguments"]
            ),
            "variables": all(
                variable.keys() - {"default"}
                == {"name", "description", "format", "isSecret"}
                and variable["format"] in ("string", "number", "boolean")
                for variable in package["environmentVariables"]
            ),
        }
    return [name for name, fine in checks.items() if not fine]


@pytest.mark.parametrize("name", ["notes", "unusual", "consent", "issues"])
def test_the_registry_entry_is_what_the_registry_takes(name: str) -> None:
    assert (
        wrong_entry(json.loads(rendered(answers(name) | PACKAGES)["server.json"])) == []
    )


@pytest.mark.parametrize(
    "name", nightly_but({"unusual"}, ["unusual", "consent", "issues"])
)
def test_a_manifest_of_any_answers_is_valid(name: str, tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    manifest.write_text(
        rendered(answers(name) | PACKAGES)["manifest.json"], encoding="utf-8"
    )
    run_fetched(*MCPB, "validate", manifest, folder=tmp_path)


def test_a_bundle_names_the_privacy_policy_that_was_given(tmp_path: Path) -> None:
    policy = "https://example.com/privacy?of=notes"
    files = rendered(PACKAGES | {"privacy_policy": policy})
    assert json.loads(files["manifest.json"])["privacy_policies"] == [policy]
    assert f"\n## Privacy Policy\n\nPrivacy policy: <{policy}>\n" in files["README.md"]
    (tmp_path / "manifest.json").write_text(files["manifest.json"], encoding="utf-8")
    run_fetched(*MCPB, "validate", tmp_path / "manifest.json", folder=tmp_path)
    without = rendered(PACKAGES)
    assert "privacy_policies" not in json.loads(without["manifest.json"])
    assert (
        "Privacy"
        not in without["README.md"] + rendered({"privacy_policy": policy})["README.md"]
    )


@pytest.mark.parametrize(
    "address", ["http://example.com", "https://a b", 'https://a/"{{x}}', "no"]
)
def test_a_privacy_policy_is_a_safe_https_address(address: str) -> None:
    with pytest.raises(
        ValueError, match=r"privacy_policy: .* is not an https address; e\.g\. https:"
    ):
        rendered(PACKAGES | {"privacy_policy": address})


def test_the_image_is_built_from_what_its_ignore_file_lets_in(packaged: Path) -> None:
    lines = (packaged / ".dockerignore").read_text(encoding="utf-8").splitlines()
    allowed = set()
    for line in lines:
        if line.startswith("!/"):
            allowed.add(line[2:])
    copied = set()
    for line in (packaged / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            for word in line.split()[1:-1]:
                copied.add(word.rstrip("*").replace("[k]", "k"))
    assert "/*" in lines
    assert copied == allowed


def test_the_container_runs_as_nobody_and_is_asked_how_it_is(packaged: Path) -> None:
    """There is no Docker where this runs; what stands in the file is checked line by line."""
    lines = (packaged / "Dockerfile").read_text().splitlines()
    words = []
    for line in lines:
        if line and not line.startswith("#"):
            words.append(line.split()[0])
    assert words.count("FROM") == 2
    assert words.index("USER") > len(words) - words[::-1].index("FROM") - 1
    assert "USER app" in lines
    assert json.loads(lines[-1].removeprefix("CMD "))[:2] == ["notes-mcp", "run"]
